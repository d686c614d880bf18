//! `collegial evaluate`: the test error of a checkpoint.

use std::path::PathBuf;

use clap::Args;

use crate::evaluate::{self, Request};
use crate::files;
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;

#[derive(Args)]
pub struct Evaluate {
    #[command(flatten)]
    request: Request,
    /// Write the network's outputs, images x classes, to this .npy file
    #[arg(long = "logits", value_name = "FILE")]
    logits_file: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(verb: &Evaluate, common: &Common) -> Result<(), Failure> {
    let request = Request { logits: verb.logits_file.is_some(), ..verb.request.clone() };
    let evaluated = evaluate::run(&request, &Progress::new("testing", common))?;
    if let Some(path) = &verb.logits_file {
        files::write(path, &evaluated.logits_to_npy()?)?;
    }
    show(&evaluated, common.format())
}
