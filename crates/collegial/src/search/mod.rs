//! `search`: which design is best, the main job: the whole network's integer designs, or Algorithm
//! 2 as printed.

mod called;
mod checks;
mod designs;
mod paper;
mod work;

use std::borrow::Cow;

pub use collegial_arch::Cost;
use collegial_arch::Spec;
use collegial_nn::Parametrisation;
use collegial_report::{Card, Figure, Page, Provenance, Table};
use collegial_search::Limits;
pub use collegial_search::paper::members_within;
pub use collegial_search::{BlockInputs, Costs, FinePoint, Rule, Runtime, VarianceSource};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::message::{invalid, option};
use crate::ntk::NormPolicy;
use crate::options::options;
use crate::runtime::Runtimes;
use crate::transformer::verdicts;
pub use crate::transformer::verdicts::Verdicts;
use crate::{Answer, Budget, Error, Model, Monitor, Paged, Silent, Style, Widths};
use designs::Times;
pub use designs::{Checked, Designs};
pub use paper::Paper;
pub(crate) use work::Work;

options! {
    /// Find the best number m and width n of members for a baseline, without training
    ///
    /// Same cost (primal): the design of least variance whose network costs no more than the
    /// baseline. The variance is that of the tangent kernel of its blocks at initialisation, on
    /// average over the blocks. Same variance (dual): the cheapest design whose variance is not above
    /// the baseline's.
    ///
    /// Every integer design m x n of the whole network is compared, with exact variances. FLOPs are 2
    /// per multiply-add. --check draws the kernels of whole networks.
    ///
    /// --paper is Algorithm 2 as printed, on one block with a fitted law. --alpha, --trials,
    /// --variance law and --variance measured imply it.
    ///
    /// Layers of a transformer get a verdict instead: whether splitting them is a question of variance,
    /// of speed alone (split-neutral), or of something that the theory does not cover.
    #[command(after_help = "Example:\n  collegial search resnext50-1x64d --cost flops --multiple-of 8")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The baseline
        #[command(flatten)]
        pub model: Model,
        /// Algorithm 2 as printed
        #[arg(long)]
        pub paper: bool,
        /// Alpha of the variance law [default: fitted on the spot]
        #[arg(long, allow_negative_numbers = true, conflicts_with = "trials")]
        pub alpha: Option<f64>,
        /// Costs that may not rise: params, flops, activations or time, or several as params,flops;
        /// --budget limits the first, and the dual saves it
        #[arg(long, value_name = "COST")]
        pub cost: Costs = Costs::default(),
        /// Share by which a design may cost more: 0.02 is two per cent
        #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
        pub tolerance: f64 = 0.0,
        /// Source of the variance [default: exact where it has a closed form, else measured]
        #[arg(long, value_enum)]
        pub variance: Option<VarianceSource>,
        /// Inputs of a network's blocks
        #[arg(long, value_enum)]
        pub block_inputs: BlockInputs = BlockInputs::Network,
        /// By which weights gradients are taken: with standard, those that people train with, a layer
        /// counts in proportion to the inverse variance of its initial weights
        #[arg(long, value_enum)]
        pub parametrisation: Parametrisation = Parametrisation::Ntk,
        /// A data set whose images come in [default: natural images, by two constants]; class count
        /// and image size are the data set's
        #[arg(long, value_name = "DIR")]
        pub data: Option<PathBuf>,
        /// How the primal meets the budget [default: under; nearest with --paper]
        #[arg(long, value_enum)]
        pub rule: Option<Rule>,
        /// The most that the whole network may cost: 13775178, 25.6M, 1.2G [default: the baseline's
        /// cost]
        #[arg(long, value_name = "COST", allow_negative_numbers = true)]
        pub budget: Option<Budget>,
        /// Times measured elsewhere, for --cost time: a CSV file with columns model (the baseline and
        /// other designs) and seconds
        #[arg(long, value_name = "FILE.csv")]
        pub timings: Option<PathBuf>,
        /// Which program runs the networks that --cost time measures
        #[arg(long, value_enum)]
        pub runtime: Runtime = Runtime::Native,
        /// Images per pass that --cost time measures [default: 2]
        #[arg(long, value_name = "IMAGES")]
        pub batch: Option<NonZeroUsize>,
        /// Device of --runtime torch or onnx, by its own name: cpu, cuda, mps [default: cpu]
        #[arg(long, value_name = "DEVICE")]
        pub device: Option<String>,
        /// Widths to look at: 4,10,16 or 1..64 or 8..128:8 [default: all up to the baseline's]
        #[arg(long, value_name = "LIST")]
        pub widths: Option<Widths>,
        /// Only widths that are a multiple of this, such as 8 for hardware
        #[arg(long, value_name = "N")]
        pub multiple_of: usize = 1,
        /// At most this many members
        #[arg(long, value_name = "M")]
        pub max_multiplicity: Option<usize>,
        /// Also look at members with two widths, into and out of their middle convolution
        #[arg(long, conflicts_with = "widths")]
        pub free_widths: bool,
        /// Also look at one design per stage, each stage keeping its cost, and with cost moved
        /// between stages
        #[arg(long, conflicts_with = "widths")]
        pub per_stage: bool,
        /// Draw the kernels of the whole networks of the baseline and both optima, and compare with
        /// the score
        #[arg(long, conflicts_with = "paper")]
        pub check: bool,
        /// Initialisations of every network in --check, at least 20 [default: 100]
        #[arg(long, value_name = "T", requires = "check")]
        pub draws: Option<u64>,
        /// Treatment of batch norms in --check [default: none]
        #[arg(long, value_enum, requires = "check")]
        pub norm: Option<NormPolicy>,
        /// Draws per width when alpha is fitted [default: 2000]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        pub trials: Option<u64>,
        /// Standard error of every measured variance, as a share of it [default: 0.01]
        #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
        pub precision: Option<f64>,
        /// Seed of everything random
        #[arg(skip)]
        pub seed: u64,
    }
}

