//! Blocked GEMM: weights times the pixels of all images, in blocks that stay in the caches.
//!
//! Weights are packed once, by all threads; where all pixels are one block, as behind dense layers,
//! they are read as they are. A task owns a block of pixels, which it packs and multiplies with all
//! weights; if there are few blocks, the pixels are packed once too, and tasks share out the rows.
//! Every sum is taken in an order that the shape alone decides.
//!
//! By hand, because crates for products allocate in every call and pack the weights anew; the best
//! of them is the benchmarks' yardstick.

use super::epilogue::{Bias, Epilogue, Piece};
use super::input::Input;
use super::pack::{pack_across, pack_across_mapped, pack_along};
use super::panels::{Block, COLUMNS, DEPTH, Left, ROWS, multiply_block, packed_len};
use super::simd::Isa;
use super::weights::{Operands, Weights};
use crate::memory::prefetch;
use crate::workers::{ScratchLen, Shared, even_blocks, for_each, for_each_task, panel_blocks};

/// Pixels of a task: packed, 256 KB of the second-level cache.
const PIXELS: usize = 256;

/// Rows that are multiplied before the next panel of pixels: 120 KB packed, and as much of the
/// result.
const ROW_BLOCK: usize = 20 * ROWS;

/// Tasks that keep a few cores busy evenly.
const ENOUGH_TASKS: usize = 16;

/// Channels between the one that is packed and the one that is prefetched: a block's lines lie in
/// pieces of a plane each, too short for the processor to guess the next.
const AHEAD: usize = 8;

/// Pixels of all channels that are packed before the next.
const TOGETHER: usize = 8 * COLUMNS;

/// Rows of weights that a task packs.
const PACKED_ROWS: usize = 8 * ROWS;

/// Pixels of one block of the depth that a task packs, where tasks share them.
const PACKED_PIXELS: usize = 4 * COLUMNS;

/// `result (rows x pixels) = weights (rows x depth) * right (depth x pixels)` for every image and
/// group.
pub(crate) struct Product {
    pub isa: Isa,
    pub batch: usize,
    pub groups: usize,
    pub pixels: usize,
    pub rows: usize,
    pub depth: usize,
    pub order: WeightOrder,
}

/// Storage order of a product's weights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightOrder {
    /// `rows x depth`.
    RowMajor,
    /// `depth x rows`.
    ColumnMajor,
}

/// A packed block of a group's pixels.
#[derive(Clone, Copy)]
struct Right<'a> {
    pixels: &'a [f32],
    group: usize,
    columns: Span,
    depth: Span,
}

impl Product {
    fn columns(&self) -> usize {
        self.batch * self.pixels
    }

