//! Sketches in characters: size, characters, and where things land.

mod common;

use collegial_report::{Axis, Figure, Glyphs, Line, Mark, Points, TextFormat};
use common::figure;
use proptest::prelude::*;

fn example() -> Figure {
    let curve = |scale: f64| (1..=128).map(f64::from).map(move |n| (n, scale * (8.0 / n + n / 8.0)));
    Figure::new("not shown")
        .x(Axis::log("width n"))
        .y(Axis::log("variance"))
        .with(Line::new("law", curve(1.0)))
        .with(Line::new("exact", curve(1.8)))
        .with(Points::new("measured", [(64.0, 9.0)]))
        .with(Mark::new("37x8d", 8.0, 2.0))
}

const ASCII: TextFormat = TextFormat { columns: 72, rows: 14, glyphs: Glyphs::Ascii };

#[test]
fn sketches_look_like_this() {
    insta::assert_snapshot!("unicode", example().to_text(&TextFormat::default()));
    insta::assert_snapshot!("ascii", example().to_text(&ASCII));
}

#[test]
fn a_straight_line_runs_from_corner_to_corner() {
    let line = Line::new("", [(0.0, 0.0), (1.0, 1.0)]);
    let axis = || Axis::linear("").range(0.0, 1.0);
    let text = Figure::new("").x(axis()).y(axis()).with(line).to_text(&ASCII);
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[1].ends_with('*') && rows[1].len() == 72, "{text}");
    assert!(rows[10].contains("+*") || rows[10].contains("|*"), "{text}");
    assert_eq!(text.matches('*').count(), 67, "one star in each of the {} columns: {text}", 72 - 5);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let text =
        Figure::new("").x(Axis::linear("\u{1b}[31m\n")).with(Mark::new("\u{7}", 1.0, 1.0)).to_text(&ASCII);
    assert!(text.chars().all(|character| character == '\n' || !character.is_control()), "{text:?}");
    assert_eq!(text.lines().count(), 14);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_sketch_has_its_size(figure in figure(), columns in 0usize..120, rows in 0usize..40, ascii: bool) {
        let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
        let text = figure.to_text(&TextFormat { columns, rows, glyphs });
        prop_assert_eq!(text.lines().count(), rows.max(7), "{}", text);
        prop_assert!(text.lines().all(|line| line.chars().count() <= columns.max(24)), "{}", text);
        prop_assert!(!ascii || text.is_ascii(), "{}", text);
    }
}
