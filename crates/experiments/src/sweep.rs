//! Sweep results: errors of trained designs beside their predictions.

use collegial_search::Problem;
use serde::Serialize;

use crate::correlation::{Correlation, Order, rank_correlation};
use crate::training::{Training, train_all};
use crate::{Candidate, Context, Difference, Error, Row};

/// A line of designs, trained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// Which problem's curve they are on.
    pub problem: Problem,
    /// From the widest members to the thinnest.
    pub rows: Vec<Row>,
    /// Between the predicted variance and the test error on the primal curve, where variance
    /// varies; between the cost and the test error on the dual curve, where variance does not.
    pub correlation: Option<Correlation>,
    /// Between the inner width m n and the test error, positive where wider is better.
    pub width_correlation: Option<Correlation>,
}

impl Sweep {
    /// Trains the designs.
    ///
    /// # Errors
    ///
    /// If one cannot be trained, or the monitor stops it.
    pub fn run(
        problem: Problem,
        candidates: &[Candidate],
        training: &Training,
        context: &Context,
    ) -> Result<Self, Error> {
        let specs: Vec<_> = candidates.iter().map(|candidate| candidate.spec.clone()).collect();
        let runs = train_all(training, &specs, context)?;
        let classes = training.data.dataset().classes();
        let row = |(candidate, runs): (&Candidate, &Vec<_>)| Row::new(candidate, runs, classes);
        Ok(Self::new(problem, candidates.iter().zip(&runs).map(row).collect(), context.seed))
    }

    /// Sets what was measured beside what was predicted; the seed is that of the bootstrap.
    pub fn new(problem: Problem, rows: Vec<Row>, seed: u64) -> Self {
        let predicted: Vec<f64> = rows.iter().map(|row| predictor(problem, row)).collect();
        let measured: Vec<Vec<f64>> = rows.iter().map(|row| row.test_errors.clone()).collect();
        let correlation = rank_correlation(&predicted, &measured, seed);
        let widths: Vec<f64> = rows.iter().map(|row| -(row.candidate.inner_width as f64)).collect();
        let width_correlation = rank_correlation(&widths, &measured, seed);
        Self { problem, rows, correlation, width_correlation }
    }

    /// How often every design was trained.
    pub fn runs(&self) -> usize {
        self.rows.iter().map(|row| row.test_errors.len()).min().unwrap_or(0)
    }

    /// Whether the test error follows the prediction.
    pub fn order(&self) -> Order {
        Order::of(self.correlation)
    }

    /// The design of lowest predicted variance.
    pub fn best_predicted(&self) -> Option<&Row> {
        self.rows.iter().min_by(|a, b| a.candidate.variance.total_cmp(&b.candidate.variance))
    }

    /// The design of lowest test error.
    pub fn best_measured(&self) -> Option<&Row> {
        self.rows.iter().min_by(|a, b| a.test_error.total_cmp(&b.test_error))
    }

    /// Whether the best predicted design is as good as the best measured one: it is the same, or
    /// not worse by more than two standard errors of the difference. `None` where one run each
    /// cannot tell, or nothing was trained.
    pub fn best_agrees(&self) -> Option<bool> {
        let (predicted, measured) = self.best_predicted().zip(self.best_measured())?;
        if predicted.candidate.design == measured.candidate.design {
            return Some(true);
        }
        match measured.compare(predicted) {
            Difference::Better => Some(false),
            Difference::Indistinct | Difference::Worse => Some(true),
            Difference::Unknown => None,
        }
    }

    /// How the best predicted design compares with the baseline, the first of the line.
    pub fn best_against_baseline(&self) -> Difference {
        let pair = self.best_predicted().zip(self.rows.first());
        pair.map_or(Difference::Unknown, |(predicted, baseline)| predicted.compare(baseline))
    }

    /// The lowest and the highest mean test error.
    pub fn range(&self) -> [f64; 2] {
        let errors = || self.rows.iter().map(|row| row.test_error);
        [errors().fold(f64::INFINITY, f64::min), errors().fold(f64::NEG_INFINITY, f64::max)]
    }

    /// "0.93 (0.60 to 1.00)", or "none".
    pub fn correlation_words(&self) -> String {
        self.correlation.map_or("none".into(), |correlation| correlation.words())
    }
}

/// What should rank the test errors: the variance on the primal curve, the cost on the dual one.
pub(crate) fn predictor(problem: Problem, row: &Row) -> f64 {
    match problem {
        Problem::Primal => row.candidate.variance,
        Problem::Dual => row.candidate.cost,
    }
}

/// Results without trainings, for tests of what is concluded from them.
#[cfg(test)]
pub mod made_up {
    use collegial_arch::{Design, Spec};

    use super::*;
    use crate::correlation::{mean, standard_error};

    /// A design of two members with these predictions and test errors.
    pub fn row(width: usize, variance: f64, cost: f64, test_errors: &[f64]) -> Row {
        let design = Design { multiplicity: 2, width };
        let spec: Spec = format!("fc3-2x{width}").parse().unwrap_or_else(|_| unreachable!("a model's name"));
        let candidate = Candidate {
            design,
            spec,
            parameters: 1000,
            variance,
            inner_width: 2 * width,
            cost,
            distance: 0.0,
            objective: variance,
        };
        Row {
            candidate,
            test_error: mean(test_errors.iter().copied()),
            standard_error: standard_error(test_errors),
            test_errors: test_errors.to_vec(),
            diverged: 0,
        }
    }

    /// Eight designs whose variance or cost falls with their width, with test errors of `error(i)`
    /// give or take `noise`, `runs` times.
    pub fn sweep(problem: Problem, runs: usize, noise: f64, error: impl Fn(usize) -> f64) -> Sweep {
        let rows = (0..8).map(|index| {
            let predicted = 1.0 - 0.1 * index as f64;
            let wobble = |run: usize| noise * (((7 * index + 3 * run) % 5) as f64 / 2.0 - 1.0);
            let errors: Vec<f64> = (0..runs).map(|run| error(index) + wobble(run)).collect();
            row(100 - 10 * index, predicted, predicted, &errors)
        });
        Sweep::new(problem, rows.collect(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_design_is_told_from_others_only_where_it_is_clear() {
        let of = |runs, noise, error: &dyn Fn(usize) -> f64| {
            let sweep = made_up::sweep(Problem::Primal, runs, noise, error);
            (sweep.best_agrees(), sweep.best_against_baseline())
        };
        // The predicted one is the last: it has the lowest variance.
        assert_eq!(of(5, 0.001, &|i| 0.2 - 0.01 * i as f64), (Some(true), Difference::Better));
        assert_eq!(of(5, 0.001, &|i| 0.1 + 0.01 * i as f64), (Some(false), Difference::Worse));
        assert_eq!(of(5, 0.01, &|_| 0.1), (Some(true), Difference::Indistinct));
        assert_eq!(of(1, 0.001, &|i| 0.1 + 0.01 * i as f64), (None, Difference::Unknown));
        assert_eq!(of(1, 0.0, &|i| 0.2 - 0.01 * i as f64), (Some(true), Difference::Unknown));
    }
}
