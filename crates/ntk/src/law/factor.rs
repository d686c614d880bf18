//! Pivoted Cholesky factors of small Gram matrices, rank-deficient ones included.
//!
//! Written here because what is needed is the *subset of independent columns* (the pivots), which
//! factorisations in linear algebra crates do not hand out, for matrices of 1 to a few hundred rows
//! that are factored millions of times without allocating.

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
    diagonal: Vec<f64>,
}

impl Factor {
    /// Factors the symmetric matrix `gram` (row-major, `size` x `size`).
    pub fn compute(&mut self, gram: &[f64], size: usize) {
        self.size = size;
        self.rank = 0;
        self.pivots.clear();
        self.lower.clear();
        self.lower.resize(size * size, 0.0);
        self.diagonal.clear();
        self.diagonal.extend((0..size).map(|row| gram[row * size + row]));
        let floor = self.diagonal.iter().copied().fold(0.0, f64::max) * TOLERANCE;
        for step in 0..size {
            let Some(pivot) = self.largest_free(floor) else { return };
            let root = self.diagonal[pivot].sqrt();
            self.pivots.push(pivot);
            self.rank = step + 1;
            for row in 0..size {
                let done = self.diagonal[row] == f64::NEG_INFINITY;
                if row == pivot || done {
                    continue;
                }
                let (a, b) = (row * size, pivot * size);
                let known: f64 = (0..step).map(|k| self.lower[a + k] * self.lower[b + k]).sum();
                let entry = (gram[a + pivot] - known) / root;
                self.lower[a + step] = entry;
                self.diagonal[row] -= entry * entry;
            }
            self.lower[pivot * size + step] = root;
            self.diagonal[pivot] = f64::NEG_INFINITY;
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

    /// Solves `L_S^T x = b` in place, `L_S` being the pivots' rows: upper triangular in pivot
    /// order.
    pub fn solve_transposed(&self, b: &mut [f64]) {
        for k in (0..self.rank).rev() {
            let mut value = b[k];
            for (later, &row) in self.pivots.iter().enumerate().take(self.rank).skip(k + 1) {
                value -= self.lower[row * self.size + k] * b[later];
            }
            b[k] = value / self.lower[self.pivots[k] * self.size + k];
        }
    }

    /// Solves `L_S x = b` in place.
    pub fn solve(&self, b: &mut [f64]) {
        for (k, &row) in self.pivots.iter().enumerate() {
            let known: f64 = (0..k).map(|j| self.lower[row * self.size + j] * b[j]).sum();
            b[k] = (b[k] - known) / self.lower[row * self.size + k];
        }
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
            let (mut x, mut y) = (b[..rank].to_vec(), b[..rank].to_vec());
            factor.solve(&mut x);
            factor.solve_transposed(&mut y);
            for (k, &wanted) in b.iter().enumerate().take(rank) {
                let forward: f64 = (0..rank).map(|j| factor.lower[factor.pivots[k] * size + j] * x[j]).sum();
                let transposed: f64 = (0..rank).map(|j| factor.lower[factor.pivots[j] * size + k] * y[j]).sum();
                prop_assert!((forward - wanted).abs() < 1e-6 && (transposed - wanted).abs() < 1e-6);
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
