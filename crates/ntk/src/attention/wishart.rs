//! Wishart matrices by Bartlett's factor: the Gram matrix of r Gaussian vectors of n coordinates
//! needs r chi-squares and r (r - 1) / 2 normal numbers.

use collegial_core::Rng;

use crate::sampler::Factor;

/// L of the r x r matrix L L^T with mean 1: lower triangular, of min(r, n) columns.
pub(super) struct Bartlett {
    rows: usize,
    columns: usize,
    lower: Vec<f64>,
}

impl Bartlett {
    /// Of r vectors with n coordinates, over √n.
    pub fn draw(rows: usize, width: usize, rng: &mut Rng) -> Self {
        Self::unscaled(rows, width, rng).scaled(1.0 / (width as f64).sqrt())
    }

    /// The rotation that makes the vectors lower triangular leaves lengths χ²_{n-i} on the diagonal
    /// and standard normal numbers below.
    fn unscaled(rows: usize, width: usize, rng: &mut Rng) -> Self {
        let columns = rows.min(width);
        let mut lower = vec![0.0; rows * columns];
        for row in 0..rows {
            for column in 0..columns.min(row + 1) {
                lower[row * columns + column] =
                    if row == column { rng.chi_square(width - row).sqrt() } else { rng.normal() };
            }
        }
        Self { rows, columns, lower }
    }

    pub fn scaled(mut self, by: f64) -> Self {
        self.lower.iter_mut().for_each(|entry| *entry *= by);
        self
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.lower[row * self.columns..][..self.columns]
    }

    /// Σ_l L_il y_l of rows y_l that have `count` numbers each.
    pub fn combine(&self, row: usize, y: &[f64], count: usize) -> impl Iterator<Item = f64> {
        let coefficients = self.row(row);
        (0..count).map(move |t| coefficients.iter().zip(y.chunks_exact(count)).map(|(c, y)| c * y[t]).sum())
    }

    /// The sum of products of the entries of L L^T and of a matrix.
    pub fn trace_with(&self, matrix: &[f64]) -> f64 {
        let entry = |at: usize| super::dot(self.row(at / self.rows), self.row(at % self.rows));
        matrix.iter().enumerate().map(|(at, value)| entry(at) * value).sum()
    }
}

/// The trace of a Wishart matrix of this covariance (r x r) and number of coordinates: |C L|^2 for
/// covariance = C C^T and Bartlett's L.
pub(super) fn trace(
    covariance: &[f64],
    size: usize,
    width: usize,
    factor: &mut Factor,
    rng: &mut Rng,
) -> f64 {
    if let [variance] = covariance {
        return variance * rng.chi_square(width);
    }
    if width == 0 {
        return 0.0;
    }
    factor.compute(covariance, size);
    let bartlett = Bartlett::unscaled(factor.rank, width, rng);
    let rows = factor.lower.chunks_exact(size);
    let product = |row: &[f64], column: usize| -> f64 {
        (column..factor.rank).map(|k| row[k] * bartlett.row(k)[column]).sum()
    };
    rows.map(|row| (0..bartlett.columns).map(|column| product(row, column).powi(2)).sum::<f64>()).sum()
}
