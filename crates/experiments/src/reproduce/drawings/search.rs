//! Algorithm 2 as the paper draws it (Fig. 3), and what its two optima are in a sentence each.

use collegial_arch::{Cost, Design};
use collegial_report::{
    Axis, Band, Figure, Line, Mark, Marker, Point, Points, Stroke, Tone, VerticalRange, significant,
};
use collegial_search::paper::{Analysed, Answer};
use collegial_search::{CurvePoint, Problem, VarianceSource};

/// What the primal's design gains: of which block and by which variance, the exact one beside it.
pub fn primal_sentence(answer: &Answer) -> String {
    let primal = &answer.primal;
    let exactly = primal.exact_variance_reduction.filter(|_| by_law(answer));
    let exactly =
        exactly.map_or(String::new(), |ratio| match (ratio >= 1.0, primal.variance_reduction >= 1.0) {
            (true, true) => format!("; exactly {}", significant(ratio, 3)),
            _ => format!("; exactly {}", times(ratio, "less", "more")),
        });
    let than = match block(answer) {
        Some(block) => format!("of {block} than in {}", answer.baseline),
        None => format!("than {}", answer.baseline),
    };
    format!(
        "{}: {} kernel variance {than}, {}{exactly}; {} of the {}",
        primal.design,
        times(primal.variance_reduction, "less", "more"),
        source(answer),
        percent(1.0 / primal.real_efficiency),
        answer.cost_unit,
    )
}

/// What the dual's design saves, and at which variance, the exact one beside it.
pub fn dual_sentence(answer: &Answer) -> String {
    let (dual, cost) = (&answer.dual, answer.cost_unit);
    let exactly = dual.exact_variance_reduction.filter(|_| by_law(answer));
    let exactly = exactly.map_or(String::new(), |ratio| format!("; exactly {}", percent(1.0 / ratio)));
    let variance = match block(answer) {
        Some(block) => format!("the kernel variance of {block}"),
        None => "its kernel variance".to_owned(),
    };
    format!(
        "{}: {} {cost} than {} at {} of {variance}, {}{exactly}",
        dual.design,
        times(dual.real_efficiency, fewer(answer), "more"),
        answer.baseline,
        percent(1.0 / dual.variance_reduction),
        source(answer),
    )
}

fn by_law(answer: &Answer) -> bool {
    answer.variance_source == VarianceSource::Law
}

/// Which block of a network the analysis is of; a module is analysed whole.
pub fn block(answer: &Answer) -> Option<&'static str> {
    matches!(answer.analysed, Analysed::Block { .. }).then_some("the block of stage 1")
}

/// Where the variance comes from, in short.
fn source(answer: &Answer) -> &'static str {
    match answer.variance_source {
        VarianceSource::Law if answer.alpha_ci.is_some() => "by the fitted law",
        VarianceSource::Law => "by the law",
        VarianceSource::Measured => "as sampled",
        VarianceSource::Exact => "exactly",
    }
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
pub fn fewer(answer: &Answer) -> &'static str {
    if answer.cost == Cost::Time { "less" } else { "fewer" }
}

/// A share in per cent, with a decimal where it has one.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if (value - value.round()).abs() < 0.05 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

/// The primal objective over the widths (the paper's Fig. 3 a); `exact` is the same question with
/// the closed form, where the answer is by the law.
pub fn primal_figure(answer: &Answer, exact: Option<&Answer>) -> Figure {
    let best = &answer.primal;
    let at = |point: &CurvePoint| (point.width as f64, point.primal_objective);
    let interval = |point: &CurvePoint| point.primal_objective_ci;
    let mut figure = Figure::new("Kernel variance at the same cost")
        .file("same-cost")
        .x(Axis::log("width n of a member"))
        .y(Axis::log("kernel variance of the ensemble"));
    figure = curves(figure, answer, exact, Tone::Cost, "Var(n) / m(n)", at, interval);
    let law = if by_law(answer) { " by the law" } else { "" };
    let whose = if block(answer).is_some() { " of the block" } else { "" };
    let design = |design: Design, variance: f64, cost: f64| {
        let times = times(answer.baseline_variance / variance, "less", "more");
        Point::new(design.width as f64, variance).title(format!(
            "{design}: {times} variance{whose}{law}, {} of the {}",
            percent(1.0 / cost),
            answer.cost_unit
        ))
    };
    let others = answer.nearby.iter().filter(|row| row.problem == Problem::Primal);
    figure
        .with(
            Points::new(WHOLE, others.map(|row| design(row.design, row.variance, row.real_efficiency)))
                .marker(Marker::Circle)
                .tone(Tone::Cost),
        )
        .with(baseline(answer, answer.baseline_variance))
        .with(Mark::new(best.design.to_string(), best.width as f64, best.variance).tone(Tone::Cost))
        .describe(primal_sentence(answer))
}

