//! Direct convolution, for any group width, kernel, stride and image size.
//!
//! Forward pass and data gradient are one loop, [`Pass`]: the forward pass reads s x s phases of a
//! padded image and writes one; the data gradient reads one padded image and writes s x s phases,
//! each with its own subset of the kernel, so that no multiplication by an inserted zero is ever
//! done. A task is one image and group (or a part of the group's output channels); it pads its input
//! into scratch that stays in cache, then multiplies tile by tile.

mod pack;
mod plan;
mod run;
mod weight_gradient;

pub(crate) use weight_gradient::WeightGradient;

use super::padded::{Padded, Pixels};
use super::simd::{Isa, LANES};
use crate::workers::ScratchLen;

/// The part of the kernel that contributes to one output phase.
struct Stencil {
    /// Positions in the kernel, row by row.
    positions: Vec<usize>,
    /// Input channels per block.
    channels: usize,
    /// Offsets of the block's taps in the padded input, channel by channel.
    taps: Vec<u32>,
    pixels: Pixels,
}

/// Strides of the weights of a group, over output and input channels of the pass.
#[derive(Clone, Copy)]
struct WeightStrides {
    output: usize,
    input: usize,
}

/// Forward pass or data gradient, planned.
pub(crate) struct Pass {
    isa: Isa,
    batch: usize,
    groups: usize,
    inputs: usize,
    outputs: usize,
    padded: Padded,
    stencils: Vec<Stencil>,
    weight_strides: WeightStrides,
    group_weights: usize,
    /// Output phases per axis, and the size of the image they make.
    out_stride: usize,
    out_height: usize,
    out_width: usize,
    /// Parts that the output channels of a group are split in.
    parts: usize,
}

impl Pass {
    /// Floats of scratch: packed weights, and for each worker a padded image and packed outputs.
    pub(crate) fn scratch_len(&self) -> ScratchLen {
        ScratchLen {
            shared: self.groups * self.group_weights,
            per_worker: self.padded_len() + self.outputs * self.packed_len(),
        }
    }

    /// A group of one image, plus what the last vector reads beyond.
    fn padded_len(&self) -> usize {
        self.inputs * self.padded.len() + LANES
    }

    /// The image needs no copy where nothing is padded, split or misaligned (dense layers as 1x1
    /// convolutions), unless it is read through a map.
    fn reads_in_place(&self) -> bool {
        let padded = &self.padded;
        padded.stride == 1
            && padded.phase_len == padded.height * padded.width
            && self
                .stencils
                .iter()
                .all(|stencil| stencil.pixels.vectors.is_empty() || stencil.pixels.is_plain())
    }

    /// Floats of one channel's packed output phases, none if tiles are stored in place.
    fn packed_len(&self) -> usize {
        if self.writes_in_place() {
            0
        } else {
            self.stencils.iter().map(|stencil| stencil.pixels.packed_len()).sum()
        }
    }

    fn writes_in_place(&self) -> bool {
        self.out_stride == 1 && self.stencils[0].pixels.is_plain()
    }

    /// Blocks that an epilogue sees.
    pub(crate) fn blocks(&self) -> usize {
        self.batch
    }
}
