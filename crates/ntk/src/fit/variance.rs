//! The variance measured at every width, to a given precision, instead of the law.

use std::sync::atomic::{AtomicU64, Ordering};

use collegial_arch::Module;
use collegial_core::{Moments, Monitor};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::sampler::{BLOCK, KernelSampler, Output};

/// Draws before the first look at the precision.
const FIRST: u64 = 40 * BLOCK;

/// Draws beyond which a width is left as it is.
const MOST: u64 = 100_000_000;

/// The measured variance of one width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceSample {
    /// n.
    pub width: usize,
    /// Var\[K\] / E\[K\]^2.
    pub variance: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Draws behind it.
    pub trials: u64,
}

/// Samples the kernel of one output unit at every width until each variance's standard error is
/// within `precision` of it.
pub fn measure_variance(
    module: &Module,
    widths: &[usize],
    precision: f64,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Vec<VarianceSample>, Error> {
    if !(precision.is_finite() && precision > 0.0) {
        return Err(Error::Invalid(format!(
            "the precision is {precision}; it must be a positive share of every variance, such as 0.02"
        )));
    }
    // A draw's cost grows with the width, and so does the share of the work that it stands for.
    let share = |width: usize| width as u64 + 20;
    let total: u64 = widths.iter().map(|&width| share(width)).sum();
    let done = AtomicU64::new(0);
    // Widths side by side, so that no thread waits for the last blocks of one width.
    widths
        .par_iter()
        .map(|&width| {
            let sample = measure(module, width, precision, seed, monitor)?;
            let done = done.fetch_add(share(width), Ordering::Relaxed) + share(width);
            monitor.progress(done as f64 / total as f64, None);
            if monitor.stopped() {
                return Err(Error::Interrupted);
            }
            Ok(sample)
        })
        .collect()
}

fn measure(
    module: &Module,
    width: usize,
    precision: f64,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<VarianceSample, Error> {
    let sampler = KernelSampler::at_normal_input(&module.scaled_to(width)?.member(), Output::Unit, seed)?;
    let (mut moments, mut trials) = (Moments::new(), 0);
    loop {
        let next = wanted(&moments, precision).clamp(trials + BLOCK, MOST);
        moments = moments.merge(sampler.tally_until(seed, width as u32, trials..next, monitor)?.moments());
        trials = next;
        let sample = VarianceSample {
            width,
            variance: moments.second_moment_ratio() - 1.0,
            standard_error: moments.second_moment_ratio_standard_error(),
            trials,
        };
        let enough = sample.standard_error <= precision * sample.variance;
        if enough || trials >= MOST {
            return Ok(sample);
        }
    }
}

/// How many draws the precision takes, going by the draws so far: errors fall with the square root.
/// At most four times as many as before, because an early estimate of the error may be off; rounded
/// up to whole blocks.
fn wanted(moments: &Moments, precision: f64) -> u64 {
    if moments.count == 0 {
        return FIRST;
    }
    let error = moments.second_moment_ratio_standard_error() / (moments.second_moment_ratio() - 1.0);
    let needed = moments.count as f64 * (error / precision).powi(2) * 1.02;
    let needed = needed.min(4.0 * moments.count as f64).max(0.0) as u64;
    needed.div_ceil(BLOCK) * BLOCK
}
