//! Algorithm 2's answer.

use collegial_search::{Answer, Nearby, Optimum, Problem};

use crate::{Align, Axis, Band, Figure, Line, Mark, Table, VerticalRange, grouped, significant};

/// The answer in three sentences.
pub fn verdict(answer: &Answer) -> Vec<String> {
    let (primal, dual, flat) = (&answer.primal, &answer.dual, &answer.flat);
    let cost = answer.cost_unit;
    let mut sentences = vec![
        format!(
            "{}: {} times less kernel variance than {} at {} of its {cost}",
            primal.design,
            significant(primal.variance_reduction, 3),
            answer.baseline,
            percent(1.0 / primal.real_efficiency),
        ),
        format!(
            "{}: {} times {} {cost} than {} at {} of its kernel variance",
            dual.design,
            significant(dual.real_efficiency, 3),
            fewer(answer),
            answer.baseline,
            percent(1.0 / dual.variance_reduction),
        ),
    ];
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

/// Parameters are fewer, time is less.
fn fewer(answer: &Answer) -> &'static str {
    if answer.cost == "time" { "less" } else { "fewer" }
}

fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if (value - value.round()).abs() < 0.05 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

/// Where the variance comes from.
pub fn source_sentence(answer: &Answer) -> String {
    match (answer.variance_source, answer.alpha, answer.alpha_ci) {
        ("law", Some(alpha), Some([low, high])) => {
            format!(
                "variance by the law with alpha = {alpha:.3}, fitted (95 % interval {low:.3} to {high:.3})"
            )
        }
        ("law", Some(alpha), None) => format!("variance by the law with alpha = {alpha}, given"),
        ("exact", _, _) => "variance computed exactly".into(),
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
        ("off by", Align::Right),
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
            optimum.design.clone(),
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
        row.design.clone(),
        grouped(row.parameters),
        grouped(row.flops),
        significant(row.variance, 4),
        format!("{:.2}", row.real_efficiency),
        format!("{:.1} %", 100.0 * row.distance),
    ]
}

/// Both objectives at every width.
pub fn curve_table(answer: &Answer) -> Table {
    let mut table = Table::new(&[
        ("width", Align::Right),
        ("cost_of_member", Align::Right),
        ("variance", Align::Right),
        ("primal_multiplicity", Align::Right),
        ("primal_objective", Align::Right),
        ("dual_multiplicity", Align::Right),
        ("efficiency", Align::Right),
    ]);
    for point in &answer.curve {
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
    Some(format!(
        "with a width of its own for every layer the best member has widths {}: m = {:.2} at the baseline's cost, m = {:.2} and {:.3} times less cost at its variance, against {:.3} with one ratio for all layers",
        widths.join(", "),
        free.primal_multiplicity,
        free.dual_multiplicity,
        free.efficiency,
        answer.dual.efficiency
    ))
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
        .with(Mark::new(best.design.clone(), best.width as f64, at).drop_lines())
        .describe(verdict(answer)[0].clone())
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
        .with(Mark::new(best.design.clone(), best.width as f64, best.efficiency).drop_lines())
        .describe(verdict(answer)[1].clone())
}

fn flat_range(answer: &Answer) -> VerticalRange {
    let flat = &answer.flat;
    VerticalRange::new(format!("within {}", percent(flat.tolerance)), flat.low as f64, flat.high as f64)
}

/// Whether there is an interval to draw.
fn uncertain(answer: &Answer) -> bool {
    answer.curve.iter().any(|point| point.primal_objective_ci[0] < point.primal_objective_ci[1])
}
