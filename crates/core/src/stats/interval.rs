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

    /// Wilson's interval for a probability, from how often something happened: (p + z^2 / 2n -+ z
    /// sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n). Everything where nothing was tried.
    pub fn wilson(times: u64, trials: u64, level: f64) -> Self {
        if trials == 0 {
            return Self { low: 0.0, high: 1.0 };
        }
        let (n, z) = (trials as f64, normal_quantile(0.5 + 0.5 * level));
        let p = times as f64 / n;
        let radius = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let (centre, scale) = (p + z * z / (2.0 * n), 1.0 + z * z / n);
        // Rounding must not shut p itself out where it is 0 or 1.
        Self {
            low: ((centre - radius) / scale).clamp(0.0, p),
            high: ((centre + radius) / scale).clamp(p, 1.0),
        }
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
        let mut values = sample.to_vec();
        let tail = 0.5 - 0.5 * level.clamp(0.0, 1.0);
        let mut quantile = |p| {
            interpolated(values.len(), p, |below| {
                let (_, &mut at, above) = values.select_nth_unstable_by(below, f64::total_cmp);
                [at, above.iter().copied().min_by(f64::total_cmp).unwrap_or(at)]
            })
        };
        Self { low: quantile(tail), high: quantile(1.0 - tail) }
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

/// The p-quantile of so many values: between two neighbours in ascending order, which `from`
/// gives by the lower one's place. The last value is its own upper neighbour.
pub fn interpolated(count: usize, p: f64, from: impl FnOnce(usize) -> [f64; 2]) -> f64 {
    let Some(last) = count.checked_sub(1) else { return f64::NAN };
    let position = p * last as f64;
    let below = (position as usize).min(last);
    let [lower, upper] = from(below);
    lower + (position - below as f64) * (upper - lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_is_the_set_of_probabilities_that_a_score_test_keeps() {
        for (times, trials) in [(0, 10), (3, 10), (10, 10), (17, 1000)] {
            let interval = Interval::wilson(times, trials, 0.95);
            let p = times as f64 / trials as f64;
            for end in [interval.low, interval.high].into_iter().filter(|end| *end > 0.0 && *end < 1.0) {
                let z = (p - end) / (end * (1.0 - end) / trials as f64).sqrt();
                assert!((z.abs() - 1.959_964).abs() < 1e-5, "{times} of {trials}: {z}");
            }
            assert!(interval.contains(p) && interval.low >= 0.0 && interval.high <= 1.0);
        }
        assert_eq!(Interval::wilson(0, 0, 0.95), Interval { low: 0.0, high: 1.0 });
    }
}
