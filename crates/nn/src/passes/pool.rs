//! Pools: maximum over windows, mean over all pixels.

use super::{Dims, vector};
use crate::workers::{Shared, for_each};

/// A max pool over planes of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaxPool {
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
    /// Rows and columns of the input.
    pub input: (usize, usize),
    /// Rows and columns of the output.
    pub output: (usize, usize),
}

impl MaxPool {
    fn in_pixels(&self) -> usize {
        self.input.0 * self.input.1
    }

    fn out_pixels(&self) -> usize {
        self.output.0 * self.output.1
    }

    /// The place of the winner of a window: the first of the largest; a NaN wins, so that
    /// divergence shows.
    fn winner(&self, plane: &[f32], row: usize, column: usize) -> usize {
        let span = |at: usize, side: usize| {
            let start = at * self.stride;
            start.saturating_sub(self.padding)..(start + self.kernel).saturating_sub(self.padding).min(side)
        };
        let mut best: Option<usize> = None;
        for y in span(row, self.input.0) {
            for x in span(column, self.input.1) {
                let at = y * self.input.1 + x;
                if best.is_none_or(|best| plane[at] > plane[best] || plane[at].is_nan()) {
                    best = Some(at);
                }
            }
        }
        // A window that lies in the border altogether has no winner; its first pixel stands in.
        best.unwrap_or(0)
    }

    /// `to` holds the winners' values.
    pub(crate) fn forward(&self, planes: usize, x: &[f32], to: &mut [f32]) {
        let to = Shared::new(to);
        for_each(planes, |plane| {
            let x = &x[plane * self.in_pixels()..][..self.in_pixels()];
            // SAFETY: a task has its own plane.
            let to = unsafe { to.piece(plane * self.out_pixels()..(plane + 1) * self.out_pixels()) };
            for (at, to) in to.iter_mut().enumerate() {
                *to = x[self.winner(x, at / self.output.1, at % self.output.1)];
            }
        });
    }

    /// Sends each gradient to its window's winner, which is looked for again: cheaper than keeping
    /// its place.
    pub(crate) fn backward(&self, planes: usize, x: &[f32], gradient: &[f32], to: &mut [f32]) {
        let to = Shared::new(to);
        for_each(planes, |plane| {
            let x = &x[plane * self.in_pixels()..][..self.in_pixels()];
            // SAFETY: a task has its own plane.
            let to = unsafe { to.piece(plane * self.in_pixels()..(plane + 1) * self.in_pixels()) };
            to.fill(0.0);
            let gradient = &gradient[plane * self.out_pixels()..][..self.out_pixels()];
            for (at, gradient) in gradient.iter().enumerate() {
                to[self.winner(x, at / self.output.1, at % self.output.1)] += gradient;
            }
        });
    }
}

/// The mean of every plane, laid out as `[channels][images]`, which dense layers want.
pub(crate) fn mean_forward(dims: Dims, x: &[f32], to: &mut [f32]) {
    let to = Shared::new(to);
    dims.for_each_block(|channels| {
        for channel in channels {
            // SAFETY: a task owns its channels.
            let to = unsafe { to.piece(channel * dims.images..(channel + 1) * dims.images) };
            for (image, to) in to.iter_mut().enumerate() {
                let plane = &x[dims.plane(image, channel)..][..dims.pixels];
                let sum: f64 = plane.chunks(super::CHUNK).map(vector::sum).sum();
                *to = (sum / dims.pixels as f64) as f32;
            }
        }
    });
}

/// Spreads the gradients of means, `[channels][images]`, over their planes.
pub(crate) fn mean_backward(dims: Dims, gradient: &[f32], to: &mut [f32]) {
    let to = Shared::new(to);
    let share = 1.0 / dims.pixels as f32;
    dims.for_each_block(|channels| {
        for image in 0..dims.images {
            for channel in channels.clone() {
                let at = dims.plane(image, channel);
                // SAFETY: a task owns its channels.
                unsafe { to.piece(at..at + dims.pixels) }
                    .fill(gradient[channel * dims.images + image] * share);
            }
        }
    });
}
