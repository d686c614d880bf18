//! Fig. 2: the kernel of an ensemble converges to the mean kernel, which hardly depends on the
//! width.

use std::f64::consts::PI;

use collegial_ntk::mean_kernel::{Curve, circle_curves, infinite_width};
use collegial_report::{
    Align, Axis, Band, Figure, Line, Marker, Point, Points, Section, Stroke, Table, Tone,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::reproduce::published;
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Verdict};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Weight matrices.
    layers: usize,
    width: usize,
    /// How many times wider the black line's network is.
    wider: usize,
    /// Points on the circle, both ends included.
    angles: usize,
    /// Sizes of the ensemble, ascending.
    members: Vec<usize>,
    /// A width at which the mean kernel's dependence on it shows, and how often it is drawn.
    narrow: usize,
    narrow_members: usize,
}

/// A [`Curve`] as its file keeps it: JSON has no NaN for the error of a single member.
#[derive(Clone, Deserialize, Serialize)]
struct Kept {
    members: usize,
    kernel: Vec<f64>,
    standard_error: Option<Vec<f64>>,
}

impl From<Curve> for Kept {
    fn from(curve: Curve) -> Self {
        let standard_error = (curve.members > 1).then_some(curve.standard_error);
        Self { members: curve.members, kernel: curve.kernel, standard_error }
    }
}

/// All curves over the angles.
struct Curves {
    settings: Settings,
    angles: Vec<f64>,
    ensemble: Vec<Kept>,
    wide: Kept,
    narrow: Kept,
    infinite: Vec<f64>,
}

/// Fig. 2.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let curves = Curves::draw(experiment.settings(context.scale)?, context)?;
    let (limit, width) = (curves.limit()?, curves.width()?);
    Ok(Outcome {
        sentence: curves.sentence(),
        comparisons: vec![limit, width],
        figures: vec![
            (curves.surface(), "The surface as one curve per m, from one member at the bottom upwards, each shifted by the same step.".into()),
            (curves.cut(), "The cut: few members, many, and one network that is much wider.".into()),
        ],
        sections: vec![curves.convergence(), curves.narrow_section()],
        data: json!({
            "angles": curves.angles, "infinite_width": curves.infinite,
            "ensemble": curves.ensemble, "wide": curves.wide, "narrow": curves.narrow,
        }),
        ..Outcome::default()
    })
}

/// Whether a largest difference, in standard errors, is what chance explains.
fn chance(score: f64) -> Verdict {
    if score < 4.5 {
        Verdict::Reproduced
    } else {
        Verdict::Differs(format!("{score:.1} standard errors are more than chance"))
    }
}

impl Curves {
    fn draw(settings: Settings, context: &Context) -> Result<Self, Error> {
        let steps = settings.angles.max(2) - 1;
        let angles: Vec<f64> = (0..=steps).map(|step| -PI + 2.0 * PI * step as f64 / steps as f64).collect();
        let layers = settings.layers;
        let draw = |name: &str, width: usize, members: &[usize]| -> Result<Vec<Kept>, Error> {
            context.cached(&format!("fig2.{name}"), &(layers, width, steps, members), || {
                context.monitor.progress(0.0, Some(&format!("fig2: drawing kernels of width {width}")));
                let curves = circle_curves(layers, width, &angles, members, context.seed)?;
                Ok(curves.into_iter().map(Kept::from).collect())
            })
        };
        let one = |curves: Vec<Kept>| {
            let missing = || Error::experiment("experiments/fig2.toml", "it names no ensemble");
            curves.into_iter().next_back().ok_or_else(missing)
        };
        let ensemble = draw("ensemble", settings.width, &settings.members)?;
        one(ensemble.clone())?;
        Ok(Self {
            ensemble,
            wide: one(draw("wide", settings.width * settings.wider, &[1])?)?,
            narrow: one(draw("narrow", settings.narrow, &[settings.narrow_members])?)?,
            infinite: angles.iter().map(|angle| infinite_width(layers, *angle)).collect(),
            settings,
            angles,
        })
    }

    /// The largest ensemble.
    fn largest(&self) -> &Kept {
        &self.ensemble[self.ensemble.len() - 1]
    }

