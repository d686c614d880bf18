//! Strokes and shapes as SVG elements in the colour of a layer.

use super::layer::{Marker, Stroke};
use super::placement::Rect;
use super::tone::Tone;
use crate::markup::{coordinate, escape};

/// Writes elements with one colour class.
pub(crate) struct Ink<'a> {
    out: &'a mut String,
    tone: Tone,
}

impl<'a> Ink<'a> {
    pub(crate) fn new(out: &'a mut String, tone: Tone) -> Self {
        Self { out, tone }
    }

    /// Open polylines in one element.
    pub(crate) fn path(&mut self, class: &str, polylines: &[Vec<(f64, f64)>]) {
        self.element(class, &path_data(polylines, false));
    }

    /// Closed polygons in one element.
    pub(crate) fn polygons(&mut self, class: &str, polygons: &[Vec<(f64, f64)>]) {
        self.element(class, &path_data(polygons, true));
    }

    fn element(&mut self, class: &str, data: &str) {
        if !data.is_empty() {
            self.out.push_str(&format!("<path class=\"{class} {}\" d=\"{data}\"/>\n", self.tone.class()));
        }
    }

    pub(crate) fn rect(&mut self, class: &str, rect: Rect) {
        let [x, y, width, height] = [rect.left, rect.top, rect.width(), rect.height()].map(coordinate);
        let tone = self.tone.class();
        self.out.push_str(&format!(
            "<rect class=\"{class} {tone}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>\n"
        ));
    }

    pub(crate) fn circle(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        let ([x, y, radius], tone) = ([x, y, radius].map(coordinate), self.tone.class());
        self.out
            .push_str(&format!("<circle class=\"{class} {tone}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>\n"));
    }

    /// Elements that a browser names when the pointer rests on them.
    pub(crate) fn titled(&mut self, title: &str, draw: impl FnOnce(&mut Ink)) {
        self.out.push_str(&format!("<g><title>{}</title>\n", escape(title)));
        draw(&mut Ink::new(self.out, self.tone));
        self.out.push_str("</g>\n");
    }

    /// A marker of about equal area whatever its shape.
    pub(crate) fn marker(&mut self, marker: Marker, x: f64, y: f64, radius: f64) {
        let polygon = |corners: &[(f64, f64)]| -> Vec<(f64, f64)> {
            corners.iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect()
        };
        match marker {
            Marker::Circle => self.circle("point", x, y, radius),
            Marker::Ring => self.circle("hollow", x, y, radius + 2.0),
            Marker::Square => {
                self.polygons("point", &[polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)])]);
            }
            Marker::Triangle => {
                self.polygons("point", &[polygon(&[(0.0, -1.25), (1.15, 0.85), (-1.15, 0.85)])]);
            }
            Marker::Diamond => {
                self.polygons("point", &[polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)])]);
            }
            Marker::Cross => {
                let diagonals = [[(-0.9, -0.9), (0.9, 0.9)], [(-0.9, 0.9), (0.9, -0.9)]];
                self.path("cross", &diagonals.map(|diagonal| polygon(&diagonal)));
            }
        }
    }
}

pub(crate) fn stroke_class(stroke: Stroke) -> &'static str {
    match stroke {
        Stroke::Solid => "line",
        Stroke::Dashed => "line dashed",
        Stroke::Dotted => "line dotted",
        Stroke::DashDotted => "line dashdotted",
        Stroke::LongDashed => "line longdashed",
    }
}

fn path_data(polylines: &[Vec<(f64, f64)>], closed: bool) -> String {
    let mut data = String::new();
    for polyline in polylines {
        let mut last = None;
        for (index, &(x, y)) in polyline.iter().enumerate() {
            let here = (coordinate(x), coordinate(y));
            // Points that round to the one before would only add bytes; two are kept so that a dot
            // shows.
            if index > 1 && last.as_ref() == Some(&here) {
                continue;
            }
            let command = if index == 0 { 'M' } else { 'L' };
            data.push_str(&format!("{command}{} {}", here.0, here.1));
            last = Some(here);
        }
        if closed && !polyline.is_empty() {
            data.push('Z');
        }
    }
    data
}
