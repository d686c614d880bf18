//! A layer's contribution to the kernel: the inner products of its parameters' gradients between
//! all pairs of images.
//!
//! With x(n, p) the input patch of image n at position p and d(n, p) the cotangent of the output
//! there, the gradient of a weight matrix is the sum over p of d(n, p) x(n, p)^T. Two ways lead to
//! the inner products, and the cheaper is taken:
//!
//! - Grams: the sum over p, q of <x(n, p), x(m, q)> <d(n, p), d(m, q)>. Nothing of the size of the
//!   weights appears; inner products of patches are sums over kernel positions of inner products of
//!   pixels.
//! - gradients: the gradients themselves, a block of the layer's weights at a time.
//!
//! Single products are f32; everything that is summed over positions, blocks and layers is f64, in
//! a fixed order.

use std::ops::Range;

use rayon::prelude::*;

use collegial_nn::kernels::{Conv, ConvShape, Matrix, ShapeError, multiply};
use collegial_nn::{Extent, Layout};

use super::gram::Gram;
use super::patches::patch_gram;
use super::tasks::{blocks_of, even_blocks, with_buffers};
use crate::sampler::columns::dot;

/// Floats of the gradients of one block over all images.
const BLOCK_FLOATS: usize = 1 << 20;

/// Tasks over which images are shared out.
const TASKS: usize = 16;

/// Images of a tile where an image is one row of a Gram matrix: a multiple of what vector registers
/// hold, and small enough to share a hundred images out over a few threads.
pub(crate) const TILE: usize = 32;

/// How a layer's part of the kernel is computed.
pub(crate) enum Method {
    /// One-pixel images: Grams between images.
    Tiles,
    /// Grams between positions, a pair of images at a time.
    Pairs,
    /// Gradients of blocks of weights.
    Gradients(Vec<Block>),
}

/// A block of a layer's weights: whole groups, or some outputs of one group.
pub(crate) struct Block {
    groups: Range<usize>,
    outputs: Range<usize>,
    /// The layer restricted to one image and the block, where it is more than a matrix product: one
    /// product of channels by pixels is faster than the engine's kernels for narrow 1x1
    /// convolutions of a single image.
    conv: Option<Conv>,
}

impl Method {
    /// The method with fewer multiplications.
    pub(crate) fn cheapest(shape: &ConvShape) -> Result<Self, ShapeError> {
        let ConvShape { batch, inputs, outputs, height, width, kernel, .. } = *shape;
        if is_product(shape) && height * width == 1 {
            return Ok(Self::Tiles);
        }
        let [batch, inputs, outputs] = [batch, inputs, outputs].map(|count| count as f64);
        let (before, after) = ((height * width) as f64, out_pixels(shape) as f64);
        let taps = (kernel * kernel) as f64;
        // Sums over patches go through memory: about four times the cost of a multiplication.
        let patches = if is_product(shape) { 0.0 } else { 4.0 * taps * after * after };
        let pairs = batch * (batch + 1.0) / 2.0;
        let grams = pairs * (before * before * inputs + after * after * (outputs + 2.0) + patches);
        let gradients = inputs * taps * outputs * (batch * after + pairs);
        if grams <= gradients { Ok(Self::Pairs) } else { Block::all(shape).map(Self::Gradients) }
    }
}

impl Block {
    /// All blocks of a layer.
    pub(crate) fn all(shape: &ConvShape) -> Result<Vec<Self>, ShapeError> {
        let fan_in = shape.inputs * shape.kernel * shape.kernel;
        let weights = (BLOCK_FLOATS / shape.batch).max(1);
        let blocks: Vec<(Range<usize>, Range<usize>)> = if shape.outputs * fan_in <= weights {
            let groups = even_blocks(shape.groups, weights / (shape.outputs * fan_in));
            groups.into_iter().map(|groups| (groups, 0..shape.outputs)).collect()
        } else {
            let outputs = even_blocks(shape.outputs, (weights / fan_in).max(1));
            let of_group =
                |group: usize| outputs.iter().map(move |outputs| (group..group + 1, outputs.clone()));
            (0..shape.groups).flat_map(of_group).collect()
        };
        let block = |(groups, outputs): (Range<usize>, Range<usize>)| {
            let part = ConvShape { batch: 1, groups: groups.len(), outputs: outputs.len(), ..*shape };
            let conv = if is_product(shape) { None } else { Some(Conv::new(part)?) };
            Ok(Self { groups, outputs, conv })
        };
        blocks.into_iter().map(block).collect()
    }

    /// How many weights it has.
    pub(crate) fn len(&self, shape: &ConvShape) -> usize {
        self.groups.len() * self.outputs.len() * shape.inputs * shape.kernel * shape.kernel
    }

