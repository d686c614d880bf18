//! `collegial merge`: joins the shards that `collegial fit --shard` wrote.

use std::path::{Path, PathBuf};

use clap::Args;
use collegial_ntk::fit::Measurements;

use super::fit::{LineOptions, show};
use crate::arguments::Common;
use crate::failure::Failure;

/// Join the shares of a sharded fit; the result equals that of one process to the bit
#[derive(Args)]
pub struct Merge {
    /// Files that `collegial fit --shard I/N --out FILE` wrote
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    line: LineOptions,
}

/// Runs the verb.
pub fn run(verb: &Merge, common: &Common) -> Result<(), Failure> {
    let start = std::time::Instant::now();
    let mut joined: Option<Measurements> = None;
    for path in &verb.files {
        let part = read(path)?;
        joined = Some(match joined {
            None => part,
            Some(before) => before
                .join(part)
                .map_err(|error| Failure::User(format!("cannot join {}: {error}", path.display())))?,
        });
    }
    let Some(joined) = joined else { return Ok(()) };
    if !joined.is_complete() {
        common.say("warning: some shards are missing; the fit is made of the draws that are there");
    }
    show(&joined, &verb.line, start.elapsed().as_secs_f64(), common)
}

fn read(path: &Path) -> Result<Measurements, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::User(format!("cannot read {}: {error}", path.display())))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::User(format!("{} is not a file that `collegial fit --out` wrote: {error}", path.display()))
    })
}
