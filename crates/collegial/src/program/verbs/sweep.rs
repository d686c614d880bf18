//! `collegial sweep`: any networks, each trained several times on one data set.

use clap::Args;

use crate::backend::Backends;
use crate::jobs::Task;
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::program::verbs::job::Planning;
use crate::sweep::{self, Request};

#[derive(Args)]
pub struct Sweep {
    // Before the request, whose doc comment is then the verb's help.
    #[command(flatten)]
    planning: Planning,
    #[command(flatten)]
    request: Request,
}

/// Runs the verb.
pub fn run(verb: &Sweep, backends: Backends, common: &Common) -> Result<(), Failure> {
    let request = Request { seed: common.seed, ..verb.request.clone() };
    if let Some(planned) = verb.planning.run(|| Task::Sweep(request.clone()), backends, common) {
        return planned;
    }
    show(&sweep::run(&request, backends, &Progress::new("starting", common))?, common.format())
}
