//! The figure and the tables that answer "does it help?".

use crate::score::pairs::{Among, Tally, tally};
use crate::score::{Predictor, explained};
use collegial_report::{Align, Axis, Figure, Line, Points, Section, Stroke, Table};

use super::claims::{self, CLAIMS};
use super::pool::{Pool, Tested};
use super::scored::Scored;
use super::steps::equal_cost_pairs;
use crate::reproduce::Comparison;

pub(super) fn sentence(others: &Pool) -> String {
    let of = |at: usize| others.tests[at].words();
    let width = others.test(Predictor::Width, Among::EqualCost);
    format!(
        "{} tables of networks that others trained; pairs in which the design of lower score has the lower error: at equal cost {}; of all pairs {}; where score and number of \
         parameters disagree {}. Where the inner width m n differs it alone is as good: at equal cost {}.",
        others.tables.len(),
        of(0),
        of(1),
        of(2),
        width.words()
    )
}

pub(super) fn comparisons(others: &Pool) -> Vec<Comparison> {
    let compare = |((what, _), tested): (&(&str, Among), &Tested)| {
        let obtained = format!("{}; {}", tested.words(), claims::chance(tested.test.p_value));
        Comparison::claim(*what, "the theory's claim", obtained, claims::verdict(&tested.test))
    };
    CLAIMS.iter().zip(&others.tests).map(compare).collect()
}

/// One point per pair of equal cost: how much less variance, how much less error.
pub(super) fn figure(series: &[String], tables: &[&Scored]) -> (Figure, String) {
    let mut figure = Figure::new("Two networks of equal cost: less kernel variance, less error?")
        .x(Axis::log("how many times less kernel variance (ratio of scores)"))
        .y(Axis::linear("change of error, %"));
    let mut widest: f64 = 1.0;
    for label in series {
        // How many times less variance, and the change of error in per cent.
        let of = |table: &&Scored| {
            let groups = table.groups();
            let pairs = groups.iter().flat_map(equal_cost_pairs);
            pairs.map(|pair| (pair.variance_ratio(), 100.0 * (pair.error_ratio() - 1.0))).collect::<Vec<_>>()
        };
        let shown = tables.iter().filter(|table| table.listed.series.as_ref() == Some(label));
        let points: Vec<(f64, f64)> = shown.flat_map(of).collect();
        widest = points.iter().fold(widest, |widest, point| widest.max(point.0));
        figure = figure.with(Points::new(label.clone(), points));
    }
    figure = figure.with(Line::new("", [(1.0, 0.0), (widest, 0.0)]).stroke(Stroke::Dotted));
    (
        figure.describe(
            "Every point is a pair of networks that share recipe, skeleton, parameters and FLOPs. Below the line the one with less kernel variance has the lower error.",
        ),
        "Every point is a pair of trained networks that share recipe and skeleton and whose parameters and FLOPs are both within 10 %. Below the line, the one with \
         less kernel variance at initialisation has the lower error; the change is relative to the other's error."
            .into(),
    )
}

pub(super) fn predictors(others: &Pool) -> Section {
    let mut table = Table::new(&[
        ("predictor", Align::Left),
        ("all pairs", Align::Right),
        ("equal cost", Align::Right),
        ("equal m n", Align::Right),
        ("score right where they disagree", Align::Right),
    ]);
    for predictor in Predictor::ALL {
        let of = |predictor, among| others.test(predictor, among).words();
        let rival = match predictor {
            Predictor::Score => String::new(),
            other => of(Predictor::Score, Among::Against(other)),
        };
        table.push([
            predictor.words().to_owned(),
            of(predictor, Among::All),
            of(predictor, Among::EqualCost),
            of(predictor, Among::EqualWidth),
            rival,
        ]);
    }
    Section::new("What orders pairs of designs").table(
        table,
        "Networks that others trained, the paper's own table not among them. Pairs that are ordered right, their share in per cent, and its 95 % interval from drawing whole tables again, where five or more have such pairs. Pairs \
         that a predictor cannot tell apart are not counted for it, so that m n is judged on fewer.",
    )
}

