//! The planned experiment of `docs/prediction.md`, judged by the rules that were written down
//! before its runs.

use crate::score::{Predictors, Table as Runs};
use crate::{mean, standard_error};
use collegial_arch::{Design, Spec};
use collegial_report::{Align, Axis, Figure, Line, Point, Points, Section, Stroke, Table, Tone, grouped};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::reproduce::contrast::{Contrast, Predicted};
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Verdict};

/// The study's runs.
const RUNS: &str = "runs.csv";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The network, whatever its design.
    network: Spec,
    baseline: Design,
    designs: Vec<Planned>,
    /// The column of test errors.
    error: String,
    /// Errors this near, in points of a per cent, count as equal.
    equal_within: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Planned {
    design: Design,
    role: String,
    prediction: Predicted,
}

/// A design, what its spec tells and what its runs gave.
#[derive(Serialize)]
struct Trained {
    design: Design,
    role: String,
    #[serde(flatten)]
    predictors: Predictors,
    /// Test errors of its runs in per cent.
    errors: Vec<f64>,
}

/// Three designs against their baseline.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let settings: Settings = experiment.settings(context.scale)?;
    let runs = experiment.table(RUNS)?;
    let few = || Error::experiment(RUNS, "a design has too few runs");
    let mut all = vec![settings.trained(&runs, settings.baseline, "baseline")?];
    for planned in &settings.designs {
        all.push(settings.trained(&runs, planned.design, &planned.role)?);
    }
    let contrasts: Vec<Contrast> = all[1..]
        .iter()
        .map(|one| Contrast::of(&one.errors, &all[0].errors).ok_or_else(few))
        .collect::<Result<_, _>>()?;
    let comparison = |(planned, contrast): (&Planned, &Contrast)| {
        let what = format!("{}, {}: test error minus the baseline's", planned.design, planned.role);
        let verdict = planned.prediction.verdict(contrast, settings.equal_within);
        Comparison::claim(what, planned.prediction.words(), contrast.words(), verdict)
    };
    Ok(Outcome {
        sentence: sentence(&settings, &contrasts),
        tables: vec![outcomes(&settings, &contrasts)],
        comparisons: settings.designs.iter().zip(&contrasts).map(comparison).collect(),
        figures: vec![figure(&all, &contrasts, settings.equal_within)],
        sections: vec![designs(&all)],
        data: json!({"designs": all, "contrasts": contrasts}),
        ..Outcome::default()
    })
}

impl Settings {
    /// A design with the errors of its runs.
    fn trained(&self, runs: &Runs, design: Design, role: &str) -> Result<Trained, Error> {
        let name = design.to_string();
        let of_design =
            |row: &usize| runs.get(*row, "design").is_some_and(|text| text == name.trim_end_matches('d'));
        let error = |row: usize| -> Result<f64, Error> {
            let number = runs.get(row, &self.error).and_then(|text| text.parse::<f64>().ok());
            let missing = || {
                format!(
                    "{column} of row {row} is missing or not what it should be",
                    row = row + 1,
                    column = self.error
                )
            };
            number.map(|error| 100.0 * error).ok_or_else(|| Error::experiment(RUNS, missing()))
        };
        Ok(Trained {
            design,
            role: role.into(),
            predictors: Predictors::of(&self.network.with_design(design)?)?,
            errors: (0..runs.len()).filter(of_design).map(error).collect::<Result<_, _>>()?,
        })
    }
}

fn sentence(settings: &Settings, contrasts: &[Contrast]) -> String {
    let one = |(planned, contrast): (&Planned, &Contrast)| {
        let ([low, high], planned_words) = (contrast.interval, planned.prediction.words());
        format!(
            "{:.2} ({low:.2} to {high:.2}) for {}, {}, predicted {planned_words}",
            contrast.difference, planned.design, planned.role
        )
    };
    let all: Vec<String> = settings.designs.iter().zip(contrasts).map(one).collect();
    format!("Test error minus the baseline's, in points: {}.", all.join("; "))
}

/// Predicted and obtained.
fn outcomes(settings: &Settings, contrasts: &[Contrast]) -> (Table, String) {
    let mut table = Table::new(&[
        ("design", Align::Left),
        ("predicted", Align::Left),
        ("test error minus the baseline's", Align::Left),
        ("the prediction", Align::Left),
    ]);
    for (planned, contrast) in settings.designs.iter().zip(contrasts) {
        let verdict = match planned.prediction.verdict(contrast, settings.equal_within) {
            Verdict::Reproduced => "held",
            Verdict::Differs(_) => "failed",
            _ => "is undecided",
        };
        let name = format!("{}, {}", planned.design, planned.role);
        table.push([name, planned.prediction.words().into(), contrast.words(), verdict.into()]);
    }
    let margin = settings.equal_within;
    (
        table,
        format!(
            "What the score predicts, and what came out. Equal is within {margin} points, fixed beforehand."
        ),
    )
}

fn figure(all: &[Trained], contrasts: &[Contrast], margin: f64) -> (Figure, String) {
    let score = |one: &Trained| one.predictors.score / all[0].predictors.score;
    let points = all[1..].iter().zip(contrasts).map(|(one, contrast)| {
        let [low, high] = contrast.interval;
        Point::new(score(one), contrast.difference).interval(low, high).label(one.design.to_string())
    });
    let points: Vec<Point> = points.collect();
    let scores = || all.iter().map(score);
    let ends = [scores().fold(f64::INFINITY, f64::min), scores().fold(0.0, f64::max)];
    let level = |name: &str, height: f64, stroke| {
        Line::new(name, ends.map(|end| (end, height))).stroke(stroke).tone(Tone::Base)
    };
    let figure = Figure::new("Difference of test errors over score")
        .x(Axis::log("score, as a multiple of the baseline's"))
        .y(Axis::linear("difference of test errors, points").include(0.0))
        .with(level("baseline", 0.0, Stroke::Solid))
        .with(level("counts as equal", margin, Stroke::Dashed))
        .with(level("", -margin, Stroke::Dashed))
        .with(Points::new("design", points));
    (figure, "Means over twenty runs of each; bars are Welch's 95 % intervals of the difference.".into())
}

fn designs(all: &[Trained]) -> Section {
    let mut table = Table::new(&[
        ("design", Align::Left),
        ("role", Align::Left),
        ("score", Align::Right),
        ("m n", Align::Right),
        ("parameters", Align::Right),
        ("runs", Align::Right),
        ("test error, %", Align::Right),
        ("standard error", Align::Right),
    ]);
    for one in all {
        let spread = standard_error(&one.errors).map_or("n/a".into(), |error| format!("{error:.2}"));
        table.push_row(vec![
            one.design.to_string(),
            one.role.clone(),
            format!("{:.4}", one.predictors.score),
            format!("{:.1}", one.predictors.inner_width),
            grouped(one.predictors.parameters),
            one.errors.len().to_string(),
            format!("{:.2}", mean(one.errors.iter().copied())),
            spread,
        ]);
    }
    Section::new("The designs").table(
        table,
        "m n is the harmonic mean over the blocks; test errors after the last epoch, means over runs.",
    )
}
