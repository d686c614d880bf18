//! Figures: what they look like, that they are well-formed, and that their data come back.

mod common;

use collegial_report::{Axis, Band, Figure, Line, Mark, Marker, Point, Points, Stroke, Tone, VerticalRange};
use common::{figure, number, parse, read_csv, text, without_style};
use proptest::prelude::*;

fn small() -> Figure {
    Figure::new("Variance & <cost>")
        .x(Axis::log("width n").range(1.0, 128.0))
        .y(Axis::linear("variance").include(0.0))
        .with(Line::new(
            "law",
            [(1.0, 3.0), (2.0, 2.0), (4.0, f64::NAN), (8.0, 0.5), (16.0, 1.0), (128.0, 2.5)],
        ))
        .with(Band::new("95 %", [(1.0, 2.5, 3.5), (8.0, 0.25, 0.75), (128.0, 2.0, 3.0)]))
        .with(Points::new(
            "measured",
            [Point::new(2.0, 2.1).error(0.2), Point::new(16.0, 1.1).label("4x16d")],
        ))
        .with(Mark::new("37x10d", 8.0, 0.5).drop_lines())
        .with(VerticalRange::new("flat", 6.0, 12.0))
}

#[test]
fn a_small_figure_looks_like_this() {
    insta::assert_snapshot!(without_style(&small().to_svg()));
}

#[test]
fn colours_live_in_the_style_sheet_only() {
    let svg = small().to_svg();
    assert!(svg.contains("prefers-color-scheme:dark"));
    let drawing = without_style(&svg);
    assert!(!drawing.contains('#') && !drawing.contains("style="), "{drawing}");
}

#[test]
fn screen_readers_get_a_title_and_a_description() {
    let svg = small().to_svg();
    let document = parse(&svg).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let child =
        |name: &str| root.children().find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name)));
    assert_eq!(child("title").and_then(|node| node.text()), Some("Variance & <cost>"));
    let description = child("desc").and_then(|node| node.text()).unwrap_or_default().to_owned();
    assert!(description.contains("Marked: 37x10d at (8, 0.5)."), "{description}");
    let svg = small().describe("In words.").to_svg();
    assert!(svg.contains("<desc>In words.</desc>"));
}

#[test]
fn gaps_split_lines_and_log_axes_drop_what_is_not_positive() {
    let line = |points: &[(f64, f64)]| {
        let figure = Figure::new("").x(Axis::log("")).with(Line::new("", points.to_vec()));
        let svg = figure.to_svg();
        let path = svg.lines().find(|line| line.contains("class=\"line ")).map(str::to_owned);
        path.map_or(0, |path| path.matches('M').count())
    };
    assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]), 1);
    assert_eq!(line(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)]), 2);
    assert_eq!(line(&[(1.0, 1.0), (2.0, f64::INFINITY), (3.0, 3.0), (-1.0, 2.0), (4.0, 1.0)]), 3);
    assert_eq!(line(&[(-1.0, 1.0), (0.0, 1.0)]), 0);
    assert_eq!(line(&[]), 0);
}

#[test]
fn layers_differ_without_colour() {
    let lines = (0..5)
        .fold(Figure::new(""), |figure, k| figure.with(Line::new(format!("{k}"), [(0.0, 0.0), (1.0, 1.0)])));
    let svg = lines.to_svg();
    for stroke in [
        "line c-cost",
        "line dashed c-law",
        "line dotted c-variance",
        "line dashdotted c-drawn",
        "line longdashed c-other",
    ] {
        // Once in the drawing, once in the legend.
        assert_eq!(svg.matches(&format!("class=\"{stroke}\"")).count(), 2, "{stroke}");
    }
    let forced = Figure::new("")
        .with(Line::new("", [(0.0, 0.0), (1.0, 1.0)]).stroke(Stroke::Dotted).tone(Tone::Law))
        .with(Points::new("", [(0.5, 0.5)]).marker(Marker::Cross))
        .with(Mark::new("", 0.1, 0.1).tone(Tone::Other));
    let svg = forced.to_svg();
    assert!(svg.contains("class=\"point c-other\""), "{svg}");
    assert!(svg.contains("class=\"line dotted c-law\"") && svg.contains("class=\"cross c-cost\""), "{svg}");
}