pub(super) fn together(others: &Pool) -> Section {
    let mut table = Table::new(&[("ln error on ln of", Align::Left), ("adjusted R²", Align::Right)]);
    use Predictor::{Flops, Parameters, Score, Width};
    let alone = Predictor::ALL.map(|predictor| vec![predictor]);
    let sets = [
        vec![Parameters, Flops],
        vec![Parameters, Flops, Score],
        vec![Parameters, Flops, Width],
        vec![Parameters, Flops, Width, Score],
    ];
    let mut rows = (0, 0);
    for set in alone.into_iter().chain(sets) {
        let names: Vec<&str> = set.iter().map(|predictor| predictor.words()).collect();
        let found = explained(&others.all, &set);
        if let Some(found) = &found {
            rows = (found.rows, found.groups);
        }
        table.push([names.join(" + "), found.map_or("n/a".into(), |found| format!("{:.2}", found.adjusted))]);
    }
    let caption = format!(
        "{} networks in {} groups of one recipe and skeleton, each group with its own mean: how much of the scatter of ln error within groups is explained.",
        rows.0, rows.1
    );
    Section::new("Alone and together").table(table, caption)
}

pub(super) fn by_table(tables: &[&Scored], seed: u64) -> Section {
    let mut table = Table::new(&[
        ("table", Align::Left),
        ("networks", Align::Right),
        ("single runs", Align::Right),
        ("equal cost", Align::Right),
        ("all pairs", Align::Right),
        ("parameters, all pairs", Align::Right),
        ("FLOPs, all pairs", Align::Right),
        ("m n, all pairs", Align::Right),
        ("the claim at equal cost", Align::Left),
    ]);
    let mut notes = Table::new(&[
        ("table", Align::Left),
        ("file", Align::Left),
        ("error", Align::Left),
        ("what to know of it", Align::Left),
    ]);
    for one in tables {
        let groups = one.groups();
        let tests = claims::tests(&groups, seed);
        let count =
            |predictor| -> Tally { groups.iter().map(|group| tally(group, predictor, Among::All)).sum() };
        table.push([
            one.listed.title.clone(),
            one.scored.rows.len().to_string(),
            one.single_runs().to_string(),
            tests[0].tally.words(),
            tests[1].tally.words(),
            count(Predictor::Parameters).words(),
            count(Predictor::Flops).words(),
            count(Predictor::Width).words(),
            claims::verdict(&tests[0]).to_string(),
        ]);
        let listed = &one.listed;
        notes.push([
            listed.title.clone(),
            format!("`{}`", listed.file),
            listed.error.clone(),
            listed.note.clone(),
        ]);
    }
    Section::new("Table by table")
        .table(table, "Pairs that are ordered right, by the main column of errors.")
        .table(
            notes,
            "Scores, rank correlations and every row of one table: `collegial score FILE --target ERROR --group recipe --group blocks`.",
        )
}

pub(super) fn sensitivity(others: &Pool, ordinary: &Pool, tables: &[&Scored]) -> Section {
    let mut doubtful =
        Table::new(&[("table", Align::Left), ("network", Align::Left), ("why it is doubtful", Align::Left)]);
    for table in tables {
        for outlier in table.outliers() {
            doubtful.push([table.listed.title.clone(), outlier.model.to_owned(), outlier.why.to_owned()]);
        }
    }
    let of = |pool: &Pool, at: usize| pool.tests[at].words();
    Section::new("Without the rows that were doubtful beforehand")
        .prose(format!(
            "At equal cost {} instead of {}; of all pairs {} instead of {}.",
            of(ordinary, 0),
            of(others, 0),
            of(ordinary, 1),
            of(others, 1)
        ))
        .table(doubtful, "Named before anything was computed from them, and kept in elsewhere.")
}

/// The tables that no design can be taken from, with the reasons of their rows.
pub(super) fn not_compared(tables: &[&Scored]) -> Section {
    let mut table = Table::new(&[("table", Align::Left), ("rows", Align::Right), ("why", Align::Left)]);
    for one in tables {
        let mut reasons: Vec<(&str, usize)> = vec![];
        for row in &one.scored.refused {
            match reasons.iter_mut().find(|(reason, _)| *reason == row.reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((&row.reason, 1)),
            }
        }
        for (reason, count) in reasons {
            table.push([one.listed.title.clone(), count.to_string(), reason.to_owned()]);
        }
    }
    Section::new("Tables that are not compared")
        .table(table, "Published sweeps of groups whose networks have no grouped bottleneck.")
}
