//! Pivoted Cholesky factors of small Gram matrices, rank-deficient ones included.
//!
//! Written here because what is needed is the *subset of independent columns* (the pivots), which
//! factorisations in linear algebra crates do not hand out, for matrices of 1 to a few hundred rows
//! that are factored millions of times without allocating.

use collegial_core::multiversion;

/// Diagonals below this share of the largest are taken as 0: Grams are sums of f32 products, good
/// to about 1e-7.
const TOLERANCE: f64 = 1e-6;

/// `Q = L L^T` with `L` of `size` rows and `rank` columns; row `pivots[k]` of `L` ends at column k.
#[derive(Clone, Debug, Default)]
pub(crate) struct Factor {
    pub size: usize,
    pub rank: usize,
    /// Rows whose columns of the original are independent, in the order they were chosen.
    pub pivots: Vec<usize>,
    /// `lower[row * size + k]`, k < rank.
    pub lower: Vec<f64>,
    /// The same, column by column.
    columns: Vec<f64>,
    known: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Factor {
    /// Factors the symmetric matrix `gram` (row-major, `size` x `size`).
    pub fn compute(&mut self, gram: &[f64], size: usize) {
        self.size = size;
        self.rank = 0;
        self.pivots.clear();
        self.columns.resize(size * size, 0.0);
        self.known.resize(size, 0.0);
        self.diagonal.clear();
        self.diagonal.extend((0..size).map(|row| gram[row * size + row]));
        let floor = self.diagonal.iter().copied().fold(0.0, f64::max) * TOLERANCE;
        for step in 0..size {
            let Some(pivot) = self.largest_free(floor) else { break };
            let (earlier, rest) = self.columns.split_at_mut(step * size);
            let row = &gram[pivot * size..][..size];
            next_column(row, pivot, earlier, &mut self.known, &mut self.diagonal, &mut rest[..size]);
            self.pivots.push(pivot);
            self.rank = step + 1;
        }
        self.lower.clear();
        self.lower.resize(size * size, 0.0);
        for (k, column) in self.columns.chunks_exact(size.max(1)).enumerate().take(self.rank) {
            for (lower, entry) in self.lower.iter_mut().skip(k).step_by(size).zip(column) {
                *lower = *entry;
            }
        }
    }

    /// The row with the largest remaining diagonal, if it is above the floor. Ties go to the first
    /// row.
    fn largest_free(&self, floor: f64) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (row, &value) in self.diagonal.iter().enumerate() {
            if value > floor && best.is_none_or(|best| value > self.diagonal[best]) {
                best = Some(row);
            }
        }
        best
    }

    /// Solves `L_S^T X = B` in place for `rank` rows of `width` numbers, `L_S` being the pivots'
    /// rows: upper triangular in pivot order.
    pub fn solve_transposed(&self, b: &mut [f64], width: usize) {
        for k in (0..self.rank).rev() {
            let (rows, later) = b.split_at_mut((k + 1) * width);
            let row = &mut rows[k * width..];
            for (pivot, later) in self.pivots[k + 1..].iter().zip(later.chunks_exact(width)) {
                subtract_scaled(self.lower[pivot * self.size + k], later, row);
            }
            divide(row, self.lower[self.pivots[k] * self.size + k]);
        }
    }

    /// Solves `L_S X = B` in place.
    pub fn solve(&self, b: &mut [f64], width: usize) {
        for (k, pivot) in self.pivots.iter().enumerate() {
            let (earlier, rows) = b.split_at_mut(k * width);
            let row = &mut rows[..width];
            let lower = &self.lower[pivot * self.size..][..=k];
            for (&factor, earlier) in lower.iter().zip(earlier.chunks_exact(width)) {
                subtract_scaled(factor, earlier, row);
            }
            divide(row, lower[k]);
        }
    }
}