    /// The gradient of the block's weights at one image.
    pub(crate) fn gradient(
        &self,
        shape: &ConvShape,
        x: &[f32],
        d: &[f32],
        gradient: &mut [f32],
        scratch: &mut Vec<f32>,
    ) {
        let (before, after) = (shape.height * shape.width, out_pixels(shape));
        let x = &x[self.groups.start * shape.inputs * before..][..self.groups.len() * shape.inputs * before];
        let first = self.groups.start * shape.outputs + self.outputs.start;
        let d = &d[first * after..][..self.groups.len() * self.outputs.len() * after];
        if let Some(conv) = &self.conv {
            scratch.resize(scratch.len().max(conv.scratch_len(1)), 0.0);
            return conv.weight_gradient(x, d, gradient, &mut scratch[..conv.scratch_len(1)]);
        }
        let (inputs, outputs) = (shape.inputs, self.outputs.len());
        let groups = x.chunks_exact(inputs * after).zip(d.chunks_exact(outputs * after));
        for ((x, d), gradient) in groups.zip(gradient.chunks_exact_mut(outputs * inputs)) {
            let d = Matrix::by_rows(d, outputs, after, after);
            multiply(d, Matrix::by_columns(x, after, inputs, after), gradient, scratch);
        }
    }
}

/// Adds a layer's part to the kernel, times `scale`.
pub(crate) fn add(
    kernel: &mut Gram,
    method: &Method,
    (shape, layout): (&ConvShape, Layout),
    (x, d): (&[f32], &[f32]),
    scale: f64,
) {
    match (method, layout) {
        (Method::Tiles, Layout::Channels) => add_tiles(kernel, shape, x, d, scale),
        (Method::Tiles, Layout::Images) => {
            let by_channels = |values: &[f32]| transposed(values, shape.batch);
            add_tiles(kernel, shape, &by_channels(x), &by_channels(d), scale);
        }
        (Method::Pairs, _) => add_pairs(kernel, shape, x, d, scale),
        (Method::Gradients(blocks), _) => {
            blocks.iter().for_each(|block| add_block(kernel, block, shape, x, d, scale));
        }
    }
}

/// Whether the layer is one matrix product per image and group.
pub(crate) fn is_product(shape: &ConvShape) -> bool {
    shape.kernel == 1 && shape.stride == 1 && shape.padding == 0
}

/// Output positions of an image.
pub(crate) fn out_pixels(shape: &ConvShape) -> usize {
    shape.out_height() * shape.out_width()
}

/// A matrix of so many rows by columns.
fn transposed(values: &[f32], rows: usize) -> Vec<f32> {
    let columns = values.len() / rows;
    (0..values.len()).map(|at| values[at % rows * columns + at / rows]).collect()
}

/// Positions up to which a remembered Gram pays.
const REMEMBERED: usize = 1 << 10;

/// The Gram of one image's patches, if it is small and the layer has no groups: the same for every
/// draw of the weights.
pub(crate) fn input_gram(shape: &ConvShape, x: &[f32]) -> Option<Vec<f32>> {
    let (before, after) = (shape.height * shape.width, out_pixels(shape));
    if shape.batch != 1 || shape.groups != 1 || before.max(after) > REMEMBERED {
        return None;
    }
    let (mut pixels, mut scratch) = (vec![0.0; before * before], vec![]);
    gram_of_positions((x, x), (shape.inputs, before), &mut pixels, &mut scratch);
    if is_product(shape) {
        return Some(pixels);
    }
    let mut patches = vec![0.0; after * after];
    patch_gram(shape, &pixels, &mut patches, &mut scratch);
    Some(patches)
}

/// Adds the part of a layer that reads one image, whose patches' Gram is known.
pub(crate) fn add_at_input(kernel: &mut Gram, shape: &ConvShape, patches: &[f32], d: &[f32], scale: f64) {
    let after = out_pixels(shape);
    kernel.add_first(with_buffers(after * after, |cotangents, packed| {
        gram_of_positions((d, d), (shape.outputs, after), cotangents, packed);
        scale * dot(patches, cotangents)
    }));
}

/// Inner products over channels between the positions of two images.
pub(crate) fn gram_of_positions(
    (first, second): (&[f32], &[f32]),
    (channels, pixels): (usize, usize),
    gram: &mut [f32],
    scratch: &mut Vec<f32>,
) {
    let left = Matrix::by_columns(first, pixels, channels, pixels);
    multiply(left, Matrix::by_rows(second, channels, pixels, pixels), gram, scratch);
}

/// Adds the inner products of one number per image and channel, `reduce(channel, first, len)` of
/// the values that lie at `first..first + len`: a bias or a norm's parameter.
pub(crate) fn add_channels(kernel: &mut Gram, extent: Extent, reduce: impl Fn(usize, Range<usize>) -> f32) {
    kernel.add_rows(&per_channel(extent, reduce).collect::<Vec<f32>>(), 1.0);
}

