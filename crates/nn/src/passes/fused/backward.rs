//! Backward pass of element-wise steps: two sweeps over a few channels, the second from cache.

use super::{Affine, NormState, norm_coefficients};
use crate::memory::prefetch;
use crate::options::Mode;
use crate::passes::vector::{self, NormGradient};
use crate::passes::{BLOCK, Dims};
use crate::workers::Shared;
use std::ops::Range;

/// Source of a ReLU's mask.
pub(crate) enum Mask<'a> {
    /// There was no ReLU.
    None,
    /// From the output.
    Output(&'a [f32]),
    /// From the operand of the only norm, which has to be read anyway.
    Norm,
}

/// An operand.
pub(crate) struct BackwardOperand<'a> {
    pub affine: &'a Affine,
    /// The operand and the state of a norm.
    pub norm: Option<(&'a [f32], &'a NormState)>,
    /// Buffer of the norm's gradient; `None`: in place, over the gradient of the sum.
    pub target: Option<&'a mut [f32]>,
}

/// Backward pass of an element-wise step.
pub(crate) struct Backward<'a> {
    pub dims: Dims,
    pub mode: Mode,
    pub mask: Mask<'a>,
    /// The first gradient of the output; `None`: it is in place, in `gradient`.
    pub first: Option<&'a [f32]>,
    /// The second, where the output was read twice.
    pub second: Option<&'a [f32]>,
    /// The gradient of the sum, which plain operands and biases receive.
    pub gradient: &'a mut [f32],
    pub operands: [Option<BackwardOperand<'a>>; 2],
}

/// Sums over the gradient of some channels: g, and g (x - mean) for each norm.
struct Sums {
    gradient: [f64; BLOCK],
    products: [[f64; BLOCK]; 2],
}

/// [`BackwardOperand`] with a target that tasks share.
struct SharedOperand<'a> {
    affine: &'a Affine,
    norm: Option<(&'a [f32], &'a NormState)>,
    target: Option<Shared<'a>>,
}

impl<'a> SharedOperand<'a> {
    fn new(BackwardOperand { affine, norm, target }: BackwardOperand<'a>) -> Self {
        Self { affine, norm, target: target.map(Shared::new) }
    }
}

/// Data shared by all tasks.
struct Task<'a> {
    dims: Dims,
    mode: Mode,
    mask: Mask<'a>,
    first: Option<&'a [f32]>,
    second: Option<&'a [f32]>,
    gradient: Shared<'a>,
    operands: [Option<SharedOperand<'a>>; 2],
    parameters: &'a [f32],
    parameter_gradients: Shared<'a>,
}

impl Backward<'_> {
    /// Gradients of parameters go to `parameter_gradients`, which is laid out as `parameters`.
    pub(crate) fn run(self, parameters: &[f32], parameter_gradients: &mut [f32]) {
        let Self { dims, mode, mask, first, second, gradient, operands } = self;
        let operands = operands.map(|operand| operand.map(SharedOperand::new));
        let (gradient, parameter_gradients) = (Shared::new(gradient), Shared::new(parameter_gradients));
        let task =
            Task { dims, mode, mask, first, second, gradient, operands, parameters, parameter_gradients };
        dims.for_each_block(|channels| {
            let sums = task.reduce(channels.clone());
            for place in 0..2 {
                task.propagate(place, channels.clone(), &sums);
            }
        });
    }
}