/// The efficiency over the widths (the paper's Fig. 3 b); `exact` as for [`primal_figure`].
pub fn dual_figure(answer: &Answer, exact: Option<&Answer>) -> Figure {
    let best = &answer.dual;
    let at = |point: &CurvePoint| (point.width as f64, point.efficiency);
    let mut figure =
        Figure::new(format!("Times {} {} at the same variance", fewer(answer), answer.cost_unit))
            .file("same-variance")
            .x(Axis::log("width n of a member"))
            .y(Axis::linear("efficiency ρ of the block"));
    figure = curves(figure, answer, exact, Tone::Variance, "ρ(n)", at, |point| point.efficiency_ci);
    // ρ of the block with a whole m: the budget over m β(n).
    let of_block = |design: Design| {
        let point = answer.curve.iter().find(|point| point.width == design.width)?;
        Some(point.efficiency * point.dual_multiplicity / design.multiplicity as f64)
    };
    let design = |design: Design, cost: f64| {
        let times = times(cost, fewer(answer), "more");
        let title = format!("{design}: {times} {} of the whole network", answer.cost_unit);
        Some(Point::new(design.width as f64, of_block(design)?).title(title))
    };
    let others = answer.nearby.iter().filter(|row| row.problem == Problem::Dual);
    let mark = Mark::new(
        best.design.to_string(),
        best.width as f64,
        of_block(best.design).unwrap_or(best.efficiency),
    );
    figure
        .with(
            Points::new(WHOLE, others.filter_map(|row| design(row.design, row.real_efficiency)))
                .marker(Marker::Circle)
                .tone(Tone::Variance),
        )
        .with(baseline(answer, 1.0))
        .with(mark.tone(Tone::Variance))
        .describe(dual_sentence(answer))
}

/// The legend's name of designs with a whole number of members.
const WHOLE: &str = "whole members";

/// The curve with its interval, the flat region behind it and the exact curve over it.
fn curves(
    figure: Figure,
    answer: &Answer,
    exact: Option<&Answer>,
    tone: Tone,
    name: &str,
    at: impl Fn(&CurvePoint) -> (f64, f64),
    interval: impl Fn(&CurvePoint) -> [f64; 2],
) -> Figure {
    let mut figure = figure.with(flat_range(answer));
    if uncertain(answer) {
        let band = answer.curve.iter().map(|point| {
            let [low, high] = interval(point);
            (point.width as f64, low, high)
        });
        figure = figure.with(Band::new("95 % interval", band).tone(tone));
    }
    let (stroke, ink, name) = match exact {
        Some(_) => (Stroke::Dashed, Tone::Law, format!("{name} by the law")),
        None => (Stroke::Solid, tone, name.to_owned()),
    };
    figure = figure.with(Line::new(name, answer.curve.iter().map(&at)).stroke(stroke).tone(ink));
    if let Some(exact) = exact {
        let line = Line::new("exact", exact.curve.iter().map(at)).stroke(Stroke::Solid);
        figure = figure.with(line.tone(tone));
    }
    figure
}

fn baseline(answer: &Answer, value: f64) -> Points {
    let point = Point::new(answer.baseline_width as f64, value).label(answer.baseline.clone());
    let point = point.title(format!("{}, the baseline", answer.baseline));
    Points::new("baseline", [point]).marker(Marker::Ring).tone(Tone::Base)
}

/// Three digits, as a power of ten where more would be written than is meant.
fn short(value: f64) -> String {
    if value < 1e5 { significant(value, 3) } else { format!("{value:.2e}") }
}

/// How far the law's variance of a member is from the exact one, at the best width and where it is
/// farthest.
pub fn gap_sentence(law: &Answer, exact: &Answer) -> Option<String> {
    let of = |width: usize| exact.curve.iter().find(|point| point.width == width);
    let off = |point: &CurvePoint| of(point.width).map(|exact| point.variance / exact.variance - 1.0);
    let said = |point: &CurvePoint| {
        let off = match off(point)? {
            off if off > 1.0 => format!("{} times", short(1.0 + off)),
            off => format!("{:+.1} %", 100.0 * off),
        };
        let variances = [point.variance, of(point.width)?.variance];
        let [by_law, exact] = variances.map(short);
        Some(format!("Var({}) is {by_law} by the law and {exact} exactly ({off})", point.width))
    };
    let best = law.curve.iter().find(|point| point.width == law.primal.width)?;
    let far = |point: &CurvePoint| off(point).map_or(0.0, f64::abs);
    let farthest = law.curve.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let most = match farthest.width == best.width {
        true => ", nowhere farther off".to_owned(),
        false => format!("; farthest off: {}", said(farthest)?),
    };
    Some(format!("{}{most}", said(best)?))
}

fn flat_range(answer: &Answer) -> VerticalRange {
    let flat = &answer.flat;
    VerticalRange::new(format!("within {}", percent(flat.tolerance)), flat.low as f64, flat.high as f64)
}

/// Whether there is an interval to draw.
fn uncertain(answer: &Answer) -> bool {
    answer.curve.iter().any(|point| point.primal_objective_ci[0] < point.primal_objective_ci[1])
}
