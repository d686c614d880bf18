//! The entries of the kernel between two blocks of images, from their features.
//!
//! Single products are f32; what is summed over layers, groups and segments of long rows is f64, in
//! an order that does not depend on how the kernel is cut into tiles.

use std::ops::Range;

use collegial_nn::kernels::{Matrix, multiply};

use super::contributions::{Contribution, Contributions, Method};
use super::features::Features;
use crate::explicit::contribution::{gram_of_positions, is_product, out_pixels};
use crate::explicit::patches::patch_gram;
use crate::explicit::tasks::{Threads, even_blocks, with_buffers};
use crate::sampler::columns::dot;

/// Rows of a task at most: those that the product kernels multiply at a time.
const ROWS: usize = 120;

/// Columns of a task at most: those that they pack at a time.
const COLUMNS: usize = 256;

/// Columns of a task at least: those of a panel.
const PANEL: usize = 16;

/// Floats of rows whose inner products are summed in f32 before they are added up in f64.
const SEGMENT: usize = 4096;

/// The tile between two blocks of images, row by row.
pub(crate) fn tile(contributions: &Contributions, rows: &Features, columns: &Features) -> Vec<f64> {
    let per_image = contributions.per_image();
    let cut = |images: usize, entries: usize| even_blocks(images, (entries / per_image).max(1));
    // Small tiles are cut into several tasks, too, so that all threads have some.
    let wide = (columns.images * per_image / 4).next_multiple_of(PANEL).clamp(PANEL, COLUMNS);
    let (row_tasks, column_tasks) = (cut(rows.images, ROWS), cut(columns.images, wide));
    // Of a block with itself, what lies above the diagonal is copied from below.
    let same = std::ptr::eq(rows, columns);
    let tasks: Vec<(&Range<usize>, &Range<usize>)> = row_tasks
        .iter()
        .flat_map(|rows| column_tasks.iter().map(move |columns| (rows, columns)))
        .filter(|(rows, columns)| !same || columns.start < rows.end)
        .collect();
    let work = (contributions.work() * (rows.images * columns.images) as f64) as usize;
    let sums = Threads::Pool.map(tasks.len(), work, |task| {
        let (of_rows, of_columns) = tasks[task];
        Task { contributions, rows, columns, of_rows: of_rows.clone(), of_columns: of_columns.clone() }
            .entries()
    });
    let width = columns.images * per_image;
    let mut tile = vec![0.0; rows.images * per_image * width];
    for ((of_rows, of_columns), sums) in tasks.into_iter().zip(sums) {
        let from = sums.chunks_exact(of_columns.len() * per_image);
        for (row, from) in (of_rows.start * per_image..).zip(from) {
            tile[row * width + of_columns.start * per_image..][..from.len()].copy_from_slice(from);
        }
    }
    if same {
        (0..width).for_each(|row| (0..row).for_each(|at| tile[at * width + row] = tile[row * width + at]));
    }
    tile
}

/// The kernel's diagonal at a block of images.
pub(crate) fn diagonal(contributions: &Contributions, features: &Features) -> Vec<f64> {
    let per_image = contributions.per_image();
    Threads::Pool
        .map(features.images, usize::MAX, |image| {
            let range = image..image + 1;
            let task = Task {
                contributions,
                rows: features,
                columns: features,
                of_rows: range.clone(),
                of_columns: range,
            };
            let entries = task.entries();
            (0..per_image).map(|output| entries[output * per_image + output]).collect::<Vec<f64>>()
        })
        .concat()
}

/// Some images of one block by some of another.
struct Task<'a> {
    contributions: &'a Contributions,
    rows: &'a Features,
    columns: &'a Features,
    of_rows: Range<usize>,
    of_columns: Range<usize>,
}