    fn blocks(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone + use<> {
        panel_blocks(self.columns(), COLUMNS, PIXELS)
    }

    /// Parts of the rows: more than one if there are few blocks of pixels.
    fn parts(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone + use<> {
        let parts = ENOUGH_TASKS.div_ceil(self.groups * self.blocks().len());
        panel_blocks(self.rows, ROWS, self.rows.div_ceil(parts).next_multiple_of(ROWS))
    }

    fn depths(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone + use<> {
        even_blocks(self.depth, DEPTH)
    }

    /// Floats of a group's packed weights.
    fn weights_len(&self) -> usize {
        packed_len(self.rows, ROWS, self.depth)
    }

    /// Offset of a group's packed rows from `row` on, over one block of the depth.
    fn packed_at(&self, group: usize, row: usize, (start, depth): Span) -> usize {
        group * self.weights_len() + packed_len(self.rows, ROWS, start) + row * depth
    }

    /// Floats of a packed block of pixels, of depth `depth`.
    fn block_len(&self, depth: usize) -> usize {
        packed_len(PIXELS.min(self.columns()), COLUMNS, depth)
    }

    /// Whether weights are packed. A single block of pixels meets each weight a few times only,
    /// which would not pay for it.
    fn packs_weights(&self) -> bool {
        self.blocks().len() > 1
    }

    /// Whether tasks share the packed pixels.
    fn share(&self) -> bool {
        self.parts().len() > 1
    }

    /// Floats of all packed weights and of the shared pixels.
    fn shared_lens(&self) -> (usize, usize) {
        let weights = if self.packs_weights() { self.groups * self.weights_len() } else { 0 };
        let pixels =
            if self.share() { self.groups * self.blocks().len() * self.block_len(self.depth) } else { 0 };
        (weights, pixels)
    }

    pub(crate) fn scratch_len(&self) -> ScratchLen {
        let (weights, pixels) = self.shared_lens();
        let own_pixels = if self.share() { 0 } else { self.block_len(self.depth.min(DEPTH)) };
        ScratchLen { shared: weights + pixels, per_worker: own_pixels }
    }

    /// Blocks that an epilogue sees.
    pub(crate) fn result_blocks(&self) -> usize {
        self.blocks().len()
    }

    /// Multiplies; `bias` has a bias for every row of every group.
    pub(crate) fn run(&self, operands: Operands, result: &mut [f32], scratch: &mut [f32]) {
        let Operands { input: right, weights, bias, epilogue } = operands;
        let len = self.scratch_len();
        let (shared, scratch) = scratch.split_at_mut(len.shared);
        let (packed_weights, packed_pixels) = shared.split_at_mut(self.shared_lens().0);
        self.pack_shared(weights, right, packed_weights, packed_pixels);
        let weights = match weights {
            Weights::Plain(_) if self.packs_weights() => Weights::Prepared(packed_weights),
            as_given => as_given,
        };
        let packed_pixels = &*packed_pixels;
        let (blocks, parts) = (self.blocks(), self.parts());
        let result = Shared::new(result);
        let tasks = self.groups * blocks.len() * parts.len();
        for_each_task(tasks, len.per_worker, scratch, |task, scratch| {
            let (rest, part) = (task / parts.len(), task % parts.len());
            let (group, block) = (rest / blocks.len(), rest % blocks.len());
            let Some(columns) = blocks.clone().nth(block) else { return };
            let Some(rows) = parts.clone().nth(part) else { return };
            for depth in self.depths() {
                let pixels = if self.share() {
                    let panels = columns.1.next_multiple_of(COLUMNS);
                    &packed_pixels[rest * self.block_len(self.depth) + depth.0 * panels..]
                } else {
                    self.pack_pixels(right, group, columns, depth, scratch);
                    &*scratch
                };
                let last = depth.0 + depth.1 == self.depth;
                let bias = bias.filter(|_| last).map(|bias| bias.from(group * self.rows));
                let left = |row| self.left(weights, group, row, depth);
                let visit = |row: usize, rows: usize| {
                    if let Some(epilogue) = epilogue.filter(|_| last) {
                        self.visit(epilogue, block, columns, (group * self.rows + row, rows), &result);
                    }
                };
                let right = Right { pixels, group, columns, depth };
                self.multiply(&left, right, rows, bias, &result, &visit);
            }
        });
    }

    /// A group's weights from a row on, over one block of the depth.
    fn left<'a>(&self, weights: Weights<'a>, group: usize, row: usize, (start, depth): Span) -> Left<'a> {
        let weights = match weights {
            Weights::Plain(weights) => weights,
            Weights::Prepared(packed) => {
                let at = self.packed_at(group, row, (start, depth));
                return Left::packed(&packed[at..], depth);
            }
        };
        let weights = &weights[group * self.rows * self.depth..][..self.rows * self.depth];
        if self.order == WeightOrder::RowMajor {
            Left::rows(&weights[row * self.depth + start..], self.depth)
        } else {
            Left::columns(&weights[start * self.rows + row..], self.rows)
        }
    }

    /// Shows an epilogue some finished channels of a block of pixels.
    fn visit(
        &self,
        epilogue: &dyn Epilogue,
        block: usize,
        (column, columns): Span,
        (channel, channels): Span,
        result: &Shared,
    ) {
        for channel in channel..channel + channels {
            let mut done = 0;
            while done < columns {
                let (image, pixel) = ((column + done) / self.pixels, (column + done) % self.pixels);
                let len = (self.pixels - pixel).min(columns - done);
                let at = (image * self.groups * self.rows + channel) * self.pixels + pixel;
                // SAFETY: a task has its own channels and pixels.
                let values = unsafe { result.read(at..at + len) };
                epilogue.visit(Piece { block, first: done == 0, channel }, values);
                done += len;
            }
        }
    }

    /// Multiplies some rows with a packed block of pixels, over one block of the depth; `visit` sees
    /// them then, some at a time.
    fn multiply<'a>(
        &self,
        left: &dyn Fn(usize) -> Left<'a>,
        right: Right,
        (row, rows): Span,
        bias: Option<Bias>,
        result: &Shared,
        visit: &dyn Fn(usize, usize),
    ) {
        let Right { pixels, group, columns: (column, columns), depth: (start, depth) } = right;
        let plane_stride = self.groups * self.rows * self.pixels;
        for (first, rows) in panel_blocks(rows, ROWS, ROW_BLOCK) {
            let row = row + first;
            let last_plane = (column + columns - 1) / self.pixels * plane_stride;
            let start_of_rows = (group * self.rows + row) * self.pixels;
            let block = Block {
                left: left(row),
                right: pixels,
                depth,
                rows,
                columns,
                first_column: column,
                plane: self.pixels,
                plane_stride,
                row_stride: self.pixels,
                target: result.address(start_of_rows, last_plane + rows * self.pixels),
                accumulate: start > 0,
                bias: bias.map(|bias| bias.from(row)),
            };
            // SAFETY: the address checks the last row of the last image; a task has its own group,
            // rows and pixels.
            unsafe { multiply_block(self.isa, &block) };
            visit(row, rows);
        }
    }

