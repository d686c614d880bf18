//! A factor's rows in the order of its pivots, in single precision: lower triangular, so that half
//! of a product with them is left out.

use super::columns::squares;
use super::factor::Factor;
use super::product::add_product;

/// Rows of a product that end at the same column.
const BLOCK: usize = 6;

/// scale L, its rows in the order of the pivots and dependent ones behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Triangle {
    pub rank: usize,
    /// The original row of every row.
    order: Vec<usize>,
    /// Rows x rank.
    values: Vec<f32>,
    /// The same turned over, rank x rows, once [`Triangle::turn`] was called.
    turned: Vec<f32>,
}

/// Buffers for products with a triangle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    rows: Vec<(usize, usize)>,
    /// Columns in the order of the pivots, and their combinations.
    ordered: Vec<f32>,
    combined: Vec<f32>,
}

impl Triangle {
    /// Takes a factor over.
    pub fn fill(&mut self, factor: &Factor, scale: f64) {
        self.rank = factor.rank;
        order_of(factor, &mut self.order);
        self.values.clear();
        for &row in &self.order {
            let row = &factor.lower[row * factor.size..][..factor.rank];
            self.values.extend(row.iter().map(|entry| (scale * entry) as f32));
        }
    }

    /// Prepares [`Triangle::square`].
    pub fn turn(&mut self) {
        let (size, rank) = (self.order.len(), self.rank);
        self.turned = (0..rank * size).map(|at| self.values[at % size * rank + at / size]).collect();
    }

    /// `out = scale L z`, column by column of length `n`.
    pub fn combine(&self, z: &[f32], n: usize, scratch: &mut Scratch, out: &mut [f32]) {
        out.fill(0.0);
        for begin in (0..self.order.len()).step_by(BLOCK) {
            let end = (begin + BLOCK).min(self.order.len());
            scratch.rows.clear();
            scratch.rows.extend((begin..end).map(|row| (row * self.rank, self.order[row] * n)));
            add_product(&scratch.rows, &self.values, end.min(self.rank), z, n, n, out);
        }
    }

    /// The sum of the squares of `scale L^T d`, for columns `d` of length `n`: the sum over pairs
    /// of `scale^2 (L L^T)[p, q] <d[p], d[q]>`.
    pub fn square(&self, d: &[f32], n: usize, scratch: &mut Scratch) -> f64 {
        let (size, rank) = (self.order.len(), self.rank);
        scratch.ordered.clear();
        for &row in &self.order {
            scratch.ordered.extend_from_slice(&d[row * n..][..n]);
        }
        scratch.combined.clear();
        scratch.combined.resize(rank * n, 0.0);
        for begin in (0..rank).step_by(BLOCK) {
            let end = (begin + BLOCK).min(rank);
            scratch.rows.clear();
            scratch.rows.extend((begin..end).map(|k| (k * size + begin, k * n)));
            let ordered = &scratch.ordered[begin * n..];
            add_product(&scratch.rows, &self.turned, size - begin, ordered, n, n, &mut scratch.combined);
        }
        squares(&scratch.combined)
    }
}

/// The rows of a factor in the order of its pivots, dependent ones behind.
pub(crate) fn order_of(factor: &Factor, order: &mut Vec<usize>) {
    order.clear();
    order.extend_from_slice(&factor.pivots);
    if factor.rank < factor.size {
        order.extend((0..factor.size).filter(|row| !factor.pivots.contains(row)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn products_are_those_with_the_whole_factor(entries in 1usize..20, size in 1usize..20, n in 1usize..40, seed in 0u64..100) {
            let mut values = vec![0.0; size * (entries + 2 * n)];
            Rng::new(1, 4, seed).fill_normal(&mut values);
            let (columns, rest) = values.split_at(size * entries);
            let (z, d) = rest.split_at(size * n);
            let product = |p: usize, q: usize| (0..entries).map(|i| f64::from(columns[p * entries + i]) * f64::from(columns[q * entries + i])).sum();
            let gram: Vec<f64> = (0..size * size).map(|index| product(index / size, index % size)).collect();
            let (mut factor, mut triangle) = (Factor::default(), Triangle::default());
            factor.compute(&gram, size);
            triangle.fill(&factor, 0.5);
            triangle.turn();
            let mut scratch = Scratch::default();
            let mut out = vec![f32::NAN; size * n];
            triangle.combine(&z[..factor.rank * n], n, &mut scratch, &mut out);
            let largest = gram.iter().copied().fold(0.0, f64::max).sqrt();
            for (index, value) in out.iter().enumerate() {
                let term = |k: usize| 0.5 * factor.lower[index / n * size + k] * f64::from(z[k * n + index % n]);
                let expected: f64 = (0..factor.rank).map(term).sum();
                prop_assert!((f64::from(*value) - expected).abs() <= 1e-5 * largest);
            }
            let pair = |p: usize, q: usize| {
                let inner: f64 = (0..n).map(|i| f64::from(d[p * n + i]) * f64::from(d[q * n + i])).sum();
                0.25 * gram[p * size + q] * inner
            };
            let expected: f64 = (0..size * size).map(|index| pair(index / size, index % size)).sum();
            // Dropped diagonals of the factor are below 1e-6 of the largest.
            let bound: f64 = (0..size).map(|p| pair(p, p)).sum();
            prop_assert!((triangle.square(d, n, &mut scratch) - expected).abs() <= 1e-4 * bound);
        }
    }
}
