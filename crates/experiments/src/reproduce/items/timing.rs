//! The time that the paper's training would take on this machine, from the first steps of every
//! network.

use crate::jobs::seconds_per_image;
use collegial_arch::Spec;
use collegial_report::{Align, Section, Table, duration, grouped, significant};
use collegial_train::Builtin;
use serde::{Deserialize, Serialize};

use crate::reproduce::{Context, Error};

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
            context.cached(&format!("{item}.steps"), &(&model, spec.to_toml(), timing), || {
                context.monitor.progress(0.0, Some(&format!("{item}: first steps of {model}")));
                seconds_per_image(spec, timing.batch, timing.steps)
            })?;
        durations.push(Duration { model, seconds_per_image, seconds: seconds_per_image * images as f64 });
    }
    Ok(durations)
}

/// The estimates, one model per row.
pub fn section(durations: &[Duration], recipe: Builtin, runs: u32) -> Section {
    let mut table = Table::new(&[
        ("model", Align::Left),
        ("milliseconds per image", Align::Right),
        ("images per second", Align::Right),
        ("all runs", Align::Right),
    ]);
    for timed in durations {
        table.push([
            timed.model.clone(),
            significant(1000.0 * timed.seconds_per_image, 3),
            grouped((1.0 / timed.seconds_per_image).max(1.0) as u64),
            duration(timed.seconds),
        ]);
    }
    Section::new("How long training would take")
        .prose(format!("First steps of every network on this machine, forward and backward, on synthetic images; \"all runs\" are {runs} trainings of one model by the recipe {recipe}."))
        .table(table, "Estimates from the fastest of the first steps; loading images and testing are not in them.")
}
