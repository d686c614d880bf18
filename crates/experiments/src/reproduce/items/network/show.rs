//! Tables, figures and sentences of the item `network`.

use collegial_report::{Align, Axis, Figure, Line, Point, Points, Section, Stroke, Table, Tone};

use super::choice::{self, Standing, Standings};
use super::curve::{Curve, Predictor, Relation};
use crate::reproduce::Scale;

/// The result for the score, over all curves, and which score is the default.
pub(super) fn sentence(relations: &[Relation], standings: &[Standings], scale: Scale) -> String {
    let of = |norms: &str| -> Vec<String> {
        let wanted =
            |relation: &&Relation| relation.predictor == Predictor::NetworkInputs && relation.norms == norms;
        relations.iter().filter(wanted).map(|relation| format!("{:.2}", relation.spearman)).collect()
    };
    format!(
        "Rank correlation of the score with the drawn variance of the network's kernel, curve by curve: {} without norms, {} with \
         norms over the batch. {}",
        of("none").join(", "),
        of("batch").join(", "),
        default_sentence(&standings[0].predictors, scale)
    )
}

/// The default, and why.
fn default_sentence(standings: &[Standing], scale: Scale) -> String {
    let default = Predictor::NetworkInputs.words();
    let higher = higher(standings);
    match choice::chosen(standings) {
        _ if scale == Scale::Smoke => "This scale decides nothing about the default.".into(),
        Predictor::NetworkInputs if higher.is_empty() => {
            format!("The default is \"{default}\": no other predictor has a higher mean rank correlation.")
        }
        Predictor::NetworkInputs => format!(
            "The default is \"{default}\", which means what it says: higher on average are {}, but none beyond the 95 % interval of its \
             difference.",
            higher.join(", ")
        ),
        other => format!(
            "By the rule below the default should be \"{}\": its rank correlation is higher beyond the interval of the difference.",
            other.words()
        ),
    }
}

/// The predictors whose mean rank correlation is higher than the default's, with the difference.
fn higher(standings: &[Standing]) -> Vec<String> {
    let higher = standings.iter().filter(|standing| standing.difference > 0.0);
    let words = |standing: &Standing| {
        let clear = if standing.is_clear() { ", beyond its interval" } else { "" };
        format!("{} ({:+.2}{clear})", standing.predictor.words(), standing.difference)
    };
    higher.map(words).collect()
}

/// Where other predictors look better than the default.
fn elsewhere(standings: &[Standings]) -> String {
    let of = |standings: &Standings| {
        let norms = standings.norms?.name();
        Some(match higher(&standings.predictors) {
            list if list.is_empty() => format!("With norms {norms}, none is higher."),
            list => format!("With norms {norms}, higher are {}.", list.join(", ")),
        })
    };
    standings.iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

/// Which score is the default, by which rule.
pub(super) fn standings(standings: &[Standings], scale: Scale) -> Section {
    let mut table = Table::new(&[
        ("norms", Align::Left),
        ("predictor", Align::Left),
        ("mean rank correlation", Align::Right),
        ("minus the default's", Align::Right),
        ("95 % interval", Align::Right),
    ]);
    for Standings { norms, predictors } in standings {
        for standing in predictors {
            table.push([
                norms.map_or("all", |norms| norms.name()).to_owned(),
                standing.predictor.words().to_owned(),
                format!("{:.2}", standing.mean),
                standing.interval.map_or(String::new(), |_| format!("{:+.2}", standing.difference)),
                standing.interval.map_or(String::new(), |[low, high]| format!("{low:+.2} to {high:+.2}")),
            ]);
        }
    }
    Section::new("Which score is the default")
        .prose(format!(
            "The rule: the default is the score with network inputs, because it means what it says (the blocks with what they see in \
             the network), unless another predictor's mean rank correlation over all curves and norm policies is higher beyond the 95 % \
             interval of the difference; designs are resampled for all predictors together. {} {}",
            default_sentence(&standings[0].predictors, scale),
            elsewhere(standings)
        ))
        .table(
            table,
            "Stages weighted alike are the score itself on curves whose stages have equally many blocks (3-3-3), where they are left out below.",
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
        "network = a + b x predictor: a is the part that no design changes, b how much of the blocks' variance arrives. Intervals come from \
         resampling designs; the noise of the draws is in the variances and makes rank correlations smaller than endless draws would.",
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