impl Task<'_> {
    /// Adds and masks the gradients; takes the sums that parameters and norms need.
    fn reduce(&self, channels: Range<usize>) -> Sums {
        let mut sums = Sums { gradient: [0.0; BLOCK], products: [[0.0; BLOCK]; 2] };
        let summed = self.operands.iter().flatten().any(|operand| *operand.affine != Affine::Plain);
        let mut chunks = self.dims.chunks(channels.clone()).peekable();
        while let Some((channel, range)) = chunks.next() {
            if let Some((_, next)) = chunks.peek() {
                self.prefetch(next);
            }
            // SAFETY: a task owns its channels.
            let gradient = unsafe { self.gradient.piece(range.clone()) };
            if let Some(first) = self.first {
                gradient.copy_from_slice(&first[range.clone()]);
            }
            if let Some(second) = self.second {
                vector::add(gradient, &second[range.clone()]);
            }
            let index = channel - channels.start;
            match (&self.mask, &self.operands[0]) {
                (Mask::Output(output), _) => {
                    sums.gradient[index] += vector::mask_by_output(gradient, &output[range.clone()]);
                }
                (Mask::Norm, Some(SharedOperand { affine, norm: Some((x, state)), .. })) => {
                    let by = self.coefficients_of(affine, state, channel);
                    let (sum, product) =
                        vector::mask_by_affine(gradient, &x[range.clone()], by, state.mean[channel]);
                    sums.gradient[index] += sum;
                    sums.products[0][index] += product;
                    // The norm is the only operand.
                    continue;
                }
                _ if summed => sums.gradient[index] += vector::sum(gradient),
                _ => {}
            }
            for (products, operand) in sums.products.iter_mut().zip(&self.operands) {
                if let Some(SharedOperand { norm: Some((x, state)), .. }) = operand {
                    products[index] +=
                        vector::centred_product(gradient, &x[range.clone()], state.mean[channel]);
                }
            }
        }
        sums
    }

    /// Prefetches everything the next chunk reads, so that its arrays load side by side.
    fn prefetch(&self, range: &Range<usize>) {
        // SAFETY: a task owns its channels.
        prefetch(unsafe { self.gradient.piece(range.clone()) });
        let output = if let Mask::Output(output) = self.mask { Some(output) } else { None };
        for array in [self.first, self.second, output].into_iter().flatten() {
            prefetch(&array[range.clone()]);
        }
        for (x, _) in self.operands.iter().flatten().filter_map(|operand| operand.norm) {
            prefetch(&x[range.clone()]);
        }
    }

    /// A norm's channel as the a x + b of the forward pass.
    fn coefficients_of(&self, affine: &Affine, state: &NormState, channel: usize) -> (f32, f32) {
        let Affine::Norm { scale, shift, .. } = affine else { return (1.0, 0.0) };
        let parameter = |place: &Range<usize>| self.parameters[place.start + channel];
        let (mean, inverse) = (state.mean[channel], state.inverse_deviation[channel]);
        norm_coefficients(mean, inverse, parameter(scale), parameter(shift))
    }

    /// Writes the gradients of an operand's parameters and, for a norm, of the operand.
    fn propagate(&self, place: usize, channels: Range<usize>, sums: &Sums) {
        let Some(SharedOperand { affine, norm, target }) = &self.operands[place] else { return };
        let set = |parameter: &Range<usize>, channel: usize, value: f64| {
            let at = parameter.start + channel;
            // SAFETY: every parameter belongs to one channel, and a task owns its channels.
            unsafe { self.parameter_gradients.piece(at..at + 1)[0] = value as f32 };
        };
        match (affine, norm) {
            (Affine::Bias(bias), _) => {
                channels.clone().zip(sums.gradient).for_each(|(channel, sum)| set(bias, channel, sum));
            }
            (Affine::Norm { scale, shift, .. }, Some((x, state))) => {
                let mut by = [NormGradient::default(); BLOCK];
                for (index, channel) in channels.clone().enumerate() {
                    let (sum, product) = (sums.gradient[index], sums.products[place][index]);
                    set(shift, channel, sum);
                    set(scale, channel, product * f64::from(state.inverse_deviation[channel]));
                    by[index] = self.coefficients(
                        state,
                        channel,
                        self.parameters[scale.start + channel],
                        sum,
                        product,
                    );
                }
                for (channel, range) in self.dims.chunks(channels.clone()) {
                    // SAFETY: a task owns its channels.
                    let gradient = unsafe { self.gradient.piece(range.clone()) };
                    let (by, x) = (by[channel - channels.start], &x[range.clone()]);
                    match target {
                        Some(target) => {
                            // SAFETY: as above.
                            vector::norm_gradient(unsafe { target.piece(range) }, gradient, x, by);
                        }
                        None => vector::norm_gradient_in_place(gradient, x, by),
                    }
                }
            }
            _ => {}
        }
    }

    /// The gradient of x from that of y = scale (x - mean) / deviation + shift. In training, mean
    /// and deviation depend on x: slope (g - sum g / M - xhat sum (g xhat) / M).
    fn coefficients(
        &self,
        state: &NormState,
        channel: usize,
        scale: f32,
        sum: f64,
        product: f64,
    ) -> NormGradient {
        let slope = scale * state.inverse_deviation[channel];
        if self.mode == Mode::Evaluate {
            return NormGradient { slope, ..NormGradient::default() };
        }
        let count = (self.dims.images * self.dims.pixels) as f64;
        let inverse = f64::from(state.inverse_deviation[channel]);
        NormGradient {
            slope,
            centred: (-f64::from(slope) * product * inverse * inverse / count) as f32,
            mean: state.mean[channel],
            constant: (-f64::from(slope) * sum / count) as f32,
        }
    }
}
