//! A convolution, planned: which algorithm runs each pass of a shape.

use super::direct::Pass;
use super::direct_weights::WeightGradient;
use super::shape::{ConvShape, ShapeError};
use super::simd::Isa;

/// A convolution of one shape, ready to run its three passes.
///
/// Making one allocates small tables; the passes allocate nothing, run on rayon's current pool, and give the same bits
/// for any number of threads. Arrays are NCHW; weights are `[out channels][in channels of the group][kernel][kernel]`.
pub struct Conv {
    shape: ConvShape,
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
        Ok(Self {
            shape,
            forward: Pass::forward(&shape, isa),
            data_gradient: Pass::data_gradient(&shape, isa),
            weight_gradient: WeightGradient::new(&shape, isa),
        })
    }

    /// The planned shape.
    #[must_use]
    pub fn shape(&self) -> &ConvShape {
        &self.shape
    }

    /// Floats of scratch that any pass needs on a pool of `threads`.
    #[must_use]
    pub fn scratch_len(&self, threads: usize) -> usize {
        [self.forward.scratch_len(), self.data_gradient.scratch_len(), self.weight_gradient.scratch_len()]
            .map(|len| len.total(threads))
            .into_iter()
            .fold(0, usize::max)
    }

    /// `output = input * weights`.
    pub fn forward(&self, input: &[f32], weights: &[f32], output: &mut [f32], scratch: &mut [f32]) {
        self.shape.check(input.len(), weights.len(), output.len());
        self.forward.run(input, weights, output, scratch);
    }

    /// The gradient of the input from that of the output.
    pub fn data_gradient(&self, out_grad: &[f32], weights: &[f32], in_grad: &mut [f32], scratch: &mut [f32]) {
        self.shape.check(in_grad.len(), weights.len(), out_grad.len());
        self.data_gradient.run(out_grad, weights, in_grad, scratch);
    }

    /// The gradient of the weights from the input and the gradient of the output, summed over the batch.
    pub fn weight_gradient(
        &self,
        input: &[f32],
        out_grad: &[f32],
        weight_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.shape.check(input.len(), weight_grad.len(), out_grad.len());
        self.weight_gradient.run(input, out_grad, weight_grad, scratch);
    }
}
