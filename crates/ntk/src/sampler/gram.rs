//! Inner products of many columns at once.
//!
//! An inner product on its own ends with adding up the lanes of a vector, which for a column of 64
//! channels costs more than the products. Where most pairs of columns are wanted, the columns are
//! turned over first, and a vector holds the products of one column with several.

use super::columns::{PIECE, dot_piece, dot_three};
use super::product::{add_product, transpose};
use collegial_core::multiversion;

/// Channels that are added up as f32, before the sum goes into one of f64.
const SHORT: usize = 64;

/// Columns that a vector holds.
const LANES: usize = 16;

/// What adding up the lanes of a vector costs, in operations on vectors.
const ADD_UP: usize = 20;

/// Rows that share a range of partners.
const BLOCK: usize = 6;

/// Which inner products of a set of columns are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    /// For every column p, the q <= p.
    wanted: Vec<Vec<usize>>,
    /// For every [`BLOCK`] of columns, the first and the last of all their q; empty where few of
    /// the pairs in between are wanted.
    ranges: Vec<(usize, usize)>,
}

impl Pairs {
    /// All pairs of `count` columns of length `n`.
    pub fn all(count: usize, n: usize) -> Self {
        Self::new((0..count).map(|p| (0..=p).collect()).collect(), n)
    }

    /// For every column p, the q <= p in ascending order.
    pub fn new(wanted: Vec<Vec<usize>>, n: usize) -> Self {
        let ranges: Vec<(usize, usize)> = wanted.chunks(BLOCK).map(range).collect();
        let vectors = |(block, range): (&[Vec<usize>], &(usize, usize))| {
            block.len() * (range.1 + 1 - range.0).div_ceil(LANES)
        };
        // In operations on vectors: turning over and products, or products and adding up lanes.
        let together = n * (wanted.len() + wanted.chunks(BLOCK).zip(&ranges).map(vectors).sum::<usize>());
        let pairs: usize = wanted.iter().map(Vec::len).sum();
        let ranges = if together <= pairs * (n / LANES + ADD_UP) { ranges } else { vec![] };
        Self { wanted, ranges }
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.wanted.len()
    }
}

fn range(block: &[Vec<usize>]) -> (usize, usize) {
    let first = block.iter().filter_map(|wanted| wanted.first()).min();
    let last = block.iter().filter_map(|wanted| wanted.last()).max();
    (first.copied().unwrap_or(0), last.copied().unwrap_or(0))
}

/// Columns turned over, channels x columns, each row filled up with zeros to whole vectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turned {
    values: Vec<f32>,
    stride: usize,
    /// Sums over a few channels.
    partial: Vec<f32>,
    rows: Vec<(usize, usize)>,
}

impl Turned {
    /// Turns columns of length `n` over.
    pub fn fill(&mut self, x: &[f32], n: usize) {
        let count = x.len() / n;
        let stride = count.next_multiple_of(LANES);
        if (self.stride, self.values.len()) != (stride, n * stride) {
            self.values.clear();
            self.values.resize(n * stride, 0.0);
            self.stride = stride;
        }
        // The places behind the columns hold zeros, or columns of an earlier set: never read out.
        transpose(x, count, n, stride, &mut self.values);
    }

    /// `products[p * columns + q] = <a[p], x[q]>` for columns of length `n` and `columns` of x.
    pub fn cross(&mut self, a: &[f32], n: usize, columns: usize, products: &mut [f64]) {
        products.fill(0.0);
        let count = a.len() / n;
        self.range(a, n, 0..count, (0, columns - 1), columns, products);
    }

    /// `gram[p * count + q] = gram[q * count + p] = <x[p], x[q]>` for the wanted pairs, and 0 or
    /// the inner product for others. `x` has been turned over.
    pub fn gram(&mut self, x: &[f32], n: usize, pairs: &Pairs, gram: &mut [f64]) {
        gram.fill(0.0);
        let count = pairs.columns();
        for (block, &range) in pairs.ranges.iter().enumerate() {
            let rows = block * BLOCK..((block + 1) * BLOCK).min(count);
            self.range(x, n, rows, range, count, gram);
        }
        mirror(gram, count);
    }

    /// Adds the inner products of some columns of `a` with the range `(first, last)` of those that
    /// were turned over.
    fn range(
        &mut self,
        a: &[f32],
        n: usize,
        columns: std::ops::Range<usize>,
        (first, last): (usize, usize),
        count: usize,
        products: &mut [f64],
    ) {
        let first = first.min(self.stride - (last + 1 - first).next_multiple_of(LANES).min(self.stride));
        let width = (last + 1 - first).next_multiple_of(LANES).min(self.stride - first);
        for begin in (0..n).step_by(SHORT) {
            let depth = SHORT.min(n - begin);
            self.partial.clear();
            self.partial.resize(columns.len() * width, 0.0);
            self.rows.clear();
            self.rows.extend(columns.clone().enumerate().map(|(row, p)| (p * n + begin, row * width)));
            let turned = &self.values[begin * self.stride + first..];
            add_product(&self.rows, a, depth, turned, self.stride, width, &mut self.partial);
            let used = last + 1 - first;
            for (p, partial) in columns.clone().zip(self.partial.chunks_exact(width)) {
                let products = &mut products[p * count + first..][..used];
                for (product, partial) in products.iter_mut().zip(partial) {
                    *product += f64::from(*partial);
                }
            }
        }
    }
}

