//! Norm, bias, residual sum and ReLU in one visit: `out = relu(f1(x1) + f2(x2))`.
//!
//! Each `f` is the identity, a bias, or a batch norm. This one form covers every element-wise layer of the paper's
//! networks: norm, norm + ReLU, norm + sum + ReLU with an identity or a normed projection, bias, plain ReLU.
//!
//! Traffic between memory and cache, with the tensors of a task in the second-level cache between sweeps:
//!
//! | pass | read | written |
//! |---|---|---|
//! | norm (+ ReLU), forward | x | out |
//! | norm (+ ReLU), backward | gradient, x | gradient (in place) |
//! | norm + shortcut + ReLU, forward | x, shortcut | out |
//! | norm + shortcut + ReLU, backward | two gradients of out, out, x | one gradient each for x and the shortcut |
//!
//! The two gradients that meet at a block's output (from the next block's first convolution and from its shortcut) are
//! added in the same visit. Layer by layer, as a tape does it, a norm + ReLU moves 5 tensors forward and 8 backward
//! instead of 2 and 3.

use super::vector::{self, NormGradient};
use super::{Dims, Shared};
use crate::network::Mode;
use std::ops::Range;

/// Added to a variance before its root is taken, as everywhere.
pub const EPSILON: f64 = 1e-5;

/// Weight of the newest batch in the running statistics.
pub const MOMENTUM: f64 = 0.1;

/// What a batch norm remembers, a float per channel each.
#[derive(Default)]
pub(crate) struct NormState {
    /// Of the last forward pass.
    pub mean: Vec<f32>,
    /// One over the standard deviation of the last forward pass.
    pub inverse_deviation: Vec<f32>,
    pub running_mean: Vec<f32>,
    /// With Bessel's correction, as PyTorch keeps it.
    pub running_var: Vec<f32>,
}

impl NormState {
    pub(crate) fn new(channels: usize) -> Self {
        let all = |x: f32| vec![x; channels];
        Self { mean: all(0.0), inverse_deviation: all(1.0), running_mean: all(0.0), running_var: all(1.0) }
    }
}

/// What happens to an operand before the sum; ranges are places among the parameters.
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

/// An operand of the forward pass; without `x` it lies in the output already.
pub(crate) struct Operand<'a> {
    pub x: Option<&'a [f32]>,
    pub affine: &'a Affine,
    pub state: Option<&'a mut NormState>,
}

/// The arrays of a norm's state, open to all tasks; each touches its own channels only.
struct SharedState<'a> {
    mean: Shared<'a>,
    inverse_deviation: Shared<'a>,
    running_mean: Shared<'a>,
    running_var: Shared<'a>,
}

impl<'a> SharedState<'a> {
    fn new(state: &'a mut NormState) -> Self {
        Self {
            mean: Shared::new(&mut state.mean),
            inverse_deviation: Shared::new(&mut state.inverse_deviation),
            running_mean: Shared::new(&mut state.running_mean),
            running_var: Shared::new(&mut state.running_var),
        }
    }

    /// Sets a channel's mean and deviation: the batch's, where `x` is given, else the remembered ones.
    ///
    /// # Safety
    ///
    /// No other thread is at this channel.
    unsafe fn prepare(&self, dims: Dims, channel: usize, x: Option<&[f32]>) {
        let at = channel..channel + 1;
        // SAFETY: one thread per channel.
        let [mean, inverse, running_mean, running_var] = unsafe {
            [&self.mean, &self.inverse_deviation, &self.running_mean, &self.running_var]
                .map(|s| &mut s.piece(at.clone())[0])
        };
        let Some(x) = x else {
            (*mean, *inverse) = (*running_mean, (1.0 / (f64::from(*running_var) + EPSILON).sqrt()) as f32);
            return;
        };
        let (batch_mean, batch_var) = mean_and_variance(dims, x, channel);
        let count = (dims.images * dims.pixels) as f64;
        (*mean, *inverse) = (batch_mean as f32, (1.0 / (batch_var + EPSILON).sqrt()) as f32);
        let blend = |old: f32, new: f64| ((1.0 - MOMENTUM) * f64::from(old) + MOMENTUM * new) as f32;
        *running_mean = blend(*running_mean, batch_mean);
        *running_var = blend(*running_var, batch_var * count / (count - 1.0));
    }

