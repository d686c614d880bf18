//! Algorithm 2 as printed: the law on the block of the first stage, a real-valued m, then the
//! integer correction.

pub(super) mod page;
pub(super) mod view;

use std::borrow::Cow;

use collegial_arch::{Module, Spec};
use collegial_core::Instant;
use collegial_experiments::reproduce::drawings;
use collegial_nn::Parametrisation;
use collegial_ntk::Fit;
use collegial_ntk::fit::{Measurements, Method, Sampling, default_widths, measure_variance};
use collegial_report::{Card, Figure, Page, Provenance, Table};
use collegial_search::paper::{
    Answer as Optima, Exact, Law, Measured, Search, Variance, free_widths, per_stage,
};
use collegial_search::{ScoredBlocks, VarianceSource};
use serde::Serialize;

use super::{Request, called};
use crate::message::{invalid, option, option_with, verb};
use crate::style::wrapped;
use crate::{Answer, Error, InvalidRequest, Monitor, Paged, Style, to_json};

/// Draws per width of the fit, as the paper has them.
pub(super) const TRIALS: u64 = 2000;

/// Both optima, and the fit behind them.
#[derive(Clone, Debug, Serialize)]
pub struct Paper {
    /// The optima, their curve and their neighbours.
    #[serde(flatten)]
    pub answer: Optima,
    /// The same by the closed form, where the law is the source and there is one.
    #[serde(skip)]
    exact: Option<Optima>,
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
pub(super) fn run(request: &Request, baseline: &Spec, monitor: &dyn Monitor) -> Result<Paper, Error> {
    let source = source(request, baseline);
    check(request, source)?;
    let question = Search::new(baseline.clone()).within(request.limits());
    let start = Instant::now();
    let (variance, fit) = variance(request, source, &question, monitor)?;
    let mut answer = question.run_watched(variance.as_ref(), monitor)?;
    answer.baseline = called::baseline(&request.model, baseline);
    if request.per_stage {
        answer.per_stage =
            Some(per_stage(baseline, answer.primal.width, request.cost.first(), variance.as_ref())?);
    }
    if request.free_widths {
        answer.free_widths =
            Some(free_widths(&question.module()?, request.cost.first(), variance.as_ref(), monitor)?);
    }
    let exact = match source {
        VarianceSource::Law => match question.run_watched(&Exact, monitor) {
            Err(error) if error.is_interruption() => return Err(error.into()),
            exact => exact.ok(),
        },
        VarianceSource::Measured | VarianceSource::Exact => None,
    };
    Ok(Paper { answer, exact, fit, seed: request.seed, seconds: start.elapsed().as_secs_f64() })
}

/// Where the variance comes from: the law as printed, unless another source is requested; where
/// only free widths brought us here, the closed form if there is one.
pub(super) fn source(request: &Request, baseline: &Spec) -> VarianceSource {
    let printed = request.paper || request.alpha.is_some() || request.trials.is_some();
    let closed_form = || {
        baseline.module().is_some_and(|module| ScoredBlocks::of_module(&module, Parametrisation::Ntk).is_ok())
    };
    match request.variance {
        Some(source) => source,
        None if !printed && closed_form() => VarianceSource::Exact,
        None => VarianceSource::Law,
    }
}

/// Refuses fields that would otherwise be passed over.
fn check(request: &Request, source: VarianceSource) -> Result<(), InvalidRequest> {
    if request.check {
        return Err(invalid![
            option("check"),
            " draws whole networks, which ",
            option("paper"),
            " knows nothing of; leave one of them out"
        ]);
    }
    let limited = request.multiple_of != 1 || request.max_multiplicity.is_some();
    if (request.free_widths || request.per_stage) && limited {
        return Err(invalid![
            "as printed, ",
            option("free_widths"),
            " and ",
            option("per_stage"),
            " know neither ",
            option("multiple_of"),
            " nor ",
            option("max_multiplicity"),
            "; leave them out"
        ]);
    }
    if request.alpha.is_some() && source != VarianceSource::Law {
        return Err(invalid![
            option("alpha"),
            " belongs to ",
            option_with("variance", "law"),
            "; leave one of them out"
        ]);
    }
    if request.precision.is_some() && source != VarianceSource::Measured {
        return Err(invalid![
            option("precision"),
            " belongs to ",
            option_with("variance", "measured"),
            "; for alpha itself see ",
            verb("fit", &["precision"])
        ]);
    }
    if request.per_stage && source == VarianceSource::Measured {
        return Err(invalid![
            option("per_stage"),
            " compares blocks of different shapes, which ",
            option_with("variance", "measured"),
            " has not measured; take law"
        ]);
    }
    Ok(())
}

/// The requested variance function, and the fit behind it if there is one.
fn variance(
    request: &Request,
    source: VarianceSource,
    question: &Search,
    monitor: &dyn Monitor,
) -> Result<(Box<dyn Variance>, Option<Fit>), Error> {
    let module = question.module()?;
    match (source, request.alpha) {
        (VarianceSource::Exact, _) => Ok((Box::new(Exact), None)),
        (VarianceSource::Measured, _) => {
            let mut widths = question.candidate_widths()?;
            widths.push(module.width()?);
            widths.sort_unstable();
            widths.dedup();
            let precision = request.precision.unwrap_or(0.01);
            let samples = measure_variance(&module, &widths, precision, request.seed, monitor)?;
            Ok((Box::new(Measured::new(&samples)), None))
        }
        (VarianceSource::Law, Some(alpha)) => Ok((Box::new(Law::new(alpha)?), None)),
        (VarianceSource::Law, None) => {
            let fit = fitted(&module, request, monitor)?;
            Ok((Box::new(Law::fitted(&fit)?), Some(fit)))
        }
    }
}

/// Algorithm 1 on the spot.
fn fitted(module: &Module, request: &Request, monitor: &dyn Monitor) -> Result<Fit, Error> {
    let sampling = Sampling { trials: request.trials.unwrap_or(TRIALS), ..Sampling::paper(request.seed) };
    let measurements = Measurements::take(module, &default_widths(module)?, &sampling, monitor)?;
    if monitor.stopped() {
        return Err(Error::Interrupted);
    }
    Ok(Fit::new(&measurements, Method::default())?)
}

impl Paper {
    /// Whether chance played a part.
    fn drawn(&self) -> bool {
        self.answer.alpha_ci.is_some() || self.answer.variance_source == VarianceSource::Measured
    }
}

impl Answer for Paper {
    fn text(&self, style: &Style) -> String {
        let answer = &self.answer;
        let mut text = String::new();
        for line in view::verdict(answer).iter().flat_map(|sentence| wrapped(sentence)) {
            text.push_str(&format!("{}\n", style.strong(&line)));
        }
        text.push('\n');
        text.push_str(&view::table(answer, self.exact.as_ref()).to_text());
        if let Some(stages) = view::stage_table(answer) {
            text.push_str(&format!("\neach stage by itself\n\n{}", stages.to_text()));
        }
        if let Some(sentence) = view::free_widths_sentence(answer) {
            text.push_str(&format!("\n{}\n", wrapped(&sentence).join("\n")));
        }
        let mut notes = vec![
            view::terms_sentence(answer),
            format!("analysed: {}", answer.analysed),
            view::source_sentence(answer),
            view::efficiency_sentence(answer),
        ];
        notes.extend(self.exact.as_ref().and_then(|exact| drawings::search::gap_sentence(answer, exact)));
        notes.extend(self.fit.as_ref().map(drawings::fit::verdict_sentence));
        let notes: Vec<String> = notes.iter().flat_map(|note| wrapped(note)).collect();
        text.push_str(&format!("\n{}\n{:.2} s\n", notes.join("\n"), self.seconds));
        text
    }

    fn table(&self) -> Table {
        view::curve_table(&self.answer.curve)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (view::verdict(&self.answer), view::table(&self.answer, self.exact.as_ref()))
    }

    fn cards(&self) -> Vec<Card> {
        view::cards(&self.answer).into()
    }

    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        let mut figures = vec![
            ("primal.svg".into(), drawings::search::primal_figure(&self.answer, self.exact.as_ref())),
            ("dual.svg".into(), drawings::search::dual_figure(&self.answer, self.exact.as_ref())),
        ];
        if let Some(fit) = &self.fit {
            figures.push(("alpha.svg".into(), drawings::fit::figure(fit)));
            figures.push(("residuals.svg".into(), drawings::fit::residual_figure(fit)));
        }
        figures
    }
}

impl Paged for Paper {
    fn page(&self, provenance: Provenance) -> Result<Page, Error> {
        let json = to_json(&self.answer)?;
        let provenance = Provenance { seed: self.drawn().then_some(self.seed), ..provenance };
        Ok(page::page(self, &json, provenance))
    }
}
