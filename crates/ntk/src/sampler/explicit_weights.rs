//! Layers whose weights are all drawn, taps x inputs x outputs: products of matrices, tap by tap.

use collegial_core::Rng;

use super::plan::LinearStep;
use super::product::{add_product, transpose};

/// Draws the weights, and `out = scale W C` for the columns `x` before the layer.
pub(super) fn forward(
    step: &LinearStep,
    x: &[f32],
    rng: &mut Rng,
    weights: &mut Vec<f32>,
    rows: &mut Vec<(usize, usize)>,
    out: &mut [f32],
) {
    weights.resize(step.fan_in() * step.outputs, 0.0);
    rng.fill_normal(weights);
    out.fill(0.0);
    let size = step.inputs * step.outputs;
    for (tap, weights) in weights.chunks_exact(size).enumerate() {
        rows.clear();
        rows.extend(step.reads(tap).map(|(column, source)| (source * step.inputs, column * step.outputs)));
        add_product(rows, x, step.inputs, weights, step.outputs, step.outputs, out);
    }
    let scale = step.scale as f32;
    out.iter_mut().for_each(|value| *value *= scale);
}

/// `out = scale W^T D` for the columns that the taps read, with the weights turned
/// over once for all columns: sums then run along inputs, in whole vectors.
pub(super) fn pull_back(
    step: &LinearStep,
    weights: &[f32],
    cotangent: &[f32],
    turned: &mut Vec<f32>,
    rows: &mut Vec<(usize, usize)>,
    out: &mut [f32],
) {
    let size = step.inputs * step.outputs;
    turned.resize(size, 0.0);
    out.fill(0.0);
    for (tap, weights) in weights.chunks_exact(size).enumerate() {
        transpose(weights, step.inputs, step.outputs, step.inputs, turned);
        rows.clear();
        rows.extend(step.reads(tap).map(|(column, source)| (column * step.outputs, source * step.inputs)));
        add_product(rows, cotangent, step.outputs, turned, step.inputs, step.inputs, out);
    }
    let scale = step.scale as f32;
    out.iter_mut().for_each(|value| *value *= scale);
}