impl Request {
    /// Times that are given, or to be measured by another runtime, are what is charged for.
    fn timed(self) -> Self {
        let times = self.timings.is_some() || self.runtime != Runtime::Native;
        let cost = if times && self.cost == Costs::default() { Cost::Time.into() } else { self.cost };
        Self { cost, ..self }
    }

    /// Which designs may be chosen.
    fn limits(&self) -> Limits {
        Limits::new()
            .cost(self.cost.clone())
            .tolerance(self.tolerance)
            .rule(self.rule)
            .budget(self.budget.map(|budget| budget.0))
            .widths(self.widths.as_ref().map(|widths| widths.0.clone()))
            .multiple_of(self.multiple_of)
            .max_multiplicity(self.max_multiplicity)
    }

    /// Whether Algorithm 2 as printed must answer.
    fn as_printed(&self, baseline: &Spec) -> bool {
        self.paper
            || self.alpha.is_some()
            || self.trials.is_some()
            || matches!(self.variance, Some(VarianceSource::Law | VarianceSource::Measured))
            || (self.free_widths && matches!(baseline, Spec::FullyConnected(_) | Spec::Sequence(_)))
    }
}

/// Both optima.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum SearchAnswer {
    /// Of the whole network, as integer designs.
    Designs(Box<Designs>),
    /// Of one block, as printed.
    Paper(Box<Paper>),
    /// What splitting is a question of, where nothing is to be searched: layers of transformers.
    Verdicts(Box<Verdicts>),
}

/// Searches.
///
/// # Errors
///
/// Where there is nothing to split, nothing fits the budget, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<SearchAnswer, Error> {
    run_with(request, Runtimes::NATIVE, monitor)
}

