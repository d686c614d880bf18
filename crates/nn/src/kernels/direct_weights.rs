//! Direct convolution: weight gradient.
//!
//! `dw[o][c, tap] = sum over images and pixels of gradient[o][p] * input[c][p + tap]`. Vectors run over pixels, so that no
//! group width wastes lanes, and the lanes are summed once per chunk of about a thousand pixels: a chunk is several
//! small images or a piece of a large one. A task owns some output channels of a group and takes the chunks in order,
//! so the sum does not depend on the number of threads.

use super::direct::{input_planes, kernel_taps};
use super::planes::{Pixels, Planes};
use super::shape::ConvShape;
use super::simd::{Isa, LANES};
use super::tile::{Correlate, MAX_GRADIENT_ROWS, correlate};
use super::workers::{ScratchLen, Shared, even_blocks, for_each_task};

/// Vectors of a chunk: four gradient channels of 128 vectors are 16 KB, half the first-level cache.
const VECTORS_PER_CHUNK: usize = 128;

/// Floats of padded input prepared at once, a fraction of the second-level cache.
const INPUT_BLOCK: usize = 1 << 16;

/// Output channels of a task where groups are few.
const CHANNELS_PER_TASK: usize = 32;

/// Fewer groups than this are split over output channels.
const ENOUGH_GROUPS: usize = 16;

/// The weight gradient, planned.
pub(crate) struct WeightGradient {
    isa: Isa,
    shape: ConvShape,
    planes: Planes,
    pixels: Pixels,
    /// Images per chunk.
    images: usize,
    /// Input channels per block.
    channels: usize,
    /// Taps of a block of channels.
    taps: Vec<u32>,
    /// Vectors of a chunk's images.
    vectors: Vec<u32>,
    /// Output channels of a task.
    part: usize,
}

impl WeightGradient {
    pub(crate) fn new(shape: &ConvShape, isa: Isa) -> Self {
        assert!(isa.is_available(), "this CPU cannot run {isa:?}");
        let planes = input_planes(shape);
        let pixels = Pixels::new(shape.out_height(), shape.out_width(), planes.row_stride);
        let images = (VECTORS_PER_CHUNK / pixels.vectors.len()).clamp(1, shape.batch);
        let images = shape.batch.div_ceil(shape.batch.div_ceil(images));
        let image_len = planes.len();
        let channel_len = images * image_len;
        let channels = (INPUT_BLOCK / channel_len).clamp(1, shape.inputs);
        let channels = shape.inputs.div_ceil(shape.inputs.div_ceil(channels));
        let taps = kernel_taps(shape, &planes);
        let taps = (0..channels).flat_map(|c| taps.iter().map(move |(_, at)| (c * channel_len + at) as u32));
        let vectors =
            (0..images).flat_map(|n| pixels.vectors.iter().map(move |at| (n * image_len) as u32 + at));
        let part = if shape.groups < ENOUGH_GROUPS { CHANNELS_PER_TASK } else { shape.outputs };
        Self {
            isa,
            shape: *shape,
            images,
            channels,
            taps: taps.collect(),
            vectors: vectors.collect(),
            part: part.min(shape.outputs),
            planes,
            pixels,
        }
    }

    /// Floats of scratch: for each worker a chunk of packed gradients and a block of padded inputs.
    pub(crate) fn scratch_len(&self) -> ScratchLen {
        let inputs = self.channels * self.images * self.planes.len() + LANES;
        ScratchLen { shared: 0, per_worker: self.gradient_len() + inputs }
    }

    fn gradient_len(&self) -> usize {
        self.part * self.vectors.len() * LANES
    }

    /// Computes the gradient of the weights from the input and the gradient of the output.
    pub(crate) fn run(&self, input: &[f32], gradient: &[f32], weights: &mut [f32], scratch: &mut [f32]) {
        let (outputs, fan_in) = (self.shape.outputs, self.shape.fan_in());
        let parts = even_blocks(outputs, self.part);
        let weights = Shared::new(weights);
        let tasks = self.shape.groups * parts.len();
        for_each_task(tasks, self.scratch_len().per_worker, scratch, |task, scratch| {
            let (group, part) = (task / parts.len(), task % parts.len());
            let Some((row, rows)) = parts.clone().nth(part) else { return };
            // SAFETY: a task has its own output channels.
            let weights = unsafe { weights.piece((group * outputs + row) * fan_in, rows * fan_in) };
            for (first, images) in even_blocks(self.shape.batch, self.images) {
                self.add_chunk(input, gradient, group, (row, rows), first..first + images, weights, scratch);
            }
        });
    }

