//! Direct convolution: weight gradient.
//!
//! `dw[o][c, tap] = sum over images and pixels of gradient[o][p] * input[c][p + tap]`. Vectors run
//! over pixels, so that no group width wastes lanes, and the lanes are summed once per chunk of
//! about a thousand pixels: a chunk is several small images or a piece of a large one. A task owns
//! a block of output and input channels of a group and takes the chunks in order, so the sum
//! depends neither on the number of threads nor on the size of the blocks.

use crate::kernels::input::Input;
use crate::kernels::padded::{Padded, Pixels, kernel_taps, padded_input};
use crate::kernels::shape::ConvShape;
use crate::kernels::simd::{Isa, LANES};
use crate::kernels::tile::{Correlate, MAX_GRADIENT_ROWS, correlate};
use crate::workers::{ScratchLen, Shared, even_blocks, for_each_task};
use std::ops::Range;

/// Vectors of a chunk: four gradient channels of 128 vectors are 16 KB, half the first-level cache.
const VECTORS_PER_CHUNK: usize = 128;

/// Floats of padded input at once, a fraction of the second-level cache.
const INPUT_BLOCK: usize = 1 << 15;

/// Output and input channels of a task at most. Every task pads its inputs and packs its gradients
/// again, which costs a fraction of a cycle a value: little beside 64 x 9 multiplications.
const CHANNELS_PER_TASK: usize = 64;

/// Tasks per thread that even out their load.
const TASKS_PER_THREAD: usize = 3;

/// The weight gradient, planned.
pub(crate) struct WeightGradient {
    isa: Isa,
    shape: ConvShape,
    padded: Padded,
    pixels: Pixels,
    /// Images per chunk.
    images: usize,
    /// Input channels per block.
    channels: usize,
    /// Taps of a block of channels.
    taps: Vec<u32>,
    /// Vectors of a chunk's images.
    vectors: Vec<u32>,
}

/// Block of a task: output channels `row..row + rows` x input channels `column..column +
/// columns` of a group.
#[derive(Clone, Copy)]
struct Block {
    group: usize,
    row: usize,
    rows: usize,
    column: usize,
    columns: usize,
}

impl WeightGradient {
    pub(crate) fn new(shape: &ConvShape, isa: Isa) -> Self {
        assert!(isa.is_available(), "this CPU cannot run {isa:?}");
        let padded = padded_input(shape);
        let pixels = Pixels::new(shape.out_height(), shape.out_width(), padded.row_stride);
        let images = (VECTORS_PER_CHUNK / pixels.vectors.len()).clamp(1, shape.batch);
        let images = shape.batch.div_ceil(shape.batch.div_ceil(images));
        let image_len = padded.len();
        let channel_len = images * image_len;
        let channels = (INPUT_BLOCK / channel_len).clamp(1, shape.inputs);
        let positions = kernel_taps(shape, &padded);
        let tap = |c: usize| positions.iter().map(move |(_, at)| (c * channel_len + at) as u32);
        let vector = |n: usize| pixels.vectors.iter().map(move |at| (n * image_len) as u32 + at);
        Self {
            isa,
            shape: *shape,
            images,
            channels,
            taps: (0..channels).flat_map(tap).collect(),
            vectors: (0..images).flat_map(vector).collect(),
            padded,
            pixels,
        }
    }

    /// Floats of scratch: for each worker a chunk of packed gradients and a block of padded inputs.
    pub(crate) fn scratch_len(&self) -> ScratchLen {
        let inputs = self.channels * self.images * self.padded.len() + LANES;
        ScratchLen { shared: 0, per_worker: self.gradient_len() + inputs }
    }

    fn gradient_len(&self) -> usize {
        self.shape.outputs.min(CHANNELS_PER_TASK) * self.vectors.len() * LANES
    }

    /// The largest blocks that give every thread some.
    fn block_size(&self, threads: usize) -> usize {
        let s = &self.shape;
        let enough = |size: &usize| {
            s.groups * s.outputs.div_ceil(*size) * s.inputs.div_ceil(*size) >= TASKS_PER_THREAD * threads
        };
        [CHANNELS_PER_TASK, CHANNELS_PER_TASK * 3 / 4]
            .into_iter()
            .find(enough)
            .unwrap_or(CHANNELS_PER_TASK / 2)
    }

