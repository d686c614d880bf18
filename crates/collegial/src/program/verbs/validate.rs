//! `collegial validate`: does the variance rank trained test errors?

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use crate::engine::Engine;
use crate::jobs::Task;
use crate::search::Cost;
use crate::validate::{self, DESIGNS, Request};
use clap::Args;

use crate::program::arguments::{Common, Model};
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::program::terminal;
use crate::program::verbs::job::Planning;

/// Train designs of equal cost and see whether the predicted variance ranks their test errors
///
/// Takes designs from the primal curve of MODEL, from the baseline to very thin members, the
/// predicted optimum among them, trains each several times by the recipe of the data set, and gives
/// the rank correlation between predicted variance (exact where it has a closed form) and mean test
/// error, and that of the inner width m n. How often, a pilot of three runs plans: it says what
/// that can decide and how long it takes. An interrupted validation goes on with the same command.
/// Exit 1: the prediction is contradicted.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial validate fc6-200 --data mnist")]
pub struct Validate {
    #[command(flatten)]
    model: Model,
    /// Directory of the data set
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Designs to train, the baseline included
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = designs)]
    designs: usize,
    /// Trainings of every design [default: planned by a pilot of three]
    #[arg(long, value_name = "COUNT")]
    runs: Option<NonZeroU32>,
    /// The difference of errors that planned runs should find in 80 % of cases, as a share of the
    /// error
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, conflicts_with = "runs")]
    decide: f64,
    /// The most trainings of every design that are planned
    #[arg(long, value_name = "COUNT", default_value = "20", conflicts_with = "runs")]
    max_runs: NonZeroU32,
    /// Epochs of every training [default: the recipe's]
    #[arg(long, value_name = "COUNT")]
    epochs: Option<NonZeroU32>,
    /// Train on the first images only
    #[arg(long, value_name = "IMAGES")]
    limit: Option<NonZeroUsize>,
    /// What is kept equal
    #[arg(long, value_enum, default_value_t = Cost::Params)]
    cost: Cost,
    /// Also train designs of equal variance, on the dual curve
    #[arg(long)]
    dual: bool,
    /// Change the recipe: learning_rate=0.05, batch=64, schedule.milestones=[5,8]
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where the page, figures, data and finished runs go [default: runs/validate-MODEL-DATA]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Who computes the trainings
    #[arg(long, value_enum, default_value_t = Engine::Native)]
    engine: Engine,
    #[command(flatten)]
    planning: Planning,
}

fn designs(text: &str) -> Result<usize, String> {
    let (low, high) = (DESIGNS.start(), DESIGNS.end());
    let count = text.parse().ok().filter(|count| DESIGNS.contains(count));
    count.ok_or_else(|| format!("it must be a number between {low} and {high}"))
}

/// Runs the verb.
pub fn run(verb: &Validate, common: &Common) -> Result<(), Failure> {
    let request = Request {
        model: verb.model.request(),
        data: verb.data.clone(),
        designs: verb.designs,
        runs: verb.runs,
        decide: verb.decide,
        max_runs: verb.max_runs,
        epochs: verb.epochs,
        limit: verb.limit,
        cost: verb.cost,
        dual: verb.dual,
        set: verb.set.clone(),
        out: verb.out.clone(),
        seed: common.seed,
        engine: verb.engine,
    };
    if let Some(planned) = verb.planning.run(|| Task::Validate(request.clone()), common) {
        return planned;
    }
    let validated = validate::run(&request, &Progress::new("starting", common))?;
    let page = validated.write(terminal::provenance())?;
    show(&validated, common.format())?;
    common.say(&format!("page: {}", page.display()));
    if validated.contradicted() { Err(Failure::No(validated.validation.sentence)) } else { Ok(()) }
}
