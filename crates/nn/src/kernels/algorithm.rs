//! The algorithm of each pass of a planned convolution, behind one interface.

use super::direct;
use super::input::Input;
use super::method::{Method, WIDE};
use super::pointwise::Pointwise;
use super::shape::ConvShape;
use super::simd::Isa;
use super::weights::Operands;
use super::winograd::{self, Tile};
use crate::workers::ScratchLen;

/// Algorithms of the passes of a shape.
pub(super) enum Algorithm {
    Pointwise(Box<Pointwise>),
    Spatial(Box<Spatial>),
}

impl Algorithm {
    /// Plans the passes by the dispatch rules.
    pub(super) fn new(shape: &ConvShape, isa: Isa, method: Method) -> Self {
        if Pointwise::applies_to(shape) && shape.inputs.min(shape.outputs) >= WIDE {
            return Self::Pointwise(Box::new(Pointwise::new(shape, isa)));
        }
        let gradients = method.gradient_tile(shape);
        Self::Spatial(Box::new(Spatial {
            forward: Pass::forward(shape, method.forward_tile(shape), isa),
            data_gradient: Pass::data_gradient(shape, gradients, isa),
            weight_gradient: WeightGradient::new(shape, gradients, isa),
        }))
    }

    /// Floats of scratch of the three passes.
    pub(super) fn scratch_lens(&self) -> [ScratchLen; 3] {
        match self {
            Self::Pointwise(pointwise) => pointwise.scratch_lens(),
            Self::Spatial(spatial) => [
                spatial.forward.scratch_len(),
                spatial.data_gradient.scratch_len(),
                spatial.weight_gradient.scratch_len(),
            ],
        }
    }
}

/// Direct or Winograd convolution, chosen for every pass.
pub(super) struct Spatial {
    pub forward: Pass,
    pub data_gradient: Pass,
    pub weight_gradient: WeightGradient,
}

/// Forward pass or data gradient.
pub(super) enum Pass {
    Direct(direct::Pass),
    Winograd(winograd::Pass),
}

impl Pass {
    fn forward(shape: &ConvShape, tile: Option<Tile>, isa: Isa) -> Self {
        match tile.filter(|_| Tile::applies_to(shape)) {
            None => Self::Direct(direct::Pass::forward(shape, isa)),
            Some(tile) => Self::Winograd(winograd::Pass::forward(shape, tile, isa)),
        }
    }

    fn data_gradient(shape: &ConvShape, tile: Option<Tile>, isa: Isa) -> Self {
        match tile.filter(|_| Tile::applies_to(shape)) {
            None => Self::Direct(direct::Pass::data_gradient(shape, isa)),
            Some(tile) => Self::Winograd(winograd::Pass::data_gradient(shape, tile, isa)),
        }
    }

    pub(super) fn scratch_len(&self) -> ScratchLen {
        match self {
            Self::Direct(pass) => pass.scratch_len(),
            Self::Winograd(pass) => pass.scratch_len(),
        }
    }

    /// Blocks that an epilogue sees; none if it sees nothing.
    pub(super) fn blocks(&self) -> Option<usize> {
        match self {
            Self::Direct(pass) => Some(pass.blocks()),
            Self::Winograd(_) => None,
        }
    }

    pub(super) fn prepared_len(&self) -> usize {
        match self {
            Self::Direct(pass) => pass.prepared_len(),
            Self::Winograd(pass) => pass.prepared_len(),
        }
    }

    pub(super) fn prepare(&self, weights: &[f32], to: &mut [f32], scratch: &mut [f32]) {
        match self {
            Self::Direct(pass) => pass.pack_all(weights, to),
            Self::Winograd(pass) => pass.transform_weights(weights, to, scratch),
        }
    }

    pub(super) fn run(&self, operands: Operands, output: &mut [f32], scratch: &mut [f32]) {
        match self {
            Self::Direct(pass) => pass.run(operands, output, scratch),
            Self::Winograd(pass) => pass.run(operands, output, scratch),
        }
    }
}

/// Weight gradient.
pub(super) enum WeightGradient {
    Direct(direct::WeightGradient),
    Winograd(winograd::WeightGradient),
}

impl WeightGradient {
    fn new(shape: &ConvShape, tile: Option<Tile>, isa: Isa) -> Self {
        match tile.filter(|_| winograd::WeightGradient::applies_to(shape)) {
            None => Self::Direct(direct::WeightGradient::new(shape, isa)),
            Some(tile) => Self::Winograd(winograd::WeightGradient::new(shape, tile, isa)),
        }
    }

    pub(super) fn scratch_len(&self) -> ScratchLen {
        match self {
            Self::Direct(pass) => pass.scratch_len(),
            Self::Winograd(pass) => pass.scratch_len(),
        }
    }

    pub(super) fn run(&self, input: Input, out_grad: &[f32], weight_grad: &mut [f32], scratch: &mut [f32]) {
        match self {
            Self::Direct(pass) => pass.run(input, out_grad, weight_grad, scratch),
            Self::Winograd(pass) => pass.run(input, out_grad, weight_grad, scratch),
        }
    }
}