    /// The norm of a channel as a x + b.
    ///
    /// # Safety
    ///
    /// No other thread is at this channel.
    unsafe fn coefficients(&self, channel: usize, scale: f32, shift: f32) -> (f32, f32) {
        let at = channel..channel + 1;
        // SAFETY: one thread per channel.
        let (mean, inverse) =
            unsafe { (self.mean.piece(at.clone())[0], self.inverse_deviation.piece(at)[0]) };
        norm_coefficients(mean, inverse, scale, shift)
    }
}

fn norm_coefficients(mean: f32, inverse_deviation: f32, scale: f32, shift: f32) -> (f32, f32) {
    let slope = scale * inverse_deviation;
    (slope, shift - mean * slope)
}

/// Mean and biased variance of a channel. One sweep: the sums are taken of differences from the channel's first value,
/// so that a large mean does not cancel the variance.
fn mean_and_variance(dims: Dims, x: &[f32], channel: usize) -> (f64, f64) {
    let shift = x[dims.plane(0, channel)];
    let (mut first, mut second) = (0.0, 0.0);
    for (_, range) in dims.chunks(channel..channel + 1) {
        let sums = vector::sums(&x[range], shift);
        first += sums.0;
        second += sums.1;
    }
    let count = (dims.images * dims.pixels) as f64;
    let mean = first / count;
    // max(0) would hide a NaN; a negative rounding error is at most 1e-7 of the mean square, far below EPSILON's scale.
    let variance = second / count - mean * mean;
    (f64::from(shift) + mean, if variance < 0.0 { 0.0 } else { variance })
}

/// Computes the output; norms take their statistics from the batch or, in evaluation, from what they remember.
pub(crate) fn forward(
    dims: Dims,
    operands: [Option<Operand<'_>>; 2],
    relu: bool,
    mode: Mode,
    parameters: &[f32],
    out: &mut [f32],
) {
    let out = Shared::new(out);
    let operands = operands.map(|operand| operand.map(|o| (o.x, o.affine, o.state.map(SharedState::new))));
    dims.for_each_block(|channels| {
        for (x, _, state) in operands.iter().flatten() {
            let Some(state) = state else { continue };
            for channel in channels.clone() {
                // SAFETY: a task owns its channels.
                unsafe { state.prepare(dims, channel, x.filter(|_| mode == Mode::Train)) };
            }
        }
        for (channel, range) in dims.chunks(channels) {
            // SAFETY: a task owns its channels.
            let out = unsafe { out.piece(range.clone()) };
            for (index, (x, affine, state)) in operands.iter().flatten().enumerate() {
                let (a, b) = match (affine, state) {
                    (Affine::Norm { scale, shift, .. }, Some(state)) => {
                        let (scale, shift) =
                            (parameters[scale.start + channel], parameters[shift.start + channel]);
                        // SAFETY: as above.
                        unsafe { state.coefficients(channel, scale, shift) }
                    }
                    (Affine::Bias(bias), _) => (1.0, parameters[bias.start + channel]),
                    _ => (1.0, 0.0),
                };
                match x {
                    Some(x) if index == 0 => vector::affine(out, &x[range.clone()], a, b),
                    Some(x) => vector::add_affine(out, &x[range.clone()], a, b),
                    None if (a, b) != (1.0, 0.0) => vector::affine_in_place(out, a, b),
                    None => {}
                }
            }
            if relu {
                vector::relu(out);
            }
        }
    });
}

/// How a ReLU's mask is found again.
pub(crate) enum Mask<'a> {
    /// There was no ReLU.
    None,
    /// From the output.
    Output(&'a [f32]),
    /// From the operand of the only norm, which has to be read anyway.
    Norm,
}

/// An operand of the backward pass.
pub(crate) struct BackwardOperand<'a> {
    pub affine: &'a Affine,
    /// The operand and the state of a norm.
    pub norm: Option<(&'a [f32], &'a NormState)>,
    /// Where a norm's gradient goes; `None`: over the gradient of the sum.
    pub target: Option<&'a mut [f32]>,
}

/// The sum's gradient and what is made of it.
pub(crate) struct Backward<'a> {
    pub dims: Dims,
    pub mode: Mode,
    pub mask: Mask<'a>,
    /// The first gradient of the output; `None`: it lies in `gradient`.
    pub first: Option<&'a [f32]>,
    /// The second, where the output was read twice.
    pub second: Option<&'a [f32]>,
    /// The gradient of the sum, which plain operands and biases receive.
    pub gradient: &'a mut [f32],
    pub operands: [Option<BackwardOperand<'a>>; 2],
}