impl Task<'_> {
    fn entries(&self) -> Vec<f64> {
        let per_image = self.contributions.per_image();
        let len = self.of_rows.len() * self.of_columns.len();
        let mut sums = vec![0.0; len * per_image * per_image];
        for (index, contribution) in self.contributions.layers.iter().enumerate() {
            match contribution.method {
                Method::Vectors => self.add_vectors(index, contribution, &mut sums),
                Method::Maps => self.add_maps(index, contribution, &mut sums),
                Method::Gradients { .. } => {}
            }
        }
        if self.contributions.row > 0 {
            self.add_rows(&mut sums);
        }
        sums
    }

    /// Rows of a matrix with `len` floats per row, of which `width` from `at` on count: inner
    /// products between the task's rows and columns, each image having `per_image` of them.
    fn gram(
        &self,
        (rows, columns): (&[f32], &[f32]),
        (at, width, len): (usize, usize, usize),
        per_image: usize,
        product: &mut [f32],
        packed: &mut Vec<f32>,
    ) {
        let counts = (self.of_rows.len() * per_image, self.of_columns.len() * per_image);
        let left = &rows[self.of_rows.start * per_image * len + at..];
        let right = &columns[self.of_columns.start * per_image * len + at..];
        let left = Matrix::by_rows(left, counts.0, width, len);
        multiply(left, Matrix::by_columns(right, width, counts.1, len), product, packed);
    }

    /// Dense layers: Grams of inputs times Grams of cotangents, group by group.
    fn add_vectors(&self, index: usize, contribution: &Contribution, sums: &mut [f64]) {
        let per_image = self.contributions.per_image();
        let groups = contribution.shape.groups;
        let (inputs, cotangents) =
            (contribution.shape.inputs, contribution.shape.outputs * self.contributions.outputs / per_image);
        let scale = f64::from(contribution.factor).powi(2);
        let pairs = self.of_rows.len() * self.of_columns.len();
        with_buffers(pairs + sums.len(), |products, packed| {
            let (of_x, of_d) = products.split_at_mut(pairs);
            for group in 0..groups {
                let x = (&self.rows.inputs[index][..], &self.columns.inputs[index][..]);
                self.gram(x, (group * inputs, inputs, groups * inputs), 1, of_x, packed);
                let d = (&self.rows.cotangents[index][..], &self.columns.cotangents[index][..]);
                let place = (group * cotangents, cotangents, groups * cotangents);
                self.gram(d, place, per_image, of_d, packed);
                let width = self.of_columns.len();
                let lines =
                    sums.chunks_exact_mut(width * per_image).zip(of_d.chunks_exact(width * per_image));
                for (line, (sums, of_d)) in lines.enumerate() {
                    let of_x = &of_x[line / per_image * width..][..width];
                    if per_image == 1 {
                        add_products(sums, of_x, of_d, scale);
                        continue;
                    }
                    let images = sums.chunks_exact_mut(per_image).zip(of_d.chunks_exact(per_image));
                    for ((sums, of_d), &x) in images.zip(of_x) {
                        let x = scale * f64::from(x);
                        sums.iter_mut().zip(of_d).for_each(|(sum, &d)| *sum += x * f64::from(d));
                    }
                }
            }
        });
    }

    /// Convolutions by Grams of patches and of cotangents, a pair of images at a time.
    fn add_maps(&self, index: usize, contribution: &Contribution, sums: &mut [f64]) {
        let shape = &contribution.shape;
        let per_image = self.contributions.per_image();
        let (before, after) = (shape.height * shape.width, out_pixels(shape));
        let channels = shape.outputs * self.contributions.outputs / per_image;
        let scale = f64::from(contribution.factor).powi(2);
        let patch_len = if is_product(shape) { 0 } else { after * after };
        let width = self.of_columns.len() * per_image;
        with_buffers(before * before + after * after + patch_len, |floats, packed| {
            let (pixels, floats) = floats.split_at_mut(before * before);
            let (of_d, patches) = floats.split_at_mut(after * after);
            for (row, column, group) in self.pairs(shape.groups) {
                let x = |image: usize| {
                    let len = shape.inputs * before;
                    (image * shape.groups + group) * len..(image * shape.groups + group + 1) * len
                };
                let first = &self.rows.inputs[index][x(self.of_rows.start + row)];
                let second = &self.columns.inputs[index][x(self.of_columns.start + column)];
                gram_of_positions((first, second), (shape.inputs, before), pixels, packed);
                if !is_product(shape) {
                    patch_gram(shape, pixels, patches, packed);
                }
                let of_x = if is_product(shape) { &*pixels } else { &*patches };
                for (of_row, of_column) in
                    (0..per_image * per_image).map(|at| (at / per_image, at % per_image))
                {
                    let d = |image: usize, output: usize| {
                        let len = channels * after;
                        let at = ((image * per_image + output) * shape.groups + group) * len;
                        at..at + len
                    };
                    let first = &self.rows.cotangents[index][d(self.of_rows.start + row, of_row)];
                    let second =
                        &self.columns.cotangents[index][d(self.of_columns.start + column, of_column)];
                    gram_of_positions((first, second), (channels, after), of_d, packed);
                    let place = (row * per_image + of_row) * width + column * per_image + of_column;
                    sums[place] += scale * dot(of_x, of_d);
                }
            }
        });
    }

    /// All (row, column, group).
    fn pairs(&self, groups: usize) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let (rows, columns) = (self.of_rows.len(), self.of_columns.len());
        (0..rows * columns * groups).map(move |at| {
            let pair = at / groups;
            (pair / columns, pair % columns, at % groups)
        })
    }

    /// Gradients: inner products of rows, a segment at a time.
    fn add_rows(&self, sums: &mut [f64]) {
        let per_image = self.contributions.per_image();
        let len = self.contributions.row * self.contributions.outputs / per_image;
        with_buffers(sums.len(), |products, packed| {
            for segment in even_blocks(len, SEGMENT) {
                let rows = (&self.rows.rows[..], &self.columns.rows[..]);
                self.gram(rows, (segment.start, segment.len(), len), per_image, products, packed);
                sums.iter_mut().zip(&*products).for_each(|(sum, x)| *sum += f64::from(*x));
            }
        });
    }
}

/// `sums += scale x d`, entry by entry.
fn add_products(sums: &mut [f64], x: &[f32], d: &[f32], scale: f64) {
    for ((sum, &x), &d) in sums.iter_mut().zip(x).zip(d) {
        *sum += scale * f64::from(x) * f64::from(d);
    }
}
