//! `collegial sweep`: any networks, each trained several times on one data set.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use crate::engine::Engine;
use crate::jobs::Task;
use crate::sweep::{self, Request};
use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::program::verbs::job::Planning;

/// Train any networks several times each, and give their mean test errors
///
/// An interrupted sweep goes on with the same command. `validate` chooses the designs itself and
/// asks whether the variance ranks them.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial sweep fc6-200 fc6-7x45 --data mnist --runs 5")]
pub struct Sweep {
    /// Names, or paths of specs
    #[arg(value_name = "MODEL", required = true)]
    models: Vec<PathBuf>,
    /// Directory of the data set
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Trainings of every network, with seeds from --seed on
    #[arg(long, value_name = "COUNT", default_value = "5")]
    runs: NonZeroU32,
    /// Epochs of every training [default: the recipe's]
    #[arg(long, value_name = "COUNT")]
    epochs: Option<NonZeroU32>,
    /// Train on the first images only
    #[arg(long, value_name = "IMAGES")]
    limit: Option<NonZeroUsize>,
    /// Change the recipe: learning_rate=0.05, batch=64, schedule.milestones=[5,8]
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where finished runs are kept [default: runs/sweep-DATA]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Who computes the trainings
    #[arg(long, value_enum, default_value_t = Engine::Native)]
    engine: Engine,
    #[command(flatten)]
    planning: Planning,
}

/// Runs the verb.
pub fn run(verb: &Sweep, common: &Common) -> Result<(), Failure> {
    let request = Request {
        models: verb.models.clone(),
        data: verb.data.clone(),
        runs: verb.runs,
        epochs: verb.epochs,
        limit: verb.limit,
        set: verb.set.clone(),
        out: verb.out.clone(),
        seed: common.seed,
        engine: verb.engine,
    };
    if let Some(planned) = verb.planning.run(|| Task::Sweep(request.clone()), common) {
        return planned;
    }
    show(&sweep::run(&request, &Progress::new("starting", common))?, common.format())
}
