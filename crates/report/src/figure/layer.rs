//! Layers of a figure: lines, points, bands and rules.

use super::tone::Tone;

/// How a line is drawn; every stroke can be told from the others without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// An unbroken line.
    Solid,
    /// Even dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// A dash, a dot.
    DashDotted,
    /// Long dashes.
    LongDashed,
}

impl Stroke {
    /// The order in which lines without a stroke of their own take theirs.
    pub(crate) const CYCLE: [Self; 5] =
        [Self::Solid, Self::Dashed, Self::Dotted, Self::DashDotted, Self::LongDashed];
}

/// The shape of a data point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A filled circle.
    Circle,
    /// A filled square.
    Square,
    /// A filled triangle.
    Triangle,
    /// A filled diamond.
    Diamond,
    /// A diagonal cross.
    Cross,
    /// A circle that is not filled, for what the others are compared with.
    Ring,
}

impl Marker {
    /// The order in which points without a marker of their own take theirs.
    pub(crate) const CYCLE: [Self; 5] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Cross];
}

/// A curve through points in the order given; a point that cannot be drawn leaves a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub(crate) label: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) stroke: Option<Stroke>,
    pub(crate) tone: Option<Tone>,
}

impl Line {
    /// A line with its name in the legend (none if empty).
    pub fn new(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { label: label.into(), points: points.into_iter().collect(), stroke: None, tone: None }
    }

    /// Sets the stroke; otherwise each new colour of a line brings the next one.
    #[must_use]
    pub fn stroke(mut self, stroke: Stroke) -> Self {
        self.stroke = Some(stroke);
        self
    }

    /// Sets the colour by its meaning; otherwise each line takes the next.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }
}

/// One datum: where it is, how sure that is, and what it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) label: Option<String>,
    pub(crate) title: Option<String>,
}

impl Point {
    /// A point without error bar or text.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, label: None, title: None }
    }

    /// An error bar from `y - half_width` to `y + half_width`.
    #[must_use]
    pub fn error(self, half_width: f64) -> Self {
        let (low, high) = (self.y - half_width, self.y + half_width);
        self.interval(low, high)
    }

    /// An error bar from `low` to `high`.
    #[must_use]
    pub fn interval(mut self, low: f64, high: f64) -> Self {
        self.interval = Some((low, high));
        self
    }

    /// Text beside the point, such as a design's name.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(text.into());
        self
    }

    /// What a browser says when the pointer rests on it; otherwise its label and its numbers.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.title = Some(text.into());
        self
    }
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self::new(x, y)
    }
}

/// `(x, y, half width of the error bar)`.
impl From<(f64, f64, f64)> for Point {
    fn from((x, y, half_width): (f64, f64, f64)) -> Self {
        Self::new(x, y).error(half_width)
    }
}

/// Data points, with error bars and text where they have them.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    pub(crate) label: String,
    pub(crate) points: Vec<Point>,
    pub(crate) marker: Option<Marker>,
    pub(crate) tone: Option<Tone>,
}

impl Points {
    /// Points with their name in the legend (none if empty).
    pub fn new<P: Into<Point>>(label: impl Into<String>, points: impl IntoIterator<Item = P>) -> Self {
        let points = points.into_iter().map(Into::into).collect();
        Self { label: label.into(), points, marker: None, tone: None }
    }

    /// Sets the marker; otherwise each new colour of points brings the next one.
    #[must_use]
    pub fn marker(mut self, marker: Marker) -> Self {
        self.marker = Some(marker);
        self
    }

    /// Sets the colour by its meaning; otherwise each set takes the next.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }
}

/// The region between two curves, such as a confidence band.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    pub(crate) label: String,
    pub(crate) edges: Vec<(f64, f64, f64)>,
    pub(crate) tone: Option<Tone>,
}

impl Band {
    /// A band from `(x, low, high)`, with its name in the legend (none if empty).
    pub fn new(label: impl Into<String>, edges: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        Self { label: label.into(), edges: edges.into_iter().collect(), tone: None }
    }

    /// Sets the colour; otherwise it is that of the line or points added before.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }
}

/// A highlighted point with its text beside it, such as an optimum "37x10d".
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub(crate) label: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) drop_lines: bool,
    pub(crate) tone: Option<Tone>,
}

impl Mark {
    /// A mark at `(x, y)`.
    pub fn new(label: impl Into<String>, x: f64, y: f64) -> Self {
        Self { label: label.into(), x, y, drop_lines: false, tone: None }
    }

    /// Also draws thin lines from the mark to both axes.
    #[must_use]
    pub fn drop_lines(mut self) -> Self {
        self.drop_lines = true;
        self
    }

    /// Sets the colour; otherwise it is that of the line or points added before.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }
}

/// A shaded range of x over the whole height, such as the flat region around an optimum.
#[derive(Clone, Debug, PartialEq)]
pub struct VerticalRange {
    pub(crate) label: String,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl VerticalRange {
    /// The range between `from` and `to`, with its name in the legend (none if empty).
    pub fn new(label: impl Into<String>, from: f64, to: f64) -> Self {
        Self { label: label.into(), from: from.min(to), to: from.max(to) }
    }
}

/// Any of the things a figure shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// A curve.
    Line(Line),
    /// Data points.
    Points(Points),
    /// A region between two curves.
    Band(Band),
    /// A highlighted point.
    Mark(Mark),
    /// A shaded range of x.
    VerticalRange(VerticalRange),
}

macro_rules! layer_from {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Layer {
            fn from(layer: $kind) -> Self {
                Self::$kind(layer)
            }
        }
    )*};
}
layer_from!(Line, Points, Band, Mark, VerticalRange);

impl Layer {
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Line(layer) => &layer.label,
            Self::Points(layer) => &layer.label,
            Self::Band(layer) => &layer.label,
            Self::Mark(layer) => &layer.label,
            Self::VerticalRange(layer) => &layer.label,
        }
    }

    /// Every x and every y of the layer, drawable or not.
    pub(crate) fn extent(&self) -> (Vec<f64>, Vec<f64>) {
        match self {
            Self::Line(line) => line.points.iter().copied().unzip(),
            Self::Points(points) => {
                let bars = points.points.iter().filter_map(|point| point.interval);
                let ys = points.points.iter().map(|point| point.y);
                (
                    points.points.iter().map(|point| point.x).collect(),
                    ys.chain(bars.flat_map(|(low, high)| [low, high])).collect(),
                )
            }
            Self::Band(band) => (
                band.edges.iter().map(|edge| edge.0).collect(),
                band.edges.iter().flat_map(|edge| [edge.1, edge.2]).collect(),
            ),
            Self::Mark(mark) => (vec![mark.x], vec![mark.y]),
            Self::VerticalRange(range) => (vec![range.from, range.to], vec![]),
        }
    }
}
