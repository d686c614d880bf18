//! Dispatch rules: which algorithm computes each pass of a convolution.
//!
//! Measured with two threads, as shares of the sgemm rate (`benches/kernels.rs`):
//!
//! - 1x1 without padding, groups of 32 channels or more: matrix products (`pointwise`), 90 to 110 %
//!   in all three passes on AVX2. The direct kernels gain by reading an input once for many kernel
//!   positions; with one position they reach 44 to 88 %. At 10 channels (batch 128) there is too
//!   little to multiply for what is packed, and direct is better.
//! - 3x3 of stride 1 with padding 1, groups of 32 channels or more: `winograd`, F(4 x 4, 3 x 3) in
//!   all passes. On AVX-512, batch 16, it has 1.5 to 3.1 times the sgemm rate from 64 to 512
//!   channels; groups of 24 gain 1.1 over the direct kernels at most, and narrower ones lose.
//!   - Transformed weights are four times the weights. With groups wider than 128 channels and than
//!     the image has pixels, a lone image would wait for them: forward passes, which know no batch,
//!     are F(2 x 2, 3 x 3) there, whose weights are not twice as large (11 to 16 % slower at batch 16).
//!   - Weight gradients of few pixels are F(2 x 2, 3 x 3) for their error; so are those of stride 2,
//!     1.1 to 1.8 times as fast as the direct kernel.
//! - Everything else: direct, also 3x3 of stride 2 at 99 to 106 % on AVX2 where groups are wide, so
//!   im2col and a product, which reaches at best 100 % less the copying, has no shape left to win.
//!
//! The batch does not enter, so that an image's result is the same in a batch of any size; weight
//! gradients, which are sums over the batch, go by their number of pixels.

use super::shape::ConvShape;
use super::winograd::Tile;

/// Channels of a group from which 1x1 convolutions are matrix products and 3x3 ones Winograd's.
pub(super) const WIDE: usize = 32;

/// Channels of a group up to which transformed weights cost little, however small the image.
const NARROW: usize = 128;

/// Columns of an image up to which a row of tiles stays in cache.
const WIDEST_IMAGE: usize = 256;

/// Algorithm of 3x3 convolutions with padding 1: all passes of stride 1 and the weight gradient of
/// stride 2. Other shapes have one algorithm each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The fastest, by a rule of the group's width and the image's size.
    #[default]
    Fastest,
    /// Every multiplication of the definition.
    Direct,
    /// Winograd's F(2 x 2, 3 x 3): 16 multiplications for 36, and errors that are 0.3 to 0.8 times
    /// the direct kernel's forward and for the data gradient, 1.2 to 3.1 times for the weight
    /// gradient.
    Winograd2,
    /// Winograd's F(4 x 4, 3 x 3): 36 multiplications for 144, and errors of 1.3 to 2.4 times
    /// the direct kernel's, 2.7 to 3.4 times for the weight gradient. Weight gradients of fewer than
    /// 1024 pixels in all, for which they would be more than four times, or of stride 2, are those of
    /// F(2 x 2, 3 x 3).
    Winograd4,
}

impl Method {
    /// The tiles of the forward pass, none if it is computed directly.
    pub(super) fn forward_tile(self, shape: &ConvShape) -> Option<Tile> {
        match self {
            Self::Fastest => is_wide(shape).then(|| fastest_forward(shape)),
            _ => self.gradient_tile(shape),
        }
    }

    /// The tiles of both gradients.
    pub(super) fn gradient_tile(self, shape: &ConvShape) -> Option<Tile> {
        match self {
            Self::Fastest => is_wide(shape).then_some(Tile::Four),
            Self::Direct => None,
            Self::Winograd2 => Some(Tile::Two),
            Self::Winograd4 => Some(Tile::Four),
        }
    }
}

/// Whether Winograd's tiles pay; see the rules above.
fn is_wide(shape: &ConvShape) -> bool {
    shape.inputs.min(shape.outputs) >= WIDE && shape.width <= WIDEST_IMAGE
}

/// The fastest tiles of a forward pass in batches of any size; see the rules above.
fn fastest_forward(shape: &ConvShape) -> Tile {
    let width = shape.inputs.min(shape.outputs);
    if width <= NARROW || width <= shape.in_pixels() { Tile::Four } else { Tile::Two }
}
