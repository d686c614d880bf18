//! `search`: Algorithm 2, the main job.

mod page;
mod view;

use std::time::Instant;

use collegial_arch::{Cost as Count, Module, Spec};
use collegial_ntk::Fit;
use collegial_ntk::fit::{Measurements, Method, Sampling, default_widths, measure_variance};
use collegial_report::{Figure, Page, Provenance, Table};
use collegial_reproduce::drawings;
pub use collegial_search::{Answer as Optima, Rule};
use collegial_search::{Exact, Law, Measured, Search, Time, Variance, free_widths, per_stage};
use serde::{Deserialize, Serialize};

use crate::{Answer, Error, Model, Monitor, Style, Widths, to_json};

/// Which baseline is to be split, and what counts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The baseline.
    #[serde(flatten)]
    pub model: Model,
    /// Alpha of the variance law; by default it is fitted on the spot.
    pub alpha: Option<f64>,
    /// What a member is charged for.
    pub cost: Cost,
    /// Where the variance comes from.
    pub variance: Source,
    /// How the primal's m is rounded.
    pub rule: Rule,
    /// What the whole network may cost; by default what the baseline costs.
    pub budget: Option<u64>,
    /// Widths to look at; by default all up to the baseline's.
    pub widths: Option<Widths>,
    /// Only widths that are a multiple of this.
    pub multiple_of: usize,
    /// At most this many members.
    pub max_multiplicity: Option<usize>,
    /// Also optimise every layer's width by itself instead of by one ratio.
    pub free_widths: bool,
    /// Also optimise each stage's block by itself.
    pub per_stage: bool,
    /// Draws per width when alpha is fitted.
    pub trials: u64,
    /// Standard error of every measured variance, as a share of it; by default 0.01.
    pub precision: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            model: Model::default(),
            alpha: None,
            cost: Cost::Params,
            variance: Source::Law,
            rule: Rule::Nearest,
            budget: None,
            widths: None,
            multiple_of: 1,
            max_multiplicity: None,
            free_widths: false,
            per_stage: false,
            trials: 2000,
            precision: None,
            seed: 0,
        }
    }
}

/// What a member is charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Cost {
    /// Trainable parameters.
    Params,
    /// Floating-point operations.
    Flops,
    /// Elements put out by convolutions and dense layers.
    Activations,
    /// Measured time of a training step on this machine (takes about half a minute; quiet machines only).
    Time,
}

impl Cost {
    /// The count behind it; a measured time is none.
    pub fn counted(self) -> Option<Count> {
        match self {
            Self::Params => Some(Count::Params),
            Self::Flops => Some(Count::Flops),
            Self::Activations => Some(Count::Activations),
            Self::Time => None,
        }
    }
}

/// Where the variance comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The law e^(alpha S) - 1.
    Law,
    /// Sampled at every width.
    Measured,
    /// Theory, for fully connected ReLU networks.
    Exact,
}

/// Both optima, and the fit behind them.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The optima, their curve and their neighbours.
    #[serde(flatten)]
    pub answer: Optima,
    /// The fit behind alpha, with its verdict on the law.
    pub fit: Option<Fit>,
    /// Seed of the draws.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Searches.
///
/// # Errors
///
/// Where there is nothing to split, nothing fits the budget, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<Found, Error> {
    let baseline = request.model.spec()?;
    check(request)?;
    let question = question(request, &baseline)?;
    let start = Instant::now();
    let (variance, fit) = variance(request, &question, monitor)?;
    let mut answer = question.run(variance.as_ref())?;
    if request.per_stage {
        answer.per_stage =
            Some(per_stage(&baseline, answer.primal.width, question.price(), variance.as_ref())?);
    }
    if request.free_widths {
        answer.free_widths = Some(free_widths(&question.module()?, question.price(), variance.as_ref())?);
    }
    Ok(Found { answer, fit, seed: request.seed, seconds: start.elapsed().as_secs_f64() })
}

/// Refuses fields that would otherwise be passed over.
fn check(request: &Request) -> Result<(), Error> {
    let refuse = |sentence: &str| Err(Error::request(sentence));
    if request.alpha.is_some() && request.variance != Source::Law {
        return refuse("`alpha=` belongs to `variance=law`; leave one of them out");
    }
    if request.precision.is_some() && request.variance != Source::Measured {
        return refuse("`precision=` belongs to `variance=measured`; for alpha itself see `fit(precision=)`");
    }
    if request.per_stage && request.variance == Source::Measured {
        return refuse(
            "`per_stage=` compares blocks of different shapes, which `variance=measured` has not measured; take law",
        );
    }
    Ok(())
}

