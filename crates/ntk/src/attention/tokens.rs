//! Tokens by their Gram matrix G = L L^T.

use collegial_core::Rng;

use super::dot;
use crate::Error;
use crate::sampler::Factor;

/// Entries of a given Gram matrix must be reproduced by its factor to this share of the largest.
const TOLERANCE: f64 = 1e-5;

/// What a head reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    count: usize,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// Variance 1, and the same correlation c between all: L = (√(1 - c) I, √c 1).
    Equal { correlation: f64 },
    /// Any: G and L, row by row.
    Gram { gram: Vec<f64>, lower: Vec<f64> },
}

impl Tokens {
    /// Tokens without correlation.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn white(count: usize) -> Result<Self, Error> {
        Self::correlated(count, 0.0)
    }

    /// Tokens of variance 1, with the same correlation between any two.
    ///
    /// # Errors
    ///
    /// If there are none, or the correlation is not in [0, 1].
    pub fn correlated(count: usize, correlation: f64) -> Result<Self, Error> {
        if count == 0 {
            return Err(Error::NoTokens);
        }
        if !(0.0..=1.0).contains(&correlation) {
            return Err(Error::TokenCorrelation { correlation });
        }
        Ok(Self { count, form: Form::Equal { correlation } })
    }

    /// Tokens with a Gram matrix X X^T / d of their own, row by row.
    ///
    /// # Errors
    ///
    /// If it is empty, not square, not symmetric, or not positive semidefinite.
    pub fn of_gram(gram: Vec<f64>) -> Result<Self, Error> {
        let entries = gram.len();
        let count = entries.isqrt();
        let refuse = || Error::TokenGram { entries };
        if entries == 0 || count * count != entries || gram.iter().any(|entry| !entry.is_finite()) {
            return Err(refuse());
        }
        let mut factor = Factor::default();
        factor.compute(&gram, count);
        let room = TOLERANCE * (0..count).map(|t| gram[t * count + t].abs()).fold(0.0, f64::max);
        let row = |t: usize| &factor.lower[t * count..][..count];
        let near = |at: usize| (dot(row(at / count), row(at % count)) - gram[at]).abs() <= room;
        if room == 0.0 || !(0..entries).all(near) {
            return Err(refuse());
        }
        Ok(Self { count, form: Form::Gram { gram, lower: factor.lower } })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first of them, at least one.
    pub(super) fn first(&self, count: usize) -> Self {
        let (all, count) = (self.count, count.clamp(1, self.count));
        let corner = |matrix: &[f64], columns: usize| {
            matrix.chunks_exact(all).take(count).flat_map(|row| row[..columns].to_vec()).collect()
        };
        let form = match &self.form {
            Form::Equal { .. } => self.form.clone(),
            // The factor keeps its columns: its rows stay those of the tokens that are left.
            Form::Gram { gram, lower } => Form::Gram { gram: corner(gram, count), lower: corner(lower, all) },
        };
        Self { count, form }
    }

    /// G_tt.
    pub(super) fn variance(&self, token: usize) -> f64 {
        match &self.form {
            Form::Equal { .. } => 1.0,
            Form::Gram { gram, .. } => gram[token * self.count + token],
        }
    }

    /// Draws vectors of N(0, G), one after another; `along` is scratch.
    pub(super) fn draw(&self, vectors: usize, along: &mut Vec<f64>, out: &mut Vec<f64>, rng: &mut Rng) {
        out.clear();
        for _ in 0..vectors {
            match &self.form {
                Form::Equal { correlation } => {
                    let common = correlation.sqrt() * rng.normal();
                    let own = (1.0 - correlation).sqrt();
                    out.extend((0..self.count).map(|_| common + own * rng.normal()));
                }
                Form::Gram { lower, .. } => {
                    let columns = lower.len() / self.count;
                    along.clear();
                    along.extend((0..columns).map(|_| rng.normal()));
                    out.extend(lower.chunks_exact(columns).map(|row| dot(row, along)));
                }
            }
        }
    }

    /// x_i^T G x_j of vectors over tokens that lie one after another.
    pub(super) fn gram(&self, vectors: &[f64]) -> Vec<f64> {
        let each = || vectors.chunks_exact(self.count);
        match &self.form {
            Form::Equal { correlation } => {
                let sums: Vec<f64> = each().map(|x| x.iter().sum()).collect();
                let entry = |(i, x): (usize, &[f64]), (j, y): (usize, &[f64])| {
                    (1.0 - correlation) * dot(x, y) + correlation * sums[i] * sums[j]
                };
                each().enumerate().flat_map(|x| each().enumerate().map(move |y| entry(x, y))).collect()
            }
            Form::Gram { gram, .. } => {
                let image = |x: &[f64]| gram.chunks_exact(self.count).map(|row| dot(row, x)).collect();
                let images: Vec<Vec<f64>> = each().map(image).collect();
                each().flat_map(|x| images.iter().map(move |image| dot(x, image))).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_that_no_tokens_have_are_refused() {
        for bad in [vec![], vec![1.0; 3], vec![1.0, 2.0, 2.0, 1.0], vec![1.0, 0.3, 0.1, 1.0], vec![0.0; 4]] {
            assert!(matches!(Tokens::of_gram(bad), Err(Error::TokenGram { .. })));
        }
        assert!(matches!(Tokens::of_gram(vec![f64::NAN]), Err(Error::TokenGram { .. })));
        assert!(matches!(Tokens::white(0), Err(Error::NoTokens)));
        assert!(matches!(Tokens::correlated(3, -0.1), Err(Error::TokenCorrelation { .. })));
    }

    /// The two forms of one matrix, and of its first rows: both give x^T G y.
    #[test]
    fn equal_correlations_are_a_gram_matrix() {
        let equal = Tokens::correlated(4, 0.3).unwrap();
        let matrix = (0..16).map(|at| if at / 4 == at % 4 { 1.0 } else { 0.3 }).collect();
        let general = Tokens::of_gram(matrix).unwrap();
        for (equal, general) in [(equal.first(3), general.first(3)), (equal, general)] {
            let vectors: Vec<f64> = (0..2 * equal.count()).map(|t| (t as f64 * 1.3).sin()).collect();
            for (a, b) in equal.gram(&vectors).iter().zip(general.gram(&vectors)) {
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
        }
    }
}
