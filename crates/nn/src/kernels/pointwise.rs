//! 1x1 convolutions without padding: one matrix product per image, `output (out x pixels) = weights (out x in) * input`.

use super::matmul::{Matrix, matmul, transpose};
use super::planes::copy_every;
use super::shape::ConvShape;
use super::simd::Isa;
use super::workers::{ScratchLen, Shared, even_blocks, for_each_task};
use std::ops::Range;

/// Tasks that keep a few cores busy evenly; a smaller batch is split over channels.
const ENOUGH_TASKS: usize = 16;

/// Input channels of a block of the weight gradient: its transposed pixels stay in the second-level cache.
const COLUMNS: usize = 128;

/// Output channels of a block of the weight gradient: the first that makes enough blocks, as each transposes its inputs
/// again.
const ROWS: [usize; 4] = [256, 192, 128, 64];

/// Blocks of the weight gradient that keep a few cores busy. (Their size decides how `gemm` orders its sums, so it may not
/// depend on the number of threads.)
const ENOUGH_BLOCKS: usize = 6;

/// Pixels of a chunk of the weight gradient, about.
const PIXELS: usize = 512;

/// Input channels that a task transposes the weights of.
const TRANSPOSED_ROWS: usize = 64;

/// A 1x1 convolution, planned.
pub(crate) struct Pointwise {
    isa: Isa,
    shape: ConvShape,
}

impl Pointwise {
    /// Whether the shape is one.
    pub(crate) fn fits(shape: &ConvShape) -> bool {
        shape.kernel == 1 && shape.padding == 0
    }

    pub(crate) fn new(shape: &ConvShape, isa: Isa) -> Self {
        debug_assert!(Self::fits(shape));
        Self { isa, shape: *shape }
    }

    /// Floats of scratch of the forward pass: an image of the pixels that the stride keeps.
    pub(crate) fn forward_scratch(&self) -> ScratchLen {
        let kept = if self.shape.stride == 1 { 0 } else { self.shape.inputs * self.shape.out_pixels() };
        ScratchLen { shared: 0, per_worker: kept }
    }

    /// Floats of scratch of the data gradient: the transposed weights, and an image as in the forward pass.
    pub(crate) fn data_scratch(&self) -> ScratchLen {
        ScratchLen { shared: self.shape.weight_len(), ..self.forward_scratch() }
    }

    /// Floats of scratch of the weight gradient: the inputs of a chunk, kept and transposed, its output gradients, and a
    /// block of the result.
    pub(crate) fn weight_scratch(&self) -> ScratchLen {
        let chunk = self.chunk_pixels();
        let kept = if self.shape.stride == 1 { 0 } else { self.shape.out_pixels() * COLUMNS };
        let gathered = if self.chunk() == 1 { 0 } else { self.rows() };
        ScratchLen { shared: 0, per_worker: kept + chunk * (COLUMNS + gathered) + self.rows() * COLUMNS }
    }

    /// Channels per task, when a pass writes `channels` channels of every image and group.
    fn part(&self, channels: usize) -> usize {
        channels.div_ceil(ENOUGH_TASKS.div_ceil(self.shape.batch * self.shape.groups))
    }

    pub(crate) fn forward(&self, input: &[f32], weights: &[f32], output: &mut [f32], scratch: &mut [f32]) {
        let s = &self.shape;
        let (inputs, pixels) = (s.inputs, s.out_pixels());
        let parts = even_blocks(s.outputs, self.part(s.outputs));
        let output = Shared::new(output);
        let tasks = s.batch * s.groups * parts.len();
        for_each_task(tasks, self.forward_scratch().per_worker, scratch, |task, kept| {
            let (image_group, part) = (task / parts.len(), task % parts.len());
            let Some((row, rows)) = parts.clone().nth(part) else { return };
            let image = &input[image_group * inputs * s.in_pixels()..][..inputs * s.in_pixels()];
            let weights = &weights[(image_group % s.groups * s.outputs + row) * inputs..];
            // SAFETY: a task has its own image, group and channels.
            let output = unsafe { output.piece((image_group * s.outputs + row) * pixels, rows * pixels) };
            let image = self.keep(image, kept);
            matmul(output, Matrix::new(weights, rows, inputs), Matrix::new(image, inputs, pixels), false);
        });
    }

