//! Rendering of scores: tables, a figure per group, a page.

use std::borrow::Cow;
use std::path::Path;

use collegial_experiments::score::{Association, Group, NotCompared, Predictor, ScoredTable, Slope};
use collegial_report::{
    Align, Axis, Download, Figure, Page, Point, Points, Provenance, Section, Table, significant,
};
use serde_json::Value;

use super::ScoreAnswer;
use crate::Answer as _;
use crate::style::wrapped;

/// Figures of more points than this have no labels.
const LABELLED: usize = 30;

/// Groups that have a figure of their own on the page, the largest first.
const PICTURED: usize = 12;

/// Groups that share one figure: as many as there are colours.
const TOGETHER: usize = 6;

/// Rows that the page lists; all are in the data.
const LISTED: usize = 500;

/// What was computed of every row.
const COMPUTED: [&str; 6] = ["score", "white_score", "law", "parameters", "flops", "inner_width"];

/// The column that says which network a row is.
const MODEL: &str = "model";

/// The table's own columns and what was computed.
pub(super) fn rows(table: &ScoredTable) -> Table {
    listed(table, |_| true, |_| false, usize::MAX)
}

/// For readers: which network it is, what was computed, then the table's other columns.
pub(super) fn computed_first(table: &ScoredTable, most: usize) -> Table {
    listed(table, |column| column == MODEL, |column| column != MODEL, most)
}

