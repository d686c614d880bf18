//! What training a line of designs brought: errors beside predictions.

use collegial_report::{Align, Axis, Figure, Point, Points, Table, grouped, significant};
use collegial_search::Problem;
use serde::Serialize;

use super::correlation::{Correlation, mean, rank_correlation, standard_error};
use super::designs::Candidate;
use super::training::{Run, Training, train_all};
use crate::{Context, Error};

/// A design, what was predicted for it and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The design, its parameters, predicted variance and cost.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// The mean test error.
    pub test_error: f64,
    /// Its standard error over runs.
    pub standard_error: f64,
    /// Of every run.
    pub test_errors: Vec<f64>,
    /// Runs whose loss stopped being a number; they count as guessing.
    pub diverged: usize,
}

impl Row {
    fn new(candidate: &Candidate, runs: &[Run], classes: usize) -> Self {
        let test_errors: Vec<f64> = runs.iter().map(|run| run.test_error(classes)).collect();
        Self {
            candidate: candidate.clone(),
            test_error: mean(test_errors.iter().copied()),
            standard_error: standard_error(&test_errors),
            diverged: runs.iter().filter(|run| run.test_errors.is_empty()).count(),
            test_errors,
        }
    }

    /// By more than two standard errors of the difference.
    pub fn is_better_than(&self, other: &Self) -> bool {
        other.test_error - self.test_error > 2.0 * self.standard_error.hypot(other.standard_error)
    }

    /// "4.11 % +- 0.07".
    pub fn error_words(&self) -> String {
        format!("{:.2} % +- {:.2}", 100.0 * self.test_error, 100.0 * self.standard_error)
    }
}

/// A line of designs, trained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// Which problem's curve they are on.
    pub problem: Problem,
    /// From the widest members to the thinnest.
    pub rows: Vec<Row>,
    /// Between the predicted variance and the test error on the primal curve, where variance varies; between the cost and the test
    /// error on the dual curve, where variance does not.
    pub correlation: Option<Correlation>,
}

impl Sweep {
    /// Trains the designs.
    ///
    /// # Errors
    ///
    /// If one cannot be trained, or somebody wants to stop.
    pub fn run(
        problem: Problem,
        candidates: &[Candidate],
        training: &Training,
        context: &Context,
    ) -> Result<Self, Error> {
        let specs: Vec<_> = candidates.iter().map(|candidate| candidate.spec.clone()).collect();
        let runs = train_all(training, &specs, context)?;
        let classes = training.data.dataset().classes();
        let rows: Vec<Row> = candidates
            .iter()
            .zip(&runs)
            .map(|(candidate, runs)| Row::new(candidate, runs, classes))
            .collect();
        let predicted: Vec<f64> = rows.iter().map(|row| predictor(problem, row)).collect();
        let measured: Vec<Vec<f64>> = rows.iter().map(|row| row.test_errors.clone()).collect();
        let correlation = rank_correlation(&predicted, &measured, context.seed);
        Ok(Self { problem, rows, correlation })
    }

    /// The design of lowest predicted variance.
    pub fn best_predicted(&self) -> Option<&Row> {
        self.rows.iter().min_by(|a, b| a.candidate.variance.total_cmp(&b.candidate.variance))
    }

    /// The design of lowest test error.
    pub fn best_measured(&self) -> Option<&Row> {
        self.rows.iter().min_by(|a, b| a.test_error.total_cmp(&b.test_error))
    }

    /// Whether the best predicted design is as good as the best measured one, within two standard errors of their difference.
    pub fn best_agrees(&self) -> bool {
        let best = self.best_predicted().zip(self.best_measured());
        best.is_some_and(|(predicted, measured)| !measured.is_better_than(predicted))
    }

    /// Whether the best predicted design is better than the baseline, the first of the line.
    pub fn best_beats_baseline(&self) -> bool {
        let pair = self.best_predicted().zip(self.rows.first());
        pair.is_some_and(|(predicted, baseline)| predicted.is_better_than(baseline))
    }

    /// The lowest and the highest mean test error.
    pub fn range(&self) -> [f64; 2] {
        let errors = || self.rows.iter().map(|row| row.test_error);
        [errors().fold(f64::INFINITY, f64::min), errors().fold(f64::NEG_INFINITY, f64::max)]
    }

    /// One row per design.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("design", Align::Left),
            ("parameters", Align::Right),
            ("cost", Align::Right),
            ("Var(K)", Align::Right),
            ("test error", Align::Right),
            ("runs", Align::Right),
        ]);
        for row in &self.rows {
            let Candidate { design, parameters, cost, variance, .. } = &row.candidate;
            let runs = match row.diverged {
                0 => row.test_errors.len().to_string(),
                diverged => format!("{} ({diverged} diverged)", row.test_errors.len()),
            };
            let (cost, variance) = (format!("{cost:.2}"), significant(*variance, 3));
            table.push([design.to_string(), grouped(*parameters), cost, variance, row.error_words(), runs]);
        }
        table
    }

    /// The test error over what should rank it (the variance of a primal line, the cost of a dual one).
    pub fn figure(&self) -> Figure {
        let (title, axis) = match self.problem {
            Problem::Primal => ("Primal: test error at equal cost", "predicted kernel variance Var(K)"),
            Problem::Dual => ("Dual: test error at equal variance", "cost, the baseline's being 1"),
        };
        let points = self.rows.iter().map(|row| point(predictor(self.problem, row), row));
        let correlation = self.correlation.map_or("no order".into(), |found| found.words());
        Figure::new(title)
            .x(Axis::log(axis))
            .y(Axis::linear("test error, %"))
            .with(Points::new("mean of all runs with standard error", points))
            .describe(format!("{title}. Rank correlation {correlation}."))
    }

    /// The test error over the width of the members, as the paper's figures of CIFAR have it.
    pub fn width_figure(&self) -> Figure {
        let title = match self.problem {
            Problem::Primal => "Primal: test error over the width",
            Problem::Dual => "Dual: test error over the width",
        };
        let points = self.rows.iter().map(|row| point(row.candidate.design.width as f64, row));
        Figure::new(title)
            .x(Axis::log("width n of a member"))
            .y(Axis::linear("test error, %"))
            .with(Points::new("mean of all runs with standard error", points))
    }
}

fn predictor(problem: Problem, row: &Row) -> f64 {
    match problem {
        Problem::Primal => row.candidate.variance,
        Problem::Dual => row.candidate.cost,
    }
}

fn point(x: f64, row: &Row) -> Point {
    let (error, half) = (100.0 * row.test_error, 100.0 * row.standard_error);
    Point::new(x, error).error(half).label(row.candidate.design.to_string())
}
