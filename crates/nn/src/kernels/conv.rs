//! A convolution, planned: which algorithm runs each pass of a shape.
//!
//! The rules, measured on AVX2 with two threads (shares of the sgemm rate, `benches/kernels.rs`):
//!
//! - 1x1 without padding, groups of 32 channels or more: matrix products (`pointwise`), 90 to 110 %
//!   in all three passes. The direct kernels gain by reading an input once for many kernel
//!   positions; with one position they reach 44 to 88 %. At 10 channels (batch 128) there is too
//!   little to multiply for what is packed, and direct is better.
//! - Everything else: direct. Dense 3x3 layers of 128 to 512 channels run at 99 to 106 % forward
//!   and for the data gradient and at 88 to 97 % for the weight gradient, so im2col and a product,
//!   which reaches at best 100 % less the copying, has no shape left to win.

use super::direct::Pass;
use super::direct_weights::WeightGradient;
use super::panels::Finish;
use super::pointwise::Pointwise;
use super::shape::{ConvShape, ShapeError};
use super::simd::Isa;

/// Channels of a group from which 1x1 convolutions are matrix products.
const WIDE: usize = 32;

/// A convolution of one shape, ready to run its three passes.
///
/// Making one allocates small tables; the passes allocate nothing, run on rayon's current pool, and
/// give the same bits for any number of threads. Arrays are NCHW; weights are `[out channels][in
/// channels of the group][kernel][kernel]`. Results are overwritten, never added to. Slices of
/// other lengths than the shape's, or less scratch than [`Conv::scratch_len`] says, panic.
pub struct Conv {
    shape: ConvShape,
    algorithm: Algorithm,
}

/// How the passes of a shape are computed.
enum Algorithm {
    Pointwise(Box<Pointwise>),
    Direct(Box<Direct>),
}

struct Direct {
    forward: Pass,
    data_gradient: Pass,
    weight_gradient: WeightGradient,
}

impl Conv {
    /// Plans a shape for the best instructions of this CPU.
    ///
    /// # Errors
    ///
    /// If the shape is not valid, see [`ConvShape::validate`].
    pub fn new(shape: ConvShape) -> Result<Self, ShapeError> {
        Self::with_isa(shape, Isa::detect())
    }

    /// Plans a shape for given instructions; panics if this CPU lacks them.
    ///
    /// # Errors
    ///
    /// If the shape is not valid, see [`ConvShape::validate`].
    pub fn with_isa(shape: ConvShape, isa: Isa) -> Result<Self, ShapeError> {
        shape.validate()?;
        let wide = shape.inputs.min(shape.outputs) >= WIDE;
        let algorithm = if Pointwise::applies_to(&shape) && wide {
            Algorithm::Pointwise(Box::new(Pointwise::new(&shape, isa)))
        } else {
            Algorithm::Direct(Box::new(Direct {
                forward: Pass::forward(&shape, isa),
                data_gradient: Pass::data_gradient(&shape, isa),
                weight_gradient: WeightGradient::new(&shape, isa),
            }))
        };
        Ok(Self { shape, algorithm })
    }

    /// The planned shape.
    #[must_use]
    pub fn shape(&self) -> &ConvShape {
        &self.shape
    }

    /// Floats of scratch that any pass needs on a pool of `threads`.
    #[must_use]
    pub fn scratch_len(&self, threads: usize) -> usize {
        let lens = match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.scratch_lens(),
            Algorithm::Direct(direct) => [
                direct.forward.scratch_len(),
                direct.data_gradient.scratch_len(),
                direct.weight_gradient.scratch_len(),
            ],
        };
        lens.into_iter().map(|len| len.total(threads)).fold(0, usize::max)
    }

    /// `output = input * weights`.
    pub fn forward(&self, input: &[f32], weights: &[f32], output: &mut [f32], scratch: &mut [f32]) {
        self.run_forward(input, weights, None, output, scratch);
    }

    /// `output = max(input * weights + bias, floor)`, a bias per channel, while the output is in
    /// cache. A floor of 0 is a ReLU, one of minus infinity none.
    pub fn forward_with_bias(
        &self,
        input: &[f32],
        weights: &[f32],
        (bias, floor): (&[f32], f32),
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        let channels = self.shape.groups * self.shape.outputs;
        assert_eq!(bias.len(), channels, "the biases do not have the plan's shape");
        self.run_forward(input, weights, Some(Finish { bias, floor }), output, scratch);
    }

    fn run_forward(
        &self,
        input: &[f32],
        weights: &[f32],
        finish: Option<Finish>,
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.shape.check(input.len(), weights.len(), output.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.forward(input, weights, finish, output, scratch),
            Algorithm::Direct(direct) => direct.forward.run(input, weights, finish, output, scratch),
        }
    }

    /// The gradient of the input from that of the output.
    pub fn data_gradient(&self, out_grad: &[f32], weights: &[f32], in_grad: &mut [f32], scratch: &mut [f32]) {
        self.shape.check(in_grad.len(), weights.len(), out_grad.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.data_gradient(out_grad, weights, in_grad, scratch),
            Algorithm::Direct(direct) => direct.data_gradient.run(out_grad, weights, None, in_grad, scratch),
        }
    }

    /// The gradient of the weights from the input and the gradient of the output, summed over the
    /// batch.
    pub fn weight_gradient(
        &self,
        input: &[f32],
        out_grad: &[f32],
        weight_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.shape.check(input.len(), weight_grad.len(), out_grad.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => {
                pointwise.weight_gradient(input, out_grad, weight_grad, scratch);
            }
            Algorithm::Direct(direct) => direct.weight_gradient.run(input, out_grad, weight_grad, scratch),
        }
    }
}
