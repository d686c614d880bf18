//! Sums over pairs of positions of a first layer's patches: the five that exact moments need.

use super::Nonlinearity;
use super::arc_cosine::ArcCosine;
use crate::Error;

/// The sums f, b, g, t, u of the [module's derivation](super), over ρ^2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchSums {
    /// f: of E[φ^2 φ^2].
    pub(super) forward: f64,
    /// b: of E[φ' φ'].
    pub(super) backward: f64,
    /// g: of E[φ' φ^2].
    pub(super) mixed: f64,
    /// t: of G^2 E[φ' φ'].
    pub(super) squared: f64,
    /// u: of G √(d d) E[φ φ].
    pub(super) product: f64,
}

/// Nodes of the quadrature over correlations.
const NODES: usize = 2000;

/// So many different pairs of positions are remembered.
const MOST_KNOWN: usize = 32;

impl PatchSums {
    /// Of patches with the given Gram matrix (P x P, row-major; its scale does not matter), in
    /// O(P^2).
    ///
    /// # Errors
    ///
    /// If it is not the matrix of some patches: not square, not finite, all zeros, or with a
    /// negative diagonal.
    pub fn of_gram(gram: &[f64], nonlinearity: Nonlinearity) -> Result<Self, Error> {
        let size = gram.len().isqrt();
        let entry = |p: usize, q: usize| gram[p * size + q];
        let total: f64 = (0..size).map(|p| entry(p, p)).sum();
        let sound = size * size == gram.len()
            && gram.iter().all(|value| value.is_finite())
            && (0..size).all(|p| entry(p, p) >= 0.0);
        if !sound {
            return Err(Error::Gram { entries: gram.len() });
        }
        if total <= 0.0 {
            return Err(Error::ZeroInput);
        }
        let mut sums = Self { forward: 0.0, backward: 0.0, mixed: 0.0, squared: 0.0, product: 0.0 };
        // Of stationary images only a few pairs differ.
        let mut known: Vec<([u64; 2], Self)> = vec![];
        for p in 0..size {
            for q in 0..size {
                let norms = entry(p, p) * entry(q, q);
                // A patch of zeros has no direction, and nothing of it counts.
                if norms > 0.0 {
                    let key = [norms.to_bits(), entry(p, q).to_bits()];
                    let pair = match known.iter().find(|(other, _)| *other == key) {
                        Some((_, pair)) => *pair,
                        None => {
                            let (weight, correlation) = (norms / (total * total), entry(p, q) / norms.sqrt());
                            let pair = Self::of_pairs(weight, correlation, nonlinearity);
                            if known.len() < MOST_KNOWN {
                                known.push((key, pair));
                            }
                            pair
                        }
                    };
                    sums.add(pair);
                }
            }
        }
        Ok(sums)
    }

    /// Of P patches whose entries are independent standard normals (n_in channels each), averaged
    /// over them.
    ///
    /// Lengths and directions of normal vectors are independent: the shares d_p / Σ d are Dirichlet
    /// with parameters n_in / 2, and the correlation c of two patches has the density (1 -
    /// c^2)^((n_in - 3)/2), over which the rest is integrated.
    pub fn of_normal_patches(patches: usize, channels: usize, nonlinearity: Nonlinearity) -> Self {
        let (p, a) = (patches as f64, 0.5 * channels as f64);
        let pairs = p * a * (p * a + 1.0);
        let mut sums = Self { forward: 0.0, backward: 0.0, mixed: 0.0, squared: 0.0, product: 0.0 };
        sums.add(Self::of_pairs(p * a * (a + 1.0) / pairs, 1.0, nonlinearity));
        if patches == 1 {
            return sums;
        }
        let weight = p * (p - 1.0) * a * a / pairs;
        if channels == 1 {
            [-1.0, 1.0].iter().for_each(|&c| sums.add(Self::of_pairs(0.5 * weight, c, nonlinearity)));
            return sums;
        }
        // c = cos ψ turns the density into sin^(n_in - 2) ψ, smooth on [0, π]: the midpoint rule
        // converges fast.
        let node = |k: usize| std::f64::consts::PI * (k as f64 + 0.5) / NODES as f64;
        let density = |angle: f64| libm::exp((channels - 2) as f64 * libm::log(libm::sin(angle)));
        let total: f64 = (0..NODES).map(|k| density(node(k))).sum();
        for angle in (0..NODES).map(node) {
            let share = density(angle) / total;
            if share > 1e-18 {
                sums.add(Self::of_pairs(weight * share, libm::cos(angle), nonlinearity));
            }
        }
        sums
    }

