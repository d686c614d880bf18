//! Layers with weights: their products forward and backward, for a batch whose images lie one after the other.
//!
//! A dense layer is a 1x1 convolution of one-pixel images. 1x1 convolutions and dense layers are matrix products; all others go
//! to the engine's kernels.

use std::ops::Range;

use collegial_nn::kernels::{Conv, ConvShape, ShapeError};

use super::contribution::Method;
use super::matmul::{Blocks, View, even_blocks, for_each_piece, map_tasks};

/// Output units of a dense layer that one task computes.
const UNITS: usize = 256;

/// A layer with weights, planned for a number of images.
pub(crate) struct Linear {
    /// Its sizes; the batch is the number of images.
    pub shape: ConvShape,
    /// What multiplies its weights (the NTK parametrisation), 1 otherwise.
    pub factor: f32,
    /// Places among the weights.
    pub weight: Range<usize>,
    pub bias: Option<Range<usize>>,
    /// How its part of the kernel is computed.
    pub method: Method,
    /// Where it is more than a matrix product.
    conv: Option<Conv>,
}

impl Linear {
    pub(crate) fn new(
        shape: ConvShape,
        factor: f32,
        weight: Range<usize>,
        bias: Option<Range<usize>>,
    ) -> Result<Self, ShapeError> {
        let conv = if is_product(&shape) { None } else { Some(Conv::new(shape)?) };
        let method = Method::cheapest(&shape)?;
        Ok(Self { shape, factor, weight, bias, method, conv })
    }

    /// Floats of scratch on a pool of `threads`.
    pub(crate) fn scratch_len(&self, threads: usize) -> usize {
        self.conv.as_ref().map_or(0, |conv| conv.scratch_len(threads))
    }

    /// `y = factor * W x (+ bias)`.
    pub(crate) fn forward(
        &self,
        x: &[f32],
        weights: &[f32],
        bias: Option<&[f32]>,
        y: &mut [f32],
        scratch: &mut [f32],
    ) {
        match &self.conv {
            Some(conv) => {
                conv.forward(x, weights, y, scratch);
                self.scale(y);
            }
            None => self.product(Direction::Forward, x, weights, y),
        }
        if let Some(bias) = bias {
            let pixels = out_pixels(&self.shape);
            for image in y.chunks_exact_mut(bias.len() * pixels) {
                for (plane, bias) in image.chunks_exact_mut(pixels).zip(bias) {
                    plane.iter_mut().for_each(|y| *y += bias);
                }
            }
        }
    }

    /// `dx = factor * W^T dy`.
    pub(crate) fn backward(&self, dy: &[f32], weights: &[f32], dx: &mut [f32], scratch: &mut [f32]) {
        match &self.conv {
            Some(conv) => {
                conv.data_gradient(dy, weights, dx, scratch);
                self.scale(dx);
            }
            None => self.product(Direction::Backward, dy, weights, dx),
        }
    }

    fn scale(&self, values: &mut [f32]) {
        if self.factor != 1.0 {
            values.iter_mut().for_each(|value| *value *= self.factor);
        }
    }

    fn product(&self, direction: Direction, from: &[f32], weights: &[f32], to: &mut [f32]) {
        let ConvShape { batch, groups, inputs, outputs, .. } = self.shape;
        let pixels = out_pixels(&self.shape);
        let (rows, depth, strides) = match direction {
            Direction::Forward => (outputs, inputs, (inputs, 1)),
            Direction::Backward => (inputs, outputs, (1, inputs)),
        };
        let group_weights = |group: usize| &weights[group * outputs * inputs..][..outputs * inputs];
        let work = batch * groups * pixels * inputs * outputs;
        if pixels > 1 {
            // One product per image and group: to (rows x pixels) = W (rows x depth) * from (depth x pixels).
            for_each_piece(to, rows * pixels, work, |index, to| {
                let weights = View::new(group_weights(index % groups), (rows, depth), strides);
                let from = View::new(&from[index * depth * pixels..], (depth, pixels), (pixels, 1));
                super::matmul::multiply(to, self.factor, weights, from);
            });
            return;
        }
        // One product per group over all images: to^T (rows x batch) = W (rows x depth) * from^T (depth x batch).
        let blocks = even_blocks(rows, UNITS);
        let target = Blocks::new(to);
        map_tasks(groups * blocks.len(), work, |task| {
            let (group, block) = (task / blocks.len(), &blocks[task % blocks.len()]);
            let weights =
                View::new(&group_weights(group)[block.start * strides.0..], (block.len(), depth), strides);
            let from = View::new(&from[group * depth..], (depth, batch), (1, groups * depth));
            let at = group * rows + block.start;
            // SAFETY: every task has its own units.
            unsafe { target.multiply(at, (1, groups * rows), self.factor, weights, from) };
        });
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Forward,
    Backward,
}

/// Whether the layer is one matrix product per image and group.
pub(crate) fn is_product(shape: &ConvShape) -> bool {
    shape.kernel == 1 && shape.stride == 1 && shape.padding == 0
}

/// Output positions of an image.
pub(crate) fn out_pixels(shape: &ConvShape) -> usize {
    shape.out_height() * shape.out_width()
}