    /// Packs what tasks share: all weights and, where they share them, all pixels.
    fn pack_shared(
        &self,
        weights: Weights,
        right: Input,
        packed_weights: &mut [f32],
        packed_pixels: &mut [f32],
    ) {
        let (packed_weights, packed_pixels) = (Shared::new(packed_weights), Shared::new(packed_pixels));
        let (rows, blocks, depths) =
            (panel_blocks(self.rows, ROWS, PACKED_ROWS), self.blocks(), self.depths());
        let (weights, weight_tasks) = match weights {
            Weights::Plain(weights) if self.packs_weights() => (weights, self.groups * rows.len()),
            _ => (&[][..], 0),
        };
        let pieces = PIXELS / PACKED_PIXELS;
        let pixel_tasks = if self.share() { self.groups * blocks.len() * depths.len() * pieces } else { 0 };
        for_each(weight_tasks + pixel_tasks, |task| {
            if let Some(task) = task.checked_sub(weight_tasks) {
                let (task, first) = (task / pieces, task % pieces * PACKED_PIXELS);
                let (rest, depth) = (task / depths.len(), task % depths.len());
                let Some((column, columns)) = blocks.clone().nth(rest % blocks.len()) else { return };
                let Some(depth) = depths.clone().nth(depth) else { return };
                let Some(left @ 1..) = columns.checked_sub(first) else { return };
                let piece = (column + first, left.min(PACKED_PIXELS));
                let panels = |columns: usize| columns.next_multiple_of(COLUMNS);
                let at = rest * self.block_len(self.depth) + depth.0 * panels(columns) + depth.1 * first;
                // SAFETY: every (group, block, depth, piece) has its own place.
                let to = unsafe { packed_pixels.piece(at..at + panels(piece.1) * depth.1) };
                self.pack_pixels(right, rest / blocks.len(), piece, depth, to);
                return;
            }
            let (group, part) = (task / rows.len(), task % rows.len());
            let Some(rows) = rows.clone().nth(part) else { return };
            self.pack_weights(weights, group, rows, &packed_weights);
        });
    }

    /// Floats of all packed weights.
    pub(crate) fn prepared_len(&self) -> usize {
        self.groups * self.weights_len()
    }

    /// Packs all weights.
    pub(crate) fn pack_all(&self, weights: &[f32], to: &mut [f32]) {
        let (to, rows) = (Shared::new(to), panel_blocks(self.rows, ROWS, PACKED_ROWS));
        for_each(self.groups * rows.len(), |task| {
            let Some(span) = rows.clone().nth(task % rows.len()) else { return };
            self.pack_weights(weights, task / rows.len(), span, &to);
        });
    }

    /// Packs rows of a group's weights, `[group][block of the depth][panel][depth][6]`.
    fn pack_weights(&self, weights: &[f32], group: usize, (row, rows): Span, packed: &Shared) {
        let weights = &weights[group * self.rows * self.depth..][..self.rows * self.depth];
        for (start, depth) in self.depths() {
            let at = self.packed_at(group, row, (start, depth));
            // SAFETY: every (group, rows, depth) has its own place.
            let to = unsafe { packed.piece(at..at + packed_len(rows, ROWS, depth)) };
            if self.order == WeightOrder::RowMajor {
                for (panel, to) in (row..row + rows).step_by(ROWS).zip(to.chunks_exact_mut(ROWS * depth)) {
                    let from = &weights[panel * self.depth + start..];
                    let count = ROWS.min(row + rows - panel);
                    pack_along::<ROWS>(self.isa, from, self.depth, (count, depth), 0, to);
                }
            } else {
                // A few rows at a time, so that the lines they share with the next panel are still
                // in cache.
                for first in (0..depth).step_by(COLUMNS) {
                    for (panel, to) in (row..row + rows).step_by(ROWS).zip(to.chunks_exact_mut(ROWS * depth))
                    {
                        let len = ROWS.min(row + rows - panel);
                        for k in first..depth.min(first + COLUMNS) {
                            let from = &weights[(start + k) * self.rows + panel..][..len];
                            pack_across::<ROWS>(from, (depth, k), 0, to);
                        }
                    }
                }
            }
        }
    }

    /// Packs a block of pixels over a block of the depth, `[panel][depth][16]`.
    fn pack_pixels(
        &self,
        right: Input,
        group: usize,
        (column, columns): Span,
        (start, depth): Span,
        to: &mut [f32],
    ) {
        // A few panels at a time: entries of all panels lie a power of two apart, and would drive
        // each other out of the first-level cache.
        let mut done = 0;
        while done < columns {
            let (image, pixel) = ((column + done) / self.pixels, (column + done) % self.pixels);
            let until = columns.min((done / TOGETHER + 1) * TOGETHER);
            let len = (self.pixels - pixel).min(until - done);
            for k in 0..depth {
                let map = right.channel(group * self.depth + start + k);
                let channel = (image * self.groups + group) * self.depth + start + k;
                let from = &right.values[channel * self.pixels + pixel..][..len];
                if self.packs_weights() && k + AHEAD < depth {
                    prefetch(&right.values[(channel + AHEAD) * self.pixels + pixel..][..len]);
                }
                match map {
                    None => pack_across::<COLUMNS>(from, (depth, k), done, to),
                    Some(map) => pack_across_mapped(from, (depth, k), done, to, map),
                }
            }
            done += len;
        }
    }
}

/// Start and length.
type Span = (usize, usize);