    pub(crate) fn data_gradient(
        &self,
        out_grad: &[f32],
        weights: &[f32],
        in_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        let s = &self.shape;
        let (outputs, pixels) = (s.outputs, s.out_pixels());
        let (transposed, scratch) = scratch.split_at_mut(s.weight_len());
        self.transpose_weights(weights, transposed, scratch);
        let weights = &*transposed;
        let parts = even_blocks(s.inputs, self.part(s.inputs));
        let in_grad = Shared::new(in_grad);
        let tasks = s.batch * s.groups * parts.len();
        for_each_task(tasks, self.data_scratch().per_worker, scratch, |task, kept| {
            let (image_group, part) = (task / parts.len(), task % parts.len());
            let Some((row, rows)) = parts.clone().nth(part) else { return };
            let out_grad = Matrix::new(&out_grad[image_group * outputs * pixels..], outputs, pixels);
            let weights = &weights[(image_group % s.groups * s.inputs + row) * outputs..];
            let weights = Matrix::new(weights, rows, outputs);
            let start = (image_group * s.inputs + row) * s.in_pixels();
            // SAFETY: a task has its own image, group and channels.
            let in_grad = unsafe { in_grad.piece(start, rows * s.in_pixels()) };
            if s.stride == 1 {
                matmul(in_grad, weights, out_grad, false);
            } else {
                matmul(kept, weights, out_grad, false);
                self.spread(&kept[..rows * pixels], in_grad);
            }
        });
    }

    /// Transposed once, the weights are read row by row for every image.
    fn transpose_weights(&self, weights: &[f32], transposed: &mut [f32], scratch: &mut [f32]) {
        let s = &self.shape;
        let parts = even_blocks(s.inputs, TRANSPOSED_ROWS);
        let transposed = Shared::new(transposed);
        for_each_task(s.groups * parts.len(), 1, scratch, |task, _| {
            let (group, part) = (task / parts.len(), task % parts.len());
            let Some((row, rows)) = parts.clone().nth(part) else { return };
            let weights = &weights[group * s.outputs * s.inputs + row..];
            // SAFETY: a task has its own input channels.
            let to = unsafe { transposed.piece((group * s.inputs + row) * s.outputs, rows * s.outputs) };
            transpose(self.isa, weights, s.inputs, (s.outputs, rows), to);
        });
    }

    /// Images of which the weight gradient makes one product: enough pixels to pay for adding to the result.
    fn chunk(&self) -> usize {
        PIXELS.div_ceil(self.shape.out_pixels()).min(self.shape.batch)
    }

    /// Pixels of which the weight gradient makes one product.
    fn chunk_pixels(&self) -> usize {
        if self.chunk() == 1 {
            self.shape.out_pixels().min(PIXELS)
        } else {
            self.chunk() * self.shape.out_pixels()
        }
    }

    /// Output channels of a task of the weight gradient.
    fn rows(&self) -> usize {
        let columns = self.shape.groups * self.shape.inputs.div_ceil(COLUMNS);
        let enough = |rows: &usize| columns * self.shape.outputs.div_ceil(*rows) >= ENOUGH_BLOCKS;
        let rows = ROWS.into_iter().find(enough).unwrap_or(ROWS[ROWS.len() - 1]);
        rows.min(self.shape.outputs)
    }

    /// `weight_grad (out x in) = sum over chunks of out_grad (out x pixels) * transposed input (pixels x in)`.
    ///
    /// A task owns a block of the result and takes the chunks in order, so the sum is the same for any number of threads.
    pub(crate) fn weight_gradient(
        &self,
        input: &[f32],
        out_grad: &[f32],
        weight_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        let s = &self.shape;
        let row_blocks = even_blocks(s.outputs, self.rows());
        let column_blocks = s.inputs.div_ceil(COLUMNS);
        let weight_grad = Shared::new(weight_grad);
        let tasks = s.groups * row_blocks.len() * column_blocks;
        for_each_task(tasks, self.weight_scratch().per_worker, scratch, |task, scratch| {
            let (rest, column) = (task / column_blocks, task % column_blocks * COLUMNS);
            let (group, part) = (rest / row_blocks.len(), rest % row_blocks.len());
            let Some((row, rows)) = row_blocks.clone().nth(part) else { return };
            let columns = COLUMNS.min(s.inputs - column);
            let (block, scratch) = scratch.split_at_mut(self.rows() * COLUMNS);
            for first in (0..s.batch).step_by(self.chunk()) {
                let images = first..s.batch.min(first + self.chunk());
                self.add_chunk(
                    input,
                    out_grad,
                    group,
                    images,
                    (row, rows),
                    (column, columns),
                    block,
                    scratch,
                );
            }
            for (i, block) in block.chunks_exact(columns).take(rows).enumerate() {
                let start = (group * s.outputs + row + i) * s.inputs + column;
                // SAFETY: a task has its own rows and columns.
                unsafe { weight_grad.piece(start, columns) }.copy_from_slice(block);
            }
        });
    }