/// The same, with the runtimes that the caller has.
///
/// # Errors
///
/// As those of [`run`], and those of the runtime.
pub fn run_with(request: &Request, runtimes: Runtimes, monitor: &dyn Monitor) -> Result<SearchAnswer, Error> {
    answer(request, Times::Found(runtimes), monitor)
}

/// The same with the content of the file that the request names under `timings`, which is not
/// opened.
///
/// # Errors
///
/// As those of [`run`], and where the content is no table of times.
pub(crate) fn run_with_times(
    request: &Request,
    times: &str,
    monitor: &dyn Monitor,
) -> Result<SearchAnswer, Error> {
    answer(request, Times::Given(times), monitor)
}

fn answer(request: &Request, times: Times, monitor: &dyn Monitor) -> Result<SearchAnswer, Error> {
    let request = &request.clone().timed();
    Runtimes::check(request)?;
    let (baseline, images) = designs::baseline(request, monitor)?;
    if verdicts::apply(&baseline) {
        return judged(request, &baseline, monitor);
    }
    checks::options(request, &baseline)?;
    if request.as_printed(&baseline) {
        checks::as_printed(request)?;
        return Ok(SearchAnswer::Paper(Box::new(paper::run(request, &baseline, monitor)?)));
    }
    checks::whole_network(request)?;
    Ok(SearchAnswer::Designs(Box::new(designs::run(request, &baseline, images, times, monitor)?)))
}

/// Both objectives between the narrowest widths, for a curve that is smooth there.
///
/// # Errors
///
/// As those of [`run`].
pub fn fine_curve(request: &Request) -> Result<Vec<FinePoint>, Error> {
    let (baseline, images) = designs::baseline(request, &Silent)?;
    if request.as_printed(&baseline) {
        return Ok(vec![]);
    }
    Ok(designs::question(request, &baseline).images(images).fine_curve()?)
}

/// The verdicts on a transformer's layers; of the options only the head widths apply.
fn judged(request: &Request, baseline: &Spec, monitor: &dyn Monitor) -> Result<SearchAnswer, Error> {
    let usual = Request {
        model: request.model.clone(),
        widths: request.widths.clone(),
        seed: request.seed,
        ..Request::default()
    };
    let fields = |request: &Request| serde_json::to_value(request).map_err(Error::Json);
    let (given, usual) = (fields(request)?, fields(&usual)?);
    let other =
        given.as_object().and_then(|given| given.iter().find(|(name, value)| usual[*name] != **value));
    if let Some((name, _)) = other {
        return Err(invalid![
            option(name),
            format!(
                " does not apply to {}, whose layers get verdicts instead of designs; leave it out",
                baseline.name()
            )
        ]
        .into());
    }
    let found = verdicts::run(baseline, request.widths.as_ref(), request.seed, monitor)?;
    Ok(SearchAnswer::Verdicts(Box::new(found)))
}

impl SearchAnswer {
    /// What designs of their own for every stage gain, where they were asked for.
    pub fn stage_cards(&self) -> Option<[Card; 2]> {
        match self {
            Self::Designs(designs) => designs.stage_cards(),
            Self::Paper(_) | Self::Verdicts(_) => None,
        }
    }

    fn inner(&self) -> &dyn Paged {
        match self {
            Self::Designs(designs) => designs.as_ref(),
            Self::Paper(paper) => paper.as_ref(),
            Self::Verdicts(verdicts) => verdicts.as_ref(),
        }
    }
}

impl Answer for SearchAnswer {
    fn text(&self, style: &Style) -> String {
        self.inner().text(style)
    }
    fn table(&self) -> Table {
        self.inner().table()
    }
    fn summary(&self) -> (Vec<String>, Table) {
        self.inner().summary()
    }
    fn cards(&self) -> Vec<Card> {
        self.inner().cards()
    }
    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        self.inner().figures()
    }
}

impl Paged for SearchAnswer {
    fn page(&self, provenance: Provenance) -> Result<Page, Error> {
        self.inner().page(provenance)
    }
}