    /// Of pairs of positions with the given correlation whose d_p d_q, in units of (Σ d)^2, add up to
    /// `weight`.
    fn of_pairs(weight: f64, correlation: f64, nonlinearity: Nonlinearity) -> Self {
        let pair = match nonlinearity {
            Nonlinearity::Relu => ArcCosine::relu(correlation),
            Nonlinearity::Linear => ArcCosine::linear(correlation),
        };
        let weight = weight / nonlinearity.share().powi(2);
        Self {
            forward: weight * pair.square,
            backward: weight * pair.derivative,
            mixed: weight * pair.mixed,
            squared: weight * correlation * correlation * pair.derivative,
            product: weight * correlation * pair.value,
        }
    }

    fn add(&mut self, pairs: Self) {
        self.forward += pairs.forward;
        self.backward += pairs.backward;
        self.mixed += pairs.mixed;
        self.squared += pairs.squared;
        self.product += pairs.product;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::{Moments, Rng};

    /// The average over drawn patches, channel by channel, within 4.5 standard errors.
    #[test]
    fn averages_over_normal_patches_are_those_of_drawn_ones() {
        for (patches, channels, nonlinearity) in [
            (9, 4, Nonlinearity::Relu),
            (9, 1, Nonlinearity::Relu),
            (2, 2, Nonlinearity::Linear),
            (3, 40, Nonlinearity::Relu),
            (1, 3, Nonlinearity::Relu),
        ] {
            let draw = |trial: u64| {
                let mut x = vec![0.0; patches * channels];
                Rng::new(8, channels as u32, trial).fill_normal(&mut x);
                let dot = |p: usize, q: usize| -> f64 {
                    (0..channels).map(|i| f64::from(x[p * channels + i] * x[q * channels + i])).sum()
                };
                let gram: Vec<f64> =
                    (0..patches * patches).map(|at| dot(at / patches, at % patches)).collect();
                let sums = PatchSums::of_gram(&gram, nonlinearity).unwrap();
                [sums.forward, sums.backward, sums.mixed, sums.squared, sums.product]
            };
            let drawn: Vec<[f64; 5]> = (0..20_000).map(draw).collect();
            let PatchSums { forward, backward, mixed, squared, product } =
                PatchSums::of_normal_patches(patches, channels, nonlinearity);
            for (at, exact) in [forward, backward, mixed, squared, product].into_iter().enumerate() {
                let moments: Moments = drawn.iter().map(|sums| sums[at]).collect();
                let error = moments.standard_error().max(1e-7);
                let gap = (moments.mean() - exact).abs();
                assert!(gap <= 4.5 * error, "{patches} x {channels}, sum {at}: {gap} +- {error}");
            }
        }
    }

    #[test]
    fn wide_normal_patches_are_white() {
        let mut identity = vec![0.0; 81];
        (0..9).for_each(|p| identity[10 * p] = 3.0);
        let (white, wide) = (
            PatchSums::of_gram(&identity, Nonlinearity::Relu).unwrap(),
            PatchSums::of_normal_patches(9, 1_000_000, Nonlinearity::Relu),
        );
        assert!((white.forward - wide.forward).abs() < 1e-4 && (white.squared - wide.squared).abs() < 1e-4);
    }

    #[test]
    fn matrices_that_no_patches_have_are_refused() {
        let refusal = |gram: &[f64]| PatchSums::of_gram(gram, Nonlinearity::Relu).unwrap_err().to_string();
        assert!(refusal(&[0.0; 4]).contains("zero"), "{}", refusal(&[0.0; 4]));
        assert!(refusal(&[1.0, f64::NAN, 0.0, 1.0]).contains("Gram"));
        assert!(refusal(&[1.0; 3]).contains("Gram"));
        assert!(refusal(&[]).contains("zero") || refusal(&[]).contains("Gram"));
    }
}