#[test]
fn layers_with_one_name_share_colour_and_legend() {
    let svg = Figure::new("")
        .with(Line::new("law", [(0.0, 0.0), (1.0, 1.0)]))
        .with(Points::new("law", [(0.5, 0.5)]))
        .with(Mark::new("best", 0.5, 0.5))
        .to_svg();
    assert_eq!(svg.matches(">law</text>").count(), 1);
    assert!(svg.contains("class=\"point c-cost\""));
    assert!(!without_style(&svg).contains("c-law\""));
}

#[test]
fn csv_is_long_and_complete() {
    let expected = "\
series,x,y,low,high,label
law,1,3,,,
law,2,2,,,
law,4,NaN,,,
law,8,0.5,,,
law,16,1,,,
law,128,2.5,,,
95 %,1,,2.5,3.5,
95 %,8,,0.25,0.75,
95 %,128,,2,3,
measured,2,2.1,1.9000000000000001,2.3000000000000003,
measured,16,1.1,,,4x16d
37x10d,8,0.5,,,
flat,6,,,,
flat,12,,,,
";
    assert_eq!(small().to_csv(), expected);
}

/// Every number in the drawing's geometry, as text.
fn numbers(svg: &str) -> Vec<String> {
    let document = parse(svg).unwrap();
    let attributes = document.descendants().flat_map(|node| node.attributes());
    let geometry = attributes.filter(|attribute| {
        ["d", "x", "y", "cx", "cy", "r", "width", "height", "viewBox"].contains(&attribute.name())
    });
    let split = |value: &str| -> Vec<String> {
        let pieces = value.split(|character: char| character.is_alphabetic() || character == ' ');
        pieces.filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
    };
    geometry.flat_map(|attribute| split(attribute.value())).collect()
}

fn same(one: f64, other: f64) -> bool {
    one == other || (one.is_nan() && other.is_nan())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_figure_is_well_formed_short_and_the_same_twice(figure in figure()) {
        let svg = figure.to_svg();
        prop_assert_eq!(&svg, &figure.clone().to_svg());
        for number in numbers(&svg) {
            let value: f64 = number.parse().map_err(|_| TestCaseError::fail(format!("not a number: {number}")))?;
            prop_assert!(value.is_finite());
            let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            prop_assert!(decimals <= 2, "{}", number);
        }
    }

    #[test]
    fn text_starts_inside_the_sheet(figure in figure()) {
        let svg = figure.to_svg();
        let document = parse(&svg).unwrap();
        let of = |node: roxmltree::Node, name: &str| -> f64 { node.attribute(name).unwrap().parse().unwrap() };
        let height = of(document.root_element(), "height");
        prop_assert_eq!(of(document.root_element(), "width"), 720.0);
        for node in document.descendants().filter(|node| node.tag_name().name() == "text") {
            let (x, y) = (of(node, "x"), of(node, "y"));
            prop_assert!((0.0..=720.0).contains(&x) && (0.0..=height).contains(&y), "{:?} at {}, {}", node.text(), x, y);
        }
    }

    #[test]
    fn csv_brings_every_number_and_name_back(
        name in text(),
        points in prop::collection::vec((number(), number(), number(), number(), text()), 0..10),
    ) {
        let data = points.iter().map(|(x, y, low, high, label)| Point::new(*x, *y).interval(*low, *high).label(label));
        let rows = read_csv(&Figure::new("").with(Points::new(name.clone(), data)).to_csv());
        prop_assert_eq!(rows.len(), points.len() + 1);
        for (row, (x, y, low, high, label)) in rows[1..].iter().zip(&points) {
            // An apostrophe keeps spreadsheets from reading a text as a formula.
            let same_text = |cell: &str, text: &str| cell == text || cell == format!("'{text}");
            prop_assert!(same_text(&row[0], &name), "{:?} is not {:?}", row[0], name);
            prop_assert!(same_text(&row[5], label), "{:?} is not {:?}", row[5], label);
            for (cell, value) in row[1..5].iter().zip([x, y, low, high]) {
                prop_assert!(same(cell.parse().unwrap(), *value), "{} is not {}", cell, value);
            }
        }
    }
}
