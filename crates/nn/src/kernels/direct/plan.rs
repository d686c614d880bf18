//! Planning of a direct pass: stencils, padding, and the tables of offsets.

use super::{Pass, Stencil, WeightStrides};
use crate::kernels::padded::{Padded, Pixels, kernel_taps, padded_input};
use crate::kernels::shape::ConvShape;
use crate::kernels::simd::{Isa, LANES};
use crate::kernels::tile::MAX_ROWS;
use crate::workers::even_blocks;

/// Taps multiplied before the next tile: a panel of 6 x 384 weights is 9 KB, and stays in the
/// first-level cache while the pixels of an image go by.
const TAPS_PER_BLOCK: usize = 384;

/// Fewer tasks than this are split over output channels, so that a small batch still fills a few
/// cores.
const ENOUGH_TASKS: usize = 16;

impl Stencil {
    fn new(taps: &[(usize, usize)], inputs: usize, channel_len: usize, pixels: Pixels) -> Self {
        let channels = (TAPS_PER_BLOCK / taps.len().max(1)).clamp(1, inputs);
        let channels = inputs.div_ceil(inputs.div_ceil(channels));
        let offsets =
            (0..channels).flat_map(|c| taps.iter().map(move |(_, at)| (c * channel_len + at) as u32));
        Self {
            positions: taps.iter().map(|(position, _)| *position).collect(),
            channels,
            taps: offsets.collect(),
            pixels,
        }
    }
}

/// Sizes and tables in which the two passes differ.
struct Geometry {
    /// Channels of a group that the pass reads.
    inputs: usize,
    /// Channels of a group that the pass writes.
    outputs: usize,
    padded: Padded,
    stencils: Vec<Stencil>,
    weight_strides: WeightStrides,
    out_stride: usize,
    out_height: usize,
    out_width: usize,
}

impl Pass {
    pub(crate) fn forward(shape: &ConvShape, isa: Isa) -> Self {
        let positions = shape.kernel * shape.kernel;
        let padded = padded_input(shape);
        let pixels = Pixels::new(shape.out_height(), shape.out_width(), padded.row_stride);
        let stencil = Stencil::new(&kernel_taps(shape, &padded), shape.inputs, padded.len(), pixels);
        let geometry = Geometry {
            inputs: shape.inputs,
            outputs: shape.outputs,
            padded,
            stencils: vec![stencil],
            weight_strides: WeightStrides { output: shape.fan_in(), input: positions },
            out_stride: 1,
            out_height: shape.out_height(),
            out_width: shape.out_width(),
        };
        Self::new(shape, isa, geometry)
    }

    /// Row y of the gradient, y = s i + r, collects kernel rows `kh` with `kh = r + padding` modulo
    /// s, from output row `i + (r + padding) / s - kh / s`; the same for columns.
    pub(crate) fn data_gradient(shape: &ConvShape, isa: Isa) -> Self {
        let (s, k, padding) = (shape.stride, shape.kernel, shape.padding);
        let kernel_rows = |r: usize| (0..k).filter(move |kh| kh % s == (r + padding) % s);
        let shift = |r: usize, kh: usize| ((r + padding) / s) as isize - (kh / s) as isize;
        let shifts = || (0..s).flat_map(|r| kernel_rows(r).map(move |kh| (r, shift(r, kh))));
        let before = shifts().map(|(_, shift)| -shift).max().unwrap_or(0).max(0) as usize;
        // Rows i of phase r, of an image of `size` rows.
        let count = |size: usize, r: usize| (size.saturating_sub(r)).div_ceil(s);
        let extent = |size: usize, out: usize| {
            let read = |(r, shift): (usize, isize)| match count(size, r) {
                0 => 0,
                rows => (before + rows).saturating_add_signed(shift),
            };
            shifts().map(read).max().unwrap_or(0).max(before + out)
        };
        let (height, width) = (shape.out_height(), shape.out_width());
        let read = (extent(shape.height, height), extent(shape.width, width));
        let padded = Padded::new((height, width), 1, before, read);
        let stencil = |r: usize, c: usize| {
            let at = |shift: isize| before.saturating_add_signed(shift);
            let taps: Vec<_> = kernel_rows(r)
                .flat_map(|kh| kernel_rows(c).map(move |kw| (kh, kw)))
                .map(|(kh, kw)| (kh * k + kw, at(shift(r, kh)) * padded.row_stride + at(shift(c, kw))))
                .collect();
            let pixels = Pixels::new(count(shape.height, r), count(shape.width, c), padded.row_stride);
            Stencil::new(&taps, shape.outputs, padded.len(), pixels)
        };
        let stencils = (0..s * s).map(|phase| stencil(phase / s, phase % s)).collect();
        let geometry = Geometry {
            inputs: shape.outputs,
            outputs: shape.inputs,
            padded,
            stencils,
            weight_strides: WeightStrides { output: k * k, input: shape.fan_in() },
            out_stride: s,
            out_height: shape.height,
            out_width: shape.width,
        };
        Self::new(shape, isa, geometry)
    }

    fn new(shape: &ConvShape, isa: Isa, geometry: Geometry) -> Self {
        assert!(isa.is_available(), "this CPU cannot run {isa:?}");
        let tiles = even_blocks(geometry.outputs, MAX_ROWS).len();
        let parts = ENOUGH_TASKS.div_ceil(shape.batch * shape.groups).min(tiles.div_ceil(2));
        let pass = Self {
            isa,
            batch: shape.batch,
            groups: shape.groups,
            inputs: geometry.inputs,
            outputs: geometry.outputs,
            padded: geometry.padded,
            stencils: geometry.stencils,
            weight_strides: geometry.weight_strides,
            group_weights: shape.outputs * shape.fan_in(),
            out_stride: geometry.out_stride,
            out_height: geometry.out_height,
            out_width: geometry.out_width,
            parts,
        };
        pass.check_offsets();
        pass
    }

    /// Asserts that no table leads beyond the channels of a group.
    ///
    /// The innermost loop reads eight floats at `start * channel + tap + vector` without a check,
    /// where `start` is the first channel of a block of channels, and the taps of a block's c-th
    /// channel are those of its first plus `c * channel` ([`Stencil::new`]). Blocks end at the last
    /// channel at most, so the farthest read is that of the last channel's largest tap at the
    /// largest vector. What may be read are the channels themselves; a copy with padding has room
    /// for one more vector, since the last vector of a channel may reach beyond it.
    fn check_offsets(&self) {
        let channel = self.padded.len();
        let readable = self.inputs * channel + if self.reads_in_place() { 0 } else { LANES };
        for stencil in &self.stencils {
            let tap = stencil.taps.iter().take(stencil.positions.len()).max();
            let Some((&tap, &vector)) = tap.zip(stencil.pixels.vectors.iter().max()) else { continue };
            let end = (self.inputs - 1) * channel + tap as usize + vector as usize + LANES;
            assert!(end <= readable, "a tile reads up to {end} of {readable} floats");
            assert!(
                u32::try_from(stencil.channels * channel).is_ok(),
                "offsets of {channel} floats fit 32 bits"
            );
        }
    }
}