    /// Root mean square distance from the infinitely wide network's kernel, as a share of its
    /// diagonal.
    fn distance(&self, curve: &Kept) -> f64 {
        let squares = curve.kernel.iter().zip(&self.infinite).map(|(kernel, limit)| (kernel - limit).powi(2));
        (squares.sum::<f64>() / self.infinite.len() as f64).sqrt() / self.diagonal()
    }

    fn diagonal(&self) -> f64 {
        infinite_width(self.settings.layers, 0.0)
    }

    /// The claim that ensembles converge: the largest one is within chance of the limit.
    /// Neighbouring angles move together, so the largest of them is hardly more extreme than a
    /// handful of normal numbers.
    fn limit(&self) -> Result<Comparison, Error> {
        let (first, last) = (&self.ensemble[0], self.largest());
        let (from, to) = (self.distance(first), self.distance(last));
        let errors = last.standard_error.as_deref().unwrap_or_default();
        let gaps = last.kernel.iter().zip(&self.infinite).map(|(kernel, limit)| (kernel - limit).abs());
        let score = gaps.zip(errors).map(|(gap, error)| gap / error).fold(0.0, f64::max);
        let verdict = chance(score);
        Ok(Comparison::claim(
            "convergence to the mean kernel",
            published::statement("fig2.limit")?.says,
            format!(
                "{:.1} % from it at m = {}, {:.2} % at m = {}",
                100.0 * from,
                first.members,
                100.0 * to,
                last.members
            ),
            verdict,
        ))
    }

    /// The largest difference between the wide network and the ensemble, as a share of the diagonal
    /// and in standard errors of that difference. The wide network's own spread is a member's over
    /// the root of the ratio of widths.
    fn gap(&self) -> (f64, f64) {
        let last = self.largest();
        let errors = last.standard_error.as_deref().unwrap_or_default();
        let wide = (last.members as f64 / self.settings.wider as f64).sqrt();
        let differences = last.kernel.iter().zip(&self.wide.kernel).map(|(a, b)| (a - b).abs());
        let scores = differences.clone().zip(errors).map(|(gap, error)| gap / error.hypot(error * wide));
        (differences.fold(0.0, f64::max) / self.diagonal(), scores.fold(0.0, f64::max))
    }

    /// The claim that the width does not matter.
    fn width(&self) -> Result<Comparison, Error> {
        let (gap, score) = self.gap();
        let verdict = chance(score);
        Ok(Comparison::claim(
            "independence of the width",
            published::statement("fig2.width")?.says,
            format!(
                "{} times wider: at most {:.1} % apart, {score:.1} standard errors",
                self.settings.wider,
                100.0 * gap
            ),
            verdict,
        ))
    }

    fn sentence(&self) -> String {
        let (first, last, (gap, score)) = (&self.ensemble[0], self.largest(), self.gap());
        let width = self.settings.width;
        format!(
            "From {} to {} members of width {width} the distance from the limit falls from {:.1} % to {:.2} % of K(x_0, x_0); one network of width {} differs from them by at most {:.1} %, {score:.1} standard errors.",
            first.members,
            last.members,
            100.0 * self.distance(first),
            100.0 * self.distance(last),
            width * self.settings.wider,
            100.0 * gap
        )
    }

