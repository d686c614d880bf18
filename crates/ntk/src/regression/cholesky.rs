//! Cholesky factors of large positive definite matrices, f64, on rayon's current pool.
//!
//! Factor, solutions and the diagonal of the inverse all are one operation, forward substitution of
//! many rows at once, so that a page of code does what a linear algebra crate would be taken for.

use collegial_core::multiversion;
use rayon::prelude::*;

/// Rows of the factor that are computed together.
const ROWS: usize = 64;

/// Rows that a task substitutes.
const TASK: usize = 8;

/// Columns that are substituted before the next ones' inner products.
const COLUMNS: usize = 32;

/// Numbers of a vector register.
const LANES: usize = 4;

/// L of A = L L^T.
pub(crate) struct Factor {
    /// Row by row; above the diagonal is what A has there.
    values: Vec<f64>,
    n: usize,
}

impl Factor {
    /// Factors an n x n matrix, of which the lower triangle is read; `None` if it is not positive
    /// definite.
    pub fn new(mut values: Vec<f64>, n: usize) -> Option<Self> {
        for start in (0..n).step_by(ROWS) {
            let (above, rows) = values.split_at_mut(start * n);
            let rows = &mut rows[..ROWS.min(n - start) * n];
            rows.par_chunks_mut(TASK * n).for_each(|rows| substitute(above, n, 0..start, rows));
            for row in 0..rows.len() / n {
                let (above, row_and_below) = rows.split_at_mut(row * n);
                let line = &mut row_and_below[..n];
                for (column, other) in above.chunks_exact(n).enumerate() {
                    let at = start + column;
                    line[at] = (line[at] - dot(&line[..at], &other[..at])) / other[at];
                }
                let at = start + row;
                let pivot = line[at] - dot(&line[..at], &line[..at]);
                if pivot.is_nan() || pivot <= 0.0 {
                    return None;
                }
                line[at] = pivot.sqrt();
            }
        }
        Some(Self { values, n })
    }

    /// The rows of A^-1 B^T for rows b of B, transposed: entry `[i][b]` is (A^-1 b)_i; and the
    /// diagonal of A^-1.
    ///
    /// With u_i the i-th row of L^-T, which is zero before i, and z_b = L^-1 b: (A^-1 b)_i = <u_i,
    /// z_b>, and (A^-1)_ii = |u_i|^2.
    pub fn solve(&self, mut targets: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
        let n = self.n;
        let count = targets.len() / n;
        targets.par_chunks_mut(TASK * n).for_each(|rows| substitute(&self.values, n, 0..n, rows));
        let (mut solution, mut diagonal) = (vec![0.0; n * count], vec![0.0; n]);
        let tasks = solution.par_chunks_mut(TASK * count).zip(diagonal.par_chunks_mut(TASK)).enumerate();
        tasks.for_each_init(Vec::new, |rows: &mut Vec<f64>, (task, (solution, diagonal))| {
            let start = task * TASK;
            rows.clear();
            rows.resize(diagonal.len() * n, 0.0);
            (0..diagonal.len()).for_each(|row| rows[row * n + start + row] = 1.0);
            substitute(&self.values, n, start..n, rows);
            for ((u, solution), diagonal) in
                rows.chunks_exact(n).zip(solution.chunks_exact_mut(count)).zip(diagonal)
            {
                let u = &u[start..];
                *diagonal = dot(u, u);
                let targets = targets.chunks_exact(n);
                solution.iter_mut().zip(targets).for_each(|(to, z)| *to = dot(u, &z[start..]));
            }
        });
        (solution, diagonal)
    }
}

/// Solves x L^T = b in place for rows of length n, which are zero before the range's start, over a
/// range of columns: x_j = (b_j - sum over k < j of x_k L_jk) / L_jj.
fn substitute(lower: &[f64], n: usize, range: std::ops::Range<usize>, rows: &mut [f64]) {
    for start in range.clone().step_by(COLUMNS) {
        let end = (start + COLUMNS).min(range.end);
        let (done, known) = (range.start..start, &lower[..end * n]);
        subtract_products(known, n, done, start..end, rows);
        for row in rows.chunks_exact_mut(n) {
            for at in start..end {
                let line = &lower[at * n..][..n];
                let sum: f64 = (start..at).map(|k| row[k] * line[k]).sum();
                row[at] = (row[at] - sum) / line[at];
            }
        }
    }
}

