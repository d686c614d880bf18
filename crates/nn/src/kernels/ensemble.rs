//! The dense layers of an ensemble of m members: a block-diagonal matrix, never stored as one.
//!
//! Activations are feature-major, `[members * features][batch]`, so that vectors run over the batch and no member's width
//! wastes lanes. That makes a layer a grouped 1x1 convolution of one image whose pixels are the batch, which is how it is
//! computed.

use super::conv::Conv;
use super::shape::{ConvShape, ShapeError};
use super::simd::Isa;

/// The sizes of a block-diagonal dense layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnsembleShape {
    /// Members (the multiplicity m); 1 is a plain dense layer.
    pub members: usize,
    /// Inputs of each member.
    pub inputs: usize,
    /// Outputs of each member (the width n).
    pub outputs: usize,
    /// Samples.
    pub batch: usize,
}

impl EnsembleShape {
    fn as_convolution(&self) -> ConvShape {
        ConvShape {
            batch: 1,
            groups: self.members,
            inputs: self.inputs,
            outputs: self.outputs,
            height: 1,
            width: self.batch,
            kernel: 1,
            stride: 1,
            padding: 0,
        }
    }

    /// Floats of the input, `[members * inputs][batch]`.
    #[must_use]
    pub fn input_len(&self) -> usize {
        self.as_convolution().input_len()
    }

    /// Floats of the output, `[members * outputs][batch]`.
    #[must_use]
    pub fn output_len(&self) -> usize {
        self.as_convolution().output_len()
    }

    /// Floats of the weights, `[members][outputs][inputs]`.
    #[must_use]
    pub fn weight_len(&self) -> usize {
        self.as_convolution().weight_len()
    }

    /// Floating-point operations of one pass.
    #[must_use]
    pub fn flops(&self) -> f64 {
        self.as_convolution().flops()
    }
}

/// A block-diagonal dense layer of one shape, ready to run its three passes; see [`Conv`] for what holds of scratch,
/// threads and results.
pub struct EnsembleDense {
    shape: EnsembleShape,
    conv: Conv,
}

impl EnsembleDense {
    /// Plans a shape for the best instructions of this CPU.
    ///
    /// # Errors
    ///
    /// If a size is zero or too large.
    pub fn new(shape: EnsembleShape) -> Result<Self, ShapeError> {
        Self::with_isa(shape, Isa::detect())
    }

    /// Plans a shape for given instructions; panics if this CPU lacks them.
    ///
    /// # Errors
    ///
    /// If a size is zero or too large.
    pub fn with_isa(shape: EnsembleShape, isa: Isa) -> Result<Self, ShapeError> {
        Ok(Self { shape, conv: Conv::with_isa(shape.as_convolution(), isa)? })
    }

    /// The planned shape.
    #[must_use]
    pub fn shape(&self) -> &EnsembleShape {
        &self.shape
    }

    /// Floats of scratch that any pass needs on a pool of `threads`.
    #[must_use]
    pub fn scratch_len(&self, threads: usize) -> usize {
        self.conv.scratch_len(threads)
    }

    /// `output = weights * input`, member by member.
    pub fn forward(&self, input: &[f32], weights: &[f32], output: &mut [f32], scratch: &mut [f32]) {
        self.conv.forward(input, weights, output, scratch);
    }

    /// The gradient of the input from that of the output.
    pub fn data_gradient(&self, out_grad: &[f32], weights: &[f32], in_grad: &mut [f32], scratch: &mut [f32]) {
        self.conv.data_gradient(out_grad, weights, in_grad, scratch);
    }

    /// The gradient of the weights from the input and the gradient of the output, summed over the batch.
    pub fn weight_gradient(
        &self,
        input: &[f32],
        out_grad: &[f32],
        weight_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.conv.weight_gradient(input, out_grad, weight_grad, scratch);
    }
}
