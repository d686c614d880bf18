//! Both objectives over the widths, with the baseline and integer designs as dots, and the two
//! numbers of an answer as cards.

use collegial_report::{
    Axis, Card, Figure, Line, Mark, Marker, Point, Points, Section, Stroke, Tone, VerticalRange,
};
use collegial_search::{CurvePoint, DesignAnswer, Gain, NearbyDesign, Problem};

use super::Designs;
use super::sentences::{fewer, percent};

/// The legend's name of designs with a whole number of members.
const WHOLE: &str = "whole members";

impl Designs {
    /// What each optimum gains, and in what.
    pub(super) fn both_cards(&self) -> [Card; 2] {
        let DesignAnswer { primal, dual, cost, .. } = &self.answer;
        let (unit, what) = (cost.first().unit(), self.what());
        let fewer = fewer(cost.first());
        let primal_about = match primal.gain {
            Gain::BaselineIsBest => "the baseline is itself the best".to_owned(),
            Gain::Better => format!("less {what}"),
            Gain::Worse => format!("less {what}: nothing allowed is as good as the baseline"),
        };
        let dual_about = match dual.gain {
            Gain::BaselineIsBest => "no cheaper design has as little variance".to_owned(),
            Gain::Better => format!("{fewer} {unit}"),
            Gain::Worse => format!("{fewer} {unit}: nothing allowed is cheaper than the baseline"),
        };
        [
            Card {
                question: self.budget_name(),
                number: times(primal.network.score_ratio),
                about: primal_about,
                name: self.primal_name(),
                note: self.costs(&primal.network),
                tone: Tone::Cost,
            },
            Card {
                question: "Same variance".to_owned(),
                number: times(dual.network.cost_ratio),
                about: dual_about,
                name: self.dual_name(),
                note: self.shares_at_same_variance(&dual.network),
                tone: Tone::Variance,
            },
        ]
    }

    /// The same of designs or widths of their own for every stage.
    pub(in crate::search) fn stage_cards(&self) -> Option<[Card; 2]> {
        let stages = self.stages.as_ref()?;
        let [primal, dual] = self.both_cards();
        let (unit, what) = (self.answer.cost.first().unit(), self.what());
        let (kept, cheap) = (&stages.kept.primal, &stages.kept.dual);
        Some([
            Card {
                number: times(kept.network.score_ratio),
                about: format!("less {what}"),
                name: self.stages_name(kept),
                note: self.costs(&kept.network),
                ..primal
            },
            Card {
                number: times(cheap.network.cost_ratio),
                about: format!("fewer {unit}"),
                name: self.stages_name(cheap),
                note: self.shares_at_same_variance(&cheap.network),
                ..dual
            },
        ])
    }

    /// The score within the budget: the curve with a real-valued m, and integer designs.
    pub(super) fn primal_figure(&self) -> Figure {
        let answer = &self.answer;
        let curve = answer.curve.iter().filter(|point| point.primal_multiplicity >= 1.0);
        let curve = curve.map(|point| (point.width as f64, point.primal_objective));
        let best = &answer.primal;
        let figure = Figure::new("Kernel variance at the same cost")
            .file("same-cost")
            .x(Axis::log("width n of a member"))
            .y(Axis::log(self.what_is_drawn()));
        self.marked(
            figure,
            curve,
            Problem::Primal,
            Tone::Cost,
            |row| row.network.score,
            answer.baseline_score,
        )
        .with(Mark::new(best.design.to_string(), best.width as f64, best.network.score).tone(Tone::Cost))
        .describe(self.sentences().first().cloned().unwrap_or_default())
    }

    /// How many times cheaper at the baseline's score.
    pub(super) fn dual_figure(&self) -> Figure {
        let answer = &self.answer;
        // With several costs a width may save the first and raise another.
        let one = answer.cost.only().is_some();
        let kept = |point: &&CurvePoint| one || point.dual_multiplicity <= point.primal_multiplicity;
        let curve = answer.curve.iter().filter(kept).map(|point| (point.width as f64, point.efficiency));
        let best = &answer.dual;
        let fewer = fewer(answer.cost.first());
        let figure =
            Figure::new(format!("Times {fewer} {} at the same variance", answer.cost.first().unit()))
                .file("same-variance")
                .x(Axis::log("width n of a member"))
                .y(Axis::linear(format!("the baseline's {} over the design's", answer.cost.first().unit())));
        self.marked(figure, curve, Problem::Dual, Tone::Variance, |row| row.network.cost_ratio, 1.0)
            .with(
                Mark::new(best.design.to_string(), best.width as f64, best.network.cost_ratio)
                    .tone(Tone::Variance),
            )
            .describe(self.sentences().get(1).cloned().unwrap_or_default())
    }

    /// A curve over the flat region, with integer designs and the baseline.
    fn marked(
        &self,
        figure: Figure,
        curve: impl Iterator<Item = (f64, f64)>,
        problem: Problem,
        tone: Tone,
        value: impl Fn(&NearbyDesign) -> f64,
        baseline: f64,
    ) -> Figure {
        let answer = &self.answer;
        let mut figure = figure;
        if let Some(flat) = answer.flat {
            figure = figure.with(VerticalRange::new(
                format!("within {}", percent(flat.tolerance)),
                flat.low as f64,
                flat.high as f64,
            ));
        }
        let nearby = answer.nearby.iter().filter(|row| row.problem == problem);
        let points = nearby.map(|row| Point::new(row.width as f64, value(row)).title(self.title(row)));
        figure = figure
            .with(Line::new("real-valued m", curve).stroke(Stroke::Solid).tone(tone))
            .with(Points::new(WHOLE, points).marker(Marker::Circle).tone(tone));
        if let Some(design) = answer.baseline_design {
            let point = Point::new(design.width as f64, baseline).label(design.to_string());
            let point = point.title(format!("{}, the baseline", answer.baseline));
            figure = figure.with(Points::new("baseline", [point]).marker(Marker::Ring).tone(Tone::Base));
        }
        figure
    }

    /// What a browser says of a design.
    fn title(&self, row: &NearbyDesign) -> String {
        let share = percent(1.0 / row.network.cost_ratio);
        let unit = self.answer.cost.first().unit();
        format!("{}: {:.2} times less variance, {share} of the {unit}", row.design, row.network.score_ratio)
    }

    fn what_is_drawn(&self) -> &'static str {
        if self.answer.other_inputs.is_some() {
            "mean kernel variance of the blocks"
        } else {
            "kernel variance"
        }
    }

    pub(super) fn figures_section(&self) -> Section {
        Section::new("Every width").figures([
            (self.primal_figure(), "Lower is better. As many members as the budget pays for.".to_owned()),
            (
                self.dual_figure(),
                "Higher is better. As few members as reach the baseline's variance.".to_owned(),
            ),
        ])
    }
}

/// 2.034 as "2.03 ×".
fn times(ratio: f64) -> String {
    if ratio >= 100.0 { format!("{ratio:.0} ×") } else { format!("{ratio:.2} ×") }
}
