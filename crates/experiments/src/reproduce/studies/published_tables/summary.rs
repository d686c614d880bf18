//! All tables together: the figure and the numbers that answer "does it help?".

use std::iter;

use crate::score::pairs::{Among, EQUAL, PairTest, Tally, pair_test, share_interval, tally};
use crate::score::{Group, Predictor, explained};
use collegial_report::{Align, Axis, Figure, Line, Points, Section, Stroke, Table};
use serde_json::json;

use super::body::Body;
use super::claims::{self, CLAIMS};
use super::{NOT_COMPARED, TABLES};
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome};

/// What all tables say together.
pub fn run(_experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let seed = context.seed;
    let bodies: Vec<Body> = TABLES.iter().map(|table| table.body(seed)).collect::<Result<_, _>>()?;
    // The paper's own table is where the claim comes from: others' tables are the test.
    let others = Pool::of(bodies[1..].iter().map(|body| body.groups(body.primary())), seed);
    let ordinary = bodies[1..].iter().map(|body| body.groups_without_outliers(body.primary()));
    let ordinary = Pool::of(ordinary, seed);
    Ok(Outcome {
        sentence: sentence(&others),
        comparisons: comparisons(&others),
        figures: vec![figure(&bodies)],
        sections: vec![
            predictors(&others),
            together(&others),
            by_table(&bodies, seed),
            sensitivity(&others, &ordinary),
            not_compared(seed)?,
        ],
        data: json!({"others": others.tests, "without_outliers": ordinary.tests}),
        ..Outcome::default()
    })
}

/// A test over several tables, with the 95 % interval of the share of right pairs.
type Tested = (PairTest, Option<[f64; 2]>);

/// The groups of several tables.
struct Pool<'a> {
    tables: Vec<Vec<Group<'a>>>,
    all: Vec<Group<'a>>,
    /// Of every claim.
    tests: Vec<Tested>,
    seed: u64,
}

impl<'a> Pool<'a> {
    fn of(tables: impl Iterator<Item = Vec<Group<'a>>>, seed: u64) -> Self {
        let tables: Vec<Vec<Group>> = tables.collect();
        let all: Vec<Group> = tables.iter().flatten().cloned().collect();
        let mut pool = Self { tables, all, tests: vec![], seed };
        pool.tests = CLAIMS.iter().map(|(_, among)| pool.test(Predictor::Score, *among)).collect();
        pool
    }

    /// Of a predictor over all tables; the interval comes from drawing tables again.
    fn test(&self, predictor: Predictor, among: Among) -> Tested {
        let of = |groups: &Vec<Group>| groups.iter().map(|group| tally(group, predictor, among)).sum();
        let tallies: Vec<Tally> = self.tables.iter().map(of).collect();
        (pair_test(&self.all, predictor, among, self.seed), share_interval(&tallies, self.seed))
    }
}

/// "81 of 96, 84 % (72 to 93)".
fn share(test: &PairTest, interval: Option<[f64; 2]>) -> String {
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    let Some(value) = test.tally.share() else { return "no pair".into() };
    let interval =
        interval.map_or(String::new(), |[low, high]| format!(" ({} to {})", percent(low), percent(high)));
    format!("{}, {} %{interval}", test.tally.words(), percent(value))
}

fn sentence(others: &Pool) -> String {
    let of = |at: usize| share(&others.tests[at].0, others.tests[at].1);
    let width = others.test(Predictor::Width, Among::EqualCost);
    format!(
        "{} tables of networks that others trained; pairs in which the design of lower score has the lower error: at equal cost {}; of all pairs {}; where score and number of \
         parameters disagree {}. Where the inner width m n differs it alone is as good: at equal cost {}.",
        others.tables.len(),
        of(0),
        of(1),
        of(2),
        share(&width.0, width.1)
    )
}

fn comparisons(others: &Pool) -> Vec<Comparison> {
    let compare = |((what, _), (test, interval)): (&(&str, Among), &Tested)| {
        let obtained = format!("{}; {}", share(test, *interval), claims::chance(test.p_value));
        Comparison::claim(*what, "the theory's claim", obtained, claims::verdict(test))
    };
    CLAIMS.iter().zip(&others.tests).map(compare).collect()
}

/// The series of the figure: which tables, and what they are called.
const SERIES: [(&str, &[&str]); 5] = [
    ("the paper, CIFAR-100", &["evidence-paper"]),
    ("ResNeXt's authors", &["evidence-resnext"]),
    ("timm", &["evidence-timm"]),
    (
        "other model zoos, ImageNet",
        &[
            "evidence-imgclsmob",
            "evidence-paddleclas",
            "evidence-mmpretrain",
            "evidence-pycls",
            "evidence-resnest",
            "evidence-deep-roots",
        ],
    ),
    ("others, CIFAR-10", &["evidence-cifar-zoo", "evidence-cifar-readmes", "evidence-wrn"]),
];

