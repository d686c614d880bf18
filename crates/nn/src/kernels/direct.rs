//! Direct convolution: forward pass and data gradient, for any group width, kernel, stride and
//! image size.
//!
//! Both passes are one loop, [`Pass`]: the forward pass reads s x s phases of a padded image and
//! writes one; the data gradient reads one padded image and writes s x s phases, each with its own
//! subset of the kernel, so that no multiplication by an inserted zero is ever done. A task is one
//! image and group (or a part of the group's output channels); it pads its input into scratch that
//! stays in cache, then multiplies tile by tile.

use super::epilogue::{Epilogue, Piece};
use super::input::Input;
use super::padded::{Padded, Pixels, kernel_taps, padded_input, zip_rows};
use super::panels::Finish;
use super::shape::ConvShape;
use super::simd::{Isa, LANES};
use super::tile::{MAX_ROWS, Multiply, multiply};
use super::weights::Weights;
use crate::workers::{ScratchLen, Shared, even_blocks, for_each, for_each_task};

/// Taps multiplied before the next tile: a panel of 6 x 384 weights is 9 KB, and stays in the
/// first-level cache while the pixels of an image go by.
const TAPS_PER_BLOCK: usize = 384;

/// Fewer tasks than this are split over output channels, so that a small batch still fills a few
/// cores.
const ENOUGH_TASKS: usize = 16;

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

/// Where output phase (r, c) of the data gradient, or the forward pass, finds weight (output,
/// input) of a group.
#[derive(Clone, Copy)]
struct WeightStrides {
    output: usize,
    input: usize,
}