    /// Adds the images of a chunk to output channels `rows` of a group (the first chunk overwrites).
    #[allow(clippy::too_many_arguments)]
    fn add_chunk(
        &self,
        input: &[f32],
        gradient: &[f32],
        group: usize,
        (row, rows): (usize, usize),
        images: std::ops::Range<usize>,
        weights: &mut [f32],
        scratch: &mut [f32],
    ) {
        let (packed, padded) = scratch.split_at_mut(self.gradient_len());
        let vectors = images.len() * self.pixels.vectors.len();
        self.pack_gradient(gradient, group, (row, rows), images.clone(), packed);
        for (start, channels) in even_blocks(self.shape.inputs, self.channels) {
            self.pad_inputs(input, group, start..start + channels, images.clone(), padded);
            let taps = &self.taps[..channels * self.shape.kernel * self.shape.kernel];
            for (tile, tile_rows) in even_blocks(rows, MAX_GRADIENT_ROWS) {
                let gradient = &packed[tile * vectors * LANES..][..tile_rows * vectors * LANES];
                let at = tile * self.shape.fan_in() + start * self.shape.kernel * self.shape.kernel;
                let weights = &mut weights[at..];
                assert!(weights.len() >= (tile_rows - 1) * self.shape.fan_in() + taps.len());
                for first in (0..vectors).step_by(VECTORS_PER_CHUNK) {
                    let last = (first + VECTORS_PER_CHUNK).min(vectors);
                    let call = Correlate {
                        input: padded.as_ptr(),
                        taps,
                        vectors: &self.vectors[first..last],
                        gradient: &gradient[first * tile_rows * LANES..last * tile_rows * LANES],
                        output: weights.as_mut_ptr(),
                        channel_stride: self.shape.fan_in(),
                        accumulate: images.start > 0 || first > 0,
                    };
                    // SAFETY: the weights' size was just checked; the tables stay inside the padded inputs, but for up to
                    // seven floats after the last vector, which `pad_inputs` leaves room for.
                    unsafe { correlate(self.isa, tile_rows, &call) };
                }
            }
        }
    }

    /// Packs the gradients of a chunk as `[tile][image, vector][row of the tile][8]`.
    fn pack_gradient(
        &self,
        gradient: &[f32],
        group: usize,
        (row, rows): (usize, usize),
        images: std::ops::Range<usize>,
        packed: &mut [f32],
    ) {
        let plane = self.shape.out_pixels();
        let per_image = self.pixels.packed_len();
        for (tile, tile_rows) in even_blocks(rows, MAX_GRADIENT_ROWS) {
            let packed =
                &mut packed[tile * images.len() * per_image..][..tile_rows * images.len() * per_image];
            for (image, packed) in images.clone().zip(packed.chunks_exact_mut(tile_rows * per_image)) {
                for o in 0..tile_rows {
                    let channel = (image * self.shape.groups + group) * self.shape.outputs + row + tile + o;
                    self.pixels.interleave(&gradient[channel * plane..][..plane], o, tile_rows, packed);
                }
            }
        }
    }

    /// Pads the inputs of a chunk as `[channel][image][planes]`.
    ///
    /// The last vector of the last image reads up to seven floats more. Their gradient is zero, but zero times whatever the
    /// scratch held need not be: they are cleared.
    fn pad_inputs(
        &self,
        input: &[f32],
        group: usize,
        channels: std::ops::Range<usize>,
        images: std::ops::Range<usize>,
        padded: &mut [f32],
    ) {
        let (plane, len) = (self.shape.in_pixels(), self.planes.len());
        for (index, c) in channels.enumerate() {
            let padded = &mut padded[index * self.images * len..];
            for (image, padded) in images.clone().zip(padded.chunks_exact_mut(len)) {
                let channel = (image * self.shape.groups + group) * self.shape.inputs + c;
                self.planes.fill(&input[channel * plane..][..plane], padded);
            }
            padded[images.len() * len..][..LANES].fill(0.0);
        }
    }
}
