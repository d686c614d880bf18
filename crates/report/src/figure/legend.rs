//! The legend: a row of samples and names above the data, never on it.

use super::draw::{self, Ink};
use super::layer::Layer;
use super::placement::Rect;
use super::svg::tag_text;
use super::text;
use super::{Marker, Styled};

const SAMPLE: f64 = 30.0;
const GAP: f64 = 7.0;
const BETWEEN: f64 = 20.0;
const ROW: f64 = 21.0;
const SIZE: f64 = 13.0;

/// Names with their samples, already broken into rows.
pub(crate) struct Legend<'a> {
    entries: Vec<Entry<'a>>,
    rows: usize,
}

struct Entry<'a> {
    name: String,
    samples: Vec<Styled<'a>>,
    x: f64,
    row: usize,
}

impl<'a> Legend<'a> {
    /// Lays out the names of all layers but marks, which carry theirs; layers with one name share
    /// one entry.
    pub(crate) fn new(layers: &[Styled<'a>], room: f64) -> Self {
        let mut entries: Vec<Entry<'a>> = vec![];
        let named = layers.iter().filter(|styled| {
            !styled.layer.label().trim().is_empty() && !matches!(styled.layer, Layer::Mark(_))
        });
        for styled in named {
            let label = styled.layer.label();
            match entries.iter_mut().find(|entry| entry.samples[0].layer.label() == label) {
                Some(entry) => entry.samples.push(*styled),
                None => {
                    let name = text::shorten(label, SIZE, room - SAMPLE - GAP);
                    entries.push(Entry { name, samples: vec![*styled], x: 0.0, row: 0 });
                }
            }
        }
        let (mut x, mut row) = (0.0, 0);
        for entry in &mut entries {
            let width = SAMPLE + GAP + text::width(&entry.name, SIZE);
            if x > 0.0 && x + width > room {
                (x, row) = (0.0, row + 1);
            }
            (entry.x, entry.row) = (x, row);
            x += width + BETWEEN;
        }
        let rows = if entries.is_empty() { 0 } else { row + 1 };
        Self { entries, rows }
    }

    pub(crate) fn height(&self) -> f64 {
        self.rows as f64 * ROW
    }

    /// Draws the legend with its upper left corner at `(left, top)`.
    pub(crate) fn draw(&self, out: &mut String, left: f64, top: f64) {
        for entry in &self.entries {
            let (x, y) = (left + entry.x, top + (entry.row as f64 + 0.5) * ROW);
            for sample in &entry.samples {
                draw_sample(out, sample, x, y);
            }
            out.push_str(&tag_text("name", x + SAMPLE + GAP, y + 4.5, "start", &entry.name));
        }
    }
}

fn draw_sample(out: &mut String, styled: &Styled, x: f64, y: f64) {
    let mut ink = Ink::new(out, styled.tone);
    let block = Rect { left: x, top: y - 6.0, right: x + SAMPLE, bottom: y + 6.0 };
    match styled.layer {
        Layer::Line(_) => ink.path(draw::stroke_class(styled.stroke), &[vec![(x, y), (x + SAMPLE, y)]]),
        Layer::Points(points) => {
            let centre = x + SAMPLE / 2.0;
            if points.points.iter().any(|point| point.interval.is_some()) {
                ink.path("bar", &[vec![(centre, y - 8.0), (centre, y + 8.0)]]);
            }
            ink.marker(styled.marker, centre, y, 4.5);
        }
        Layer::Band(_) => ink.rect("band", block),
        Layer::VerticalRange(_) => ink.rect("range", block),
        Layer::Mark(_) => ink.marker(Marker::Circle, x, y, 4.5),
    }
}
