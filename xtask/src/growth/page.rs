//! The page and its figures.

use collegial_report::{Align, Axis, Figure, Line, Points, Stroke, Table, Tone, grouped, significant};

use super::fit::{Power, power};
use super::operations::{OPERATIONS, Operation, Theory};
use super::records::Records;

/// One of the two costs of an operation: sizes with costs, the fit, and what theory says.
struct Cost<'a> {
    name: &'static str,
    axis: &'static str,
    /// Where its axis begins.
    least: f64,
    costs: Vec<(f64, f64)>,
    power: Power,
    theory: &'a Theory,
}

/// Time in seconds and memory in megabytes; nothing for an operation that was not measured.
fn both<'a>(records: &Records, operation: &'a Operation) -> Option<[Cost<'a>; 2]> {
    let best = records.best(operation.name);
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let seconds: Vec<(f64, f64)> = best.iter().map(|(size, usage)| (*size as f64, usage.seconds)).collect();
    let memory: Vec<(f64, f64)> =
        best.iter().map(|(size, usage)| (*size as f64, megabytes(usage.peak_bytes))).collect();
    Some([
        Cost {
            name: "time",
            axis: "seconds",
            least: 1e-3,
            power: power(&seconds)?,
            costs: seconds,
            theory: &operation.time,
        },
        Cost {
            name: "memory",
            axis: "peak memory, MB",
            least: 1.0,
            power: power(&memory)?,
            costs: memory,
            theory: &operation.memory,
        },
    ])
}

/// The figures by the names of their files, time and memory of every operation.
pub fn figures(records: &Records) -> Vec<(String, String)> {
    let measured = OPERATIONS.iter().filter_map(|operation| Some((operation, both(records, operation)?)));
    let drawn = measured.flat_map(|(operation, costs)| {
        costs.map(|cost| (format!("{}-{}.svg", operation.name, cost.name), figure(operation, &cost).to_svg()))
    });
    drawn.collect()
}

/// Costs over sizes, the fitted ones filled, and theory's slope through the largest.
fn figure(operation: &Operation, cost: &Cost) -> Figure {
    let Cost { costs, power, theory, .. } = cost;
    let (fitted, others): (Vec<_>, Vec<_>) = costs.iter().copied().partition(|(size, _)| *size >= power.from);
    let (largest, most) = costs[costs.len() - 1];
    let slope = fitted.iter().map(|&(size, _)| (size, most * (size / largest).powf(theory.exponent)));
    let mut figure = Figure::new(format!("{}: {}", operation.title, cost.name))
        .x(Axis::log(operation.axis))
        // A megabyte or a millisecond, so that what hardly varies looks like it.
        .y(Axis::log(cost.axis).include(cost.least))
        .with(Line::new(expected(theory), slope).stroke(Stroke::Dashed).tone(Tone::Law))
        .with(Points::new(format!("measured, {}", in_words(power)), fitted).tone(Tone::Drawn));
    if !others.is_empty() {
        figure = figure.with(Points::new("not fitted", others).tone(Tone::Base));
    }
    figure
}

/// "theory: size^2".
fn expected(theory: &Theory) -> String {
    if theory.exponent == 0.0 {
        "theory: constant".into()
    } else {
        format!("theory: size^{}", theory.exponent)
    }
}

/// "size^(1.98 ± 0.02)".
fn in_words(power: &Power) -> String {
    format!("size^({})", exponent(power))
}

/// "1.98 ± 0.02".
fn exponent(power: &Power) -> String {
    // Adding zero takes the sign from what rounds to -0.
    let rounded = (100.0 * power.exponent).round() / 100.0 + 0.0;
    format!("{rounded:.2} ± {:.2}", power.standard_error)
}

/// The page.
pub fn markdown(records: &Records) -> String {
    let mut table = Table::new(&[
        ("operation", Align::Left),
        ("size", Align::Left),
        ("from", Align::Right),
        ("to", Align::Right),
        ("seconds", Align::Right),
        ("exponent of time", Align::Right),
        ("theory", Align::Right),
        ("MB", Align::Right),
        ("exponent of memory", Align::Right),
        ("theory", Align::Right),
    ]);
    let mut sections = String::new();
    let mut marked = false;
    for operation in OPERATIONS {
        let Some(costs) = both(records, operation) else { continue };
        table.push_row(row(operation, &costs));
        sections.push_str(&section(operation, &costs));
        marked |= costs.iter().any(|cost| !cost.power.clear);
    }
    let near = "\n\\* Fewer than three sizes cost ten times as much as the smallest: the exponent is of the largest three, and what does not depend on the size lowers it.\n";
    format!("{}\n{}{}{sections}", opening(records), table.to_markdown(), if marked { near } else { "" })
}

