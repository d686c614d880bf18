//! `collegial search`: the main job.

use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::{Files, show};
use crate::program::progress::Progress;
use crate::runtime::Runtimes;
use crate::search::{self, Request};

#[derive(Args)]
pub struct Search {
    #[command(flatten)]
    request: Request,
    #[command(flatten)]
    files: Files,
}

/// Runs the verb.
pub fn run(verb: &Search, runtimes: Runtimes, common: &Common) -> Result<(), Failure> {
    verb.files.check()?;
    let request = Request { seed: common.seed, ..verb.request.clone() };
    let answer = search::run_with(&request, runtimes, &Progress::new("drawing kernels", common))?;
    verb.files.write(&answer, common)?;
    show(&answer, common.format())
}
