//! The kernel as it adds up: the upper triangle of an N x N matrix in f64.

use std::ops::Range;

use collegial_nn::kernels::{Matrix, multiply};

use super::contribution::TILE;
use super::tasks::{Threads, blocks_of, even_blocks, with_buffers};
use crate::sampler::columns::dot;

/// Columns of rows whose inner products are summed in f32 before they are added up in f64.
const SEGMENT: usize = 4096;

/// Rows up to which inner products are taken pair by pair: a matrix product would fill its panels
/// mostly with zeros.
const FEW: usize = 8;

/// A symmetric matrix of which the tiles on and above the diagonal are kept.
pub(crate) struct Gram {
    count: usize,
    values: Vec<f64>,
    threads: Threads,
}

impl Gram {
    pub(crate) fn zeros(count: usize, threads: Threads) -> Self {
        Self { count, values: vec![0.0; count * count], threads }
    }

    /// Where what is added to it is computed.
    pub(crate) fn threads(&self) -> Threads {
        self.threads
    }

    pub(crate) fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// The first entry, complete in itself.
    pub(crate) fn first(&self) -> f64 {
        self.values[0]
    }

    /// Adds to the first entry.
    pub(crate) fn add_first(&mut self, value: f64) {
        self.values[0] += value;
    }

    /// The whole matrix, row by row.
    pub(crate) fn symmetric(&self) -> Vec<f64> {
        let at = |row: usize, column: usize| self.values[row.min(column) * self.count + row.max(column)];
        (0..self.count).flat_map(|row| (0..self.count).map(move |column| at(row, column))).collect()
    }

    /// Adds `compute(rows, columns)` for every pair of tiles with rows <= columns, in a fixed
    /// order.
    pub(crate) fn add_tiles(
        &mut self,
        tiles: &[Range<usize>],
        work: usize,
        compute: impl Fn(Range<usize>, Range<usize>) -> Vec<f64> + Sync,
    ) {
        let pairs: Vec<(Range<usize>, Range<usize>)> = tiles
            .iter()
            .enumerate()
            .flat_map(|(a, rows)| tiles[a..].iter().map(move |columns| (rows.clone(), columns.clone())))
            .collect();
        let compute = |pair: usize| compute(pairs[pair].0.clone(), pairs[pair].1.clone());
        let sums = self.threads.map(pairs.len(), work, compute);
        for ((rows, columns), sums) in pairs.into_iter().zip(sums) {
            for (row, sums) in rows.zip(sums.chunks_exact(columns.len())) {
                let to = &mut self.values[row * self.count..][columns.clone()];
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
            }
        }
    }

    /// Adds `compute(rows, columns)` for every tile of columns, with all rows up to its last: the
    /// upper triangle and what the tiles on the diagonal have below it. One product for all rows
    /// packs the columns once.
    pub(crate) fn add_columns(
        &mut self,
        tiles: &[Range<usize>],
        work: usize,
        compute: impl Fn(Range<usize>, Range<usize>) -> Vec<f64> + Sync,
    ) {
        let compute = |tile: usize| compute(0..tiles[tile].end, tiles[tile].clone());
        let sums = self.threads.map(tiles.len(), work, compute);
        for (columns, sums) in tiles.iter().zip(sums) {
            for (row, sums) in sums.chunks_exact(columns.len()).enumerate() {
                let to = &mut self.values[row * self.count..][columns.clone()];
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
            }
        }
    }

    /// Adds `scale` times the inner products between rows, of which there are as many as images.
    pub(crate) fn add_rows(&mut self, rows: &[f32], scale: f64) {
        let len = rows.len() / self.count;
        if self.count == 1 {
            self.values[0] += scale * dot(rows, rows);
            return;
        }
        let segments = even_blocks(len, SEGMENT);
        if self.count <= FEW {
            return self.add_few_rows(rows, &segments, scale);
        }
        let work = self.count * rows.len() / 2;
        self.add_columns(&blocks_of(self.count, TILE), work, |first, second| {
            let mut sums = vec![0.0; first.len() * second.len()];
            with_buffers(sums.len(), |products, packed| {
                for segment in &segments {
                    let at = |tile: &Range<usize>| &rows[tile.start * len + segment.start..];
                    let left = Matrix::by_rows(at(&first), first.len(), segment.len(), len);
                    let right = Matrix::by_columns(at(&second), segment.len(), second.len(), len);
                    multiply(left, right, products, packed);
                    sums.iter_mut().zip(&*products).for_each(|(sum, x)| *sum += scale * f64::from(*x));
                }
            });
            sums
        });
    }

    /// Pair by pair, while a segment of all rows is in cache.
    fn add_few_rows(&mut self, rows: &[f32], segments: &[Range<usize>], scale: f64) {
        let (count, len) = (self.count, rows.len() / self.count);
        let parts = self.threads.map(segments.len(), count * rows.len() / 2, |segment| {
            let of = |row: usize| &rows[row * len..][segments[segment].clone()];
            let products = |row: usize| (row..count).map(move |column| dot(of(row), of(column)));
            (0..count).flat_map(products).collect::<Vec<f64>>()
        });
        for part in parts {
            let places = (0..count).flat_map(|row| (row..count).map(move |column| row * count + column));
            places.zip(part).for_each(|(place, sum)| self.values[place] += scale * sum);
        }
    }
}
