//! Charts as SVG, and the same data as CSV.
//!
//! The SVG is written by hand, not by a plotting crate. A chart here must be self-contained (text
//! stays text, no font and no script), small, readable in black and white and in dark mode (colours
//! are CSS classes with a second set for `prefers-color-scheme: dark`; strokes and markers differ
//! in shape too), and the same bytes on every run. The plotting crates are heavy and give neither
//! dark mode nor stable bytes, and five kinds of layer need little code. Rules and colours are in
//! `look/`, which the explorer's page has too.
//!
//! ```
//! use collegial_report::{Axis, Figure, Line, Mark};
//!
//! let curve = (1..=128).map(|n| (f64::from(n), 1.0 / f64::from(n) + 0.01 * f64::from(n)));
//! let figure = Figure::new("Primal objective")
//!     .x(Axis::log("width n"))
//!     .y(Axis::log("variance at equal cost"))
//!     .with(Line::new("objective", curve))
//!     .with(Mark::new("37x10d", 10.0, 0.2).drop_lines());
//! assert!(figure.to_svg().starts_with("<svg"));
//! assert!(figure.to_csv().starts_with("series,x,y,low,high,label\n"));
//! ```

pub(crate) mod axis;
mod draw;
mod labels;
mod layer;
mod legend;
mod placement;
mod svg;
mod text;
pub(crate) mod ticks;
mod tone;

use crate::page::slug;
use crate::table::csv_line;
pub use axis::Axis;
pub(crate) use axis::Scale;
pub use layer::{Band, Layer, Line, Mark, Marker, Point, Points, Stroke, VerticalRange};
pub(crate) use svg::Format;
pub use tone::Tone;
pub(crate) use tone::{PALETTE, STYLE};

/// One chart: a title, two axes and layers, drawn from the back: ranges, bands, lines, points,
/// marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub(crate) title: String,
    file: Option<String>,
    description: Option<String>,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    layers: Vec<Layer>,
}

/// A layer with its colour and its stroke or marker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Styled<'a> {
    pub(crate) layer: &'a Layer,
    pub(crate) tone: Tone,
    pub(crate) stroke: Stroke,
    pub(crate) marker: Marker,
}

impl Figure {
    /// A figure without data, on linear axes without labels.
    pub fn new(title: impl Into<String>) -> Self {
        let (x, y) = (Axis::linear(""), Axis::linear(""));
        Self { title: title.into(), file: None, description: None, x, y, layers: vec![] }
    }

    /// Sets the horizontal axis.
    #[must_use]
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// Sets the vertical axis.
    #[must_use]
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Adds a [`Line`], [`Points`], a [`Band`], a [`Mark`] or a [`VerticalRange`].
    #[must_use]
    pub fn with(mut self, layer: impl Into<Layer>) -> Self {
        self.layers.push(layer.into());
        self
    }

