//! One design: what was predicted for it and what was measured.

use serde::Serialize;

use crate::correlation::{mean, standard_error};
use crate::{Candidate, Run};

/// A design, what was predicted for it and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The design, its parameters, predicted variance and cost.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// The mean test error.
    pub test_error: f64,
    /// Its standard error over runs; one run has none.
    pub standard_error: Option<f64>,
    /// Of every run.
    pub test_errors: Vec<f64>,
    /// Runs whose loss stopped being a number; they count as guessing.
    pub diverged: usize,
}

/// How the test errors of two designs compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The first is lower by more than two standard errors of the difference.
    Better,
    /// The first is higher by more than two standard errors of the difference.
    Worse,
    /// They are within two standard errors of each other.
    Indistinct,
    /// One of them was trained once only, and has no standard error.
    Unknown,
}

impl Row {
    /// The results of the runs of a design.
    pub fn new(candidate: &Candidate, runs: &[Run], classes: usize) -> Self {
        let test_errors: Vec<f64> = runs.iter().map(|run| run.test_error(classes)).collect();
        Self {
            candidate: candidate.clone(),
            test_error: mean(test_errors.iter().copied()),
            standard_error: standard_error(&test_errors),
            diverged: runs.iter().filter(|run| run.test_errors.is_empty()).count(),
            test_errors,
        }
    }

    /// Compares with another design, at two standard errors of the difference.
    pub fn compare(&self, other: &Self) -> Difference {
        let (Some(own), Some(others)) = (self.standard_error, other.standard_error) else {
            return Difference::Unknown;
        };
        let (excess, noise) = (self.test_error - other.test_error, 2.0 * own.hypot(others));
        match excess {
            _ if excess < -noise => Difference::Better,
            _ if excess > noise => Difference::Worse,
            _ => Difference::Indistinct,
        }
    }

    /// "4.11 % +- 0.07", or "4.11 % +- n/a" for one run.
    pub fn error_words(&self) -> String {
        let error = self.standard_error.map_or("n/a".into(), |error| format!("{:.2}", 100.0 * error));
        format!("{:.2} % +- {error}", 100.0 * self.test_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::made_up;

    #[test]
    fn rows_compare_at_two_standard_errors() {
        // Means 0.10 and 0.20; each standard error is 0.01, that of the difference 0.0141.
        let row = |errors: &[f64]| made_up::row(1, 1.0, 1.0, errors);
        let (low, high) = (row(&[0.09, 0.11]), row(&[0.19, 0.21]));
        assert_eq!((low.compare(&high), high.compare(&low)), (Difference::Better, Difference::Worse));
        let near = row(&[0.11, 0.13]);
        assert_eq!(
            (low.compare(&near), near.compare(&low)),
            (Difference::Indistinct, Difference::Indistinct)
        );
    }

    #[test]
    fn nothing_is_known_of_one_run() {
        let (once, twice) = (made_up::row(1, 1.0, 1.0, &[0.01]), made_up::row(2, 1.0, 1.0, &[0.9, 0.91]));
        assert_eq!((once.compare(&twice), twice.compare(&once)), (Difference::Unknown, Difference::Unknown));
        assert_eq!((once.error_words(), once.standard_error), ("1.00 % +- n/a".into(), None));
        assert_eq!(twice.error_words(), "90.50 % +- 0.50");
    }
}
