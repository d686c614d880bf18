//! How a table's page is shown.

use crate::score::pairs::{Among, PairTest, tally};
use crate::score::{Association, Group, Predictor, Slope, explained};
use collegial_report::{Align, Axis, Figure, Point, Points, Section, Table};

use super::body::Body;
use super::claims::chance;

/// Fewer designs than this have no rank correlation on the page.
const FEWEST: usize = 5;

/// More points than this have no labels.
const LABELLED: usize = 24;

/// The predictors of the page's narrow tables.
const MAIN: [Predictor; 4] = [Predictor::Score, Predictor::Parameters, Predictor::Flops, Predictor::Width];

/// The result, in a sentence or two.
pub(super) fn sentence(body: &Body, tests: &[PairTest; 3]) -> String {
    let [equal, all, against] = tests;
    let said = |test: &PairTest| match test.tally.pairs {
        0 => "no pair".to_owned(),
        _ => format!("{} ({})", test.tally.words(), chance(test.p_value)),
    };
    format!(
        "{} networks of {} rows, compared by {} within recipe and skeleton: the score orders {} pairs of equal cost right, {} of all pairs, and {} where it \
         disagrees with the number of parameters.",
        body.scored.rows.len(),
        body.scored.rows.len() + body.scored.refused.len(),
        body.primary().targets[0],
        said(equal),
        said(all),
        said(against)
    )
}

/// Errors over score and over parameters, both relative to the group.
pub(super) fn figures(groups: &[Group]) -> Vec<(Figure, String)> {
    let figure = |predictor: Predictor, name: &str| {
        let mut points = vec![];
        for group in groups {
            let x: Vec<f64> = group.rows.iter().map(|row| predictor.value(&row.predictors)).collect();
            for ((x, y), row) in relative(&x).into_iter().zip(relative(&group.errors)).zip(&group.rows) {
                points.push((Point::new(x, y), design(&row.cells)));
            }
        }
        let labelled = points.len() <= LABELLED;
        let points = points.into_iter().map(|(point, label)| match label {
            Some(label) if labelled => point.label(label),
            _ => point,
        });
        Figure::new(format!("Error over {name}, within recipe and skeleton"))
            .x(Axis::log(format!("{name}, as a multiple of the group's mean")))
            .y(Axis::log("error, as a multiple of the group's mean"))
            .with(Points::new("one network", points))
    };
    vec![
        (
            figure(Predictor::Score, "score"),
            "Every network that shares recipe and skeleton with another; means are geometric.".into(),
        ),
        (figure(Predictor::Parameters, "parameters"), "The same networks over their size.".into()),
    ]
}