    /// Says in words what the figure shows, for those who cannot see it; otherwise a plain
    /// inventory is given.
    #[must_use]
    pub fn describe(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Names the figure's files; otherwise they are named after its title.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The name of the figure's files, without an ending.
    pub(crate) fn file_name(&self) -> String {
        slug(self.file.as_deref().unwrap_or(&self.title))
    }

    /// A self-contained SVG, 720 units wide, that scales to its container.
    pub fn to_svg(&self) -> String {
        svg::render(self, Format::WIDE, true)
    }

    /// The drawing in another size, with text as large, for a page that has [`STYLE`] already.
    pub(crate) fn to_inline_svg(&self, format: Format) -> String {
        svg::render(self, format, false)
    }

    /// All data in long form: `series,x,y,low,high,label`, one line per point, empty where there is
    /// no such value.
    pub fn to_csv(&self) -> String {
        let mut text = csv_line(["series", "x", "y", "low", "high", "label"].into_iter());
        for layer in &self.layers {
            for (numbers, label) in rows(layer) {
                let cells = numbers.map(|number| number.map_or(String::new(), csv_number));
                let cells = cells.iter().map(String::as_str);
                text.push_str(&csv_line([layer.label()].into_iter().chain(cells).chain([label])));
            }
        }
        text
    }

    /// The scales that the axes take on for the data.
    pub(crate) fn scales(&self) -> (Scale, Scale) {
        let extents: Vec<_> = self.layers.iter().map(Layer::extent).collect();
        let xs = extents.iter().flat_map(|extent| extent.0.iter().copied());
        let ys = extents.iter().flat_map(|extent| extent.1.iter().copied());
        (self.x.scale(xs), self.y.scale(ys))
    }

    /// The layers with their colours, strokes and markers. Lines and points take the next of each
    /// unless they say otherwise or share the name of an earlier layer; bands and marks follow the
    /// line or points before them.
    pub(crate) fn styled(&self) -> Vec<Styled<'_>> {
        let mut styled: Vec<Styled> = vec![];
        let mut current = Tone::nth(0);
        let (mut lines, mut points) = (0, 0);
        for layer in &self.layers {
            let namesake = styled.iter().find(|other| {
                let series = matches!(other.layer, Layer::Line(_) | Layer::Points(_));
                series && !layer.label().is_empty() && other.layer.label() == layer.label()
            });
            let tone = match layer {
                Layer::Line(Line { tone, .. }) | Layer::Points(Points { tone, .. }) => {
                    let free = |tone: &Tone| styled.iter().all(|other| other.tone != *tone);
                    let next = || Tone::CYCLE.into_iter().find(free).unwrap_or(Tone::nth(lines + points));
                    current = tone.or(namesake.map(|other| other.tone)).unwrap_or_else(next);
                    current
                }
                Layer::Band(Band { tone, .. }) | Layer::Mark(Mark { tone, .. }) => tone.unwrap_or(current),
                Layer::VerticalRange(_) => current,
            };
            let (mut stroke, mut marker) = (Stroke::Solid, Marker::Circle);
            if let Layer::Line(line) = layer {
                stroke = line.stroke.unwrap_or(Stroke::CYCLE[lines % Stroke::CYCLE.len()]);
                lines += 1;
            }
            if let Layer::Points(set) = layer {
                marker = set.marker.unwrap_or(Marker::CYCLE[points % Marker::CYCLE.len()]);
                points += 1;
            }
            styled.push(Styled { layer, tone, stroke, marker });
        }
        styled
    }

    /// What a screen reader says after the title.
    pub(crate) fn description(&self) -> String {
        if let Some(description) = &self.description {
            return description.clone();
        }
        let axes = [("Horizontal", &self.x.label), ("Vertical", &self.y.label)];
        let axes = axes.into_iter().filter(|(_, label)| !label.trim().is_empty());
        let mut parts: Vec<String> = axes.map(|(which, label)| format!("{which} axis: {label}.")).collect();
        let named = self.layers.iter().filter(|layer| !layer.label().is_empty());
        for layer in named {
            let (label, xs) = (layer.label(), layer.extent().0.len());
            parts.push(match layer {
                Layer::Line(_) => format!("Line: {label}."),
                Layer::Points(_) => format!("{xs} points: {label}."),
                Layer::Band(_) => format!("Band: {label}."),
                Layer::VerticalRange(range) => {
                    format!("Range: {label}, from {} to {}.", short(range.from), short(range.to))
                }
                Layer::Mark(mark) => format!("Marked: {label} at ({}, {}).", short(mark.x), short(mark.y)),
            });
        }
        parts.join(" ")
    }
}

fn short(value: f64) -> String {
    let text = crate::significant(value, 4);
    if text.contains('.') && !text.contains('e') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// A layer's lines of CSV: x, y, low, high and the point's own label.
fn rows(layer: &Layer) -> Vec<([Option<f64>; 4], &str)> {
    match layer {
        Layer::Line(line) => line.points.iter().map(|&(x, y)| ([Some(x), Some(y), None, None], "")).collect(),
        Layer::Points(points) => points
            .points
            .iter()
            .map(|point| {
                let (low, high) = point.interval.unzip();
                ([Some(point.x), Some(point.y), low, high], point.label.as_deref().unwrap_or(""))
            })
            .collect(),
        Layer::Band(band) => {
            band.edges.iter().map(|&(x, low, high)| ([Some(x), None, Some(low), Some(high)], "")).collect()
        }
        Layer::Mark(mark) => vec![([Some(mark.x), Some(mark.y), None, None], "")],
        Layer::VerticalRange(range) => {
            [range.from, range.to].map(|x| ([Some(x), None, None, None], "")).into()
        }
    }
}

/// The shortest text that reads back as the same number.
fn csv_number(value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}