multiversion! {
    /// The column of L that belongs to `pivot`, whose row of the matrix is `row`; `known` is
    /// scratch. Diagonals lose what it explains.
    fn next_column(
        row: &[f64],
        pivot: usize,
        earlier: &[f64],
        known: &mut [f64],
        diagonal: &mut [f64],
        column: &mut [f64],
    ) {
        let root = diagonal[pivot].sqrt();
        known.fill(0.0);
        for earlier in earlier.chunks_exact(row.len()) {
            let factor = earlier[pivot];
            for (known, entry) in known.iter_mut().zip(earlier) {
                *known += entry * factor;
            }
        }
        for (((entry, value), known), diagonal) in column.iter_mut().zip(row).zip(known).zip(&mut *diagonal) {
            // Rows of earlier pivots end before this column.
            *entry = if *diagonal == f64::NEG_INFINITY { 0.0 } else { (value - *known) / root };
            *diagonal -= *entry * *entry;
        }
        column[pivot] = root;
        diagonal[pivot] = f64::NEG_INFINITY;
    }
}

#[inline(always)]
fn subtract_scaled(factor: f64, x: &[f64], out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out -= factor * x;
    }
}

#[inline(always)]
fn divide(x: &mut [f64], by: f64) {
    for x in x {
        *x /= by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// C^T C for `size` columns of `rows` entries.
    fn gram(columns: &[f64], rows: usize, size: usize) -> Vec<f64> {
        let entry =
            |i: usize, j: usize| (0..rows).map(|k| columns[i * rows + k] * columns[j * rows + k]).sum();
        (0..size * size).map(|index| entry(index / size, index % size)).collect()
    }

    proptest! {
        #[test]
        fn the_factor_gives_the_matrix_back(rows in 1usize..7, size in 1usize..10, seed in prop::collection::vec(-1.0f64..1.0, 70)) {
            let q = gram(&seed, rows, size);
            let mut factor = Factor::default();
            factor.compute(&q, size);
            prop_assert!(factor.rank <= rows.min(size));
            let largest = (0..size).map(|i| q[i * size + i]).fold(0.0, f64::max);
            for i in 0..size {
                for j in 0..size {
                    let product: f64 = (0..factor.rank).map(|k| factor.lower[i * size + k] * factor.lower[j * size + k]).sum();
                    // Dropped diagonals are below TOLERANCE, so entries are off by at most that
                    // share.
                    prop_assert!((product - q[i * size + j]).abs() <= 2.0 * TOLERANCE * largest);
                }
            }
        }

        #[test]
        fn solves_invert_the_pivots_rows(size in 1usize..6, seed in prop::collection::vec(-1.0f64..1.0, 60), b in prop::collection::vec(-1.0f64..1.0, 6)) {
            let q = gram(&seed, 10, size);
            let mut factor = Factor::default();
            factor.compute(&q, size);
            let rank = factor.rank;
            for width in [1, 3] {
                let sides: Vec<f64> = b[..rank].iter().flat_map(|b| (0..width).map(move |i| b + i as f64)).collect();
                let (mut x, mut y) = (sides.clone(), sides.clone());
                factor.solve(&mut x, width);
                factor.solve_transposed(&mut y, width);
                for (index, &wanted) in sides.iter().enumerate() {
                    let (k, i) = (index / width, index % width);
                    let forward: f64 = (0..rank).map(|j| factor.lower[factor.pivots[k] * size + j] * x[j * width + i]).sum();
                    let transposed: f64 = (0..rank).map(|j| factor.lower[factor.pivots[j] * size + k] * y[j * width + i]).sum();
                    prop_assert!((forward - wanted).abs() < 1e-6 && (transposed - wanted).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn zero_and_repeated_columns_have_low_rank() {
        let mut factor = Factor::default();
        factor.compute(&[0.0; 9], 3);
        assert_eq!(factor.rank, 0);
        factor.compute(&[1.0; 9], 3);
        assert_eq!((factor.rank, factor.pivots.as_slice()), (1, &[0][..]));
    }
}
