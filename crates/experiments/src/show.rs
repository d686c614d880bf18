//! Rendering of a sweep: a table and two figures.

use collegial_report::{Align, Axis, Figure, Marker, Point, Points, Table, Tone, grouped, significant};
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
            Problem::Primal => ("Test error at the same cost", "predicted kernel variance Var(K)"),
            Problem::Dual => ("Test error at the same variance", "cost, the baseline's being 1"),
        };
        let figure = Figure::new(title).x(Axis::log(axis)).y(Axis::linear("test error, %"));
        let correlation = self.correlation_words();
        self.points(figure, |row| predictor(self.problem, row))
            .describe(format!("{title}. Rank correlation {correlation}."))
    }

    /// The test error over the width of the members, as the paper's figures of CIFAR have it.
    pub fn width_figure(&self) -> Figure {
        let title = match self.problem {
            Problem::Primal => "Test error at the same cost, over the width",
            Problem::Dual => "Test error at the same variance, over the width",
        };
        let figure = Figure::new(title).x(Axis::log("width n of a member")).y(Axis::linear("test error, %"));
        self.points(figure, |row| row.candidate.design.width as f64)
    }

    /// All designs, each with its name beside it; the baseline and the one of lowest predicted
    /// variance (primal) or cost (dual) are set off.
    fn points(&self, figure: Figure, x: impl Fn(&Row) -> f64) -> Figure {
        let tone = match self.problem {
            Problem::Primal => Tone::Cost,
            Problem::Dual => Tone::Variance,
        };
        let predicted = |row: &Row| predictor(self.problem, row);
        let (best_name, best) = match self.problem {
            Problem::Primal => ("least variance predicted", self.best_predicted()),
            Problem::Dual => {
                let cheapest = self.rows.iter().min_by(|a, b| predicted(a).total_cmp(&predicted(b)));
                ("cheapest", cheapest)
            }
        };
        // The widest members are the baseline's.
        let baseline = self.rows.first();
        let set_off = |row: &&Row| {
            let design = row.candidate.design;
            [baseline, best].into_iter().flatten().any(|other| other.candidate.design == design)
        };
        let others = self.rows.iter().filter(|row| !set_off(row)).map(|row| point(x(row), row));
        let mut figure = figure
            .with(Points::new("mean of all runs, standard error", others).marker(Marker::Circle).tone(tone));
        if let Some(row) = baseline {
            let point = point(x(row), row);
            figure = figure.with(Points::new("baseline", [point]).marker(Marker::Ring).tone(Tone::Base));
        }
        let own =
            best.filter(|row| baseline.is_none_or(|other| other.candidate.design != row.candidate.design));
        if let Some(row) = own {
            let point = point(x(row), row);
            figure = figure.with(Points::new(best_name, [point]).marker(Marker::Diamond).tone(Tone::Law));
        }
        figure
    }
}

fn point(x: f64, row: &Row) -> Point {
    let (design, variance) = (row.candidate.design, significant(row.candidate.variance, 3));
    let error = row.error_words();
    let point = Point::new(x, 100.0 * row.test_error)
        .label(design.to_string())
        .title(format!("{design}: test error {error}, Var(K) {variance}"));
    match row.standard_error {
        Some(error) => point.error(100.0 * error),
        None => point,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::made_up;

    #[test]
    fn every_design_has_its_name_beside_it() {
        for problem in [Problem::Primal, Problem::Dual] {
            let sweep = made_up::sweep(problem, 3, 0.002, |index| 0.2 - 0.01 * index as f64);
            for figure in [sweep.figure(), sweep.width_figure()] {
                let drawing = figure.to_svg();
                for row in &sweep.rows {
                    let label = format!(">{}</text>", row.candidate.design);
                    assert_eq!(drawing.matches(&label).count(), 1, "{problem:?}: {label}");
                }
            }
        }
    }
}