fn opening(records: &Records) -> String {
    format!(
        "# How cost grows\n\n\
         Time and peak memory of the program against the size of the question, over two decades and more. One command measures them, fits\n\
         the exponents and writes this page, its figures and [every run](figures/growth/runs.csv) ({}):\n\n    \
         cargo xtask growth\n\n\
         `cargo xtask growth search loading` measures some operations again and keeps the rest; `COLLEGIAL=PATH` names another program.\n\n\
         Every number is of a whole process, by the clock and by the system's count of resident memory; nothing is subtracted. Of three runs the least counts.\n\
         An exponent is the slope of a least-squares line in logarithms, with its standard error, over the sizes that cost ten times as much as the smallest\n\
         or more, so that what does not depend on the size weighs a tenth at most. In the figures \"not fitted\" are the others, and dashed lines have theory's slope\n\
         through the largest size. Columns `seconds` and `MB` are of the largest size.\n",
        records.machines().join("; ")
    )
}

fn row(operation: &Operation, costs: &[Cost; 2]) -> Vec<String> {
    let sizes = &costs[0].costs;
    let size = |at: usize| grouped(sizes[at].0 as u128);
    let mut cells = vec![
        format!("[{}](#{})", operation.title, operation.name),
        operation.axis.to_owned(),
        size(0),
        size(sizes.len() - 1),
    ];
    for Cost { costs, power, theory, .. } in costs {
        cells.push(significant(costs[costs.len() - 1].1, 3));
        let mark = if power.clear { "" } else { "\\*" };
        cells.push(format!("{}{mark}", exponent(power)));
        cells.push(theory.exponent.to_string());
    }
    cells
}

fn section(operation: &Operation, costs: &[Cost; 2]) -> String {
    let Operation { name, title, note, .. } = operation;
    let largest = operation.ladder[operation.ladder.len() - 1];
    let command = (operation.words)(largest).replace("DATA", "DIR").replace("OUT/", "");
    let mut text = format!("\n## <a id=\"{name}\"></a>{title}\n\n    collegial {command}\n\n{note}\n");
    for Cost { name: what, power, theory, costs, .. } in costs {
        let range =
            format!("{} to {}", grouped(power.from as u128), grouped(costs[costs.len() - 1].0 as u128));
        text.push_str(&format!(
            "\n- {}: {} over {} sizes, {range}; {}, because {}.",
            if *what == "time" { "Time" } else { "Memory" },
            in_words(power),
            power.sizes,
            expected(theory),
            theory.why
        ));
    }
    text.push('\n');
    for Cost { name: what, .. } in costs {
        text.push_str(&format!("\n![{title}: {what}](figures/growth/{name}-{what}.svg)\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::measure::Usage;
    use super::super::records::Record;
    use super::*;

    /// An operation of four sizes whose time is its size and whose memory does not grow.
    fn made_up() -> Records {
        let record = |operation: &str, size: u64, seconds: f64| Record {
            operation: operation.into(),
            size,
            run: 1,
            usage: Usage { seconds, peak_bytes: 6_000_000 },
            machine: "2 cores of something".into(),
        };
        Records([128, 2048, 4096, 8192].map(|size| record("search", size, size as f64 / 1e3)).into())
    }

    #[test]
    fn the_page_has_what_was_measured_and_nothing_else() {
        let page = markdown(&made_up());
        assert!(page.contains("2 cores of something"), "{page}");
        assert!(
            page.contains("| 128 | 8,192 | 8.19 | 1.00 ± 0.00 | 1 | 6.00 | 0.00 ± 0.00\\* | 1 |"),
            "{page}"
        );
        assert!(
            page.contains("Time: size^(1.00 ± 0.00) over 3 sizes, 2,048 to 8,192; theory: size^1"),
            "{page}"
        );
        assert!(
            page.contains("figures/growth/search-memory.svg") && !page.contains("loading-time.svg"),
            "{page}"
        );
    }

    #[test]
    fn figures_are_drawn_of_what_was_measured() {
        let figures = figures(&made_up());
        let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["search-time.svg", "search-memory.svg"]);
        assert!(figures[0].1.contains("theory: size^1") && figures[0].1.contains("width of the baseline"));
        assert!(figures[1].1.contains("not fitted"));
    }
}