    /// Computes the gradient of the weights from the input and the gradient of the output.
    pub(crate) fn run(&self, input: Input, gradient: &[f32], weights: &mut [f32], scratch: &mut [f32]) {
        let size = self.block_size(rayon::current_num_threads());
        let (rows, columns) = (even_blocks(self.shape.outputs, size), even_blocks(self.shape.inputs, size));
        let weights = Shared::new(weights);
        let tasks = self.shape.groups * rows.len() * columns.len();
        for_each_task(tasks, self.scratch_len().per_worker, scratch, |task, scratch| {
            let (rest, column) = (task / columns.len(), task % columns.len());
            let (group, row) = (rest / rows.len(), rest % rows.len());
            let Some((row, rows)) = rows.clone().nth(row) else { return };
            let Some((column, columns)) = columns.clone().nth(column) else { return };
            let block = Block { group, row, rows, column, columns };
            for (first, images) in even_blocks(self.shape.batch, self.images) {
                self.add_chunk(input, gradient, block, first..first + images, &weights, scratch);
            }
        });
    }

    /// Adds the images of a chunk to a block of the weight gradient (the first chunk overwrites).
    fn add_chunk(
        &self,
        input: Input,
        gradient: &[f32],
        block: Block,
        images: Range<usize>,
        weights: &Shared,
        scratch: &mut [f32],
    ) {
        let (packed, padded) = scratch.split_at_mut(self.gradient_len());
        let positions = self.shape.kernel * self.shape.kernel;
        let vectors = images.len() * self.pixels.vectors.len();
        self.pack_gradient(gradient, block, images.clone(), packed);
        for (start, channels) in even_blocks(block.columns, self.channels) {
            let start = block.column + start;
            self.pad_inputs(input, block.group, start..start + channels, images.clone(), padded);
            for (tile, rows) in even_blocks(block.rows, MAX_GRADIENT_ROWS) {
                let gradient = &packed[tile * vectors * LANES..][..rows * vectors * LANES];
                let row = block.group * self.shape.outputs + block.row + tile;
                for first in (0..vectors).step_by(VECTORS_PER_CHUNK) {
                    let last = (first + VECTORS_PER_CHUNK).min(vectors);
                    let taps = &self.taps[..channels * positions];
                    let fan_in = self.shape.fan_in();
                    let call = Correlate {
                        input: padded.as_ptr(),
                        taps,
                        vectors: &self.vectors[first..last],
                        gradient: &gradient[first * rows * LANES..last * rows * LANES],
                        output: weights
                            .address(row * fan_in + start * positions, (rows - 1) * fan_in + taps.len()),
                        channel_stride: fan_in,
                        accumulate: images.start > 0 || first > 0,
                    };
                    // SAFETY: a task has its own rows and columns of the weights, whose address was
                    // just checked; the tables stay inside the padded inputs, but for up to seven
                    // floats after the last vector, which `pad_inputs` leaves room for.
                    unsafe { correlate(self.isa, rows, &call) };
                }
            }
        }
    }

    /// Packs the gradients of a chunk as `[tile][image, vector][row of the tile][8]`.
    fn pack_gradient(&self, gradient: &[f32], block: Block, images: Range<usize>, packed: &mut [f32]) {
        let pixels = self.shape.out_pixels();
        let per_image = self.pixels.packed_len();
        for (tile, rows) in even_blocks(block.rows, MAX_GRADIENT_ROWS) {
            let packed = &mut packed[tile * images.len() * per_image..][..rows * images.len() * per_image];
            for (image, packed) in images.clone().zip(packed.chunks_exact_mut(rows * per_image)) {
                let first = (image * self.shape.groups + block.group) * self.shape.outputs + block.row + tile;
                let channels = gradient[first * pixels..][..rows * pixels].chunks_exact(pixels);
                for (o, channel) in channels.enumerate() {
                    self.pixels.interleave(channel, o, rows, packed);
                }
            }
        }
    }

    /// Pads the inputs of a chunk as `[channel][image][phases]`.
    ///
    /// The last vector of the last image reads up to seven floats more. Their gradient is zero, but
    /// zero times whatever the scratch held need not be: they are cleared.
    fn pad_inputs(
        &self,
        input: Input,
        group: usize,
        channels: Range<usize>,
        images: Range<usize>,
        padded: &mut [f32],
    ) {
        let (pixels, len) = (self.shape.in_pixels(), self.padded.len());
        for (index, c) in channels.enumerate() {
            let padded = &mut padded[index * self.images * len..];
            let map = input.channel(group * self.shape.inputs + c);
            for (image, padded) in images.clone().zip(padded.chunks_exact_mut(len)) {
                let channel = (image * self.shape.groups + group) * self.shape.inputs + c;
                self.padded.fill(&input.values[channel * pixels..][..pixels], map, padded);
            }
            padded[images.len() * len..][..LANES].fill(0.0);
        }
    }
}