    /// Adds the images of a chunk to a block of the weight gradient (the first chunk overwrites).
    #[allow(clippy::too_many_arguments)]
    fn add_chunk(
        &self,
        input: &[f32],
        out_grad: &[f32],
        group: usize,
        images: Range<usize>,
        (row, rows): (usize, usize),
        (column, columns): (usize, usize),
        block: &mut [f32],
        scratch: &mut [f32],
    ) {
        let s = &self.shape;
        let pixels = s.out_pixels();
        let (transposed, scratch) = scratch.split_at_mut(self.chunk_pixels() * COLUMNS);
        let (kept, gathered) = scratch.split_at_mut(if s.stride == 1 { 0 } else { pixels * COLUMNS });
        let channels = |image: usize| {
            let start = ((image * s.groups + group) * s.inputs + column) * s.in_pixels();
            &input[start..][..columns * s.in_pixels()]
        };
        let channel = |image: usize, o: usize| ((image * s.groups + group) * s.outputs + row + o) * pixels;
        if images.len() == 1 {
            let channels = self.keep(channels(images.start), kept);
            for (first, depth) in even_blocks(pixels, PIXELS) {
                transpose(self.isa, &channels[first..], pixels, (columns, depth), transposed);
                let out_grad = &out_grad[channel(images.start, 0) + first..];
                let left = Matrix::with_stride(out_grad, rows, depth, pixels);
                matmul(block, left, Matrix::new(transposed, depth, columns), images.start > 0 || first > 0);
            }
            return;
        }
        let depth = images.len() * pixels;
        for (image, transposed) in images.clone().zip(transposed.chunks_exact_mut(pixels * columns)) {
            transpose(self.isa, self.keep(channels(image), kept), pixels, (columns, pixels), transposed);
        }
        for (o, gathered) in gathered.chunks_exact_mut(depth).take(rows).enumerate() {
            for (image, gathered) in images.clone().zip(gathered.chunks_exact_mut(pixels)) {
                gathered.copy_from_slice(&out_grad[channel(image, o)..][..pixels]);
            }
        }
        let (left, right) = (Matrix::new(gathered, rows, depth), Matrix::new(transposed, depth, columns));
        matmul(block, left, right, images.start > 0);
    }

    /// The pixels that the stride keeps: the image itself, or a copy.
    fn keep<'a>(&self, image: &'a [f32], kept: &'a mut [f32]) -> &'a [f32] {
        let s = &self.shape;
        if s.stride == 1 {
            return image;
        }
        for (plane, kept) in image.chunks_exact(s.in_pixels()).zip(kept.chunks_exact_mut(s.out_pixels())) {
            let rows = plane.chunks_exact(s.width).step_by(s.stride);
            for (row, kept) in rows.zip(kept.chunks_exact_mut(s.out_width())) {
                copy_every(s.stride, row, kept);
            }
        }
        kept
    }

    /// Puts the kept pixels back in their places, among zeros.
    fn spread(&self, kept: &[f32], image: &mut [f32]) {
        let s = &self.shape;
        image.fill(0.0);
        for (plane, kept) in image.chunks_exact_mut(s.in_pixels()).zip(kept.chunks_exact(s.out_pixels())) {
            let rows = plane.chunks_exact_mut(s.width).step_by(s.stride);
            for (row, kept) in rows.zip(kept.chunks_exact(s.out_width())) {
                row.iter_mut().step_by(s.stride).zip(kept).for_each(|(to, from)| *to = *from);
            }
        }
    }
}