multiversion! {
    /// `rows[r][j] -= sum over k of rows[r][k] lower[j][k]`, for k in `done` and j in `columns`;
    /// four rows by two columns at a time, so that every number that is loaded is used.
    fn subtract_products(
        lower: &[f64],
        n: usize,
        done: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
        rows: &mut [f64],
    ) {
        let mut quads = rows.chunks_exact_mut(4 * n);
        for quad in &mut quads {
            for j in columns.clone().step_by(2) {
                let next = (j + 1).min(columns.end - 1);
                let of = |r: usize| &quad[r * n..][done.clone()];
                let lines = [&lower[j * n..][done.clone()], &lower[next * n..][done.clone()]];
                let sums = four_by_two([of(0), of(1), of(2), of(3)], lines);
                for (r, [first, second]) in sums.into_iter().enumerate() {
                    quad[r * n + j] -= first;
                    if next > j {
                        quad[r * n + next] -= second;
                    }
                }
            }
        }
        for row in quads.into_remainder().chunks_exact_mut(n) {
            for j in columns.clone() {
                let sum = lanes_dot(&row[done.clone()], &lower[j * n..][done.clone()]);
                row[j] -= sum;
            }
        }
    }
}

multiversion! {
    /// An inner product.
    fn dot(a: &[f64], b: &[f64]) -> f64 {
        lanes_dot(a, b)
    }
}

#[inline(always)]
fn lanes_dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        add(&mut sums, a, b);
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

#[inline(always)]
fn four_by_two(rows: [&[f64]; 4], lines: [&[f64]; 2]) -> [[f64; 2]; 4] {
    let (rows, rows_rest) =
        (rows.map(|row| row.as_chunks::<LANES>().0), rows.map(|row| row.as_chunks::<LANES>().1));
    let (lines, lines_rest) =
        (lines.map(|line| line.as_chunks::<LANES>().0), lines.map(|line| line.as_chunks::<LANES>().1));
    let mut sums = [[[0.0; LANES]; 2]; 4];
    let [r0, r1, r2, r3] = rows;
    let [l0, l1] = lines;
    for (((((r0, r1), r2), r3), l0), l1) in r0.iter().zip(r1).zip(r2).zip(r3).zip(l0).zip(l1) {
        for (sums, row) in sums.iter_mut().zip([r0, r1, r2, r3]) {
            add(&mut sums[0], row, l0);
            add(&mut sums[1], row, l1);
        }
    }
    let mut totals = [[0.0; 2]; 4];
    for r in 0..4 {
        for l in 0..2 {
            let rest = rows_rest[r].iter().zip(lines_rest[l]).map(|(a, b)| a * b).sum::<f64>();
            totals[r][l] = sums[r][l].iter().sum::<f64>() + rest;
        }
    }
    totals
}

#[inline(always)]
fn add(sums: &mut [f64; LANES], a: &[f64; LANES], b: &[f64; LANES]) {
    for lane in 0..LANES {
        sums[lane] += a[lane] * b[lane];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;

    /// A random matrix G G^T / n + 0.1, well conditioned.
    fn matrix(n: usize) -> Vec<f64> {
        let mut g = vec![0.0; n * n];
        Rng::new(3, 1, n as u64).fill_normal(&mut g);
        let entry = |i: usize, j: usize| -> f64 {
            (0..n).map(|k| f64::from(g[i * n + k]) * f64::from(g[j * n + k])).sum::<f64>() / n as f64
        };
        (0..n * n).map(|at| entry(at / n, at % n) + if at / n == at % n { 0.1 } else { 0.0 }).collect()
    }

    #[test]
    fn solutions_solve_and_the_diagonal_is_that_of_the_inverse() {
        for n in [1, 2, 7, 64, 65, 150] {
            let a = matrix(n);
            let factor = Factor::new(a.clone(), n).expect("positive definite");
            // The unit vectors as targets: the solution is the inverse.
            let unit: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect();
            let (inverse, diagonal) = factor.solve(unit.clone());
            for i in 0..n {
                assert!((diagonal[i] - inverse[i * n + i]).abs() < 1e-12 * diagonal[i], "{n}, {i}");
                for j in 0..n {
                    let product: f64 = (0..n).map(|k| a[i * n + k] * inverse[k * n + j]).sum();
                    assert!((product - unit[i * n + j]).abs() < 1e-10, "{n}: {product} at {i}, {j}");
                }
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        assert!(Factor::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Factor::new(vec![f64::NAN], 1).is_none());
    }
}
