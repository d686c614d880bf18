//! How a sweep is shown: a table and two figures.

use collegial_report::{Align, Axis, Figure, Point, Points, Table, grouped, significant};
use collegial_search::Problem;

use crate::sweep::predictor;
use crate::{Candidate, Row, Sweep};

impl Sweep {
    /// One row per design.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("design", Align::Left),
            ("parameters", Align::Right),
            ("cost", Align::Right),
            ("Var(K)", Align::Right),
            ("m n", Align::Right),
            ("test error", Align::Right),
            ("runs", Align::Right),
        ]);
        for row in &self.rows {
            let Candidate { design, parameters, cost, variance, inner_width, .. } = &row.candidate;
            let runs = match row.diverged {
                0 => row.test_errors.len().to_string(),
                diverged => format!("{} ({diverged} diverged)", row.test_errors.len()),
            };
            let (cost, variance) = (format!("{cost:.2}"), significant(*variance, 3));
            table.push([
                design.to_string(),
                grouped(*parameters),
                cost,
                variance,
                inner_width.to_string(),
                row.error_words(),
                runs,
            ]);
        }
        table
    }

    /// The test error over what should rank it (the variance of a primal line, the cost of a dual
    /// one).
    pub fn figure(&self) -> Figure {
        let (title, axis) = match self.problem {
            Problem::Primal => ("Primal: test error at equal cost", "predicted kernel variance Var(K)"),
            Problem::Dual => ("Dual: test error at equal variance", "cost, the baseline's being 1"),
        };
        let points = self.rows.iter().map(|row| point(predictor(self.problem, row), row));
        let correlation = self.correlation_words();
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

fn point(x: f64, row: &Row) -> Point {
    let point = Point::new(x, 100.0 * row.test_error).label(row.candidate.design.to_string());
    match row.standard_error {
        Some(error) => point.error(100.0 * error),
        None => point,
    }
}
