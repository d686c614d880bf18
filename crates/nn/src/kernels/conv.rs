//! A convolution, planned: which algorithm runs each pass of a shape.

use super::direct::Pass;
use super::direct_weights::WeightGradient;
use super::pointwise::Pointwise;
use super::shape::{ConvShape, ShapeError};
use super::simd::Isa;
use super::workers::ScratchLen;

/// A convolution of one shape, ready to run its three passes.
///
/// Making one allocates small tables; the passes allocate nothing, run on rayon's current pool, and give the same bits
/// for any number of threads. Arrays are NCHW; weights are `[out channels][in channels of the group][kernel][kernel]`.
pub struct Conv {
    shape: ConvShape,
    algorithm: Algorithm,
}

/// How the passes of a shape are computed.
enum Algorithm {
    Pointwise(Pointwise, WeightGradient),
    Direct { forward: Pass, data_gradient: Pass, weight_gradient: WeightGradient },
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
        let algorithm = if Pointwise::fits(&shape) {
            Algorithm::Pointwise(Pointwise::new(&shape), WeightGradient::new(&shape, isa))
        } else {
            Algorithm::Direct {
                forward: Pass::forward(&shape, isa),
                data_gradient: Pass::data_gradient(&shape, isa),
                weight_gradient: WeightGradient::new(&shape, isa),
            }
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
            Algorithm::Pointwise(pointwise, weight_gradient) => [
                pointwise.forward_scratch(),
                pointwise.data_scratch(),
                ScratchLen {
                    shared: 0,
                    per_worker: weight_gradient
                        .scratch_len()
                        .per_worker
                        .max(pointwise.weight_scratch().per_worker),
                },
            ],
            Algorithm::Direct { forward, data_gradient, weight_gradient } => {
                [forward.scratch_len(), data_gradient.scratch_len(), weight_gradient.scratch_len()]
            }
        };
        lens.into_iter().map(|len| len.total(threads)).fold(0, usize::max)
    }

    /// `output = input * weights`.
    pub fn forward(&self, input: &[f32], weights: &[f32], output: &mut [f32], scratch: &mut [f32]) {
        self.shape.check(input.len(), weights.len(), output.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise, _) => pointwise.forward(input, weights, output, scratch),
            Algorithm::Direct { forward, .. } => forward.run(input, weights, output, scratch),
        }
    }

    /// The gradient of the input from that of the output.
    pub fn data_gradient(&self, out_grad: &[f32], weights: &[f32], in_grad: &mut [f32], scratch: &mut [f32]) {
        self.shape.check(in_grad.len(), weights.len(), out_grad.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise, _) => {
                pointwise.data_gradient(out_grad, weights, in_grad, scratch)
            }
            Algorithm::Direct { data_gradient, .. } => data_gradient.run(out_grad, weights, in_grad, scratch),
        }
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
        match &self.algorithm {
            Algorithm::Pointwise(_, weight_gradient) => {
                weight_gradient.run(input, out_grad, weight_grad, scratch)
            }
            Algorithm::Direct { weight_gradient, .. } => {
                weight_gradient.run(input, out_grad, weight_grad, scratch)
            }
        }
    }
}