/// One of the two passes, planned.
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
    pub(crate) fn forward(shape: &ConvShape, isa: Isa) -> Self {
        let positions = shape.kernel * shape.kernel;
        let padded = padded_input(shape);
        let pixels = Pixels::new(shape.out_height(), shape.out_width(), padded.row_stride);
        let stencil = Stencil::new(&kernel_taps(shape, &padded), shape.inputs, padded.len(), pixels);
        let strides = WeightStrides { output: shape.fan_in(), input: positions };
        let out = (shape.out_height(), shape.out_width());
        Self::new(shape, isa, (shape.inputs, shape.outputs), padded, vec![stencil], strides, (1, out))
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
        let strides = WeightStrides { output: k * k, input: shape.fan_in() };
        let out = (shape.height, shape.width);
        Self::new(shape, isa, (shape.outputs, shape.inputs), padded, stencils, strides, (s, out))
    }

    fn new(
        shape: &ConvShape,
        isa: Isa,
        (inputs, outputs): (usize, usize),
        padded: Padded,
        stencils: Vec<Stencil>,
        weight_strides: WeightStrides,
        (out_stride, (out_height, out_width)): (usize, (usize, usize)),
    ) -> Self {
        assert!(isa.is_available(), "this CPU cannot run {isa:?}");
        let tiles = even_blocks(outputs, MAX_ROWS).len();
        let parts = ENOUGH_TASKS.div_ceil(shape.batch * shape.groups).min(tiles.div_ceil(2));
        let pass = Self {
            isa,
            batch: shape.batch,
            groups: shape.groups,
            inputs,
            outputs,
            padded,
            stencils,
            weight_strides,
            group_weights: shape.outputs * shape.fan_in(),
            out_stride,
            out_height,
            out_width,
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

    /// Computes `output` from `input` and the layer's weights.
    pub(crate) fn run(
        &self,
        input: Input,
        weights: Weights,
        finish: Option<Finish>,
        epilogue: Option<&dyn Epilogue>,
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        let lens = self.scratch_len();
        let (packed, scratch) = scratch.split_at_mut(lens.shared);
        // Tasks that share no weights pack their own, which saves waking the threads twice.
        let share = self.batch * self.parts > 1;
        if let (Weights::Plain(weights), true) = (weights, share) {
            self.pack_all(weights, packed);
        }
        let packed = Shared::new(packed);
        let tiles = even_blocks(self.outputs, MAX_ROWS);
        let output = Shared::new(output);
        for_each_task(self.batch * self.groups * self.parts, lens.per_worker, scratch, |task, scratch| {
            // Images vary fastest: a group's weights stay in cache.
            let (image, rest) = (task % self.batch, task / self.batch);
            let (part, group) = (rest % self.parts, rest / self.parts);
            if let (Weights::Plain(weights), false) = (weights, share) {
                self.pack_weights(weights, group, tiles.clone(), &packed);
            }
            let (start, end) = (part * tiles.len() / self.parts, (part + 1) * tiles.len() / self.parts);
            let rows = || tiles.clone().skip(start).take(end - start);
            let Some((first, last)) = rows().next().zip(rows().last()) else { return };
            let channels = first.0..last.0 + last.1;

            let image_group = image * self.groups + group;
            let input_len = self.inputs * self.padded.height * self.padded.width;
            let input = Input {
                values: &input.values[image_group * input_len..][..input_len],
                through: input.through.map(|through| through.from(group * self.inputs)),
            };
            let pixels = self.out_height * self.out_width;
            let at = |channel| (image_group * self.outputs + channel) * pixels;
            // SAFETY: a task has its own image, group and channels, hence its own piece of the
            // output.
            let output = unsafe { output.piece(at(channels.start)..at(channels.end)) };
            let at = group * self.group_weights;
            let weights = match weights {
                Weights::Prepared(prepared) => &prepared[at..at + self.group_weights],
                // SAFETY: packed before, and only read from here on.
                Weights::Plain(_) => unsafe { packed.read(at..at + self.group_weights) },
            };
            self.convolve(input, weights, output, &rows(), scratch);
            for (index, output) in channels.zip(output.chunks_exact_mut(pixels)) {
                let channel = group * self.outputs + index;
                if let Some(finish) = finish {
                    finish.apply(channel, output);
                }
                if let Some(epilogue) = epilogue {
                    epilogue.visit(Piece { block: image, first: true, channel }, output);
                }
            }
        });
    }

    /// One image of one group, output channels `rows`.
    fn convolve(
        &self,
        input: Input,
        weights: &[f32],
        output: &mut [f32],
        rows: &(impl Iterator<Item = (usize, usize)> + Clone),
        scratch: &mut [f32],
    ) {
        let (padded, packed) = scratch.split_at_mut(self.padded_len());
        let channels = if self.reads_in_place() && input.through.is_none() {
            input.values
        } else {
            let pixels = self.padded.height * self.padded.width;
            let channels = input.values.chunks_exact(pixels).zip(padded.chunks_exact_mut(self.padded.len()));
            for (index, (channel, to)) in channels.enumerate() {
                self.padded.fill(channel, input.channel(index), to);
            }
            &*padded
        };
        let in_place = self.writes_in_place();
        let channel_stride = if in_place { self.out_height * self.out_width } else { self.packed_len() };
        let target = if in_place { &mut *output } else { &mut *packed };
        let (mut weights_at, mut packed_at) = (0, 0);
        for stencil in &self.stencils {
            let weights = &weights[weights_at..][..self.outputs * self.inputs * stencil.positions.len()];
            self.multiply_stencil(stencil, channels, weights, rows, &mut target[packed_at..], channel_stride);
            weights_at += weights.len();
            packed_at += stencil.pixels.packed_len();
        }
        if !in_place {
            let pixels = self.out_height * self.out_width;
            for (channel, packed) in output.chunks_exact_mut(pixels).zip(packed.chunks_exact(channel_stride))
            {
                self.unpack(packed, channel);
            }
        }
    }

    fn multiply_stencil(
        &self,
        stencil: &Stencil,
        channels: &[f32],
        weights: &[f32],
        rows: &(impl Iterator<Item = (usize, usize)> + Clone),
        target: &mut [f32],
        channel_stride: usize,
    ) {
        if stencil.pixels.vectors.is_empty() {
            return;
        }
        let origin = rows.clone().next().map_or(0, |(first, _)| first);
        for (start, count) in even_blocks(self.inputs, stencil.channels) {
            let taps = &stencil.taps[..count * stencil.positions.len()];
            let block = &weights[start * stencil.positions.len() * self.outputs..];
            let input = &channels[start * self.padded.len()..];
            for (row, rows) in rows.clone() {
                let target = &mut target[(row - origin) * channel_stride..];
                let end = (rows - 1) * channel_stride + stencil.pixels.packed_len();
                assert!(end <= target.len(), "a tile writes up to {end} of {} floats", target.len());
                let call = Multiply {
                    input: input.as_ptr(),
                    taps,
                    vectors: &stencil.pixels.vectors,
                    weights: &block[row * taps.len()..][..rows * taps.len()],
                    output: target.as_mut_ptr(),
                    channel_stride,
                    accumulate: start > 0,
                };
                // SAFETY: the target's size was just checked; `check_offsets` has found that no
                // table leads beyond the channels, whose size `run` and `convolve` have cut.
                unsafe { multiply(self.isa, rows, &call) };
            }
        }
    }

    /// Puts the packed phases of one channel together.
    fn unpack(&self, packed: &[f32], channel: &mut [f32]) {
        let s = self.out_stride;
        let mut rest = packed;
        let mut next = |stencil: &Stencil| {
            let (packed, after) = rest.split_at(stencil.pixels.packed_len());
            rest = after;
            packed
        };
        for (r, stencils) in self.stencils.chunks_exact(s).enumerate() {
            let rows = channel.chunks_exact_mut(self.out_width).skip(r).step_by(s);
            match stencils {
                [only] => {
                    let packed = next(only);
                    rows.zip(only.pixels.rows_of(packed)).for_each(|(row, from)| row.copy_from_slice(from));
                }
                [even, odd] if even.pixels.rows == odd.pixels.rows => {
                    let (even_packed, odd_packed) = (next(even), next(odd));
                    let pairs = even.pixels.rows_of(even_packed).zip(odd.pixels.rows_of(odd_packed));
                    rows.zip(pairs).for_each(|(row, (even, odd))| zip_rows(even, odd, row));
                }
                _ => {
                    for (c, stencil) in stencils.iter().enumerate() {
                        let packed = next(stencil);
                        let rows = channel.chunks_exact_mut(self.out_width).skip(r).step_by(s);
                        for (row, from) in rows.zip(stencil.pixels.rows_of(packed)) {
                            row.iter_mut().skip(c).step_by(s).zip(from).for_each(|(to, from)| *to = *from);
                        }
                    }
                }
            }
        }
    }

    /// Floats of all packed weights.
    pub(crate) fn prepared_len(&self) -> usize {
        self.groups * self.group_weights
    }

    /// Packs all weights.
    pub(crate) fn pack_all(&self, weights: &[f32], to: &mut [f32]) {
        let (to, tiles) = (Shared::new(to), even_blocks(self.outputs, MAX_ROWS));
        for_each(self.groups * tiles.len(), |task| {
            let (group, tile) = (task / tiles.len(), task % tiles.len());
            self.pack_weights(weights, group, tiles.clone().nth(tile), &to);
        });
    }

    /// Packs weights of a group as `[group][stencil][block of inputs][tile of outputs][tap][row]`.
    fn pack_weights(
        &self,
        weights: &[f32],
        group: usize,
        tiles: impl IntoIterator<Item = (usize, usize)>,
        packed: &Shared,
    ) {
        let base = group * self.group_weights;
        let weights = &weights[base..][..self.group_weights];
        for (row, rows) in tiles {
            let mut stencil_at = base;
            for stencil in &self.stencils {
                let positions = stencil.positions.len();
                for (start, channels) in even_blocks(self.inputs, stencil.channels) {
                    let at = stencil_at + start * positions * self.outputs + row * channels * positions;
                    // SAFETY: every (group, tile, stencil, block) has its own place in the packed
                    // weights.
                    let to = unsafe { packed.piece(at..at + rows * channels * positions) };
                    self.pack_tile(stencil, &weights[start * self.weight_strides.input..], (row, rows), to);
                }
                stencil_at += self.outputs * self.inputs * positions;
            }
        }
    }

    fn pack_tile(&self, stencil: &Stencil, weights: &[f32], (row, rows): (usize, usize), to: &mut [f32]) {
        let WeightStrides { output, input } = self.weight_strides;
        let positions = stencil.positions.len();
        if input == positions {
            // A whole kernel after the other: the taps of a channel lie in a row.
            for o in 0..rows {
                let from = &weights[(row + o) * output..];
                to[o..].iter_mut().step_by(rows).zip(from).for_each(|(to, from)| *to = *from);
            }
            return;
        }
        for (tap, to) in to.chunks_exact_mut(rows).enumerate() {
            let at = row * output + tap / positions * input + stencil.positions[tap % positions];
            let from = weights[at..].iter().step_by(output);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
    }
}
