//! The answer in sentences and tables.

use collegial_experiments::reproduce::drawings::search::{
    block, dual_sentence, fewer, percent, primal_sentence,
};
use collegial_report::{Align, Card, Table, Tone, grouped, significant};
use collegial_search::paper::{Analysed, Answer, Nearby};
use collegial_search::{CurvePoint, Problem, VarianceSource};

/// The answer in a few sentences.
pub fn verdict(answer: &Answer) -> Vec<String> {
    [vec![primal_sentence(answer), dual_sentence(answer)], beyond_cards(answer)].concat()
}

/// Both optima as numbers.
pub fn cards(answer: &Answer) -> [Card; 2] {
    let (primal, dual, unit) = (&answer.primal, &answer.dual, answer.cost_unit);
    let law = answer.variance_source == VarianceSource::Law;
    let whose = if matches!(answer.analysed, Analysed::Block { .. }) { "of the block " } else { "" };
    let by_law = if law { ", by the law" } else { "" };
    let exactly = match (primal.exact_variance_reduction, dual.exact_variance_reduction) {
        (Some(primal), Some(dual)) if law => {
            (format!("; exactly, {primal:.2} × less variance"), format!("; exactly, {}", percent(1.0 / dual)))
        }
        _ => (String::new(), String::new()),
    };
    [
        Card {
            question: "Same cost (primal)".into(),
            number: format!("{:.2} ×", primal.variance_reduction),
            about: format!("less kernel variance {whose}at initialisation{by_law}"),
            name: primal.design.to_string(),
            note: format!("{} of the {unit}{}", percent(1.0 / primal.real_efficiency), exactly.0),
            tone: Tone::Cost,
        },
        Card {
            question: "Same variance (dual)".into(),
            number: format!("{:.2} ×", dual.real_efficiency),
            about: format!("{} {unit} of the whole network", fewer(answer)),
            name: dual.design.to_string(),
            note: format!(
                "{} of the kernel variance{by_law}{}",
                percent(1.0 / dual.variance_reduction),
                exactly.1
            ),
            tone: Tone::Variance,
        },
    ]
}

/// What the numbers of both optima do not say.
pub fn beyond_cards(answer: &Answer) -> Vec<String> {
    let (primal, flat) = (&answer.primal, &answer.flat);
    let mut sentences = vec![];
    if primal.variance_reduction <= 1.0 {
        let of = block(answer).map_or(String::new(), |block| format!(" of {block}"));
        sentences.push(format!(
            "Nothing is gained: {} has no less variance{of} than {}.",
            primal.design, answer.baseline
        ));
    }
    if flat.low < flat.high {
        sentences.push(format!(
            "The optimum is flat: widths {} to {} are within {} of the best, {}.",
            flat.low,
            flat.high,
            percent(flat.tolerance),
            primal.width
        ));
    }
    sentences
}

/// The dual's efficiency on the block, with its interval where there is one.
pub fn efficiency_sentence(answer: &Answer) -> String {
    let efficiency = answer.dual.efficiency;
    let point = answer.curve.iter().find(|point| point.width == answer.dual.width);
    match point.map(|point| point.efficiency_ci) {
        Some([low, high]) if low < high => {
            let law = match answer.variance_source {
                VarianceSource::Law => " (of the sampling alone: how far the law is off is not in it)",
                _ => "",
            };
            format!(
                "rho of the block at m = {:.2}: {efficiency:.3}, 95 % interval {low:.3} to {high:.3}{law}",
                answer.dual.multiplicity
            )
        }
        _ => format!("rho of the block at m = {:.2}: {efficiency:.3}", answer.dual.multiplicity),
    }
}

/// The terms of the table.
pub fn terms_sentence(answer: &Answer) -> String {
    format!(
        "primal: least variance at the baseline's cost; dual: least cost at its variance; rho: the baseline's {} over the design's",
        answer.cost_unit
    )
}

/// What the closed form says of both optima, where the law was used.
pub fn exact_sentence(answer: &Answer) -> Option<String> {
    if answer.variance_source != VarianceSource::Law {
        return None;
    }
    let (primal, dual) = (answer.primal.exact_variance_reduction?, answer.dual.exact_variance_reduction?);
    Some(format!(
        "computed exactly instead of by the law, {} has {primal:.2} times less variance of the block, and {} has {} of the baseline's",
        answer.primal.design,
        answer.dual.design,
        percent(1.0 / dual)
    ))
}

/// Where the variance comes from.
pub fn source_sentence(answer: &Answer) -> String {
    match (answer.variance_source, answer.alpha, answer.alpha_ci) {
        (VarianceSource::Law, Some(alpha), Some([low, high])) => {
            format!(
                "variance by the law with alpha = {alpha:.3}, fitted (95 % interval {low:.3} to {high:.3})"
            )
        }
        (VarianceSource::Law, Some(alpha), None) => {
            format!("variance by the law with alpha = {alpha}, given")
        }
        (VarianceSource::Exact, _, _) => "variance computed exactly".into(),
        _ => "variance measured at every width".into(),
    }
}

