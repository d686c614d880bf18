//! The time of a training step.

use std::time::Instant;

use crate::backend::{Backends, Device, initial_state};
use crate::{Error, Job};

/// Images of the first batch that is timed.
const FIRST: usize = 16;

/// Seconds of a step from which on a larger batch is taken to last as long per image.
const LONG: f64 = 0.5;

/// Seconds of a training step of the job's backend with the threads of the current pool, on
/// synthetic images, and where they were computed.
///
/// Batches of 16, 64, 256, ... images are timed until one takes half a second or is the recipe's
/// micro-batch: a GPU takes as long for a few images as for many, a CPU minutes for many.
///
/// # Errors
///
/// Those of the backend.
pub fn seconds_per_step(job: &Job, backends: Backends) -> Result<(f64, Device), Error> {
    let whole = job.recipe.micro_batch();
    let mut batch = whole.min(FIRST);
    loop {
        match fastest(job, batch, backends) {
            Ok((seconds, device)) if batch == whole || seconds > LONG => {
                return Ok((seconds * job.recipe.batch as f64 / batch as f64, device));
            }
            Ok(_) => batch = whole.min(4 * batch),
            // Several processes may share the recipe's micro-batch, and not a smaller one.
            Err(Error::Backend { .. }) if batch < whole => batch = whole,
            Err(error) => return Err(error),
        }
    }
}

/// The fastest of a few steps on a batch of so many images. The first makes PyTorch choose its
/// kernels, and does not count.
fn fastest(job: &Job, batch: usize, backends: Backends) -> Result<(f64, Device), Error> {
    let mut job = job.clone();
    (job.recipe.batch, job.recipe.micro_batch) = (batch, None);
    let (state, factors) = initial_state(&job, None)?;
    let mut backend = backends.start(&job, factors)?;
    backend.load(&state)?;
    let shape = job.data.dataset().shape();
    let elements = batch * shape.channels * shape.height * shape.width;
    let images: Vec<f32> = (0..elements).map(|index| (index % 255) as f32 / 127.0 - 1.0).collect();
    let classes = job.data.dataset().classes();
    let labels: Vec<u32> = (0..batch).map(|image| (image % classes) as u32).collect();
    let mut best = f64::INFINITY;
    for step in 0..3 {
        let start = Instant::now();
        backend.step(&images, &labels, 0.0)?;
        if step > 0 {
            best = best.min(start.elapsed().as_secs_f64());
        }
    }
    Ok((best, backend.device()))
}
