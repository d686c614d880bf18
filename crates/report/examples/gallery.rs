//! Every feature of the crate on one page, with made-up data of the kind the other crates give.
//!
//!     cargo run -p collegial-report --example gallery > gallery.html
//!
//! The curves follow the paper's formulas, the scatter around them is a fixed pattern; none of it
//! is a result.

use collegial_report::{
    Align, Axis, Band, Download, Figure, Line, Mark, Marker, Page, Point, Points, Provenance, Section,
    Stroke, Table, VerticalRange, significant,
};
use std::f64::consts::PI;

fn main() {
    print!("{}", page().to_html());
}

/// The gallery.
pub fn page() -> Page {
    Page::new("Gallery: what a report can show")
        .verdict("The numbers on this page are made up. A verdict stands here: use `37x10d` in place of `1x128d`.")
        .section(
            Section::new("Where the optimum lies")
                .prose(
                    "Among all ensembles with the parameters of the baseline, the kernel's variance is least at width \
                     `n = 10`. The minimum is flat: every width in the shaded range is within ten per cent of it.\n\n\
                     The dual question, how few parameters reach the baseline's variance, has the same answer.",
                )
                .figures([
                    (primal(), "Variance of the ensemble against the width of a member, at equal cost.".to_owned()),
                    (dual(), "Parameters saved at equal variance.".to_owned()),
                ])
                .table(designs(), "Designs near the optimum."),
        )
        .section(
            Section::new("The law behind it")
                .prose("The second moment grows exponentially in S(n); the slope of the line is alpha.")
                .figure(fit(), "Measured second moments with 95 % intervals, and the fitted law."),
        )
        .section(
            Section::new("Does it hold up?")
                .figure(errors(), "Each point is one design; bars are standard errors over five seeds.")
                .figure(angles(), "The kernel's value as a function of the angle between two inputs."),
        )
        .section(
            Section::new("Data and commands")
                .command("collegial search resnext29-1x128d --alpha 1.6 --cost params --json | jq .primal.design")
                .download(Download::csv("designs.csv", designs().to_csv()))
                .download(Download::json("search.json", "{\"primal\":{\"design\":\"37x10d\"}}\n"))
                .details(Section::new("Edge cases").figures(edge_cases())),
        )
        .provenance(Provenance {
            command: "cargo run -p collegial-report --example gallery > gallery.html".into(),
            seed: None,
            version: env!("CARGO_PKG_VERSION").into(),
        })
}

fn widths() -> impl Iterator<Item = f64> {
    (1..=128).map(f64::from)
}

/// Cost of a bottleneck member of width n between 256 channels.
fn cost(n: f64) -> f64 {
    512.0 * n + 9.0 * n * n
}

fn variance(n: f64, alpha: f64) -> f64 {
    (alpha * (2.0 / n + 1.0 / 256.0)).exp_m1()
}

/// Variance of as many members as the baseline's cost buys.
fn objective(n: f64, alpha: f64) -> f64 {
    variance(n, alpha) * cost(n) / cost(128.0)
}

fn primal() -> Figure {
    let band = widths().map(|n| (n, objective(n, 1.45), objective(n, 1.75)));
    Figure::new("Primal: variance at equal cost")
        .x(Axis::log("width n of a member"))
        .y(Axis::log("variance, relative"))
        .with(Line::new("ensembles of the baseline's cost", widths().map(|n| (n, objective(n, 1.6)))))
        .with(Mark::new("37x10d", 10.0, objective(10.0, 1.6)).drop_lines())
        .with(Band::new("95 % interval", band))
        .with(VerticalRange::new("within 10 % of the minimum", 7.0, 16.0))
}

fn dual() -> Figure {
    let efficiency = |n: f64| objective(128.0, 1.6) / objective(n, 1.6);
    let best = widths().max_by(|a, b| efficiency(*a).total_cmp(&efficiency(*b))).unwrap_or(1.0);
    Figure::new("Dual: efficiency at equal variance")
        .x(Axis::log("width n of a member"))
        .y(Axis::linear("efficiency rho").include(0.0))
        .with(Line::new("", widths().map(|n| (n, efficiency(n)))))
        .with(Mark::new("10x10d", best, efficiency(best)).drop_lines())
}

/// A fixed pattern between -1 and 1 that looks scattered.
fn scatter(index: usize) -> f64 {
    (index as f64 * 2.399 + 0.7).sin()
}

fn fit() -> Figure {
    let sums: Vec<f64> = [4.0, 6.0, 8.0, 10.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0].map(|n| 2.0 / n).into();
    let measured = sums.iter().enumerate().map(|(index, &s)| {
        let error = 0.02 + 0.08 * s;
        Point::new(s, 1.6 * s + 0.6 * error * scatter(index)).error(error)
    });
    let line = [0.0, 0.55].map(|s| (s, 1.6 * s));
    Figure::new("Second moment of the bottleneck's kernel")
        .x(Axis::linear("S(n), sum of the inverse fan-ins"))
        .y(Axis::linear("ln(E[K²] / E[K]²)"))
        .with(Points::new("measured", measured))
        .with(Line::new("alpha = 1.60, r² = 0.998", line).stroke(Stroke::Dashed))
        .with(Band::new(
            "95 % interval of the fit",
            line.map(|(s, y)| (s, y - 0.01 - 0.05 * s, y + 0.01 + 0.05 * s)),
        ))
}

