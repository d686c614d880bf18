//! What a training step takes with an engine that is not the native one.

use std::time::Instant;

use collegial_nn::{Network, Optimiser};

use crate::engine::{self, Device, EngineState};
use crate::{Error, Job};

/// Images of the first batch that is timed.
const FIRST: usize = 16;

/// Seconds of a step from which on a larger batch is taken to last as long per image.
const LONG: f64 = 0.5;

/// Seconds of a training step of the job's engine with the threads of the current pool, on made-up
/// images, and where they were computed.
///
/// Batches of 16, 64, 256, ... images are timed until one takes half a second or is the recipe's
/// micro-batch: a GPU takes as long for a few images as for many, a CPU minutes for many.
///
/// # Errors
///
/// Those of the engine, and where it is the native one, which needs no such care.
pub fn seconds_per_step(job: &Job) -> Result<(f64, Device), Error> {
    let whole = job.recipe.micro_batch();
    let mut batch = whole.min(FIRST);
    loop {
        match fastest(job, batch) {
            Ok((seconds, device)) if batch == whole || seconds > LONG => {
                return Ok((seconds * job.recipe.batch as f64 / batch as f64, device));
            }
            Ok(_) => batch = whole.min(4 * batch),
            // Several processes may share the recipe's micro-batch, and not a smaller one.
            Err(Error::ForeignEngine { .. }) if batch < whole => batch = whole,
            Err(error) => return Err(error),
        }
    }
}

/// The fastest of a few steps on a batch of so many images. The first makes PyTorch choose its
/// kernels, and does not count.
fn fastest(job: &Job, batch: usize) -> Result<(f64, Device), Error> {
    let mut job = job.clone();
    (job.recipe.batch, job.recipe.micro_batch) = (batch, None);
    let parametrisation = job.recipe.parametrisation;
    let mut network =
        Network::builder(&job.spec.graph()?).batch(1).parametrisation(parametrisation).build()?;
    network.initialise(job.seed);
    let optimiser = Optimiser::new(job.recipe.optimiser, network.values().len());
    let mut engine = engine::start(&job, &network)?.ok_or(Error::NoTorch)?;
    engine.load(&EngineState::of(&network, &optimiser, serde_json::Value::Null)?)?;
    let shape = job.data.dataset().shape();
    let elements = batch * shape.channels * shape.height * shape.width;
    let images: Vec<f32> = (0..elements).map(|index| (index % 255) as f32 / 127.0 - 1.0).collect();
    let classes = job.data.dataset().classes();
    let labels: Vec<u32> = (0..batch).map(|image| (image % classes) as u32).collect();
    let mut best = f64::INFINITY;
    for step in 0..3 {
        let start = Instant::now();
        engine.step(&images, &labels, 0.0)?;
        if step > 0 {
            best = best.min(start.elapsed().as_secs_f64());
        }
    }
    Ok((best, engine.device()))
}
