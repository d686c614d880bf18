//! Pools: maximum and mean over windows, mean over all pixels.

use std::ops::Range;

use super::{Dims, vector};
use crate::workers::{Shared, for_each};

/// Runs a task for every plane of so many pixels, with its number, on all threads.
fn each_plane(planes: usize, pixels: usize, to: &mut [f32], task: impl Fn(usize, &mut [f32]) + Sync) {
    let to = Shared::new(to);
    for_each(planes, |plane| {
        // SAFETY: a task has its own plane.
        task(plane, unsafe { to.piece(plane * pixels..(plane + 1) * pixels) });
    });
}

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
        each_plane(planes, self.out_pixels(), to, |plane, to| {
            let x = &x[plane * self.in_pixels()..][..self.in_pixels()];
            for (at, to) in to.iter_mut().enumerate() {
                *to = x[self.winner(x, at / self.output.1, at % self.output.1)];
            }
        });
    }

    /// Sends each gradient to its window's winner, which is looked for again: cheaper than keeping
    /// its place.
    pub(crate) fn backward(&self, planes: usize, x: &[f32], gradient: &[f32], to: &mut [f32]) {
        each_plane(planes, self.in_pixels(), to, |plane, to| {
            let x = &x[plane * self.in_pixels()..][..self.in_pixels()];
            to.fill(0.0);
            let gradient = &gradient[plane * self.out_pixels()..][..self.out_pixels()];
            for (at, gradient) in gradient.iter().enumerate() {
                to[self.winner(x, at / self.output.1, at % self.output.1)] += gradient;
            }
        });
    }
}

/// Means over windows side by side, those at the edges cut to what lies in the plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AveragePool {
    /// Side of a window.
    pub side: usize,
    /// Rows and columns of the input.
    pub input: (usize, usize),
}

impl AveragePool {
    fn in_pixels(&self) -> usize {
        self.input.0 * self.input.1
    }

    fn out_columns(&self) -> usize {
        self.input.1.div_ceil(self.side)
    }

    fn out_pixels(&self) -> usize {
        self.input.0.div_ceil(self.side) * self.out_columns()
    }

    /// The rows and columns that a window has in the plane.
    fn window(&self, at: usize) -> (Range<usize>, Range<usize>) {
        let span = |at: usize, length: usize| at * self.side..((at + 1) * self.side).min(length);
        (span(at / self.out_columns(), self.input.0), span(at % self.out_columns(), self.input.1))
    }

    pub(crate) fn forward(&self, planes: usize, x: &[f32], to: &mut [f32]) {
        each_plane(planes, self.out_pixels(), to, |plane, to| {
            let x = &x[plane * self.in_pixels()..][..self.in_pixels()];
            for (at, to) in to.iter_mut().enumerate() {
                let (rows, columns) = self.window(at);
                let count = rows.len() * columns.len();
                let row = |row: usize| x[row * self.input.1..][columns.clone()].iter().sum::<f32>();
                *to = rows.map(row).sum::<f32>() / count as f32;
            }
        });
    }

    /// Spreads each gradient over its window.
    pub(crate) fn backward(&self, planes: usize, gradient: &[f32], to: &mut [f32]) {
        each_plane(planes, self.in_pixels(), to, |plane, to| {
            let gradient = &gradient[plane * self.out_pixels()..][..self.out_pixels()];
            for (at, gradient) in gradient.iter().enumerate() {
                let (rows, columns) = self.window(at);
                let share = gradient / (rows.len() * columns.len()) as f32;
                for row in rows {
                    to[row * self.input.1..][columns.clone()].fill(share);
                }
            }
        });
    }
}

/// The mean of every plane, laid out as `[channels][images]`, which dense layers want.
pub(crate) fn mean_forward(dims: Dims, x: &[f32], to: &mut [f32]) {
    dims.set_per_plane(to, |image, channel| {
        let plane = &x[dims.plane(image, channel)..][..dims.pixels];
        let sum: f64 = plane.chunks(super::CHUNK).map(vector::sum).sum();
        (sum / dims.pixels as f64) as f32
    });
}

/// Spreads the gradients of means, `[channels][images]`, over their planes.
pub(crate) fn mean_backward(dims: Dims, gradient: &[f32], to: &mut [f32]) {
    let share = 1.0 / dims.pixels as f32;
    dims.for_each_plane(to, |image, channel, to| to.fill(gradient[channel * dims.images + image] * share));
}