    fn points<'a>(&'a self, kernel: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
        self.angles.iter().copied().zip(kernel.iter().copied())
    }

    fn surface(&self) -> Figure {
        let step = 0.35 * self.diagonal();
        let mut figure = Figure::new("Kernel over the circle, m growing upwards")
            .x(Axis::linear("angle γ"))
            .y(Axis::linear("K(x₀, x_γ), shifted by one step per curve"));
        for (index, curve) in self.ensemble.iter().enumerate() {
            let shifted = self.points(&curve.kernel).map(|(x, y)| (x, y + index as f64 * step));
            figure = figure.with(Line::new("", shifted).stroke(Stroke::Solid).tone(Tone::Cost));
            // Names of neighbouring curves would be in each other's way.
            if index.is_multiple_of(2) {
                let end = curve.kernel[self.angles.len() - 1] + index as f64 * step;
                let label = Point::new(PI, end).label(format!("m = {}", curve.members));
                figure = figure.with(Points::new("", [label]).marker(Marker::Circle).tone(Tone::Cost));
            }
        }
        figure.describe("Curves become smooth and symmetric as members are added.")
    }

    fn cut(&self) -> Figure {
        let last = self.largest();
        let middle = &self.ensemble[self.ensemble.len() / 2];
        let mut figure = Figure::new("Kernel of ensembles and of one wide network")
            .x(Axis::linear("angle γ"))
            .y(Axis::linear("K(x₀, x_γ)"));
        let mut shown = vec![&self.ensemble[0], middle, last];
        shown.dedup_by_key(|curve| curve.members);
        for curve in shown {
            let members =
                if curve.members == 1 { "1 member".into() } else { format!("{} members", curve.members) };
            figure = figure.with(Line::new(members, self.points(&curve.kernel)));
        }
        if let Some(errors) = &last.standard_error {
            let edges =
                self.points(&last.kernel).zip(errors).map(|((x, y), e)| (x, y - 1.96 * e, y + 1.96 * e));
            figure = figure.with(Band::new("", edges));
        }
        let wide = format!("1 member, {} times wider", self.settings.wider);
        figure
            .with(Line::new(wide, self.points(&self.wide.kernel)).tone(Tone::Base))
            .with(Line::new("infinitely wide", self.points(&self.infinite)).tone(Tone::Other))
    }

    /// How fast.
    fn convergence(&self) -> Section {
        let mut table = Table::new(&[
            ("members m", Align::Right),
            ("distance from the limit", Align::Right),
            ("K(x_0, x_0)", Align::Right),
        ]);
        let middle = self.angles.len() / 2;
        for curve in &self.ensemble {
            let error = curve
                .standard_error
                .as_ref()
                .map_or(String::new(), |errors| format!(" ± {:.3}", 1.96 * errors[middle]));
            table.push([
                curve.members.to_string(),
                format!("{:.2} %", 100.0 * self.distance(curve)),
                format!("{:.3}{error}", curve.kernel[middle]),
            ]);
        }
        Section::new("How fast")
            .prose(format!(
                "The distance is the root mean square over the circle between the ensemble's kernel and that of the infinitely wide network, whose diagonal is {:.3}. It falls like 1/√m, because members are independent.",
                self.diagonal()
            ))
            .table(table, "Larger ensembles contain the smaller ones, so one lucky draw shows in several rows.")
    }

    /// Where the mean kernel does depend on the width.
    fn narrow_section(&self) -> Section {
        let gaps = self.narrow.kernel.iter().zip(&self.infinite).map(|(mean, limit)| mean - limit);
        let errors = self.narrow.standard_error.as_deref().unwrap_or_default();
        let scored: Vec<(f64, f64, f64)> = self
            .angles
            .iter()
            .zip(gaps)
            .zip(errors)
            .map(|((angle, gap), error)| (*angle, gap, *error))
            .collect();
        let largest =
            scored.iter().copied().max_by(|a, b| (a.1.abs()).total_cmp(&b.1.abs())).unwrap_or_default();
        let share = |value: f64| 100.0 * value / self.diagonal();
        let points = scored
            .iter()
            .map(|&(angle, gap, error)| Point::new(angle, share(gap)).error(share(1.96 * error)));
        let figure = Figure::new(format!("Mean kernel of width {} minus its limit", self.settings.narrow))
            .x(Axis::linear("angle γ"))
            .y(Axis::linear("difference, % of K(x₀, x₀)").include(0.0))
            .with(Points::new("mean kernel, 95 % intervals", points))
            .with(Line::new("no dependence on the width", [(-PI, 0.0), (PI, 0.0)]));
        Section::new("Where the width does matter")
            .prose(format!(
                "On the diagonal the mean kernel equals its limit at every width. Elsewhere it does so only up to terms of order 1/n, which are far too small to see at width {}. At \
                 width {} they show: over {} networks the largest difference is {:+.2} % ± {:.2} of K(x_0, x_0), at γ = {:.2}.",
                self.settings.width,
                self.settings.narrow,
                self.narrow.members,
                share(largest.1),
                share(1.96 * largest.2),
                largest.0
            ))
            .figure(figure, "Error bars are 95 % intervals.")
    }
}
