//! Pooling: maximum and mean over windows, mean over all pixels.

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
        let mut best: Option<usize> = None;
        for y in self.span(row, self.input.0) {
            for x in self.span(column, self.input.1) {
                let at = y * self.input.1 + x;
                if best.is_none_or(|best| plane[at] > plane[best] || plane[at].is_nan()) {
                    best = Some(at);
                }
            }
        }
        // A window entirely in the border has no winner; the first pixel of the plane stands in.
        best.unwrap_or(0)
    }

    /// The rows or columns of a window that lie in a plane of so many.
    fn span(&self, at: usize, side: usize) -> Range<usize> {
        let start = at * self.stride;
        start.saturating_sub(self.padding)..(start + self.kernel).saturating_sub(self.padding).min(side)
    }

    /// The columns whose windows lie in the plane from end to end.
    fn inner_columns(&self) -> Range<usize> {
        let whole = (self.input.1 + self.padding).checked_sub(self.kernel);
        let end = whole.map_or(0, |room| (room / self.stride + 1).min(self.output.1));
        let start = self.padding.div_ceil(self.stride).min(end);
        start..end
    }

    /// `to` holds the winners' values.
    pub(crate) fn forward(&self, planes: usize, x: &[f32], to: &mut [f32]) {
        each_plane(planes, self.out_pixels(), to, |plane, to| {
            let x = &x[plane * self.in_pixels()..][..self.in_pixels()];
            for (row, to) in to.chunks_exact_mut(self.output.1).enumerate() {
                self.forward_row(x, row, to);
            }
        });
    }

    /// A row of winners: window by window at the edges, else a pixel of all windows after the other.
    fn forward_row(&self, plane: &[f32], row: usize, to: &mut [f32]) {
        let rows = self.span(row, self.input.0);
        let inner = if rows.is_empty() { 0..0 } else { self.inner_columns() };
        for column in (0..inner.start).chain(inner.end..to.len()) {
            to[column] = plane[self.winner(plane, row, column)];
        }
        if inner.is_empty() {
            return;
        }
        let start = inner.start * self.stride - self.padding;
        let to = &mut to[inner];
        for (index, y) in rows.enumerate() {
            for x in 0..self.kernel {
                let pixels = plane[y * self.input.1 + start + x..].iter().step_by(self.stride);
                if (index, x) == (0, 0) {
                    to.iter_mut().zip(pixels).for_each(|(to, pixel)| *to = *pixel);
                } else {
                    let larger = |best: f32, x: f32| if x > best || x.is_nan() { x } else { best };
                    to.iter_mut().zip(pixels).for_each(|(to, pixel)| *to = larger(*to, *pixel));
                }
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Windows of any size, stride and padding, against the largest pixel by definition; a NaN
        /// is the largest of all.
        #[test]
        fn maxima_match_the_definition(
            (kernel, stride, padding) in (1_usize..5, 1_usize..4, 0_usize..3),
            (height, width) in (1_usize..12, 1_usize..12),
            values in prop::collection::vec(prop_oneof![9 => -2_i8..3, 1 => Just(i8::MAX)], 2 * 144),
        ) {
            prop_assume!(padding < kernel && height + 2 * padding >= kernel && width + 2 * padding >= kernel);
            let side = |side: usize| (side + 2 * padding - kernel) / stride + 1;
            let output = (side(height), side(width));
            let pool = MaxPool { kernel, stride, padding, input: (height, width), output };
            let value = |x: &i8| if *x == i8::MAX { f32::NAN } else { f32::from(*x) };
            let x: Vec<f32> = values[..2 * height * width].iter().map(value).collect();
            let mut got = vec![-9.0; 2 * output.0 * output.1];
            pool.forward(2, &x, &mut got);
            for (at, got) in got.iter().enumerate() {
                let (plane, row, column) =
                    (at / (output.0 * output.1), at / output.1 % output.0, at % output.1);
                let mut expected = f32::NEG_INFINITY;
                for (dy, dx) in (0..kernel * kernel).map(|k| (k / kernel, k % kernel)) {
                    let y = (row * stride + dy).wrapping_sub(padding);
                    let c = (column * stride + dx).wrapping_sub(padding);
                    if y < height && c < width {
                        let pixel = x[(plane * height + y) * width + c];
                        expected = if expected.is_nan() || pixel.is_nan() { f32::NAN } else { expected.max(pixel) };
                    }
                }
                // A window in the border altogether has no pixel.
                if expected != f32::NEG_INFINITY {
                    prop_assert!(*got == expected || (got.is_nan() && expected.is_nan()), "{got}, {expected}");
                }
            }
        }
    }
}
