//! The weight gradient of 1x1 convolutions: `weight_grad (out x in) = out_grad (out x pixels) *
//! transposed input`, summed over the pixels of all images.
//!
//! A task owns a block of the result and a share of the pixels; the shares, if there are several,
//! are added up in the end. How many there are depends on the shape alone, so sums are the same for
//! any number of threads.

use super::input::Input;
use super::pack::pack_along_through;
use super::panels::{Block, COLUMNS, DEPTH, Left, ROWS, multiply_block, packed_len};
use super::shape::ConvShape;
use super::simd::Isa;
use crate::workers::{ScratchLen, Shared, even_blocks, for_each, for_each_task, panel_blocks};

/// Input channels of a task: packed with [`DEPTH`] pixels, 256 KB of the second-level cache.
const INPUTS: usize = 256;

/// Output channels that are packed and multiplied at a time: 96 KB.
const ROW_BLOCK: usize = 16 * ROWS;

/// Output channels of a task at least: each packs its inputs again.
const LEAST_ROWS: usize = 192;

/// Tasks that keep a few cores busy evenly.
const ENOUGH_TASKS: usize = 8;

/// The weight gradient, planned. Strides are the caller's.
pub(crate) struct WeightGradient {
    isa: Isa,
    batch: usize,
    groups: usize,
    inputs: usize,
    outputs: usize,
    pixels: usize,
    /// Output channels of a task.
    rows: usize,
    /// Shares of the pixels.
    shares: usize,
}

impl WeightGradient {
    pub(crate) fn new(shape: &ConvShape, isa: Isa) -> Self {
        let columns = shape.groups * shape.inputs.div_ceil(INPUTS);
        let parts = ENOUGH_TASKS.div_ceil(columns).min(shape.outputs / LEAST_ROWS).max(1);
        let depths = (shape.batch * shape.out_pixels()).div_ceil(DEPTH);
        let depths_per_share = depths.div_ceil(ENOUGH_TASKS.div_ceil(columns * parts));
        Self {
            isa,
            batch: shape.batch,
            groups: shape.groups,
            inputs: shape.inputs,
            outputs: shape.outputs,
            pixels: shape.out_pixels(),
            rows: shape.outputs.div_ceil(parts).next_multiple_of(ROWS),
            shares: depths.div_ceil(depths_per_share),
        }
    }

    fn weight_len(&self) -> usize {
        self.groups * self.outputs * self.inputs
    }

    /// Floats of the packed inputs and output gradients of a task.
    fn packed_lens(&self) -> (usize, usize) {
        let depth = DEPTH.min(self.batch * self.pixels);
        (
            packed_len(INPUTS.min(self.inputs), COLUMNS, depth),
            packed_len(ROW_BLOCK.min(self.outputs), ROWS, depth),
        )
    }

    /// Floats of scratch: all shares but the first, which is summed in place, and packed operands.
    pub(crate) fn scratch_len(&self) -> ScratchLen {
        let (inputs, gradients) = self.packed_lens();
        ScratchLen { shared: (self.shares - 1) * self.weight_len(), per_worker: inputs + gradients }
    }

    pub(crate) fn run(&self, input: Input, out_grad: &[f32], weight_grad: &mut [f32], scratch: &mut [f32]) {
        let len = self.scratch_len();
        let (others, scratch) = scratch.split_at_mut(len.shared);
        let (target, other_targets) = (Shared::new(weight_grad), Shared::new(others));
        let (rows, columns) =
            (panel_blocks(self.outputs, ROWS, self.rows), panel_blocks(self.inputs, COLUMNS, INPUTS));
        let depths = even_blocks(self.batch * self.pixels, DEPTH);
        let shares = even_blocks(depths.len(), depths.len().div_ceil(self.shares));
        let tasks = self.shares * self.groups * rows.len() * columns.len();
        for_each_task(tasks, len.per_worker, scratch, |task, scratch| {
            let (rest, column) = (task / columns.len(), task % columns.len());
            let (rest, row) = (rest / rows.len(), rest % rows.len());
            let (share, group) = (rest / self.groups, rest % self.groups);
            let Some((row, column)) = rows.clone().nth(row).zip(columns.clone().nth(column)) else { return };
            let Some((first, count)) = shares.clone().nth(share) else { return };
            let place = |row: usize, rows: usize| {
                let start = (group * self.outputs + row) * self.inputs;
                match share {
                    0 => target.address(start, rows * self.inputs),
                    _ => other_targets.address((share - 1) * self.weight_len() + start, rows * self.inputs),
                }
            };
            for (index, depth) in depths.clone().skip(first).take(count).enumerate() {
                self.add_chunk(input, out_grad, group, (row, column, depth), index > 0, &place, scratch);
            }
        });
        if self.shares > 1 {
            add_up(weight_grad, others);
        }
    }