/// One number per image and channel, image by image; see [`add_channels`].
pub(crate) fn per_channel(
    extent: Extent,
    reduce: impl Fn(usize, Range<usize>) -> f32,
) -> impl Iterator<Item = f32> {
    let Extent { images, channels, pixels, layout } = extent;
    let place = move |at: usize| match layout {
        Layout::Images => at * pixels,
        Layout::Channels => at % channels * images + at / channels,
    };
    (0..images * channels).map(move |at| reduce(at % channels, place(at)..place(at) + pixels))
}

/// Dense layers, whose values lie as `[channel][image]`: the Grams of inputs and of cotangents, a
/// tile of images x a tile of images at a time.
fn add_tiles(kernel: &mut Gram, shape: &ConvShape, x: &[f32], d: &[f32], scale: f64) {
    let ConvShape { batch, groups, inputs, outputs, .. } = *shape;
    if batch == 1 {
        let groups = x.chunks_exact(inputs).zip(d.chunks_exact(outputs));
        return kernel.add_first(scale * groups.map(|(x, d)| dot(x, x) * dot(d, d)).sum::<f64>());
    }
    let work = batch * batch * groups * (inputs + outputs) / 2;
    kernel.add_columns(&blocks_of(batch, TILE), work, |rows, columns| {
        let mut sums = vec![0.0; rows.len() * columns.len()];
        with_buffers(2 * sums.len(), |products, packed| {
            let (of_x, of_d) = products.split_at_mut(sums.len());
            for group in 0..groups {
                for (values, width, product) in [(x, inputs, &mut *of_x), (d, outputs, &mut *of_d)] {
                    let values = &values[group * width * batch..][..width * batch];
                    let left = Matrix::by_columns(&values[rows.start..], rows.len(), width, batch);
                    let right = Matrix::by_rows(&values[columns.start..], width, columns.len(), batch);
                    multiply(left, right, product, packed);
                }
                for ((sum, x), d) in sums.iter_mut().zip(&*of_x).zip(&*of_d) {
                    *sum += scale * f64::from(*x) * f64::from(*d);
                }
            }
        });
        sums
    });
}

/// Convolutions by Grams of patches and of cotangents, a pair of images at a time.
fn add_pairs(kernel: &mut Gram, shape: &ConvShape, x: &[f32], d: &[f32], scale: f64) {
    let ConvShape { batch, groups, inputs, outputs, height, width, .. } = *shape;
    let (before, after) = (height * width, out_pixels(shape));
    let work = batch * batch * groups * (before * before * inputs + after * after * outputs);
    let patch_len = if is_product(shape) { 0 } else { after * after };
    kernel.add_tiles(&blocks_of(batch, 1), work, |row, column| {
        with_buffers(before * before + after * after + patch_len, |floats, packed| {
            let (pixel_gram, floats) = floats.split_at_mut(before * before);
            let (cotangent_gram, patches) = floats.split_at_mut(after * after);
            let mut sum = 0.0;
            for group in 0..groups {
                for (values, channels, pixels, gram) in
                    [(x, inputs, before, &mut *pixel_gram), (d, outputs, after, &mut *cotangent_gram)]
                {
                    let image =
                        |n: usize| &values[(n * groups + group) * channels * pixels..][..channels * pixels];
                    let pair = (image(row.start), image(column.start));
                    gram_of_positions(pair, (channels, pixels), gram, packed);
                }
                sum += if is_product(shape) {
                    dot(pixel_gram, cotangent_gram)
                } else {
                    patch_gram(shape, pixel_gram, patches, packed);
                    dot(patches, cotangent_gram)
                };
            }
            vec![scale * sum]
        })
    });
}

/// Convolutions by gradients: those of a block of weights at all images, then their inner products.
fn add_block(kernel: &mut Gram, block: &Block, shape: &ConvShape, x: &[f32], d: &[f32], scale: f64) {
    let len = block.len(shape);
    let image = |values: &[f32]| values.len() / shape.batch;
    let (x_len, d_len) = (image(x), image(d));
    let gradient = |n: usize, gradient: &mut [f32], scratch: &mut Vec<f32>| {
        block.gradient(shape, &x[n * x_len..][..x_len], &d[n * d_len..][..d_len], gradient, scratch);
    };
    with_buffers(shape.batch * len, |gradients, scratch| {
        if kernel.threads().share(shape.batch, shape.batch * len * out_pixels(shape)) {
            let tasks = gradients.par_chunks_exact_mut(len).enumerate();
            tasks.with_min_len(shape.batch.div_ceil(TASKS)).for_each_init(Vec::new, |scratch, (n, to)| {
                gradient(n, to, scratch);
            });
        } else {
            gradients.chunks_exact_mut(len).enumerate().for_each(|(n, to)| gradient(n, to, scratch));
        }
        kernel.add_rows(gradients, scale);
    });
}
