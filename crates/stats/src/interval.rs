//! Confidence intervals.

use serde::{Deserialize, Serialize};

use crate::special::{normal_quantile, student_quantile};

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// `estimate` -+ z `standard_error`, with z the normal quantile of the two-sided `level` (0.95,
    /// say).
    pub fn normal(estimate: f64, standard_error: f64, level: f64) -> Self {
        Self::around(estimate, normal_quantile(0.5 + 0.5 * level) * standard_error)
    }

    /// As [`normal`](Self::normal), with the quantile of Student's t: for standard errors estimated
    /// from few points.
    pub fn student(estimate: f64, standard_error: f64, dof: f64, level: f64) -> Self {
        Self::around(estimate, student_quantile(0.5 + 0.5 * level, dof) * standard_error)
    }

    /// The central part of a sample that holds `level` of it, interpolated linearly between order
    /// statistics: the percentile interval of [`bootstrap`](crate::bootstrap) replicates. NaN for
    /// an empty sample.
    pub fn percentile(sample: &[f64], level: f64) -> Self {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let tail = 0.5 - 0.5 * level.clamp(0.0, 1.0);
        Self { low: quantile_of_sorted(&sorted, tail), high: quantile_of_sorted(&sorted, 1.0 - tail) }
    }

    fn around(centre: f64, radius: f64) -> Self {
        Self { low: centre - radius, high: centre + radius }
    }

    /// high - low.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Whether x lies within, ends included.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }
}

fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = p * last as f64;
    let below = (position as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}
