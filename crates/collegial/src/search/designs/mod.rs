//! The best integer designs of a whole network.

mod check;
mod evidence;
mod figures;
mod next;
mod page;
mod pareto;
mod sentences;
mod tables;
mod timings;
mod whole_members;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::PathBuf;

use collegial_arch::{Cost, Design, Spec};
use collegial_core::Instant;
use collegial_ntk::covariance::Images;
use collegial_report::{COLUMNS, Card, Figure, Table};
use collegial_search::{DesignAnswer, DesignSearch, Freedom, StageAnswer, VarianceSource, Verdict};
use collegial_train::data::{Dataset, Part};
use collegial_train::{Error as TrainError, spec_for};
use serde::Serialize;

use super::{Request, called};
use crate::style::wrapped;
use crate::{Answer, Error, Message, Monitor, Style};
pub use check::Checked;
pub(super) use check::FEWEST;
pub use evidence::Told;
pub(super) use timings::Times;

/// Both optima of the whole network.
#[derive(Clone, Debug, Serialize)]
pub struct Designs {
    /// What splitting is a question of: here of the variance.
    pub verdict: Verdict,
    /// The optima, their neighbours and the curve.
    #[serde(flatten)]
    pub answer: DesignAnswer,
    /// The primal's whole name, `resnext29-66x6d`: with the question's own settings (`classes`, ...)
    /// it is that network. `None` where no name is, as for a TOML spec with channels of its own.
    pub primal_model: Option<String>,
    /// The dual's.
    pub dual_model: Option<String>,
    /// The optima with designs or widths of their own, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageAnswer>,
    /// What draws of the whole networks say, where asked for: the baseline, the primal, the dual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Vec<Checked>>,
    /// What others' trainings say about a step like that to the primal; `None` where they say
    /// nothing.
    pub evidence: Option<Told>,
    /// What to do with it.
    #[serde(skip)]
    next: Vec<Message>,
    /// The baseline.
    #[serde(skip)]
    spec: Spec,
    /// The data set whose images come in, where one was given.
    pub data: Option<PathBuf>,
    /// Whether the budget is what the baseline costs.
    #[serde(skip)]
    own_budget: bool,
    /// The standard error of sampled variances, as a share of them.
    #[serde(skip)]
    precision: f64,
    /// Seed of the draws, where there were any.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Training images of a data set that its covariance is measured on.
const IMAGES: usize = 200;

/// The standard error of sampled variances by default, as a share of them.
pub(super) const PRECISION: f64 = 0.01;

/// The baseline, made to measure for the data set where one is given, and the images that come in.
pub(super) fn baseline(request: &Request, monitor: &dyn Monitor) -> Result<(Spec, Images), Error> {
    let (bare, overrides) = (request.model.bare_spec_noted(monitor)?, request.model.overrides());
    let Some(directory) = &request.data else { return Ok((bare.with(&overrides)?, Images::natural())) };
    let dataset = Dataset::open(directory).map_err(TrainError::from)?;
    let spec = spec_for(&bare, &overrides, &dataset)?;
    let count = IMAGES.min(dataset.train().len());
    let images = dataset.first(Part::Train, count).map_err(TrainError::from)?;
    let images = Images::measured(spec.graph()?.input_shape(), &images)?;
    Ok((spec, images))
}

/// Searches all (m, n).
pub(super) fn run(
    request: &Request,
    baseline: &Spec,
    images: Images,
    times: Times,
    monitor: &dyn Monitor,
) -> Result<Designs, Error> {
    let start = Instant::now();
    let mut search = question(request, baseline).images(images);
    if request.cost.has(Cost::Time) {
        search = timings::timed(request, baseline, search, times, monitor)?;
    }
    let mut answer = search.run_watched(monitor)?;
    answer.baseline = called::baseline(&request.model, baseline);
    let stages = freedom(request).map(|freedom| search.stages(freedom)).transpose()?;
    let check = match request.check {
        true => Some(check::run(request, baseline, &answer, monitor)?),
        false => None,
    };
    let name = |design: Design| Ok::<_, Error>(called::known(&request.model, &baseline.with_design(design)?));
    let mut designs = Designs {
        verdict: Verdict::Variance,
        primal_model: name(answer.primal.design)?,
        dual_model: name(answer.dual.design)?,
        next: next::steps(request, baseline, &answer, stages.as_ref())?,
        spec: baseline.clone(),
        stages,
        check,
        evidence: None,
        own_budget: request.budget.is_none(),
        data: request.data.clone(),
        precision: request.precision.unwrap_or(PRECISION),
        answer,
        seed: request.seed,
        seconds: start.elapsed().as_secs_f64(),
    };
    designs.evidence = designs.told(baseline);
    Ok(designs)
}

/// Whether blocks have gates, which the theory does not know.
fn gated(baseline: &Spec) -> bool {
    match baseline {
        Spec::Regnet(network) => network.squeeze.is_some(),
        Spec::Resnext(network) => network.squeeze.is_some(),
        _ => false,
    }
}

pub(super) fn question(request: &Request, baseline: &Spec) -> DesignSearch {
    let search = DesignSearch::new(baseline.clone())
        .within(request.limits())
        .block_inputs(request.block_inputs)
        .parametrisation(request.parametrisation)
        .sampling(request.precision.unwrap_or(PRECISION), request.seed);
    if request.variance == Some(VarianceSource::Exact) { search.exact() } else { search }
}

fn freedom(request: &Request) -> Option<Freedom> {
    match (request.per_stage, request.free_widths) {
        (true, true) => Some(Freedom::StagesAndWidths),
        (true, false) => Some(Freedom::Stages),
        (false, true) => Some(Freedom::Widths),
        (false, false) => None,
    }
}

impl Answer for Designs {
    fn text(&self, style: &Style) -> String {
        let mut text = String::new();
        let strong = |text: &mut String, sentences: &[String]| {
            for line in sentences.iter().flat_map(|sentence| wrapped(sentence)) {
                let _ = writeln!(text, "{}", style.strong(&line));
            }
        };
        strong(&mut text, &self.sentences());
        let _ = write!(text, "\n{}\n", self.designs_table().to_text());
        if let Some(table) = self.stages_table() {
            strong(&mut text, &self.stage_sentences());
            let _ = write!(text, "\n{}\n", table.to_text());
        }
        if let Some(table) = self.timings_table() {
            strong(&mut text, &self.timing_sentences());
            let _ = write!(text, "\n{}\n", table.to_text());
        }
        if let Some(table) = self.check_table() {
            strong(&mut text, &self.check_sentences());
            let _ = write!(text, "\n{}\n", table.to_text());
        }
        let next = next::indented(&self.next).flat_map(|message| message.lines(style.rendering, COLUMNS, 8));
        for line in self.reading().iter().flat_map(|line| wrapped(line)).chain(next) {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn table(&self) -> Table {
        super::paper::view::curve_table(&self.answer.curve)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let sentences =
            [self.sentences(), self.stage_sentences(), self.timing_sentences(), self.check_sentences()]
                .concat();
        (sentences, self.designs_table())
    }

    fn cards(&self) -> Vec<Card> {
        self.both_cards().into()
    }

    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        let curves = [("primal.svg".into(), self.primal_figure()), ("dual.svg".into(), self.dual_figure())];
        let fronts = self.fronts().map(|(cost, figure)| (format!("pareto-{cost}.svg").into(), figure));
        curves.into_iter().chain(fronts).collect()
    }
}