/// The baseline, both optima and their neighbours, within 80 columns; `exact` is the same question
/// with the closed form, where the answer is by the law.
pub fn table(answer: &Answer, exact: Option<&Answer>) -> Table {
    let law = answer.variance_source == VarianceSource::Law;
    let mut columns = vec![
        ("", Align::Left),
        ("design", Align::Left),
        ("parameters", Align::Right),
        ("FLOPs", Align::Right),
        (if law { "by law" } else { "variance" }, Align::Right),
    ];
    if exact.is_some() {
        columns.push(("exactly", Align::Right));
    }
    columns.extend([("rho", Align::Right), ("off by", Align::Right)]);
    let mut table = Table::new(&columns);
    let mut push = |row: Row| {
        let flops = percent(row.counts[1] as f64 / answer.baseline_flops as f64);
        let mut cells =
            vec![row.name, row.design, grouped(row.counts[0]), flops, significant(row.variance, 3)];
        if exact.is_some() {
            cells.push(row.exact.map_or("n/a".into(), |exact| significant(exact, 3)));
        }
        cells.extend([format!("{:.2}", row.rho), row.off]);
        table.push_row(cells);
    };
    push(Row {
        name: "baseline".into(),
        design: format!("width {}", answer.baseline_width),
        counts: [answer.baseline_parameters, answer.baseline_flops],
        variance: answer.baseline_variance,
        exact: answer.baseline_exact_variance,
        rho: 1.0,
        off: String::new(),
    });
    for (name, problem, best) in
        [("primal", Problem::Primal, &answer.primal), ("dual", Problem::Dual, &answer.dual)]
    {
        push(Row {
            name: name.into(),
            design: best.design.to_string(),
            counts: [best.parameters, best.flops],
            variance: best.variance,
            exact: best.exact_variance,
            rho: best.real_efficiency,
            off: "0.0 %".into(),
        });
        for row in answer.nearby.iter().filter(|row| row.problem == problem) {
            push(Row {
                name: "  nearby".into(),
                design: row.design.to_string(),
                counts: [row.parameters, row.flops],
                variance: row.variance,
                exact: exact.and_then(|exact| exact_variance(row, exact)),
                rho: row.real_efficiency,
                off: format!("{:.1} %", 100.0 * row.distance),
            });
        }
    }
    table
}

/// A row of the table.
struct Row {
    name: String,
    design: String,
    counts: [u64; 2],
    variance: f64,
    exact: Option<f64>,
    rho: f64,
    off: String,
}

/// Var(n) / m by the closed form.
fn exact_variance(row: &Nearby, exact: &Answer) -> Option<f64> {
    let point = exact.curve.iter().find(|point| point.width == row.width)?;
    Some(point.variance / row.design.multiplicity as f64)
}

/// Both objectives at every width.
pub fn curve_table(curve: &[CurvePoint]) -> Table {
    let mut table = Table::new(&[
        ("width", Align::Right),
        ("cost_of_member", Align::Right),
        ("variance", Align::Right),
        ("primal_multiplicity", Align::Right),
        ("primal_objective", Align::Right),
        ("dual_multiplicity", Align::Right),
        ("efficiency", Align::Right),
    ]);
    for point in curve {
        table.push([
            point.width.to_string(),
            point.cost_of_member.to_string(),
            point.variance.to_string(),
            point.primal_multiplicity.to_string(),
            point.primal_objective.to_string(),
            point.dual_multiplicity.to_string(),
            point.efficiency.to_string(),
        ]);
    }
    table
}

/// Each stage's own optimum.
pub fn stage_table(answer: &Answer) -> Option<Table> {
    let stages = answer.per_stage.as_ref()?;
    let mut table = Table::new(&[
        ("stage", Align::Right),
        ("channels", Align::Right),
        ("baseline width", Align::Right),
        ("its own optimum", Align::Right),
        ("m primal", Align::Right),
        ("m dual", Align::Right),
        ("common width", Align::Right),
        ("gain", Align::Right),
    ]);
    for stage in stages {
        table.push([
            stage.stage.to_string(),
            stage.channels.to_string(),
            stage.baseline_width.to_string(),
            stage.width.to_string(),
            format!("{:.2}", stage.primal_multiplicity),
            format!("{:.2}", stage.dual_multiplicity),
            stage.common_width.to_string(),
            format!("{:.1} %", 100.0 * stage.gain),
        ]);
    }
    Some(table)
}

/// The optimum with every layer's width free.
pub fn free_widths_sentence(answer: &Answer) -> Option<String> {
    let free = answer.free_widths.as_ref()?;
    let widths: Vec<String> = free.widths.iter().map(ToString::to_string).collect();
    let proved = if free.proved { "" } else { " (the best found, not proved to be the best)" };
    Some(format!(
        "with a width of its own for every layer the best member has widths {}{proved}, and m = {:.2} at the baseline's cost. At its variance m = {:.2} costs {:.3} times less, against {:.3} with one ratio for all layers",
        widths.join(", "),
        free.primal_multiplicity,
        free.dual_multiplicity,
        free.efficiency,
        answer.dual.efficiency
    ))
}
