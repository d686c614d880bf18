//! Work and memory of draws, checked beforehand: a draw is not interrupted.

use collegial_nn::memory;

use super::one_position::Layers;
use super::plan::{LinearStep, Method, NORMAL, Plan, Step};
use crate::Error;

/// The most multiplications of a draw: a second or two.
const MOST_WORK: f64 = 1e10;

/// Refuses draws that would last too long each, or do not fit.
pub(super) fn check(plan: &Plan) -> Result<(), Error> {
    let size = Size::of(plan);
    let (columns, channels) = ((plan.pixels.len() * plan.inputs) as f64, plan.channels as f64);
    // The Gram matrix of the input's columns comes first.
    let work = size.work + 0.5 * columns * columns * channels;
    if work > MOST_WORK {
        return Err(Error::Invalid(format!(
            "one draw of the kernel takes about {work:.1e} multiplications, more than the sampler takes \
             ({MOST_WORK:.0e}); take smaller widths, one output unit instead of a pooled one, or a smaller \
             image"
        )));
    }
    let threads = rayon::current_num_threads();
    // Every thread may be at an input of its own, beside the first.
    let floats = (threads + 1) as f64 * columns * channels + threads as f64 * size.floats;
    let needed = (floats * size_of::<f32>() as f64) as u64;
    match memory::available() {
        Some(available) if needed > available => Err(Error::Memory { needed, available, threads }),
        _ => Ok(()),
    }
}

/// Multiplications of a draw, but for its input.
pub(super) fn work(plan: &Plan) -> f64 {
    Size::of(plan).work
}

/// Multiplications of an input: its normal numbers, and the Gram matrix of its columns.
pub(super) fn input_work(plan: &Plan) -> f64 {
    let (columns, channels) = ((plan.pixels.len() * plan.inputs) as f64, plan.channels as f64);
    columns * channels * (NORMAL + 0.5 * columns)
}

/// What one draw takes, but for its input.
struct Size {
    /// Multiplications.
    work: f64,
    /// Numbers that are held at once.
    floats: f64,
}

impl Size {
    fn of(plan: &Plan) -> Self {
        match Layers::of(plan) {
            Some(layers) => layers.first.map_or(Self { work: 0.0, floats: 0.0 }, Self::of_sums),
            None => Self::of_all(plan),
        }
    }

    /// The short way: two normals per column and channel through three triangular products, a few
    /// channels at a time.
    fn of_sums(first: &LinearStep) -> Self {
        let columns = first.positions as f64;
        let work = first.outputs as f64 * columns * (2.0 * NORMAL + 1.5 * columns);
        Self { work, floats: columns * columns }
    }

    fn of_all(plan: &Plan) -> Self {
        let mut size = Self { work: 0.0, floats: 0.0 };
        for (index, (step, method)) in plan.steps.iter().zip(plan.methods()).enumerate() {
            let Step::Linear(step) = step else { continue };
            size.work += method.work(step, plan.inputs, index > 0);
            let columns = (step.positions * plan.inputs) as f64;
            let (outputs, fan_in) = (step.outputs as f64, step.fan_in() as f64);
            let normals = match method {
                Method::Law => outputs * columns.min(fan_in),
                Method::Explicit => outputs * fan_in,
            };
            // φ(H), H and D; three Gram matrices of f64; what comes back through the weights.
            let backward = fan_in * columns.min(outputs);
            size.floats += normals + 3.0 * outputs * columns + 6.0 * columns * columns + backward;
        }
        size
    }
}
