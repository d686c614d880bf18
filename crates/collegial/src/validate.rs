//! `validate`: does the variance rank trained test errors?

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use collegial_arch::{Cost, Spec};
use collegial_core::Silent;
use collegial_experiments::jobs::{Bill, Ledger, Share};
use collegial_experiments::validate::{Question, Runs};
pub use collegial_experiments::validate::{Validation, Verdict};
use collegial_experiments::{Context, ResultCache};
use collegial_report::{Figure, Page, Provenance, Table, duration};
use collegial_search::Limits;
use collegial_search::paper::Search;
use collegial_train::data::Dataset;
use collegial_train::recipe::Builtin;
use collegial_train::{Backends, Data, spec_for};
use serde::Serialize;

use crate::jobs;
use crate::message::invalid;
use crate::options::options;
use crate::reproduce::told;
use crate::style::wrapped;
use crate::{Answer, Error, InvalidRequest, Model, Monitor, Paged, Style, TrainingOptions, files};

options! {
    /// Train designs of equal cost and see whether the predicted variance ranks their test errors
    ///
    /// The designs lie on the primal curve of MODEL, from the baseline to very thin members; the
    /// predicted optimum is one of them. Each is trained several times by the recipe of the data set.
    /// The answer is the rank correlation of mean test error with predicted variance, and with the
    /// inner width m n.
    ///
    /// Without --runs a pilot of three runs plans the number of trainings: it says what they can
    /// decide and how long they take. The same command goes on with an interrupted validation.
    ///
    /// Exit 1: the prediction is contradicted.
    #[command(after_help = "Example:\n  collegial validate fc6-200 --data mnist")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The baseline; class count and image size are the data set's
        #[command(flatten)]
        pub model: Model,
        /// Data, recipe and backend
        #[command(flatten)]
        pub training: TrainingOptions,
        /// Designs to train, the baseline included
        #[arg(long, value_name = "COUNT")]
        pub designs: usize = 8,
        /// Trainings of every design [default: planned by a pilot of three]
        #[arg(long, value_name = "COUNT")]
        pub runs: Option<NonZeroU32>,
        /// The difference of errors that planned runs should find in 80 % of cases, as a share of
        /// the error
        #[arg(long, value_name = "SHARE", conflicts_with = "runs")]
        pub decide: f64 = 0.05,
        /// The most trainings of every design that are planned
        #[arg(long, value_name = "COUNT", conflicts_with = "runs")]
        pub max_runs: NonZeroU32 = NonZeroU32::new(20).unwrap(),
        /// What is kept equal
        #[arg(long, value_enum)]
        pub cost: Cost = Cost::Params,
        /// Also train designs of equal variance, on the dual curve
        #[arg(long)]
        pub dual: bool,
        /// Where the page, figures, data and finished runs go [default: runs/validate-MODEL-DATA]
        #[arg(long, value_name = "DIR")]
        #[serde(with = "crate::paths::exact_option")]
        pub out: Option<PathBuf>,
        /// Seed of everything random
        #[arg(skip)]
        pub seed: u64,
    }
}

/// How many designs can be trained.
pub const DESIGNS: std::ops::RangeInclusive<usize> = 3..=100;

/// Predicted and measured, and where it is kept.
#[derive(Clone, Debug, Serialize)]
pub struct ValidateAnswer {
    /// The result.
    #[serde(flatten)]
    pub validation: Validation,
    /// Where finished runs are kept.
    #[serde(skip)]
    pub out: PathBuf,
    /// Seed of the runs.
    #[serde(skip)]
    pub seed: u64,
}

/// Trains and compares. An interrupted validation goes on with the same request.
///
/// # Errors
///
/// Where the baseline has no width to change, a design cannot be trained, or the monitor stopped
/// it.
pub fn run(request: &Request, backends: Backends, monitor: &dyn Monitor) -> Result<ValidateAnswer, Error> {
    backends.check(request.training.engine)?;
    answer(request, Share::All, backends, monitor)
}

/// The same with a share of the trainings.
pub(crate) fn answer(
    request: &Request,
    share: Share<'_>,
    backends: Backends,
    monitor: &dyn Monitor,
) -> Result<ValidateAnswer, Error> {
    files::check_directory("out", request.out.as_deref())?;
    if !DESIGNS.contains(&request.designs) {
        let (count, low, high) = (request.designs, DESIGNS.start(), DESIGNS.end());
        return Err(InvalidRequest::out_of_range("designs", count as f64, *low as f64, *high as f64).into());
    }
    if request.cost == Cost::Time {
        return Err(invalid!["designs are compared at a cost that stays the same from run to run; take params, flops or activations"].into());
    }
    if !(request.decide > 0.0 && request.decide < 1.0) {
        return Err(InvalidRequest::out_of_range("decide", request.decide, 0.0, 1.0).into());
    }
    let runs = match request.runs {
        Some(runs) => Runs::Given(runs.get()),
        None => Runs::Planned { share: request.decide, most: request.max_runs.get() },
    };
    let dataset = request.training.dataset()?;
    let baseline = spec_for(&request.model.bare_spec()?, &request.model.overrides(), &dataset)?;
    let search = Search::new(baseline.clone()).within(Limits::new().cost(request.cost));
    let recipe = request.training.recipe(&dataset)?;
    let out = files::directory_or(request.out.as_deref(), || default_directory(&baseline, &dataset))?;
    let data = Data::new(dataset, &recipe)?;
    let cache = ResultCache::open(out.join("parts"))?;
    let question = Question {
        baseline: &baseline,
        search: &search,
        data: &data,
        recipe: &recipe,
        designs: request.designs,
        runs,
        dual: request.dual,
    };
    let engine = request.training.engine;
    let context = Context { share, engine, backends, ..Context::new(request.seed, &cache, monitor) };
    if matches!(share, Share::All) {
        let ledger = Ledger::default();
        let listing = Context {
            share: Share::Nothing(&ledger),
            engine: request.training.engine,
            ..Context::new(request.seed, &cache, &Silent)
        };
        question.answer(&listing).map_err(|error| told(error, monitor))?;
        let mut listed = ledger.entries();
        // Small networks are trained one on each thread, by PyTorch one after the other.
        let threads = rayon::current_num_threads();
        let (workers, each) = if engine.is_native() { (threads, 1) } else { (1, threads) };
        let bill = jobs::plan::bill(&mut listed, None, each, backends, monitor)?;
        if let Some(sentence) = cost_sentence(&bill, runs, workers) {
            monitor.say(&sentence);
        }
    }
    let validation = question.answer(&context).map_err(|error| told(error, monitor))?;
    Ok(ValidateAnswer { validation, out, seed: request.seed })
}

