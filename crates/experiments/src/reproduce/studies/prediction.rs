//! The planned experiment of `docs/prediction.md`, judged by the rules that were written down
//! before its runs.

use crate::score::{Predictors, Table as Runs};
use crate::{mean, standard_error};
use collegial_arch::{Design, Spec};
use collegial_report::{Align, Axis, Figure, Line, Point, Points, Section, Stroke, Table, Tone, grouped};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::reproduce::contrast::Contrast;
use crate::reproduce::error::Misfit;
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Verdict};

/// The runs that were made.
const CSV: &str = include_str!("../../../evidence/prediction-runs.csv");

/// Test errors after the last epoch.
const SCORED: &str = "test_error_3";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The network, whatever its design.
    network: Spec,
    baseline: Design,
    designs: Vec<Planned>,
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

/// What the score says of a design's error beside the baseline's.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Predicted {
    Worse,
    Equal,
    Better,
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
    let few = || Error::experiment("evidence/prediction-runs.csv", Misfit::FewRuns);
    let mut all = vec![trained(&settings.network, settings.baseline, "baseline")?];
    for planned in &settings.designs {
        all.push(trained(&settings.network, planned.design, &planned.role)?);
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
    })
}

fn trained(network: &Spec, design: Design, role: &str) -> Result<Trained, Error> {
    let runs = Runs::from_csv(CSV.as_bytes())?;
    let error = |row: usize| -> Result<f64, Error> {
        let number = runs.get(row, SCORED).and_then(|text| text.parse::<f64>().ok());
        let reason = Misfit::NoCell { row: row + 1, column: SCORED };
        number
            .map(|error| 100.0 * error)
            .ok_or_else(|| Error::experiment("evidence/prediction-runs.csv", reason))
    };
    let name = design.to_string();
    let of_design =
        |row: &usize| runs.get(*row, "design").is_some_and(|text| text == name.trim_end_matches('d'));
    Ok(Trained {
        design,
        role: role.into(),
        predictors: Predictors::of(&network.with_design(design)?)?,
        errors: (0..runs.len()).filter(of_design).map(error).collect::<Result<_, _>>()?,
    })
}

impl Predicted {
    fn words(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Equal => "equal",
            Self::Better => "better",
        }
    }

    /// A direction holds or fails with the whole interval on one side of 0; equality holds if the
    /// interval is within the margin, and fails if it leaves out 0 and is not.
    fn verdict(self, contrast: &Contrast, margin: f64) -> Verdict {
        let [low, high] = contrast.interval;
        let holds_0 = low <= 0.0 && high >= 0.0;
        let held = match self {
            Self::Worse => low > 0.0,
            Self::Better => high < 0.0,
            Self::Equal => low > -margin && high < margin,
        };
        match held {
            true => Verdict::Reproduced,
            false if holds_0 => Verdict::Undecided("the interval holds 0".into()),
            false if contrast.difference > 0.0 => Verdict::Differs("it is worse".into()),
            false => Verdict::Differs("it is better".into()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A clear effect, none, a reversed one, and an equality that the interval is too wide for.
    #[test]
    fn verdicts_follow_the_rules_that_were_planned() {
        let verdict = |predicted: Predicted, low: f64, high: f64| {
            let contrast = Contrast { difference: 0.5 * (low + high), interval: [low, high], runs: [20, 20] };
            predicted.verdict(&contrast, 0.7).name()
        };
        assert_eq!(verdict(Predicted::Worse, 0.1, 1.0), "reproduced");
        assert_eq!(verdict(Predicted::Worse, -0.1, 1.0), "undecided");
        assert_eq!(verdict(Predicted::Worse, -1.0, -0.1), "differs");
        assert_eq!(verdict(Predicted::Better, -1.0, -0.1), "reproduced");
        assert_eq!(verdict(Predicted::Better, 0.1, 1.0), "differs");
        assert_eq!(verdict(Predicted::Equal, 0.1, 0.6), "reproduced");
        assert_eq!(verdict(Predicted::Equal, -0.3, 0.8), "undecided");
        assert_eq!(verdict(Predicted::Equal, 0.2, 0.9), "differs");
    }
}
