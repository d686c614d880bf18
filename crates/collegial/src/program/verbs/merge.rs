//! `collegial merge`: joins the shards that `collegial fit --shard` wrote.

use std::path::PathBuf;

use crate as ops;
use clap::Args;

use super::fit::{LineOptions, show};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::progress::Progress;

/// Join the shares of a sharded fit; the result equals that of one process to the bit
#[derive(Args)]
#[command(after_help = "Example:\n  collegial merge part-1.json part-2.json")]
pub struct Merge {
    /// Files that `collegial fit --shard I/N --out FILE` wrote
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    line: LineOptions,
}

/// Runs the verb.
pub fn run(verb: &Merge, common: &Common) -> Result<(), Failure> {
    let request = ops::merge::Request { files: verb.files.clone(), line: verb.line.request() };
    let fitted = ops::merge::run(&request, &Progress::new("joining", common))?;
    if !fitted.complete {
        common.say("warning: some shards are missing; the fit is made of the draws that are there");
    }
    show(&fitted, &verb.line, common)
}