fn errors() -> Figure {
    let designs =
        ["1x128d", "2x88d", "4x55d", "8x32d", "16x20d", "25x14d", "37x10d", "44x8d", "60x6d", "84x4d"];
    let points = |offset: f64, seed: usize| {
        designs.into_iter().enumerate().map(move |(index, design)| {
            let n: f64 =
                design.split('x').nth(1).and_then(|d| d.trim_end_matches('d').parse().ok()).unwrap_or(1.0);
            let variance = objective(n, 1.6);
            let error = offset + 30.0 * variance + 0.15 * scatter(index + seed);
            Point::new(variance, error).error(0.12 + 0.02 * index as f64).label(design)
        })
    };
    let few = points(5.4, 4).map(|point| point.label(""));
    Figure::new("Test error against variance")
        .x(Axis::log("variance of the kernel"))
        .y(Axis::linear("test error, %"))
        .with(Points::new("CIFAR-10", points(3.6, 0)))
        .with(Points::new("CIFAR-10, half of the data", few).marker(Marker::Diamond))
}

fn angles() -> Figure {
    let kernel = |theta: f64| {
        let (sin, cos) = theta.sin_cos();
        (sin + (PI - theta) * cos) / PI + cos * (PI - theta) / PI
    };
    let curve = |members: f64| {
        (0..=60).map(move |step| {
            let theta = f64::from(step) / 60.0 * PI;
            (theta, kernel(theta) + 0.25 / members.sqrt() * scatter((theta * 2.0) as usize) * theta.sin())
        })
    };
    Figure::new("Kernel against angle")
        .x(Axis::linear("angle between the inputs, radians"))
        .y(Axis::linear("K(x, x')"))
        .with(Line::new("limit", (0..=60).map(|s| f64::from(s) / 60.0 * PI).map(|t| (t, kernel(t)))))
        .with(Line::new("m = 1", curve(1.0)))
        .with(Line::new("m = 4", curve(4.0)))
        .with(Line::new("m = 16", curve(16.0)))
        .with(Line::new("m = 64", curve(64.0)))
}

fn designs() -> Table {
    let mut table = Table::new(&[
        ("design", Align::Left),
        ("parameters", Align::Right),
        ("FLOPs", Align::Right),
        ("variance", Align::Right),
        ("against the baseline", Align::Right),
        ("efficiency", Align::Right),
        ("remark", Align::Left),
    ]);
    for (m, n, remark) in
        [(1.0, 128.0, "baseline"), (10.0, 10.0, "dual"), (37.0, 10.0, "primal"), (60.0, 6.0, "")]
    {
        let parameters = m * cost(n);
        table.push([
            format!("{m}x{n}d"),
            collegial_report::grouped(parameters as u64),
            collegial_report::grouped((parameters * 64.0) as u64),
            significant(variance(n, 1.6) / m, 3),
            significant(variance(n, 1.6) / m / variance(128.0, 1.6), 3),
            significant(objective(128.0, 1.6) / objective(n, 1.6), 3),
            remark.to_owned(),
        ]);
    }
    table
}

fn edge_cases() -> Vec<(Figure, String)> {
    let all_markers = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Cross];
    let mut markers = Figure::new("Five markers, <b>escaped</b> & \"quoted\"");
    for (index, marker) in all_markers.into_iter().enumerate() {
        let points = (0..6).map(|x| (f64::from(x), index as f64 + 0.3 * scatter(index + x as usize)));
        markers = markers.with(Points::new(format!("{marker:?}"), points).marker(marker));
    }
    let gaps =
        [(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 1.5), (4.0, f64::INFINITY), (5.0, 2.0), (6.0, 1.0)];
    let crowd = (0..9).map(|index| {
        Point::new(5.0 + 0.1 * scatter(index), 2.0 + 0.1 * scatter(index + 3))
            .label(format!("design {index}"))
    });
    let crowded = Figure::new("A crowd of labels")
        .with(Points::new("", crowd.chain([Point::new(0.0, 0.0), Point::new(9.0, 4.0)])));
    let bars = [(1.0, 0.5, 0.4), (10.0, 0.3, 0.5), (100.0, 5.0, f64::INFINITY)];
    vec![
        (markers, "Every marker.".to_owned()),
        (
            Figure::new("Gaps").with(Line::new("with holes", gaps)),
            "Points that are not numbers leave gaps.".to_owned(),
        ),
        (crowded, "Labels move apart.".to_owned()),
        (
            Figure::new("A log axis refuses what is not positive")
                .x(Axis::log("x"))
                .y(Axis::log("y").range(0.1, 10.0))
                .with(Points::new("bars run into the frame", bars)),
            "Bars without an end.".to_owned(),
        ),
        (Figure::new("One point").with(Points::new("alone", [(3.0, 3.0)])), String::new()),
        (Figure::new("Nothing"), "No data at all.".to_owned()),
        (
            Figure::new(
                "Large numbers and a title that is so long that it has to be broken into more than one line",
            )
            .x(Axis::linear("parameters").include(0.0))
            .y(Axis::log("variance, over many decades, with a long name that needs a second line on a phone"))
            .with(Line::new(
                "a series with quite a long name",
                (1..50).map(|k| (3e5 * f64::from(k), 10f64.powi(-k / 4))),
            ))
            .with(Line::new("another", (1..50).map(|k| (3e5 * f64::from(k), 10f64.powi(-k / 3)))))
            .with(Mark::new("far right", 1.47e7, 1e-12)),
            String::new(),
        ),
    ]
}
