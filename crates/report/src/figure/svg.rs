//! The whole drawing: layout, frame, layers, text.

use super::draw::{Ink, stroke_class};
use super::layer::{Band, Layer, Line, Mark, Point, Points};
use super::legend::Legend;
use super::placement::Rect;
use super::ticks::{Ticks, ticks};
use super::tone::standalone_style;
use super::{Figure, Marker, Scale, Styled, labels, short, text};
use crate::markup::{coordinate, escape};

/// The size of a drawing; its height follows from what is written above and below the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    width: f64,
    plot_height: f64,
}

impl Format {
    pub(crate) const WIDE: Self = Self { width: 720.0, plot_height: 320.0 };
    pub(crate) const PANEL: Self = Self { width: 540.0, plot_height: 280.0 };
    pub(crate) const NARROW: Self = Self { width: 360.0, plot_height: 240.0 };
}

const MARGIN: f64 = 14.0;
const TITLE: f64 = 16.0;
/// How much wider bold text is.
pub(crate) const BOLD: f64 = 1.15;
const TITLE_LINE: f64 = 22.0;
const NAME: f64 = 13.0;
const NAME_LINE: f64 = 19.0;
const TICK: f64 = 12.5;
/// Of a data point's marker.
pub(crate) const RADIUS: f64 = 4.5;

/// Draws the figure, with its style sheet unless the page has it already.
pub(crate) fn render(figure: &Figure, format: Format, with_style: bool) -> String {
    let layers = figure.styled();
    let sheet = Sheet::new(figure, format, &layers);
    let [width, height] = [format.width, sheet.height].map(coordinate);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cg\" role=\"img\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<title>{}</title>\n<desc>{}</desc>\n",
        escape(&figure.title),
        escape(&figure.description()),
    );
    if with_style {
        out.push_str(&format!("<style>\n{}</style>\n", standalone_style()));
    }
    out.push_str(&format!("<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n"));
    sheet.heading(&mut out);
    sheet.grid(&mut out);
    sheet.data(&mut out, &layers);
    sheet.axes(&mut out);
    labels::draw(&mut out, &sheet, &layers);
    out.push_str("</svg>\n");
    out
}

/// One line of text.
pub(crate) fn tag_text(class: &str, x: f64, y: f64, anchor: &str, content: &str) -> String {
    let ([x, y], content) = ([x, y].map(coordinate), escape(content));
    let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{content}</text>\n")
}

/// Where everything goes.
pub(crate) struct Sheet<'a> {
    title: Vec<String>,
    legend: Legend<'a>,
    x_name: Vec<String>,
    y_name: Vec<String>,
    x: Scale,
    y: Scale,
    x_ticks: Ticks,
    y_ticks: Ticks,
    pub(crate) plot: Rect,
    height: f64,
}

