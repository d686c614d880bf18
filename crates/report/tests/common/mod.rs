//! Odd inputs and small readers that several tests use.
#![allow(dead_code, reason = "each test binary uses its own part")]

use collegial_report::{Axis, Band, Figure, Line, Mark, Point, Points, VerticalRange};
use proptest::prelude::*;

/// Numbers of every kind: ordinary, special, and any bit pattern.
pub fn number() -> impl Strategy<Value = f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
    ];
    prop_oneof![4 => -100.0..100.0, 1 => prop::sample::select(special.to_vec()), 1 => prop::num::f64::ANY]
}

/// Text with any characters, often those that markup, CSV and terminals care about.
pub fn text() -> impl Strategy<Value = String> {
    let awkward = prop::sample::select("<>&\"'`,;\n\r\t\0\u{1b}\u{ffff}]]> ".chars().collect::<Vec<_>>());
    let character = prop_oneof![2 => prop::char::range(' ', '~'), 1 => awkward, 1 => any::<char>()];
    prop::collection::vec(character, 0..40).prop_map(|characters| characters.into_iter().collect())
}

fn axis() -> impl Strategy<Value = Axis> {
    (text(), any::<bool>(), prop::option::of((number(), number())), prop::option::of(number())).prop_map(
        |(label, logarithmic, range, included)| {
            let axis = if logarithmic { Axis::log(label) } else { Axis::linear(label) };
            let axis = range.map_or(axis.clone(), |(low, high)| axis.range(low, high));
            included.map_or(axis.clone(), |value| axis.include(value))
        },
    )
}

/// A figure of up to a few layers of each kind, with whatever numbers.
pub fn figure() -> impl Strategy<Value = Figure> {
    let pairs = || prop::collection::vec((number(), number()), 0..12);
    let triples = || prop::collection::vec((number(), number(), number()), 0..12);
    let labelled = prop::collection::vec((number(), number(), number(), text()), 0..8);
    (text(), axis(), axis(), (text(), pairs()), (text(), labelled), (text(), triples()), (text(), pairs()))
        .prop_map(|(title, x, y, line, points, band, marks)| {
            let described =
                points.1.into_iter().map(|(x, y, error, label)| Point::new(x, y).error(error).label(label));
            let mut figure = Figure::new(title)
                .x(x)
                .y(y)
                .with(Line::new(line.0, line.1))
                .with(Points::new(points.0, described))
                .with(Band::new(band.0, band.1));
            for (x, y) in marks.1 {
                figure = figure.with(Mark::new(marks.0.clone(), x, y).drop_lines());
                figure = figure.with(VerticalRange::new(marks.0.clone(), x, y));
            }
            figure
        })
}

/// Reads markup as XML, with the document type that HTML has.
pub fn parse(markup: &str) -> Result<roxmltree::Document<'_>, roxmltree::Error> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(markup, options)
}

/// The markup with the style sheet left out, which would make snapshots long and their changes
/// dull.
pub fn without_style(markup: &str) -> String {
    match (markup.find("<style>"), markup.find("</style>")) {
        (Some(from), Some(to)) => format!("{}<style>{}", &markup[..from], &markup[to..]),
        _ => markup.to_owned(),
    }
}

/// A reader of RFC 4180, written apart from the writer.
pub fn read_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (vec![], vec![], String::new());
    let (mut quoted, mut characters) = (false, text.chars().peekable());
    while let Some(character) = characters.next() {
        match (character, quoted) {
            ('"', true) if characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(character),
        }
    }
    rows
}