fn question(request: &Request, baseline: &Spec) -> Result<Search, Error> {
    let question = Search::new(baseline.clone())
        .rule(request.rule)
        .budget(request.budget)
        .widths(request.widths.as_ref().map(|widths| widths.0.clone()))
        .multiple_of(request.multiple_of)
        .max_multiplicity(request.max_multiplicity);
    Ok(match request.cost.counted() {
        Some(count) => question.cost(count),
        None => {
            let time = Time::new(&question.module()?)?;
            question.cost(time)
        }
    })
}

/// The variance function that was asked for, and the fit behind it if there is one.
fn variance(
    request: &Request,
    question: &Search,
    monitor: &dyn Monitor,
) -> Result<(Box<dyn Variance>, Option<Fit>), Error> {
    let module = question.module()?;
    match (request.variance, request.alpha) {
        (Source::Exact, _) => Ok((Box::new(Exact), None)),
        (Source::Measured, _) => {
            let mut widths = question.candidate_widths()?;
            widths.push(module.width()?);
            widths.sort_unstable();
            widths.dedup();
            let precision = request.precision.unwrap_or(0.01);
            let samples = measure_variance(&module, &widths, precision, request.seed, monitor)
                .map_err(|error| if monitor.stopped() { Error::Interrupted } else { error.into() })?;
            Ok((Box::new(Measured::new(&samples)), None))
        }
        (Source::Law, Some(alpha)) => Ok((Box::new(Law::new(alpha)?), None)),
        (Source::Law, None) => {
            let fit = fitted(&module, request, monitor)?;
            Ok((Box::new(Law::fitted(&fit)?), Some(fit)))
        }
    }
}

/// Algorithm 1 on the spot.
fn fitted(module: &Module, request: &Request, monitor: &dyn Monitor) -> Result<Fit, Error> {
    let sampling = Sampling { trials: request.trials, ..Sampling::paper(request.seed) };
    let measurements = Measurements::take(module, &default_widths(module)?, &sampling, monitor)?;
    if monitor.stopped() {
        return Err(Error::Interrupted);
    }
    Ok(Fit::new(&measurements, Method::default())?)
}

impl Found {
    /// Whether chance played a part.
    fn drawn(&self) -> bool {
        self.answer.alpha_ci.is_some() || self.answer.variance_source == "measured"
    }
}

impl Answer for Found {
    fn json(&self) -> Result<String, Error> {
        to_json(self)
    }

    fn text(&self, style: &Style) -> String {
        let answer = &self.answer;
        let mut text = String::new();
        for sentence in view::verdict(answer) {
            text.push_str(&format!("{}\n", style.strong(&sentence)));
        }
        text.push_str(&format!("\n{}\n", drawings::search::dual_figure(answer).to_text(&style.sketch)));
        text.push_str(&view::table(answer).to_text());
        if let Some(stages) = view::stage_table(answer) {
            text.push_str(&format!("\neach stage by itself\n\n{}", stages.to_text()));
        }
        if let Some(sentence) = view::free_widths_sentence(answer) {
            text.push_str(&format!("\n{sentence}\n"));
        }
        let mut notes = vec![
            format!("analysed: {}", answer.analysed),
            view::source_sentence(answer),
            view::efficiency_sentence(answer),
        ];
        notes.extend(self.fit.as_ref().map(drawings::fit::verdict_sentence));
        text.push_str(&format!("\n{}\n{:.2} s\n", notes.join("\n"), self.seconds));
        text
    }

    fn table(&self) -> Table {
        view::curve_table(&self.answer)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (view::verdict(&self.answer), view::table(&self.answer))
    }

    fn figures(&self) -> Vec<(&'static str, Figure)> {
        let mut figures = vec![
            ("primal.svg", drawings::search::primal_figure(&self.answer)),
            ("dual.svg", drawings::search::dual_figure(&self.answer)),
        ];
        if let Some(fit) = &self.fit {
            figures.push(("alpha.svg", drawings::fit::figure(fit)));
            figures.push(("residuals.svg", drawings::fit::residual_figure(fit)));
        }
        figures
    }

    fn page(&self, provenance: Provenance) -> Option<Page> {
        let json = to_json(&self.answer).ok()?;
        let provenance = Provenance { seed: self.drawn().then_some(self.seed), ..provenance };
        Some(page::page(&self.answer, self.fit.as_ref(), &json, provenance))
    }
}
