//! How long the paper's training would take on this machine, from the first steps of every network.

use std::time::Instant;

use collegial_arch::{Shape, Spec};
use collegial_nn::{Mode, Network, cross_entropy};
use collegial_report::{Align, Section, Table, grouped, significant};
use serde::{Deserialize, Serialize};

use crate::{Context, Error};

/// How first steps are timed.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Images per step.
    batch: usize,
    /// Steps; the fastest counts.
    steps: usize,
}

/// What one model would take.
#[derive(Serialize)]
pub struct Duration {
    /// The model.
    pub model: String,
    /// A training step's time, per image.
    pub seconds_per_image: f64,
    /// All runs of the recipe.
    pub seconds: f64,
}

/// Times the first steps of every model once; `images` is how many images all runs of one model
/// see.
pub fn durations(
    item: &str,
    specs: &[Spec],
    timing: &Timing,
    images: u64,
    context: &Context,
) -> Result<Vec<Duration>, Error> {
    let mut durations: Vec<Duration> = vec![];
    for spec in specs {
        let model = spec.name();
        if durations.iter().any(|known| known.model == model) {
            continue;
        }
        let seconds_per_image =
            context.part(&format!("{item}.steps"), &(&model, spec.to_toml(), timing), || {
                context.monitor.progress(0.0, Some(&format!("{item}: first steps of {model}")));
                seconds_per_image(spec, timing)
            })?;
        durations.push(Duration { model, seconds_per_image, seconds: seconds_per_image * images as f64 });
    }
    Ok(durations)
}

/// The fastest of a few training steps on synthetic images.
fn seconds_per_image(spec: &Spec, timing: &Timing) -> Result<f64, Error> {
    let graph = spec.graph()?;
    let mut network = Network::builder(&graph).batch(timing.batch).seed(0).build()?;
    let Shape { channels, .. } = graph.input_shape();
    let elements = timing.batch * channels * graph.input_shape().pixels();
    let input: Vec<f32> = (0..elements).map(|index| (index % 255) as f32 / 127.0 - 1.0).collect();
    let classes = graph.output_shape().channels;
    let labels: Vec<usize> = (0..timing.batch).map(|image| image % classes).collect();
    let mut best = f64::INFINITY;
    for _ in 0..timing.steps.max(1) {
        let start = Instant::now();
        let logits = network.forward(&input, Mode::Train)?;
        let mut gradient = vec![0.0; logits.len()];
        cross_entropy(logits, &labels, &mut gradient);
        network.backward(&gradient)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best / timing.batch as f64)
}

/// The estimates, one model per row.
pub fn section(durations: &[Duration], recipe: &str, runs: u64) -> Section {
    let mut table = Table::new(&[
        ("model", Align::Left),
        ("milliseconds per image", Align::Right),
        ("images per second", Align::Right),
        ("all runs", Align::Right),
    ]);
    for duration in durations {
        table.push([
            duration.model.clone(),
            significant(1000.0 * duration.seconds_per_image, 3),
            grouped((1.0 / duration.seconds_per_image).max(1.0) as u64),
            words(duration.seconds),
        ]);
    }
    let example = durations.first().map_or("MODEL", |duration| duration.model.as_str());
    Section::new("How long training would take")
        .prose("First steps of every network on this machine, forward and backward, on synthetic images. One model is trained by")
        .command(format!("collegial train {example} --data DIR --recipe {recipe} --runs {runs}"))
        .table(table, "Estimates from the fastest of the first steps; loading images and testing are not in them.")
}

/// A duration as people say it.
pub fn words(seconds: f64) -> String {
    let units = [(365.25 * 86400.0, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")];
    let unit = units.into_iter().find(|(length, _)| seconds >= 2.0 * length);
    let (length, name) = unit.unwrap_or((1.0, "seconds"));
    let digits = if seconds / length < 10.0 { 2 } else { 3 };
    format!("{} {name}", significant(seconds / length, digits).trim_end_matches(".0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_words() {
        for (seconds, expected) in [
            (0.5, "0.50 seconds"),
            (90.0, "90 seconds"),
            (180.0, "3 minutes"),
            (7.3e3, "2 hours"),
            (4.2e6, "48.6 days"),
            (1.0e8, "3.2 years"),
        ] {
            assert_eq!(words(seconds), expected);
        }
    }
}