impl<'a> Sheet<'a> {
    fn new(figure: &Figure, format: Format, layers: &[Styled<'a>]) -> Self {
        let room = format.width - 2.0 * MARGIN;
        let (x, y) = figure.scales();
        let title = text::wrap(&figure.title, TITLE * BOLD, room);
        let legend = Legend::new(layers, room);
        let x_name = text::wrap(&figure.x.label, NAME, room);
        let y_name = text::wrap(&figure.y.label, NAME, room);

        let y_ticks = ticks(&y, 7);
        let labels = y_ticks.major.iter().map(|tick| text::width(&tick.label, TICK));
        let left = (MARGIN + labels.fold(0.0, f64::max) + 9.0).min(format.width / 2.0);
        let right = format.width - MARGIN - 8.0;
        let labels = fitting_ticks(&x, right - left).major;
        let labels = labels.iter().map(|tick| text::width(&tick.label, TICK));
        // Half of the last label may stand beyond the end of the axis.
        let right = right.min(format.width - 4.0 - labels.fold(0.0, f64::max) / 2.0).max(left + 60.0);
        let x_ticks = fitting_ticks(&x, right - left);

        let above = [title.len() as f64 * TITLE_LINE, legend.height(), y_name.len() as f64 * NAME_LINE];
        let top = MARGIN - 4.0 + above.iter().sum::<f64>() + 10.0;
        let bottom = top + format.plot_height;
        let height = bottom + 24.0 + x_name.len() as f64 * NAME_LINE + MARGIN - 4.0;
        let plot = Rect { left, top, right, bottom };
        Self { title, legend, x_name, y_name, x, y, x_ticks, y_ticks, plot, height }
    }

    fn across(&self, fraction: f64) -> f64 {
        self.plot.left + fraction * self.plot.width()
    }

    fn down(&self, fraction: f64) -> f64 {
        self.plot.bottom - fraction * self.plot.height()
    }

    fn spot(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.across(self.x.fraction(x)?), self.down(self.y.fraction(y)?)))
    }

    /// As [`Self::spot`], for points that are drawn with text: only those inside the frame.
    pub(crate) fn visible(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let inside = self.x.contains(x) && self.y.contains(y);
        self.spot(x, y).filter(|_| inside)
    }

    /// Title, legend and the name of the vertical axis, all horizontal and above the data.
    fn heading(&self, out: &mut String) {
        let mut y = MARGIN - 4.0;
        for line in &self.title {
            out.push_str(&tag_text("title", MARGIN, y + TITLE_LINE - 6.0, "start", line));
            y += TITLE_LINE;
        }
        self.legend.draw(out, MARGIN, y);
        y += self.legend.height();
        for line in &self.y_name {
            out.push_str(&tag_text("name", MARGIN, y + NAME_LINE - 3.0, "start", line));
            y += NAME_LINE;
        }
    }

    fn grid(&self, out: &mut String) {
        let vertical = self.x_ticks.major.iter().filter_map(|tick| self.x.fraction(tick.value));
        let horizontal = self.y_ticks.major.iter().filter_map(|tick| self.y.fraction(tick.value));
        let data: String = vertical
            .map(|fraction| (self.across(fraction), self.plot.top, 'V', self.plot.bottom))
            .chain(horizontal.map(|fraction| (self.plot.left, self.down(fraction), 'H', self.plot.right)))
            .map(|(x, y, towards, end)| {
                format!("M{} {}{towards}{}", coordinate(x), coordinate(y), coordinate(end))
            })
            .collect();
        out.push_str(&format!("<path class=\"grid\" d=\"{data}\"/>\n"));
    }

    /// The two axes with their ticks, over the data so that nothing hides them.
    fn axes(&self, out: &mut String) {
        let Rect { left, top, right, bottom } = self.plot;
        let [l, t, r, b] = [left, top, right, bottom].map(coordinate);
        let mut data = format!("M{l} {t}V{b}H{r}");
        let mut tick_text = String::new();
        for tick in &self.x_ticks.major {
            let Some(x) = self.x.fraction(tick.value).map(|fraction| self.across(fraction)) else { continue };
            data.push_str(&format!("M{} {b}v5", coordinate(x)));
            tick_text.push_str(&tag_text("tick", x, bottom + 19.0, "middle", &tick.label));
        }
        for tick in &self.y_ticks.major {
            let Some(y) = self.y.fraction(tick.value).map(|fraction| self.down(fraction)) else { continue };
            data.push_str(&format!("M{l} {}h-5", coordinate(y)));
            tick_text.push_str(&tag_text("tick", left - 8.0, y + 4.5, "end", &tick.label));
        }
        for fraction in self.x_ticks.minor.iter().filter_map(|&value| self.x.fraction(value)) {
            data.push_str(&format!("M{} {b}v3", coordinate(self.across(fraction))));
        }
        for fraction in self.y_ticks.minor.iter().filter_map(|&value| self.y.fraction(value)) {
            data.push_str(&format!("M{l} {}h-3", coordinate(self.down(fraction))));
        }
        out.push_str(&format!("<path class=\"axis\" d=\"{data}\"/>\n{tick_text}"));
        let middle = (left + right) / 2.0;
        for (index, line) in self.x_name.iter().enumerate() {
            let y = bottom + 24.0 + (index as f64 + 1.0) * NAME_LINE - 3.0;
            out.push_str(&tag_text("name", middle, y, "middle", line));
        }
    }

    /// Everything that is cut off at the frame. A nested `svg` clips without an id, which could
    /// clash in a page.
    fn data(&self, out: &mut String, layers: &[Styled]) {
        let Rect { left, top, .. } = self.plot;
        let [x, y, width, height] = [left, top, self.plot.width(), self.plot.height()].map(coordinate);
        out.push_str(&format!(
            "<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" viewBox=\"{x} {y} {width} {height}\">\n"
        ));
        for styled in layers {
            if let Layer::VerticalRange(range) = styled.layer {
                self.range(&mut Ink::new(out, styled.tone), range.from, range.to);
            }
        }
        for styled in layers {
            if let Layer::Band(band) = styled.layer {
                self.band(&mut Ink::new(out, styled.tone), band);
            }
        }
        for styled in layers {
            if let Layer::Line(line) = styled.layer {
                Ink::new(out, styled.tone).path(stroke_class(styled.stroke), &self.runs(line));
            }
        }
        for styled in layers {
            if let Layer::Points(points) = styled.layer {
                Ink::new(out, styled.tone).path("bar", &self.error_bars(points));
            }
            if let Layer::Mark(mark) = styled.layer {
                self.drop_lines(&mut Ink::new(out, styled.tone), mark);
            }
        }
        out.push_str("</svg>\n");
        for styled in layers {
            let mut ink = Ink::new(out, styled.tone);
            if let Layer::Points(points) = styled.layer {
                for point in &points.points {
                    let Some((x, y)) = self.visible(point.x, point.y) else { continue };
                    ink.titled(&self.title_of(point, &points.label), |ink| {
                        ink.marker(styled.marker, x, y, RADIUS);
                    });
                }
            }
        }
        for styled in layers {
            let mut ink = Ink::new(out, styled.tone);
            if let Layer::Mark(mark) = styled.layer
                && let Some((x, y)) = self.visible(mark.x, mark.y)
            {
                let point = Point::new(mark.x, mark.y).label(mark.label.clone());
                ink.titled(&self.title_of(&point, ""), |ink| ink.marker(Marker::Circle, x, y, RADIUS + 2.0));
            }
        }
    }

    /// What a browser says of a point: its own title, or its name and its numbers.
    fn title_of(&self, point: &Point, series: &str) -> String {
        if let Some(title) = &point.title {
            return title.clone();
        }
        let name = point.label.as_deref().unwrap_or(series).trim();
        let numbers = [(&self.x_name, point.x), (&self.y_name, point.y)];
        let numbers = numbers.map(|(axis, value)| format!("{} {}", axis.join(" "), short(value)));
        let numbers = numbers.map(|number| number.trim().to_owned()).join(", ");
        let interval = point
            .interval
            .map(|(low, high)| format!(" ({} to {})", short(low), short(high)))
            .unwrap_or_default();
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        format!("{name}{numbers}{interval}")
    }

    fn range(&self, ink: &mut Ink, from: f64, to: f64) {
        let (Some((from, _)), Some((to, _))) = (self.x.edge_fraction(from), self.x.edge_fraction(to)) else {
            return;
        };
        let (left, right) = (self.across(from), self.across(to));
        ink.rect("range", Rect { left, right, ..self.plot });
    }

    fn band(&self, ink: &mut Ink, band: &Band) {
        let edges = band.edges.iter().map(|&(x, low, high)| {
            let x = self.across(self.x.fraction(x)?);
            let (low, _) = self.y.edge_fraction(low)?;
            let (high, _) = self.y.edge_fraction(high)?;
            Some((x, self.down(low), self.down(high)))
        });
        let polygon = |run: Vec<(f64, f64, f64)>| -> Vec<(f64, f64)> {
            let forth = run.iter().map(|&(x, low, _)| (x, low));
            forth.chain(run.iter().rev().map(|&(x, _, high)| (x, high))).collect()
        };
        let polygons: Vec<_> = unbroken(edges).into_iter().map(polygon).collect();
        ink.polygons("band", &polygons);
    }

    /// The line's pieces between gaps; a piece of one point becomes a short dash, which can be
    /// seen.
    pub(crate) fn runs(&self, line: &Line) -> Vec<Vec<(f64, f64)>> {
        let mut runs = unbroken(line.points.iter().map(|&(x, y)| self.spot(x, y)));
        for run in &mut runs {
            if let &mut [(x, y)] = run.as_mut_slice() {
                *run = vec![(x - 2.5, y), (x + 2.5, y)];
            }
        }
        runs
    }

    /// Every bar and its caps.
    pub(crate) fn error_bars(&self, points: &Points) -> Vec<Vec<(f64, f64)>> {
        const CAP: f64 = 4.0;
        let mut strokes = vec![];
        for point in &points.points {
            let Some(x) = self.x.fraction(point.x).map(|fraction| self.across(fraction)) else { continue };
            let Some((low, high)) = point.interval else { continue };
            let ends = (self.y.edge_fraction(low), self.y.edge_fraction(high));
            let (Some((low, low_cut)), Some((high, high_cut))) = ends else { continue };
            let (low, high) = (self.down(low), self.down(high));
            strokes.push(vec![(x, low), (x, high)]);
            // An end that was cut off at the frame has no cap: the bar goes on.
            let caps = [(low, low_cut), (high, high_cut)].into_iter().filter(|(_, cut)| !cut);
            strokes.extend(caps.map(|(y, _)| vec![(x - CAP, y), (x + CAP, y)]));
        }
        strokes
    }

    fn drop_lines(&self, ink: &mut Ink, mark: &Mark) {
        if let Some((x, y)) = self.visible(mark.x, mark.y).filter(|_| mark.drop_lines) {
            ink.path("drop", &[vec![(x, y), (x, self.plot.bottom)], vec![(x, y), (self.plot.left, y)]]);
        }
    }
}

/// The densest ticks whose labels do not touch.
fn fitting_ticks(scale: &Scale, room: f64) -> Ticks {
    const APART: f64 = 12.0;
    let most = ((room / 46.0) as usize).clamp(2, if scale.logarithmic { 11 } else { 8 });
    let fits = |ticks: &Ticks| {
        ticks.major.windows(2).all(|pair| {
            let ends = [&pair[0], &pair[1]].map(|tick| scale.fraction(tick.value).unwrap_or(0.0) * room);
            let halves = [&pair[0], &pair[1]].map(|tick| text::width(&tick.label, TICK) / 2.0);
            ends[1] - ends[0] >= halves[0] + halves[1] + APART
        })
    };
    let candidates = (2..=most).rev().map(|most| ticks(scale, most));
    candidates.into_iter().find(fits).unwrap_or_else(|| ticks(scale, 2))
}

/// The runs of drawable points between those that are not.
fn unbroken<T>(points: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut runs = vec![vec![]];
    for point in points {
        match (point, runs.last_mut()) {
            (Some(point), Some(run)) => run.push(point),
            _ => runs.push(vec![]),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}
