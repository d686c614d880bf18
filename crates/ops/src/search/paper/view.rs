//! The answer in sentences and tables.

use collegial_report::{Align, Card, Table, Tone, grouped, significant};
use collegial_reproduce::drawings::search::{dual_sentence, fewer, percent, primal_sentence};
use collegial_search::paper::{Analysed, Answer, Nearby, Optimum};
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
        sentences.push(format!(
            "There is nothing to gain here: whole members are too coarse for this budget, keep {}.",
            answer.baseline
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
            format!(
                "rho of the block at m = {:.2}: {efficiency:.3}, 95 % interval {low:.3} to {high:.3}",
                answer.dual.multiplicity
            )
        }
        _ => format!("rho of the block at m = {:.2}: {efficiency:.3}", answer.dual.multiplicity),
    }
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

/// The baseline, both optima and their neighbours.
pub fn table(answer: &Answer) -> Table {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("design", Align::Left),
        ("parameters", Align::Right),
        ("FLOPs", Align::Right),
        ("variance", Align::Right),
        ("rho", Align::Right),
        ("off by (block)", Align::Right),
    ]);
    table.push([
        "baseline".into(),
        answer.baseline.clone(),
        grouped(answer.baseline_parameters),
        grouped(answer.baseline_flops),
        significant(answer.baseline_variance, 4),
        "1.00".into(),
        String::new(),
    ]);
    let optimum = |table: &mut Table, problem: &str, optimum: &Optimum| {
        table.push([
            format!("{problem} optimum"),
            optimum.design.to_string(),
            grouped(optimum.parameters),
            grouped(optimum.flops),
            significant(optimum.variance, 4),
            format!("{:.2}", optimum.real_efficiency),
            "0.0 %".into(),
        ]);
    };
    for problem in [Problem::Primal, Problem::Dual] {
        match problem {
            Problem::Primal => optimum(&mut table, "primal", &answer.primal),
            Problem::Dual => optimum(&mut table, "dual", &answer.dual),
        }
        for row in answer.nearby.iter().filter(|row| row.problem == problem) {
            table.push(nearby_row(row));
        }
    }
    table
}

fn nearby_row(row: &Nearby) -> [String; 7] {
    [
        "  nearby".into(),
        row.design.to_string(),
        grouped(row.parameters),
        grouped(row.flops),
        significant(row.variance, 4),
        format!("{:.2}", row.real_efficiency),
        format!("{:.1} %", 100.0 * row.distance),
    ]
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
        "with a width of its own for every layer the best member has widths {}{proved}: m = {:.2} at the baseline's cost, m = {:.2} and {:.3} times less cost at its variance, against {:.3} with one ratio for all layers",
        widths.join(", "),
        free.primal_multiplicity,
        free.dual_multiplicity,
        free.efficiency,
        answer.dual.efficiency
    ))
}