impl Backward<'_> {
    /// Gradients of parameters go to `parameter_gradients`, which is laid out as `parameters`.
    pub(crate) fn run(self, parameters: &[f32], parameter_gradients: &mut [f32]) {
        let Self { dims, mode, mask, first, second, gradient, operands } = self;
        let gradient = Shared::new(gradient);
        let operands = operands.map(|operand| operand.map(|o| (o.affine, o.norm, o.target.map(Shared::new))));
        let parameter_gradients = Shared::new(parameter_gradients);
        let only_norm = operands.iter().flatten().find_map(|(affine, norm, _)| Some((*affine, (*norm)?)));
        dims.for_each_block(|channels| {
            for channel in channels.clone() {
                let mut total = 0.0;
                let mut products = [0.0; 2];
                for (_, range) in dims.chunks(channel..channel + 1) {
                    // SAFETY: a task owns its channels, here and below.
                    let gradient = unsafe { gradient.piece(range.clone()) };
                    if let Some(first) = first {
                        gradient.copy_from_slice(&first[range.clone()]);
                    }
                    if let Some(second) = second {
                        vector::add(gradient, &second[range.clone()]);
                    }
                    match (&mask, only_norm) {
                        (Mask::Output(output), _) => vector::mask_by_output(gradient, &output[range.clone()]),
                        (Mask::Norm, Some((affine, (x, state)))) => {
                            let (a, b) = affine.norm_coefficients(state, parameters, channel);
                            vector::mask_by_affine(gradient, &x[range.clone()], a, b);
                        }
                        _ => {}
                    }
                    if operands.iter().flatten().any(|(affine, ..)| **affine != Affine::Plain) {
                        total += vector::sum(gradient);
                    }
                    for (product, (_, norm, _)) in products.iter_mut().zip(operands.iter().flatten()) {
                        if let Some((x, state)) = norm {
                            *product +=
                                vector::centred_product(gradient, &x[range.clone()], state.mean[channel]);
                        }
                    }
                }
                for (product, (affine, norm, target)) in products.into_iter().zip(operands.iter().flatten()) {
                    let set = |place: &Range<usize>, value: f64| {
                        let at = place.start + channel;
                        // SAFETY: every parameter belongs to one channel.
                        unsafe { parameter_gradients.piece(at..at + 1)[0] = value as f32 };
                    };
                    match (affine, norm) {
                        (Affine::Bias(bias), _) => set(bias, total),
                        (Affine::Norm { scale, shift, .. }, Some((x, state))) => {
                            let inverse = f64::from(state.inverse_deviation[channel]);
                            set(shift, total);
                            set(scale, product * inverse);
                            let slope = parameters[scale.start + channel] * state.inverse_deviation[channel];
                            let by = match mode {
                                Mode::Train => {
                                    sent_down(dims, slope, inverse, state.mean[channel], total, product)
                                }
                                Mode::Evaluate => {
                                    NormGradient { slope, centred: 0.0, mean: 0.0, constant: 0.0 }
                                }
                            };
                            for (_, range) in dims.chunks(channel..channel + 1) {
                                // SAFETY: a task owns its channels.
                                let gradient = unsafe { gradient.piece(range.clone()) };
                                match target {
                                    // SAFETY: as above.
                                    Some(target) => vector::norm_gradient(
                                        unsafe { target.piece(range.clone()) },
                                        gradient,
                                        &x[range],
                                        by,
                                    ),
                                    None => vector::norm_gradient_in_place(gradient, &x[range], by),
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
        });
    }
}

impl Affine {
    fn norm_coefficients(&self, state: &NormState, parameters: &[f32], channel: usize) -> (f32, f32) {
        match self {
            Self::Norm { scale, shift, .. } => norm_coefficients(
                state.mean[channel],
                state.inverse_deviation[channel],
                parameters[scale.start + channel],
                parameters[shift.start + channel],
            ),
            _ => (1.0, 0.0),
        }
    }
}

/// The gradient of x from that of y = scale (x - mean) / deviation + shift, where mean and deviation depend on x:
/// slope (g - sum g / M - xhat sum (g xhat) / M).
fn sent_down(dims: Dims, slope: f32, inverse: f64, mean: f32, total: f64, product: f64) -> NormGradient {
    let count = (dims.images * dims.pixels) as f64;
    let a = f64::from(slope);
    NormGradient {
        slope,
        centred: (-a * product * inverse * inverse / count) as f32,
        mean,
        constant: (-a * total / count) as f32,
    }
}