/// Copies what is below the diagonal above it.
pub(super) fn mirror(gram: &mut [f64], count: usize) {
    for p in 0..count {
        for q in 0..p {
            gram[q * count + p] = gram[p * count + q];
        }
    }
}

/// `gram[p * count + q] = <x[p], x[q]>` for columns of length `n` and the wanted pairs.
pub(crate) fn gram(x: &[f32], n: usize, pairs: &Pairs, turned: &mut Turned, gram: &mut [f64]) {
    if pairs.ranges.is_empty() {
        pair_by_pair(x, n, &pairs.wanted, gram);
    } else {
        turned.fill(x, n);
        turned.gram(x, n, pairs, gram);
    }
}

/// The inner products of all pairs, one at a time: those of the input, which come once.
pub(crate) fn of_input(x: &[f32], n: usize, gram: &mut [f64]) {
    let wanted: Vec<Vec<usize>> = (0..gram.len().isqrt()).map(|p| (0..=p).collect()).collect();
    pair_by_pair(x, n, &wanted, gram);
}

multiversion! {
    /// The same, one inner product at a time.
    fn pair_by_pair(x: &[f32], n: usize, wanted: &[Vec<usize>], gram: &mut [f64]) {
        gram.fill(0.0);
        let count = wanted.len();
        for begin in (0..n).step_by(PIECE) {
            let length = PIECE.min(n - begin);
            for (p, wanted) in wanted.iter().enumerate() {
                let a = &x[p * n + begin..][..length];
                let (threes, rest) = wanted.as_chunks::<3>();
                for three in threes {
                    let sums = dot_three(a, three.map(|q| &x[q * n + begin..][..length]));
                    for (q, sum) in three.iter().zip(sums) {
                        gram[p * count + q] += sum;
                    }
                }
                for &q in rest {
                    gram[p * count + q] += dot_piece(a, &x[q * n + begin..][..length]);
                }
            }
        }
        mirror(gram, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;
    use proptest::prelude::*;

    fn normals(count: usize, trial: u64) -> Vec<f32> {
        let mut values = vec![0.0; count];
        Rng::new(1, 3, trial).fill_normal(&mut values);
        values
    }

    fn exact(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    /// Of a sum of n products, each rounded, in runs of at most 256.
    fn tolerance(a: &[f32], b: &[f32]) -> f64 {
        1e-6 * (exact(a, a) * exact(b, b)).sqrt()
    }

    proptest! {
        #[test]
        fn both_ways_give_the_wanted_inner_products(count in 1usize..40, n in 1usize..200, step in 1usize..4, seed in 0u64..100) {
            let x = normals(count * n, seed);
            let pairs = Pairs::new((0..count).map(|p| (p % step..=p).step_by(step).collect()).collect(), n);
            let all = Pairs { ranges: pairs.wanted.chunks(BLOCK).map(range).collect(), wanted: pairs.wanted.clone() };
            let none = Pairs { ranges: vec![], wanted: pairs.wanted.clone() };
            for pairs in [&pairs, &all, &none] {
                // Whatever an earlier set of columns has left behind does no harm.
                let mut turned = Turned::default();
                turned.fill(&normals((count + 3) * n, seed + 1), n);
                let mut products = vec![f64::NAN; count * count];
                gram(&x, n, pairs, &mut turned, &mut products);
                for (p, wanted) in pairs.wanted.iter().enumerate() {
                    for &q in wanted {
                        let (a, b) = (&x[p * n..][..n], &x[q * n..][..n]);
                        for product in [products[p * count + q], products[q * count + p]] {
                            prop_assert!((product - exact(a, b)).abs() <= tolerance(a, b));
                        }
                    }
                }
            }
        }

        #[test]
        fn cross_products_are_inner_products(left in 0usize..20, right in 1usize..40, n in 1usize..200, seed in 0u64..100) {
            let (a, b) = (normals(left * n, seed), normals(right * n, seed + 1));
            let mut turned = Turned::default();
            turned.fill(&b, n);
            let mut products = vec![f64::NAN; left * right];
            turned.cross(&a, n, right, &mut products);
            for (index, product) in products.iter().enumerate() {
                let (a, b) = (&a[index / right * n..][..n], &b[index % right * n..][..n]);
                prop_assert!((product - exact(a, b)).abs() <= tolerance(a, b));
            }
        }
    }
}
