//! Both objectives over the widths, with the baseline and integer designs as dots.

use collegial_report::{Axis, Figure, Line, Mark, Point, Points, Section};
use collegial_search::Problem;

use super::Designs;

impl Designs {
    /// The score within the budget: the curve with a real-valued m, and integer designs.
    pub(super) fn primal_figure(&self) -> Figure {
        let answer = &self.answer;
        let curve = answer.curve.iter().filter(|point| point.primal_multiplicity >= 1.0);
        let nearby = answer.nearby.iter().filter(|row| row.problem == Problem::Primal);
        let best = &answer.primal;
        let mut figure = Figure::new("Same cost: variance within the budget")
            .x(Axis::log("width n of a member"))
            .y(Axis::log("mean kernel variance of the blocks"))
            .with(Line::new("real-valued m", curve.map(|point| (point.width as f64, point.primal_objective))))
            .with(Points::new(
                "whole members",
                nearby.map(|row| Point::new(row.width as f64, row.score).label(row.design.to_string())),
            ));
        if let Some(design) = answer.baseline_design {
            let point = Point::new(design.width as f64, answer.baseline_score).label(design.to_string());
            figure = figure.with(Points::new("baseline", [point]));
        }
        figure
            .with(Mark::new(best.design.to_string(), best.width as f64, best.score).drop_lines())
            .describe(self.sentences().first().cloned().unwrap_or_default())
    }

    /// How many times cheaper at the baseline's score.
    pub(super) fn dual_figure(&self) -> Figure {
        let answer = &self.answer;
        let nearby = answer.nearby.iter().filter(|row| row.problem == Problem::Dual);
        let best = &answer.dual;
        let mut figure = Figure::new("Same variance: how many times cheaper")
            .x(Axis::log("width n of a member"))
            .y(Axis::linear(format!("the baseline's {} over the design's", answer.cost.unit())))
            .with(Line::new(
                "real-valued m",
                answer.curve.iter().map(|point| (point.width as f64, point.efficiency)),
            ))
            .with(Points::new(
                "whole members",
                nearby.map(|row| Point::new(row.width as f64, row.cost_ratio).label(row.design.to_string())),
            ));
        if let Some(design) = answer.baseline_design {
            let point = Point::new(design.width as f64, 1.0).label(design.to_string());
            figure = figure.with(Points::new("baseline", [point]));
        }
        figure
            .with(Mark::new(best.design.to_string(), best.width as f64, best.cost_ratio).drop_lines())
            .describe(self.sentences().get(1).cloned().unwrap_or_default())
    }

    pub(super) fn figures_section(&self) -> Section {
        Section::new("All widths").figures([
            (
                self.primal_figure(),
                "Lower is better. Dots have a whole number of members within the budget.".to_owned(),
            ),
            (self.dual_figure(), "Higher is better.".to_owned()),
        ])
    }
}
