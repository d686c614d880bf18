//! The multiplication of a layer: a convolution or an ensemble's dense layer.

use crate::kernels::{Conv, ConvShape, EnsembleDense, EnsembleShape, ShapeError};

/// A planned multiplication.
pub(crate) enum Product {
    Conv(Conv),
    Dense(EnsembleDense),
}

impl Product {
    pub(crate) fn conv(shape: ConvShape) -> Result<Self, ShapeError> {
        Conv::new(shape).map(Self::Conv)
    }

    pub(crate) fn dense(shape: EnsembleShape) -> Result<Self, ShapeError> {
        EnsembleDense::new(shape).map(Self::Dense)
    }

    /// Floats of scratch that any pass needs on a pool of `threads`.
    pub(crate) fn scratch_len(&self, threads: usize) -> usize {
        match self {
            Self::Conv(conv) => conv.scratch_len(threads),
            Self::Dense(dense) => dense.scratch_len(threads),
        }
    }

    pub(crate) fn forward(&self, x: &[f32], weights: &[f32], to: &mut [f32], scratch: &mut [f32]) {
        match self {
            Self::Conv(conv) => conv.forward(x, weights, to, scratch),
            Self::Dense(dense) => dense.forward(x, weights, to, scratch),
        }
    }

    pub(crate) fn data_gradient(
        &self,
        gradient: &[f32],
        weights: &[f32],
        to: &mut [f32],
        scratch: &mut [f32],
    ) {
        match self {
            Self::Conv(conv) => conv.data_gradient(gradient, weights, to, scratch),
            Self::Dense(dense) => dense.data_gradient(gradient, weights, to, scratch),
        }
    }

    pub(crate) fn weight_gradient(&self, x: &[f32], gradient: &[f32], to: &mut [f32], scratch: &mut [f32]) {
        match self {
            Self::Conv(conv) => conv.weight_gradient(x, gradient, to, scratch),
            Self::Dense(dense) => dense.weight_gradient(x, gradient, to, scratch),
        }
    }
}
