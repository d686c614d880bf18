//! Execution of a direct pass.

use super::{Pass, Stencil};
use crate::kernels::epilogue::{Bias, Piece};
use crate::kernels::input::Input;
use crate::kernels::padded::zip_rows;
use crate::kernels::tile::{MAX_ROWS, Multiply, multiply};
use crate::kernels::weights::{Operands, Weights};
use crate::workers::{Shared, even_blocks, for_each_task};
use std::ops::Range;

impl Pass {
    /// Computes `output` from `input` and the layer's weights.
    pub(crate) fn run(&self, operands: Operands, output: &mut [f32], scratch: &mut [f32]) {
        let Operands { input, weights, bias, epilogue } = operands;
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
            self.convolve(self.image_of(input, image, group), weights, output, &rows(), scratch);
            if let Some(bias) = bias {
                self.add_bias(bias, group, channels.clone(), output);
            }
            if let Some(epilogue) = epilogue {
                let first = group * self.outputs + channels.start;
                for (index, values) in output.chunks_exact(pixels).enumerate() {
                    epilogue.visit(Piece { block: image, first: true, channel: first + index }, values);
                }
            }
        });
    }

    /// One image of one group.
    fn image_of<'a>(&self, input: Input<'a>, image: usize, group: usize) -> Input<'a> {
        let len = self.inputs * self.padded.height * self.padded.width;
        Input {
            values: &input.values[(image * self.groups + group) * len..][..len],
            through: input.through.map(|through| through.from(group * self.inputs)),
        }
    }

    /// Adds the bias, and applies the ReLU, to some channels of a group.
    fn add_bias(&self, bias: Bias, group: usize, channels: Range<usize>, output: &mut [f32]) {
        let pixels = self.out_height * self.out_width;
        for (channel, values) in channels.zip(output.chunks_exact_mut(pixels)) {
            bias.apply(group * self.outputs + channel, values);
        }
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
}