/// One point per pair of equal cost: how much less variance, how much less error.
fn figure(bodies: &[Body]) -> (Figure, String) {
    let mut figure = Figure::new("Two networks of equal cost: less kernel variance, less error?")
        .x(Axis::log("how many times less kernel variance (ratio of scores)"))
        .y(Axis::linear("change of error, %"));
    let mut widest: f64 = 1.0;
    for (label, names) in SERIES {
        let of = |body: &Body| -> Vec<(f64, f64)> {
            body.groups(body.primary()).iter().flat_map(equal_cost_pairs).collect()
        };
        let points: Vec<(f64, f64)> =
            bodies.iter().filter(|body| names.contains(&body.name)).flat_map(of).collect();
        widest = points.iter().fold(widest, |widest, point| widest.max(point.0));
        figure = figure.with(Points::new(label, points));
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

/// (score ratio above 1, relative difference of the errors in per cent) of every pair of equal
/// cost.
fn equal_cost_pairs(group: &Group) -> Vec<(f64, f64)> {
    let near = |a: u64, b: u64| (a as f64 / b as f64).ln().abs() <= EQUAL.ln();
    let count = group.rows.len();
    let pairs = (0..count).flat_map(|a| iter::repeat(a).zip(a + 1..count));
    let equal = pairs.filter(|&(a, b)| {
        let (a, b) = (&group.rows[a].predictors, &group.rows[b].predictors);
        near(a.parameters, b.parameters) && near(a.flops, b.flops)
    });
    let point = |(a, b): (usize, usize)| {
        let score = |at: usize| group.rows[at].predictors.score;
        let (low, high) = if score(a) < score(b) { (a, b) } else { (b, a) };
        let ratio = score(high) / score(low);
        (ratio > 1.0 + 1e-9).then(|| (ratio, 100.0 * (group.errors[low] / group.errors[high] - 1.0)))
    };
    equal.filter_map(point).collect()
}

fn predictors(others: &Pool) -> Section {
    let mut table = Table::new(&[
        ("predictor", Align::Left),
        ("all pairs", Align::Right),
        ("equal cost", Align::Right),
        ("equal m n", Align::Right),
        ("score right where they disagree", Align::Right),
    ]);
    for predictor in Predictor::ALL {
        let of = |predictor, among| {
            let (test, interval) = others.test(predictor, among);
            share(&test, interval)
        };
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

fn together(others: &Pool) -> Section {
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

fn by_table(bodies: &[Body], seed: u64) -> Section {
    let mut table = Table::new(&[
        ("table", Align::Left),
        ("networks", Align::Right),
        ("single runs", Align::Right),
        ("equal cost", Align::Right),
        ("all pairs", Align::Right),
        ("parameters, all pairs", Align::Right),
        ("m n, all pairs", Align::Right),
        ("the claim at equal cost", Align::Left),
    ]);
    for body in bodies {
        let groups = body.groups(body.primary());
        let tests = claims::tests(&groups, seed);
        let count =
            |predictor| -> Tally { groups.iter().map(|group| tally(group, predictor, Among::All)).sum() };
        table.push([
            body.title.trim_start_matches("Evidence: ").to_owned(),
            body.scored.rows.len().to_string(),
            body.single_runs().to_string(),
            tests[0].tally.words(),
            tests[1].tally.words(),
            count(Predictor::Parameters).words(),
            count(Predictor::Width).words(),
            claims::verdict(&tests[0]).to_string(),
        ]);
        table.link(body.name);
    }
    Section::new("Table by table").table(table, "Pairs that are ordered right, by the main column of errors.")
}

fn sensitivity(others: &Pool, ordinary: &Pool) -> Section {
    let of = |pool: &Pool, at: usize| share(&pool.tests[at].0, pool.tests[at].1);
    Section::new("Without the rows that were doubtful beforehand").prose(format!(
        "At equal cost {} instead of {}; of all pairs {} instead of {}.",
        of(ordinary, 0),
        of(others, 0),
        of(ordinary, 1),
        of(others, 1)
    ))
}

/// The published tables that no design can be taken from, with the reasons of their rows.
fn not_compared(seed: u64) -> Result<Section, Error> {
    let mut table = Table::new(&[("table", Align::Left), ("rows", Align::Right), ("why", Align::Left)]);
    for (title, csv) in NOT_COMPARED {
        let body = Body::read("evidence", title, csv, vec!["top1_error".into()], seed)?;
        let mut reasons: Vec<(String, usize)> = vec![];
        for row in &body.scored.refused {
            match reasons.iter_mut().find(|(reason, _)| *reason == row.reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((row.reason.clone(), 1)),
            }
        }
        for (reason, count) in reasons {
            table.push([title.to_owned(), count.to_string(), reason]);
        }
    }
    Ok(Section::new("Tables that are not compared")
        .table(table, "Published sweeps of groups whose networks have no grouped bottleneck."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 579 rows of others, 24 of which are counts of networks that another table has (a column
    /// there), and the paper's 16; nothing at hand is left out of the tree.
    #[test]
    fn every_published_row_is_here() {
        let rows = |csv: &str| csv.lines().count() - 1;
        let compared: usize = TABLES.iter().map(|table| rows(table.csv)).sum();
        let others: usize = NOT_COMPARED.iter().map(|(_, csv)| rows(csv)).sum();
        let counted = TABLES.iter().find(|table| table.csv.contains(",published_mmacs,")).unwrap();
        assert_eq!(compared + others + rows(counted.csv), 579 + 16);
        for (title, csv) in NOT_COMPARED {
            let body = Body::read("evidence", title, csv, vec!["top1_error".into()], 0).unwrap();
            assert!(body.scored.rows.is_empty(), "{title}");
            assert!(body.scored.refused.iter().all(|row| row.reason.starts_with("left out: ")), "{title}");
        }
    }

    /// Every table is in exactly one series of the figure, so that none is left out.
    #[test]
    fn the_figure_shows_every_table() {
        for table in TABLES {
            let name = table.name;
            let shown = SERIES.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(shown, 1, "{name}");
        }
        let named: usize = SERIES.iter().map(|(_, names)| names.len()).sum();
        assert_eq!(named, TABLES.len());
    }
}
