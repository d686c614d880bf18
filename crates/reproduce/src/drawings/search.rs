//! Algorithm 2 as the paper draws it (Fig. 3), and what its two optima are in a sentence each.

use collegial_arch::Cost;
use collegial_report::{Axis, Band, Figure, Line, Mark, VerticalRange, significant};
use collegial_search::paper::Answer;

/// What the primal's design gains.
pub fn primal_sentence(answer: &Answer) -> String {
    let primal = &answer.primal;
    format!(
        "{}: {} kernel variance than {} at {} of its {}",
        primal.design,
        times(primal.variance_reduction, "less", "more"),
        answer.baseline,
        percent(1.0 / primal.real_efficiency),
        answer.cost_unit,
    )
}

/// What the dual's design saves.
pub fn dual_sentence(answer: &Answer) -> String {
    let (dual, cost) = (&answer.dual, answer.cost_unit);
    format!(
        "{}: {} {cost} than {} at {} of its kernel variance",
        dual.design,
        times(dual.real_efficiency, fewer(answer), "more"),
        answer.baseline,
        percent(1.0 / dual.variance_reduction),
    )
}

/// "3.7 times less", or "1.2 times more" where it is the other way round.
fn times(ratio: f64, less: &str, more: &str) -> String {
    if ratio >= 1.0 {
        format!("{} times {less}", significant(ratio, 3))
    } else {
        format!("{} times {more}", significant(1.0 / ratio, 3))
    }
}

/// Parameters are fewer, time is less.
fn fewer(answer: &Answer) -> &'static str {
    if answer.cost == Cost::Time { "less" } else { "fewer" }
}

/// A share in per cent, with a decimal where it has one.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if (value - value.round()).abs() < 0.05 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

/// The primal objective over the widths (the paper's Fig. 3 a).
pub fn primal_figure(answer: &Answer) -> Figure {
    let points = &answer.curve;
    let best = &answer.primal;
    let objective = points.iter().map(|point| (point.width as f64, point.primal_objective));
    let band = points
        .iter()
        .map(|point| (point.width as f64, point.primal_objective_ci[0], point.primal_objective_ci[1]));
    let at = points
        .iter()
        .find(|point| point.width == best.width)
        .map_or(f64::NAN, |point| point.primal_objective);
    let mut figure = Figure::new("Primal: variance at the baseline's cost")
        .x(Axis::log("width n of a member"))
        .y(Axis::log("kernel variance of the ensemble"))
        .with(flat_range(answer));
    if uncertain(answer) {
        figure = figure.with(Band::new("95 % interval", band));
    }
    figure
        .with(Line::new("Var(n) / m(n)", objective))
        .with(Mark::new(best.design.to_string(), best.width as f64, at).drop_lines())
        .describe(primal_sentence(answer))
}

/// The efficiency over the widths (the paper's Fig. 3 b).
pub fn dual_figure(answer: &Answer) -> Figure {
    let points = &answer.curve;
    let best = &answer.dual;
    let efficiency = points.iter().map(|point| (point.width as f64, point.efficiency));
    let band =
        points.iter().map(|point| (point.width as f64, point.efficiency_ci[0], point.efficiency_ci[1]));
    let mut figure = Figure::new("Dual: efficiency at the baseline's variance")
        .x(Axis::log("width n of a member"))
        .y(Axis::linear(format!("efficiency ρ: times {} {}", fewer(answer), answer.cost_unit)))
        .with(flat_range(answer));
    if uncertain(answer) {
        figure = figure.with(Band::new("95 % interval", band));
    }
    figure
        .with(Line::new("ρ(n)", efficiency))
        .with(Mark::new(best.design.to_string(), best.width as f64, best.efficiency).drop_lines())
        .describe(dual_sentence(answer))
}

fn flat_range(answer: &Answer) -> VerticalRange {
    let flat = &answer.flat;
    VerticalRange::new(format!("within {}", percent(flat.tolerance)), flat.low as f64, flat.high as f64)
}

/// Whether there is an interval to draw.
fn uncertain(answer: &Answer) -> bool {
    answer.curve.iter().any(|point| point.primal_objective_ci[0] < point.primal_objective_ci[1])
}
