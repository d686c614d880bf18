//! Running central moments up to the fourth.

use serde::{Deserialize, Serialize};

/// Count, mean and sums of powers of deviations of a sample.
///
/// With d = x - mean, `m2`, `m3` and `m4` are the sums of d^2, d^3 and d^4 (not divided by the
/// count). Everything is updated around the current mean, so a large offset costs no accuracy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Their mean; 0 when there are none.
    pub mean: f64,
    /// Sum of squared deviations.
    pub m2: f64,
    /// Sum of cubed deviations.
    pub m3: f64,
    /// Sum of fourth powers of deviations.
    pub m4: f64,
}

impl Moments {
    /// The moments of no values.
    pub const fn new() -> Self {
        Self { count: 0, mean: 0.0, m2: 0.0, m3: 0.0, m4: 0.0 }
    }

    /// Whether some values have these moments: finite, m2 and m4 not negative, and both
    /// m2^2 <= n m4 and m3^2 <= m2 m4 (Cauchy-Schwarz), up to rounding.
    pub fn are_possible(&self) -> bool {
        let Self { count, mean, m2, m3, m4 } = *self;
        let room = 1.0 + 1e-6;
        [mean, m2, m3, m4].iter().all(|moment| moment.is_finite())
            && m2 >= 0.0
            && m4 >= 0.0
            && m2 * m2 <= count as f64 * m4 * room
            && m3 * m3 <= m2 * m4 * room
    }

    /// Adds one value.
    #[inline]
    pub fn push(&mut self, x: f64) {
        let before = self.count as f64;
        self.count += 1;
        let n = self.count as f64;
        let delta = x - self.mean;
        let step = delta / n;
        let square = step * step;
        let term = delta * step * before;
        self.mean += step;
        self.m4 += term * square * (n * n - 3.0 * n + 3.0) + 6.0 * square * self.m2 - 4.0 * step * self.m3;
        self.m3 += term * step * (n - 2.0) - 3.0 * step * self.m2;
        self.m2 += term;
    }

    /// The moments of both samples together (Pébay's pairwise formulas).
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        if self.count == 0 {
            return other;
        }
        if other.count == 0 {
            return self;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let n = a + b;
        let delta = other.mean - self.mean;
        let step = delta / n;
        let between = delta * step * a * b;
        Self {
            count: self.count + other.count,
            mean: self.mean + step * b,
            m2: self.m2 + other.m2 + between,
            m3: self.m3 + other.m3 + between * step * (a - b) + 3.0 * step * (a * other.m2 - b * self.m2),
            m4: self.m4
                + other.m4
                + between * step * step * (a * a - a * b + b * b)
                + 6.0 * step * step * (a * a * other.m2 + b * b * self.m2)
                + 4.0 * step * (a * other.m3 - b * self.m3),
        }
    }

    /// Merges a slice as a balanced binary tree over its indices: the order, and so every bit,
    /// depends on the length only.
    pub fn merge_all(parts: &[Self]) -> Self {
        match parts {
            [] => Self::new(),
            [one] => *one,
            _ => {
                let (left, right) = parts.split_at(parts.len().next_power_of_two() / 2);
                Self::merge_all(left).merge(Self::merge_all(right))
            }
        }
    }

    /// The mean; 0 when there are no values.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The unbiased variance, m2 / (n - 1); NaN with fewer than two values.
    pub fn variance(&self) -> f64 {
        if self.count < 2 { f64::NAN } else { self.m2 / (self.count - 1) as f64 }
    }

    /// The variance of the values as a population, m2 / n; NaN without values.
    pub fn population_variance(&self) -> f64 {
        self.m2 / self.count as f64
    }

    /// The standard error of the mean; NaN with fewer than two values.
    pub fn standard_error(&self) -> f64 {
        (self.variance() / self.count as f64).sqrt()
    }

    /// The second-moment ratio R = `E[X^2] / E[X]^2 = 1 + Var[X] / E[X]^2` of the values; NaN
    /// without values.
    pub fn second_moment_ratio(&self) -> f64 {
        1.0 + self.population_variance() / (self.mean * self.mean)
    }

    /// The standard error of [`second_moment_ratio`](Self::second_moment_ratio), by the delta
    /// method; NaN with fewer than two values.
    ///
    /// R = b / a^2 with a and b the means of x and x^2, so to first order n values move it by the
    /// mean of
    ///
    /// > (x^2 - b) / a^2 - 2 b (x - a) / a^3 = (d^2 - s^2) / a^2 - 2 s^2 d / a^3,
    ///
    /// where d = x - a, s^2 = E[d^2], and x^2 = a^2 + 2 a d + d^2, b = a^2 + s^2 were put in: the
    /// terms linear in d but for the last cancel. The variance of that, divided by n, is
    ///
    /// > ( (E[d^4] - s^4) / a^4 - 4 s^2 E[d^3] / a^5 + 4 s^6 / a^6 ) / n.
    pub fn second_moment_ratio_standard_error(&self) -> f64 {
        if self.count < 2 {
            return f64::NAN;
        }
        let n = self.count as f64;
        // In units of the mean, so that neither tiny nor huge values leave the range of f64.
        let inverse = 1.0 / self.mean;
        let (s2, m3, m4) =
            (self.m2 / n * inverse * inverse, self.m3 / n * inverse.powi(3), self.m4 / n * inverse.powi(4));
        let variance = m4 - s2 * s2 - 4.0 * s2 * m3 + 4.0 * s2 * s2 * s2;
        // A two-point sample has variance 0, which rounding may push below.
        (variance.max(0.0) / n).sqrt()
    }
}

impl Extend<f64> for Moments {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        for x in values {
            self.push(x);
        }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::new();
        moments.extend(values);
        moments
    }
}
