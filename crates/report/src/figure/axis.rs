//! Axes: what they are called, and where a value lies on them.

/// One axis of a figure: its label, its scale and, if wanted, its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    logarithmic: bool,
    range: Option<(f64, f64)>,
    included: Vec<f64>,
}

impl Axis {
    /// An axis on which equal differences have equal length.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: false, range: None, included: vec![] }
    }

    /// An axis on which equal ratios have equal length (base 10); values that are not positive are
    /// not drawn.
    pub fn log(label: impl Into<String>) -> Self {
        Self { logarithmic: true, ..Self::linear(label) }
    }

    /// Shows exactly this range, whatever the data; a range that the axis cannot show is ignored.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low.min(high), low.max(high)));
        self
    }

    /// Widens the automatic range so that it contains `value` (zero, or a reference).
    #[must_use]
    pub fn include(mut self, value: f64) -> Self {
        self.included.push(value);
        self
    }

    /// The scale for data with these values.
    pub(crate) fn scale(&self, values: impl IntoIterator<Item = f64>) -> Scale {
        let unit = Scale { logarithmic: self.logarithmic, low: 0.0, high: 1.0 };
        let given = self.range.and_then(|(low, high)| Some((unit.position(low)?, unit.position(high)?)));
        if let Some((low, high)) = given.filter(|&(low, high)| !degenerate(low, high)) {
            return Scale { low, high, ..unit };
        }
        let positions = values.into_iter().chain(self.included.iter().copied());
        let positions = positions.filter_map(|value| unit.position(value));
        let extent = positions.fold(None, |extent: Option<(f64, f64)>, position| match extent {
            None => Some((position, position)),
            Some((low, high)) => Some((low.min(position), high.max(position))),
        });
        let (low, high) = padded(extent);
        Scale { low, high, ..unit }
    }
}

/// Room beyond the outermost data, so that no marker sits on the frame.
const PADDING: f64 = 0.04;

fn padded(extent: Option<(f64, f64)>) -> (f64, f64) {
    let Some((low, high)) = extent else { return (0.0, 1.0) };
    if degenerate(low, high) {
        let centre = low / 2.0 + high / 2.0;
        let half = if centre.abs() < 1e-280 { 1.0 } else { centre.abs() * 0.1 };
        return (centre - half, centre + half);
    }
    let padding = PADDING * (high - low);
    (low - padding, high + padding)
}

/// Whether the two ends are too close for ticks between them to be told apart in f64.
fn degenerate(low: f64, high: f64) -> bool {
    let span = high - low;
    span < 1e-280 || span < 1e-9 * low.abs().max(high.abs())
}

/// Where values lie between the two ends of an axis. The ends are kept as positions: values, or
/// their logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) logarithmic: bool,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Scale {
    /// The value's position, unless it cannot be drawn on this scale at all.
    fn position(&self, value: f64) -> Option<f64> {
        if self.logarithmic {
            (value > 0.0 && value.is_finite()).then(|| value.log10())
        } else {
            // Differences of larger numbers would overflow.
            (value.abs() < 1e300).then_some(value)
        }
    }

    /// How far along the axis the value lies: 0 at the low end, 1 at the high end, beyond them
    /// outside.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        Some((self.position(value)? - self.low) / (self.high - self.low))
    }

    /// As [`Self::fraction`], but for the end of an interval: what is too small or too large to be
    /// drawn lies at the edge. The flag says whether it was moved there.
    pub(crate) fn edge_fraction(&self, value: f64) -> Option<(f64, bool)> {
        match self.fraction(value) {
            Some(fraction) if fraction < 0.0 => Some((0.0, true)),
            Some(fraction) if fraction > 1.0 => Some((1.0, true)),
            Some(fraction) => Some((fraction, false)),
            None if value.is_nan() => None,
            None if value > 0.0 => Some((1.0, true)),
            None => Some((0.0, true)),
        }
    }

    /// Whether the value is drawn inside the frame.
    pub(crate) fn contains(&self, value: f64) -> bool {
        self.fraction(value).is_some_and(|fraction| (-1e-9..=1.0 + 1e-9).contains(&fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_run_from_end_to_end() {
        let linear = Axis::linear("x").range(10.0, 0.0).scale([]);
        assert_eq!(linear.fraction(2.5), Some(0.25));
        assert_eq!(linear.fraction(f64::NAN), None);
        let log = Axis::log("x").range(1.0, 100.0).scale([]);
        assert_eq!(log.fraction(10.0), Some(0.5));
        assert_eq!(log.fraction(0.0), None);
        assert_eq!(log.edge_fraction(-3.0), Some((0.0, true)));
        assert_eq!(log.edge_fraction(f64::INFINITY), Some((1.0, true)));
        assert_eq!(log.edge_fraction(f64::NAN), None);
    }

    #[test]
    fn a_range_that_cannot_be_shown_is_ignored() {
        let automatic = Axis::log("x").scale([1.0, 100.0]);
        assert_eq!(Axis::log("x").range(-1.0, 5.0).scale([1.0, 100.0]), automatic);
        assert_eq!(Axis::log("x").range(3.0, 3.0).scale([1.0, 100.0]), automatic);
        assert_eq!(Axis::log("x").range(f64::NAN, 3.0).scale([1.0, 100.0]), automatic);
        assert_eq!(Axis::log("x").scale([-5.0, 1.0, f64::NAN, 100.0]), automatic);
    }

    #[test]
    fn single_values_and_no_values_have_a_range() {
        for values in [vec![], vec![0.0], vec![5.0], vec![-1e290, 1e-300], vec![1e16, 1e16 + 2.0]] {
            for axis in [Axis::linear(""), Axis::log("")] {
                let scale = axis.scale(values.clone());
                assert!(
                    scale.low < scale.high && (scale.high - scale.low).is_finite(),
                    "{values:?}: {scale:?}"
                );
            }
        }
    }
}
