//! How the item is shown.

use collegial_report::{Align, Axis, Figure, Line, Point, Points, Section, Stroke, Table, Tone};

use super::curve::{Curve, Predictor, Relation};

/// The result for the score, over all curves.
pub(super) fn sentence(relations: &[Relation]) -> String {
    let of = |norms: &str| -> Vec<String> {
        let wanted =
            |relation: &&Relation| relation.predictor == Predictor::NetworkInputs && relation.norms == norms;
        relations.iter().filter(wanted).map(|relation| format!("{:.2}", relation.spearman)).collect()
    };
    format!(
        "Rank correlation of the score with the drawn variance of the network's kernel, curve by curve: {} without norms, {} with \
         norms over the batch.",
        of("none").join(", "),
        of("batch").join(", ")
    )
}

/// The drawn variances of a curve over the score.
pub(super) fn figure(curve: &Curve) -> (Figure, String) {
    let x = |index: usize| curve.designs[index].predictors[0];
    let mut figure = Figure::new(format!("Kernel variance of the network: {}", curve.name))
        .x(Axis::log("score: mean kernel variance of the blocks"))
        .y(Axis::log("Var[K] / E[K]^2 of the network"));
    for (at, &norms) in curve.norms.iter().enumerate() {
        let points = (0..curve.designs.len()).map(|index| {
            let drawn = curve.designs[index].drawn[at];
            let point = Point::new(x(index), drawn.variance).error(1.96 * drawn.standard_error);
            if at == 0 { point.label(curve.designs[index].design.to_string()) } else { point }
        });
        figure = figure.with(Points::new(format!("norms {}", norms.name()), points).tone(Tone::nth(at)));
    }
    let all = || (0..curve.designs.len()).map(x);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    figure = figure.with(Line::new("network = blocks", [(low, low), (high, high)]).stroke(Stroke::Dotted));
    (figure, "One point per design of the same cost; bars are 95 % intervals of the draws.".into())
}

/// How every predictor does.
pub(super) fn relations(relations: &[Relation]) -> Section {
    let mut table = Table::new(&[
        ("curve", Align::Left),
        ("norms", Align::Left),
        ("predictor", Align::Left),
        ("rank correlation", Align::Right),
        ("a", Align::Right),
        ("b", Align::Right),
    ]);
    for relation in relations {
        let [low, high] = relation.interval;
        let with_error = |[value, error]: [f64; 2]| format!("{value:.4} ± {error:.4}");
        table.push([
            relation.curve.clone(),
            relation.norms.clone(),
            relation.predictor.words().to_owned(),
            format!("{:.2} ({low:.2} to {high:.2})", relation.spearman),
            with_error(relation.intercept),
            with_error(relation.slope),
        ]);
    }
    Section::new("What predicts the network's variance").table(
        table,
        "network = a + b x predictor: a is the part that no design changes, b how much of the blocks' variance arrives.",
    )
}

/// Every design.
pub(super) fn designs(curves: &[Curve]) -> Section {
    let mut section = Section::new("The designs");
    for curve in curves {
        let mut columns = vec![
            ("design".to_owned(), Align::Left),
            ("parameters".to_owned(), Align::Right),
            ("score".to_owned(), Align::Right),
            ("white".to_owned(), Align::Right),
        ];
        columns.extend(
            curve.norms.iter().map(|&norms| (format!("drawn, norms {}", norms.name()), Align::Right)),
        );
        let columns: Vec<(&str, Align)> =
            columns.iter().map(|(name, align)| (name.as_str(), *align)).collect();
        let mut table = Table::new(&columns);
        for member in &curve.designs {
            let mut cells = vec![
                member.design.to_string(),
                member.parameters.to_string(),
                format!("{:.4}", member.predictors[0]),
                format!("{:.4}", member.predictors[1]),
            ];
            cells.extend(
                member
                    .drawn
                    .iter()
                    .map(|drawn| format!("{:.4} ± {:.4}", drawn.variance, drawn.standard_error)),
            );
            table.push_row(cells);
        }
        section = section.table(table, format!("{}; baseline {}.", curve.name, curve.baseline));
    }
    section
}