/// What was computed, between the table's columns that stand before it and behind it.
fn listed(
    scored: &ScoredTable,
    before: impl Fn(&str) -> bool,
    behind: impl Fn(&str) -> bool,
    most: usize,
) -> Table {
    let own: Vec<&str> =
        scored.rows.first().map_or(vec![], |row| row.cells.keys().map(String::as_str).collect());
    let left = |kept: &dyn Fn(&str) -> bool| {
        own.iter().filter(|name| kept(name)).map(|&name| (name, Align::Left)).collect::<Vec<_>>()
    };
    let computed = COMPUTED.map(|name| (name, Align::Right));
    let mut table = Table::new(&[left(&before), computed.to_vec(), left(&behind)].concat());
    for row in scored.rows.iter().take(most) {
        let cells = |kept: &dyn Fn(&str) -> bool| {
            row.cells.iter().filter(|(name, _)| kept(name)).map(|(_, value)| words(value)).collect::<Vec<_>>()
        };
        table.push_row(
            [cells(&before), row.predictors.cells(6).into_iter().collect(), cells(&behind)].concat(),
        );
    }
    table
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// One line per rank correlation.
pub(super) fn correlations(found: &[Association]) -> Table {
    let mut table = Table::new(&[
        ("group", Align::Left),
        ("target", Align::Left),
        ("predictor", Align::Left),
        ("given", Align::Left),
        ("rank correlation", Align::Right),
        ("95 % interval", Align::Right),
        ("rows", Align::Right),
    ]);
    for Association { group, target, predictor, given, spearman, ci, rows } in found {
        table.push([
            group.clone().unwrap_or_default(),
            target.clone(),
            predictor.words().into(),
            given.map_or(String::new(), |given| given.words().into()),
            estimate(*spearman),
            interval(*ci),
            rows.to_string(),
        ]);
    }
    table
}

/// Why a row or a group is in no correlation.
pub(super) fn not_compared(left: &NotCompared) -> String {
    match (&left.group, left.row) {
        (_, Some(row)) => format!("row {row}: {}", left.reason),
        (Some(group), None) => format!("{group}: {}", left.reason),
        (None, None) => left.reason.clone(),
    }
}

/// The slopes of a group in a sentence.
fn slopes_sentence(slopes: &[Slope], first: &Association) -> Option<String> {
    let of = |slope: &&Slope| slope.group == first.group && slope.target == first.target;
    let words: Vec<String> = slopes
        .iter()
        .filter(of)
        .map(|slope| format!("{} {:.3} +- {:.3}", slope.predictor.words(), slope.slope, slope.standard_error))
        .collect();
    (!words.is_empty())
        .then(|| format!("slope of ln error on ln predictor, +- one standard error: {}", words.join("; ")))
}

/// A small table per group, as narrow as a terminal.
pub(super) fn by_group(table: &ScoredTable) -> String {
    let mut text = String::new();
    let ScoredTable { correlations, slopes, .. } = table;
    for part in groups_of(correlations) {
        let first = &part[0];
        let group = first.group.as_ref().map_or(String::new(), |group| format!("{group}: "));
        text.push_str(&format!("{group}{}, {} designs\n\n", first.target, first.rows));
        let mut table = Table::new(&PIVOT);
        pivoted(part).into_iter().for_each(|cells| table.push_row(cells.into()));
        text.push_str(&table.to_text());
        if let Some(sentence) = slopes_sentence(slopes, first) {
            text.push_str(&format!("{}\n", wrapped(&sentence).join("\n")));
        }
        text.push('\n');
    }
    text
}

/// The same tables as one, for a page.
fn all_pivoted(found: &[Association]) -> Table {
    let group = [("group", Align::Left), ("target", Align::Left), ("rows", Align::Right)];
    let named = found.iter().any(|one| one.group.is_some());
    let group = if named { &group[..] } else { &group[1..] };
    let mut table = Table::new(&[group, &PIVOT].concat());
    for part in groups_of(found) {
        let Association { group, target, rows, .. } = &part[0];
        let of = [group.clone().unwrap_or_default(), target.clone(), rows.to_string()];
        let of = if named { &of[..] } else { &of[1..] };
        pivoted(part).into_iter().for_each(|cells| table.push_row([of, &cells].concat()));
    }
    table
}

/// Each predictor of a group alone, and with a count held fixed.
const PIVOT: [(&str, Align); 5] = [
    ("predictor", Align::Left),
    ("alone", Align::Right),
    ("95 % interval", Align::Right),
    ("given params", Align::Right),
    ("given FLOPs", Align::Right),
];

fn groups_of(found: &[Association]) -> impl Iterator<Item = &[Association]> {
    found.chunk_by(|a, b| (&a.group, &a.target) == (&b.group, &b.target))
}

fn pivoted(part: &[Association]) -> Vec<[String; 5]> {
    let alone = part.iter().filter(|found| found.given.is_none());
    let row = |alone: &Association| {
        let given = |predictor| {
            let held = part
                .iter()
                .find(|found| found.predictor == alone.predictor && found.given == Some(predictor));
            held.map_or(String::new(), |found| estimate(found.spearman))
        };
        [
            alone.predictor.words().to_owned(),
            estimate(alone.spearman),
            interval(alone.ci),
            given(Predictor::Parameters),
            given(Predictor::Flops),
        ]
    };
    alone.map(row).collect()
}

fn estimate(value: Option<f64>) -> String {
    value.map_or("n/a".into(), |value| format!("{value:.2}"))
}

fn interval(ci: Option<[f64; 2]>) -> String {
    ci.map_or("n/a".into(), |[low, high]| format!("{low:.2} to {high:.2}"))
}

fn slopes(found: &[Slope]) -> Table {
    let mut table = Table::new(&[
        ("group", Align::Left),
        ("target", Align::Left),
        ("predictor", Align::Left),
        ("slope", Align::Right),
        ("standard error", Align::Right),
        ("rows", Align::Right),
    ]);
    for Slope { group, target, predictor, slope, standard_error, rows } in found {
        table.push([
            group.clone().unwrap_or_default(),
            target.clone(),
            predictor.words().into(),
            significant(*slope, 3),
            significant(*standard_error, 2),
            rows.to_string(),
        ]);
    }
    table
}

fn points(group: &Group, label: &str) -> Points {
    let labelled = group.rows.len() <= LABELLED;
    let point = |(row, error): (&&collegial_experiments::score::ScoredRow, &f64)| {
        let point = Point::new(row.predictors.score, *error);
        match (row.cells.get("m"), row.cells.get("n"), row.cells.get("model")) {
            (Some(m), Some(n), _) if labelled && !m.is_null() => {
                let first = |value: &Value| words(value).split('-').next().unwrap_or_default().to_owned();
                point.label(format!("{}x{}d", first(m), first(n)))
            }
            (_, _, Some(model)) if labelled => point.label(words(model)),
            _ => point,
        }
    };
    Points::new(label, group.rows.iter().zip(&group.errors).map(point))
}

fn name<'a>(group: &'a Group) -> &'a str {
    group.name.as_deref().unwrap_or("all rows")
}

fn axes(title: String, target: &str) -> Figure {
    Figure::new(title)
        .x(Axis::log("score: mean kernel variance of the blocks"))
        .y(Axis::linear(target.to_owned()))
}

/// The largest groups of the first target in one figure.
pub(super) fn all_groups(groups: &[Group]) -> Figure {
    let target = groups[0].target;
    let mut largest: Vec<&Group> = groups.iter().filter(|group| group.target == target).collect();
    largest.sort_by_key(|group| std::cmp::Reverse(group.rows.len()));
    let figure = axes(format!("{target} over the score"), target);
    largest.into_iter().take(TOGETHER).fold(figure, |figure, group| figure.with(points(group, name(group))))
}

