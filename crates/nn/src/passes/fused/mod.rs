//! Fused element-wise layers: norm, bias, residual sum and ReLU in one pass over memory,
//! `out = relu(f1(x1) + f2(x2))`.
//!
//! Each `f` is the identity, a bias, or a batch norm. This one form covers every element-wise layer
//! of the paper's networks: norm, norm + ReLU, norm + sum + ReLU with an identity or a normed
//! projection, bias, plain ReLU.
//!
//! Traffic between memory and cache, with the tensors of a task in the second-level cache between
//! sweeps:
//!
//! | pass | read | written |
//! |---|---|---|
//! | norm (+ ReLU), forward | x | out |
//! | the same, fused into its only consumer | | |
//! | the same, after a Winograd layer | x | |
//! | norm (+ ReLU), backward | gradient, x | gradient (in place) |
//! | norm + shortcut + ReLU, forward | x, shortcut | out |
//! | norm + shortcut + ReLU, backward | two gradients of out, out, x | gradients of x, shortcut |
//!
//! In training, a norm whose only consumer is a layer is not stored: the layer applies it to x as it
//! packs or pads its input (`kernels::Input`), forward and for the weight gradient, and the epilogue of
//! the layer before sums up x (`statistics`). Backward, such fusion would move as many tensors as the
//! pass does: the sums beside the data gradient read x once, and the
//! weight and data gradients of the layer before once more each.
//!
//! The two gradients that meet at a block's output (from the next block's first convolution and
//! from its shortcut) are added in the same pass. Layer by layer, without fusion, a norm + ReLU
//! moves 5 tensors forward and 8 backward instead of 2 and 3.

mod backward;
mod forward;
mod statistics;

pub(crate) use backward::{Backward, BackwardOperand, Mask};
pub(crate) use forward::{Forward, Operand, StatisticsSource, update_norm};
pub(crate) use statistics::PartialSums;

use std::ops::Range;

/// Added to a variance before its root is taken; PyTorch's default.
pub const EPSILON: f64 = 1e-5;

/// Weight of the newest batch in the running statistics.
pub const MOMENTUM: f64 = 0.1;

/// State of a batch norm, a float per channel each.
#[derive(Default)]
pub(crate) struct NormState {
    /// Of the last forward pass.
    pub mean: Vec<f32>,
    /// One over the standard deviation of the last forward pass.
    pub inverse_deviation: Vec<f32>,
    /// Coefficients of the last forward pass: x became slope x + shift.
    pub slope: Vec<f32>,
    pub shift: Vec<f32>,
    pub running_mean: Vec<f32>,
    /// With Bessel's correction, as PyTorch keeps it.
    pub running_var: Vec<f32>,
}

impl NormState {
    pub(crate) fn new(channels: usize) -> Self {
        let all = |x: f32| vec![x; channels];
        Self {
            mean: all(0.0),
            inverse_deviation: all(1.0),
            slope: all(1.0),
            shift: all(0.0),
            running_mean: all(0.0),
            running_var: all(1.0),
        }
    }
}

/// Affine map of an operand before the sum; ranges index the parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Affine {
    Plain,
    Bias(Range<usize>),
    /// Index of the [`NormState`], scale and shift.
    Norm {
        state: usize,
        scale: Range<usize>,
        shift: Range<usize>,
    },
}

/// Activation that is computed together with a sum, a norm or a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FusedActivation {
    Identity,
    Relu,
}

impl FusedActivation {
    pub(crate) fn is_relu(self) -> bool {
        self == Self::Relu
    }

    /// Its lower bound: the activation of x is max(x, floor).
    pub(crate) fn floor(self) -> f32 {
        match self {
            Self::Identity => f32::NEG_INFINITY,
            Self::Relu => 0.0,
        }
    }
}

/// The norm of a channel as a x + b.
fn norm_coefficients(mean: f32, inverse_deviation: f32, scale: f32, shift: f32) -> (f32, f32) {
    let slope = scale * inverse_deviation;
    (slope, shift - mean * slope)
}