    /// Adds a chunk of pixels to a block of the result (the first chunk overwrites).
    #[allow(clippy::too_many_arguments)]
    fn add_chunk(
        &self,
        input: Input,
        out_grad: &[f32],
        group: usize,
        ((row, rows), (column, columns), chunk): ((usize, usize), (usize, usize), (usize, usize)),
        accumulate: bool,
        place: &dyn Fn(usize, usize) -> *mut f32,
        scratch: &mut [f32],
    ) {
        let (right, left) = scratch.split_at_mut(self.packed_lens().0);
        self.pack::<COLUMNS>(input, group * self.inputs + column, columns, self.inputs, chunk, right);
        for (start, rows) in panel_blocks(rows, ROWS, ROW_BLOCK) {
            let row = row + start;
            let channel = group * self.outputs + row;
            let left = self.left(out_grad, channel, rows, chunk, left);
            let block = Block {
                left,
                right,
                depth: chunk.1,
                rows,
                columns,
                first_column: column,
                plane: self.inputs,
                plane_stride: 0,
                row_stride: self.inputs,
                target: place(row, rows),
                accumulate,
                bias: None,
            };
            // SAFETY: `place` checks the rows, and a task has its own rows, columns and share.
            unsafe { multiply_block(self.isa, &block) };
        }
    }

    /// Gradients of some channels: as they are if the chunk lies in one image, packed otherwise.
    fn left<'a>(
        &self,
        out_grad: &'a [f32],
        channel: usize,
        rows: usize,
        chunk: (usize, usize),
        packed: &'a mut [f32],
    ) -> Left<'a> {
        let (image, pixel) = (chunk.0 / self.pixels, chunk.0 % self.pixels);
        if pixel + chunk.1 <= self.pixels {
            let plane = image * self.groups * self.outputs + channel;
            return Left::rows(&out_grad[plane * self.pixels + pixel..], self.pixels);
        }
        self.pack::<ROWS>(Input::plain(out_grad), channel, rows, self.outputs, chunk, packed);
        Left::packed(packed, chunk.1)
    }

    /// Packs the pixels `chunk` (of those of all images) of some channels into panels of `W`.
    fn pack<const W: usize>(
        &self,
        from: Input,
        channel: usize,
        channels: usize,
        channels_of_group: usize,
        (first, depth): (usize, usize),
        to: &mut [f32],
    ) {
        for (panel, to) in (0..channels).step_by(W).zip(to.chunks_exact_mut(W * depth)) {
            let through = from.through.map(|through| through.from(channel + panel));
            let mut done = 0;
            while done < depth {
                let (image, pixel) = ((first + done) / self.pixels, (first + done) % self.pixels);
                let len = (self.pixels - pixel).min(depth - done);
                let at = (image * self.groups * channels_of_group + channel + panel) * self.pixels + pixel;
                let rows = W.min(channels - panel);
                let from = &from.values[at..];
                pack_along_through::<W>(self.isa, from, self.pixels, (rows, len), done, to, through);
                done += len;
            }
        }
    }
}

/// Adds all shares to the first, in order.
pub(super) fn add_up(first: &mut [f32], others: &[f32]) {
    const PIECE: usize = 1 << 14;
    let len = first.len();
    let target = Shared::new(first);
    for_each(len.div_ceil(PIECE), |task| {
        let range = task * PIECE..((task + 1) * PIECE).min(len);
        // SAFETY: a task has its own piece.
        let target = unsafe { target.piece(range.clone()) };
        for other in others.chunks_exact(len) {
            target.iter_mut().zip(&other[range.clone()]).for_each(|(sum, term)| *sum += term);
        }
    });
}
