//! The difference of two designs' mean errors, with its interval.

use crate::{mean, standard_error};
use collegial_core::Interval;
use serde::Serialize;

/// A difference of two designs' mean errors, in points of a per cent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Contrast {
    /// First minus second.
    pub difference: f64,
    /// Its 95 % interval (Welch).
    pub interval: [f64; 2],
    /// Runs of each.
    pub runs: [usize; 2],
}

impl Contrast {
    /// `None` where one of them has fewer than two runs, or neither scatters.
    pub(crate) fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        let (a, b) = (standard_error(first)?, standard_error(second)?);
        let square = a * a + b * b;
        let part = |error: f64, runs: usize| error.powi(4) / (runs as f64 - 1.0);
        let dof = square * square / (part(a, first.len()) + part(b, second.len()));
        let difference = mean(first.iter().copied()) - mean(second.iter().copied());
        let Interval { low, high } = Interval::student(difference, square.sqrt(), dof, 0.95);
        dof.is_finite().then_some(Self {
            difference,
            interval: [low, high],
            runs: [first.len(), second.len()],
        })
    }

    /// "-0.28 points (-0.41 to -0.15; 5 and 4 runs)".
    pub(crate) fn words(&self) -> String {
        let ([low, high], [a, b]) = (self.interval, self.runs);
        format!("{:.2} points ({low:.2} to {high:.2}; {a} and {b} runs)", self.difference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Welch's interval of a textbook case: means 2 and 4, variances 1, three runs each: 2 -+ 2.776
    /// * sqrt(2/3).
    #[test]
    fn contrasts() {
        let found = Contrast::of(&[1.0, 2.0, 3.0], &[3.0, 4.0, 5.0]).unwrap();
        assert!((found.difference + 2.0).abs() < 1e-12);
        let half = 2.776_445 * (2.0f64 / 3.0).sqrt();
        assert!((found.interval[0] + 2.0 + half).abs() < 1e-4, "{found:?}");
        assert_eq!((Contrast::of(&[1.0], &[1.0, 2.0]), Contrast::of(&[1.0; 2], &[1.0; 2])), (None, None));
    }
}