/// Values over their geometric mean.
fn relative(values: &[f64]) -> Vec<f64> {
    let mean = (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp();
    values.iter().map(|value| value / mean).collect()
}

/// "32x4d", of the first stage.
fn design(cells: &serde_json::Map<String, serde_json::Value>) -> Option<String> {
    let first = |column: &str| {
        let cell = cells.get(column)?;
        let text = cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
        text.split('-').next().map(str::to_owned)
    };
    Some(format!("{}x{}d", first("m")?, first("n")?))
}

/// Everything under the claims.
pub(super) fn sections(body: &Body, seed: u64) -> Vec<Section> {
    vec![
        pairs(body),
        together(&body.groups(body.primary())),
        correlations(&body.scored.correlations, &body.scored.slopes),
        rows(body, seed),
    ]
}

fn pairs(body: &Body) -> Section {
    let mut table = Table::new(&[
        ("error", Align::Left),
        ("predictor", Align::Left),
        ("all pairs", Align::Right),
        ("equal cost", Align::Right),
        ("equal m n", Align::Right),
        ("score right where they disagree", Align::Right),
    ]);
    for question in body.questions() {
        let groups = body.groups(question);
        for predictor in Predictor::ALL {
            let count = |predictor, among| {
                let sum: crate::score::pairs::Tally =
                    groups.iter().map(|group| tally(group, predictor, among)).sum();
                if sum.pairs == 0 { "none".into() } else { sum.words() }
            };
            let rival = match predictor {
                Predictor::Score => String::new(),
                other => count(Predictor::Score, Among::Against(other)),
            };
            table.push([
                question.targets[0].clone(),
                predictor.words().to_owned(),
                count(predictor, Among::All),
                count(predictor, Among::EqualCost),
                count(predictor, Among::EqualWidth),
                rival,
            ]);
        }
    }
    Section::new("Which of two designs has the larger error?").table(
        table,
        "Pairs that each predictor orders right. Cost is equal if parameters and FLOPs both are within 10 %; pairs that a predictor cannot tell apart are not counted for it.",
    )
}

fn together(groups: &[Group]) -> Section {
    let mut table = Table::new(&[
        ("ln error on ln of", Align::Left),
        ("R²", Align::Right),
        ("adjusted R²", Align::Right),
    ]);
    use Predictor::{Flops, Parameters, Score, Width};
    let alone = Predictor::ALL.map(|predictor| vec![predictor]);
    let sets = [vec![Parameters, Flops], vec![Parameters, Flops, Score], vec![Parameters, Flops, Width]];
    for set in alone.into_iter().chain(sets) {
        let names: Vec<&str> = set.iter().map(|predictor| predictor.words()).collect();
        let found = explained(groups, &set);
        let number = |value: Option<f64>| value.map_or("n/a".into(), |value| format!("{value:.2}"));
        let r_squared = number(found.as_ref().map(|found| found.r_squared));
        table.push([names.join(" + "), r_squared, number(found.map(|found| found.adjusted))]);
    }
    Section::new("Alone and together").table(
        table,
        "How much of the scatter of ln error within recipe and skeleton each explains by least squares; n/a where there are too few designs or the predictor does not vary.",
    )
}

fn correlations(associations: &[Association], slopes: &[Slope]) -> Section {
    let mut table = Table::new(&[
        ("error", Align::Left),
        ("recipe, blocks", Align::Left),
        ("networks", Align::Right),
        ("score", Align::Right),
        ("parameters", Align::Right),
        ("FLOPs", Align::Right),
        ("m n", Align::Right),
        ("score given parameters", Align::Right),
        ("score given FLOPs", Align::Right),
        ("slope", Align::Right),
    ]);
    let first = |found: &&Association| {
        found.predictor == Predictor::Score && found.given.is_none() && found.rows >= FEWEST
    };
    for group in associations.iter().filter(first) {
        let of = |predictor: Predictor, given: Option<Predictor>| {
            let same = |found: &&Association| {
                (&found.group, &found.target) == (&group.group, &group.target)
                    && (found.predictor, found.given) == (predictor, given)
            };
            associations.iter().find(same).map_or_else(String::new, words)
        };
        let slope = slopes.iter().find(|slope| {
            (&slope.group, &slope.target) == (&group.group, &group.target)
                && slope.predictor == Predictor::Score
        });
        let mut cells =
            vec![group.target.clone(), group.group.clone().unwrap_or_default(), group.rows.to_string()];
        cells.extend(MAIN.map(|predictor| of(predictor, None)));
        cells
            .extend([Predictor::Parameters, Predictor::Flops].map(|given| of(Predictor::Score, Some(given))));
        cells.push(
            slope.map_or_else(String::new, |slope| {
                format!("{:.3} ± {:.3}", slope.slope, slope.standard_error)
            }),
        );
        table.push_row(cells);
    }
    Section::new("Rank correlations").table(
        table,
        "Groups of at least five networks. Positive: the predictor is right. In brackets the 95 % interval, by resampling networks; with a handful of them it is rough. The slope \
         is that of ln error on ln score.",
    )
}

/// "0.98 (0.90 to 1.00)".
fn words(found: &Association) -> String {
    let Some(value) = found.spearman else { return "n/a".into() };
    let interval = found.ci.map_or(String::new(), |[low, high]| format!(" ({low:.2} to {high:.2})"));
    format!("{value:.2}{interval}")
}

fn rows(body: &Body, seed: u64) -> Section {
    let mut table = Table::new(&[
        ("recipe", Align::Left),
        ("network", Align::Left),
        ("design", Align::Left),
        ("score", Align::Right),
        ("white", Align::Right),
        ("law", Align::Right),
        ("parameters", Align::Right),
        ("FLOPs", Align::Right),
        ("m n", Align::Right),
        ("error", Align::Right),
        ("runs", Align::Left),
    ]);
    let target = &body.primary().targets[0];
    for row in &body.scored.rows {
        let cell = |column: &str| {
            let value = row.cells.get(column).filter(|value| !value.is_null());
            value.map_or(String::new(), |value| {
                value.as_str().map_or_else(|| value.to_string(), str::to_owned)
            })
        };
        let mut cells = vec![cell("recipe"), cell("model"), design(&row.cells).unwrap_or_default()];
        cells.extend(row.predictors.cells(4));
        cells.extend([cell(target), cell("runs")]);
        table.push_row(cells);
    }
    let mut section = Section::new("The networks").prose(format!(
        "{} of the {} errors are of a single run.{}",
        body.single_runs(),
        body.scored.rows.len(),
        outliers(body, seed)
    ));
    section = section.details(Section::new("All rows").table(table, "Designs are those of the first stage."));
    if body.scored.refused.is_empty() {
        return section;
    }
    let mut table = Table::new(&[("row", Align::Right), ("network", Align::Left), ("why", Align::Left)]);
    for refused in &body.scored.refused {
        table.push([
            refused.row.to_string(),
            refused.model.clone().unwrap_or_default(),
            refused.reason.clone(),
        ]);
    }
    section.details(Section::new("Rows that are not compared").table(table, "With the reason."))
}

/// The known outliers, and what comes of the first claim without them.
fn outliers(body: &Body, seed: u64) -> String {
    let known = body.outliers();
    if known.is_empty() {
        return String::new();
    }
    let names: Vec<String> = known.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    let [equal, all, _] = super::claims::tests(&body.groups_without_outliers(body.primary()), seed);
    format!(
        " Named as doubtful before anything was computed, and kept in: {}. Without: {} pairs of equal cost right, {} of all pairs.",
        names.join("; "),
        equal.tally.words(),
        all.tally.words()
    )
}
