//! `search`: which design is best, the main job: the whole network's integer designs, or Algorithm
//! 2 as printed.

mod called;
mod designs;
mod paper;

use std::borrow::Cow;

pub use collegial_arch::Cost;
use collegial_arch::Spec;
use collegial_report::{Card, Figure, Page, Provenance, Table};
use collegial_search::Limits;
pub use collegial_search::{BlockInputs, Rule, VarianceSource};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crate::ntk::NormPolicy;
use crate::{Answer, Budget, Error, Model, Monitor, Refusal, Style, Widths};
pub use designs::{Checked, Designs};
pub use paper::Paper;

/// Which baseline is to be split, and what counts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The baseline.
    #[serde(flatten)]
    pub model: Model,
    /// Algorithm 2 as printed: the law on one block, real-valued m, then the integer correction. So
    /// are all requests that only it can answer: `alpha`, `trials`, the law's or measured
    /// variances, and `free_widths` of modules that are not blocks.
    pub paper: bool,
    /// Alpha of the variance law; by default it is fitted on the spot.
    pub alpha: Option<f64>,
    /// The cost β of a member.
    pub cost: Cost,
    /// Where the variance comes from; by default theory where it has a closed form, else draws.
    pub variance: Option<VarianceSource>,
    /// What the blocks of a network see.
    pub block_inputs: BlockInputs,
    /// Directory of a data set whose images come in, in place of natural ones by two constants;
    /// class count and image size are the data set's.
    pub data: Option<PathBuf>,
    /// How the primal meets the budget; by default it stays under it, and is the nearest to it as
    /// printed.
    pub rule: Option<Rule>,
    /// What the whole network may cost; by default what the baseline costs.
    pub budget: Option<Budget>,
    /// A CSV file of times that were measured elsewhere, with columns `model` (a name or a design)
    /// and `seconds`; time is then the cost, unless another one than parameters is asked for.
    pub timings: Option<PathBuf>,
    /// Widths to look at; by default all up to the baseline's.
    pub widths: Option<Widths>,
    /// Only widths that are a multiple of this.
    pub multiple_of: usize,
    /// At most this many members.
    pub max_multiplicity: Option<usize>,
    /// Also look at members whose layers have widths of their own.
    pub free_widths: bool,
    /// Also look at designs of every stage's own.
    pub per_stage: bool,
    /// Also draw the whole network's kernel, for the baseline and both optima.
    pub check: bool,
    /// How many initialisations a check draws; by default 100.
    pub draws: Option<u64>,
    /// What becomes of batch norms in a check; by default they are removed.
    pub norm: Option<NormPolicy>,
    /// Draws per width when alpha is fitted; by default 2000.
    pub trials: Option<u64>,
    /// Standard error of every measured variance, as a share of it; by default 0.01.
    pub precision: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            model: Model::default(),
            paper: false,
            alpha: None,
            cost: Cost::Params,
            variance: None,
            block_inputs: BlockInputs::default(),
            data: None,
            rule: None,
            budget: None,
            timings: None,
            widths: None,
            multiple_of: 1,
            max_multiplicity: None,
            free_widths: false,
            per_stage: false,
            check: false,
            draws: None,
            norm: None,
            trials: None,
            precision: None,
            seed: 0,
        }
    }
}

impl Request {
    /// Given times are what is charged for.
    fn timed(self) -> Self {
        let cost = if self.timings.is_some() && self.cost == Cost::Params { Cost::Time } else { self.cost };
        Self { cost, ..self }
    }

    /// Which designs may be chosen.
    fn limits(&self) -> Limits {
        Limits::new()
            .cost(self.cost)
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
pub enum Found {
    /// Of the whole network, as integer designs.
    Designs(Box<Designs>),
    /// Of one block, as printed.
    Paper(Box<Paper>),
}

/// Searches.
///
/// # Errors
///
/// Where there is nothing to split, nothing fits the budget, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<Found, Error> {
    let request = &request.clone().timed();
    let (baseline, images) = designs::baseline(request, monitor)?;
    if !request.check && (request.draws.is_some() || request.norm.is_some()) {
        return Err(Refusal::DrawsWithoutCheck.into());
    }
    if request.widths.is_some() && (request.free_widths || request.per_stage) {
        return Err(Refusal::WidthsOfStages.into());
    }
    if request.timings.is_some() && request.cost != Cost::Time {
        return Err(Refusal::TimingsWithoutTime.into());
    }
    if request.cost == Cost::Time && request.budget.is_some() {
        return Err(Refusal::BudgetOfTime.into());
    }
    if request.as_printed(&baseline) {
        if request.data.is_some() {
            return Err(Refusal::DataAsPrinted.into());
        }
        return Ok(Found::Paper(Box::new(paper::run(request, &baseline, monitor)?)));
    }
    if request.precision.is_some() && request.variance == Some(VarianceSource::Exact) {
        return Err(Refusal::PrecisionWithoutMeasuring.into());
    }
    Ok(Found::Designs(Box::new(designs::run(request, &baseline, images, monitor)?)))
}

impl Found {
    fn inner(&self) -> &dyn Answer {
        match self {
            Self::Designs(designs) => designs.as_ref(),
            Self::Paper(paper) => paper.as_ref(),
        }
    }
}

impl Answer for Found {
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
    fn page(&self, provenance: Provenance) -> Option<Page> {
        self.inner().page(provenance)
    }
}