/// A figure of every group of three designs or more, each with a file of its own.
pub(super) fn each_group<'a>(groups: &'a [Group]) -> impl Iterator<Item = (Cow<'static, str>, Figure)> + 'a {
    let pictured = groups.iter().filter(|group| group.rows.len() > 2);
    pictured.enumerate().map(|(at, group)| {
        let title = format!("{}: {}", name(group), group.target);
        let file = format!("score-{}-{}.svg", at + 1, slug(&title));
        (Cow::Owned(file), axes(title, group.target).with(points(group, "")))
    })
}

/// Letters and digits, others as hyphens, so that it can stand in the name of a file.
fn slug(text: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let words: String = text.chars().take(60).map(plain).collect();
    words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

/// Everything on one page.
pub(super) fn page(scored: &ScoreAnswer, provenance: Provenance) -> Page {
    let table = &scored.table;
    let subject = Path::new(&scored.name).file_stem().unwrap_or_default().to_string_lossy();
    let page = Page::new(format!("Scores of {}", scored.name))
        .subject(subject)
        .verdict(scored.sentences().join(" "));
    let data =
        Section::new("Data").download(Download::json("scores.json", scored.json().unwrap_or_default()));
    let sections = [pictures(table, table.groups(&scored.question)), rankings(table)].into_iter().flatten();
    let sections = sections.chain([designs(table), data]);
    sections.fold(page, Page::section).provenance(provenance)
}

/// Errors over the score, of the largest groups.
fn pictures(table: &ScoredTable, mut groups: Vec<Group>) -> Option<Section> {
    groups.sort_by_key(|group| std::cmp::Reverse(group.rows.len()));
    // Two points are no picture.
    groups.retain(|group| group.rows.len() > 2);
    if groups.is_empty() {
        return None;
    }
    let figures = groups.iter().take(PICTURED).map(|group| {
        let title = format!("{}: {}", name(group), group.target);
        (axes(title, group.target).with(points(group, "")), caption(group, table))
    });
    let section = Section::new("Errors over the score").figures(figures);
    if groups.len() <= PICTURED {
        return Some(section);
    }
    let shown = format!("The {PICTURED} largest of {} groups of three designs or more.", groups.len());
    Some(section.prose(shown))
}

fn rankings(table: &ScoredTable) -> Option<Section> {
    if table.correlations.is_empty() {
        return None;
    }
    let caption = "Rank correlations. Positive: the predictor is right, errors grow with variances and fall with \
                   sizes. What is `given` is held fixed. Intervals come from resampling rows.";
    let slopes = Section::new("Slopes")
        .table(slopes(&table.slopes), "Least squares of ln error on ln predictor, group by group.");
    let ranks = Section::new("What ranks the errors").table(all_pivoted(&table.correlations), caption);
    Some(ranks.details(slopes))
}

/// Every row, and below them what was left out.
fn designs(table: &ScoredTable) -> Section {
    let mut designs = Section::new("The designs")
        .table(computed_first(table, LISTED), "What was computed of each, then the columns of the table.");
    if table.rows.len() > LISTED {
        designs = designs
            .prose(format!("The first {LISTED} of {} rows; the data below has all.", table.rows.len()));
    }
    if !table.refused.is_empty() {
        let mut refused = Table::new(&[("row", Align::Right), ("model", Align::Left), ("why", Align::Left)]);
        for row in &table.refused {
            refused.push([row.row.to_string(), row.model.clone().unwrap_or_default(), row.reason.clone()]);
        }
        designs =
            designs.details(Section::new("Rows that are not scored").table(refused, "With the reason."));
    }
    if !table.not_compared.is_empty() {
        let mut left = Table::new(&[("target", Align::Left), ("not compared", Align::Left)]);
        for one in &table.not_compared {
            left.push([one.target.clone(), not_compared(one)]);
        }
        designs = designs
            .details(Section::new("Rows and groups that are not compared").table(left, "With the reason."));
    }
    designs
}

/// The score's correlation and slope in a group.
fn caption(group: &Group, table: &ScoredTable) -> String {
    let of = |found: &&Association| {
        found.group == group.name
            && found.target == group.target
            && (found.predictor, found.given) == (Predictor::Score, None)
    };
    let Some(Association { spearman: Some(value), ci: Some([low, high]), rows, .. }) =
        table.correlations.iter().find(of)
    else {
        return format!("{} designs.", group.rows.len());
    };
    let slope = table.slopes.iter().find(|slope| {
        slope.group == group.name && slope.target == group.target && slope.predictor == Predictor::Score
    });
    let slope = slope.map_or(String::new(), |slope| {
        format!(" Slope of ln error on ln score: {:.3} ± {:.3}.", slope.slope, slope.standard_error)
    });
    format!("{rows} designs; rank correlation {value:.2} ({low:.2} to {high:.2}).{slope}")
}