/// What the trainings that are not finished take here, by the first steps of every network; nothing
/// where all are.
fn cost_sentence(bill: &Bill, runs: Runs, workers: usize) -> Option<String> {
    if bill.jobs == 0 {
        return None;
    }
    let designs = bill.lines.iter().filter(|line| line.jobs > 0).count();
    let now = format!(
        "{} trainings of {designs} designs, about {} on this machine",
        bill.jobs,
        duration(bill.finish(workers))
    );
    Some(match runs {
        Runs::Given(_) => format!("to come: {now}"),
        Runs::Planned { most, .. } => {
            let of_each: f64 = bill.lines.iter().map(|line| line.seconds / line.jobs.max(1) as f64).sum();
            let all = f64::from(most) * of_each / workers.max(1) as f64;
            format!(
                "to come: the pilot, {now}; then as many more as it asks for, at most {most} of every design, about {} in all",
                duration(all)
            )
        }
    })
}

fn default_directory(baseline: &Spec, dataset: &Dataset) -> PathBuf {
    Path::new("runs").join(format!("validate-{}-{}", baseline.name(), Builtin::of(dataset)))
}

impl ValidateAnswer {
    /// Writes page, figures and data to where finished runs are kept; gives the page's path.
    ///
    /// # Errors
    ///
    /// Where one of them cannot be written.
    pub fn write(&self, provenance: Provenance) -> Result<PathBuf, Error> {
        files::write_figures(&self.out, self)?;
        files::write_own(&self.out.join("validation.json"), format!("{}\n", self.json()?).as_bytes())?;
        let path = self.out.join("validation.html");
        files::write_own(&path, self.page(provenance)?.to_html().as_bytes())?;
        Ok(path)
    }

    /// Whether the prediction is contradicted.
    pub fn contradicted(&self) -> bool {
        self.validation.verdict == Verdict::Contradicted
    }
}

impl Answer for ValidateAnswer {
    fn text(&self, style: &Style) -> String {
        let validation = &self.validation;
        let primal = validation.primal.table().to_text();
        let lines: Vec<String> =
            wrapped(&validation.sentence).iter().map(|line| style.strong(line)).collect();
        let mut text = format!("{}\n\n{primal}", lines.join("\n"));
        if let Some(power) = validation.power {
            text.push_str(&format!("\n{}\n", wrapped(&format!("{}.", power.words())).join("\n")));
        }
        if let (Some(dual), Some(sentence)) = (&validation.dual, validation.dual_sentence()) {
            text.push_str(&format!("\n{}\n\n{}", wrapped(&sentence).join("\n"), dual.table().to_text()));
        }
        text
    }

    fn table(&self) -> Table {
        self.validation.primal.table()
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (vec![self.validation.sentence.clone()], self.table())
    }

    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        self.validation.figures().into_iter().map(|(name, figure)| (name.into(), figure)).collect()
    }
}

impl Paged for ValidateAnswer {
    fn page(&self, provenance: Provenance) -> Result<Page, Error> {
        Ok(self.validation.page(Provenance { seed: Some(self.seed), ..provenance }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_experiments::jobs::{BillLine, Hours};

    fn bill(jobs: usize) -> Bill {
        let line = |model: &str| BillLine {
            model: model.into(),
            jobs,
            seconds_per_step: 1.0,
            seconds: 600.0 * jobs as f64,
        };
        let lines = vec![line("a"), line("b")];
        Bill { hours: Hours::Core, lines, jobs: 2 * jobs, seconds: 1200.0 * jobs as f64, longest: 600.0 }
    }

    /// Three runs of two designs of ten minutes each on two threads, and twenty at most.
    #[test]
    fn the_cost_is_said_beforehand() {
        let planned = cost_sentence(&bill(3), Runs::Planned { share: 0.05, most: 20 }, 2).unwrap();
        assert!(planned.contains("6 trainings of 2 designs, about 30 minutes"), "{planned}");
        assert!(planned.contains("at most 20 of every design, about 3.3 hours in all"), "{planned}");
        let given = cost_sentence(&bill(1), Runs::Given(1), 1).unwrap();
        assert_eq!(given, "to come: 2 trainings of 2 designs, about 20 minutes on this machine");
        assert_eq!(cost_sentence(&bill(0), Runs::Given(1), 1), None);
    }
}
