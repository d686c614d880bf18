//! `collegial score`: a table of designs with their scores, and how they rank a column of errors.

use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::{Files, show};
use crate::score::{self, Request};

#[derive(Args)]
pub struct Score {
    #[command(flatten)]
    request: Request,
    #[command(flatten)]
    files: Files,
}

/// Runs the verb.
pub fn run(verb: &Score, common: &Common) -> Result<(), Failure> {
    verb.files.check()?;
    let request = Request { seed: common.seed, ..verb.request.clone() };
    let answer = score::run(&request)?;
    verb.files.write(&answer, common)?;
    show(&answer, common.format())
}
