//! Exact mean and second moment of the diagonal kernel entry K(x, x), without sampling.
//!
//! They are known for one output unit of a *chain with a single column*: a first layer that is seen
//! at P positions (its P columns), linear or ReLU layers behind it that are seen at one position
//! each, and a linear output. Fully connected networks (P = 1) and bottleneck blocks 1x1, k x k,
//! 1x1 (P = k^2, fewer at a border) are such chains.
//!
//! # Derivation
//!
//! Let layer l = 1..L have scale s_l (the NTK parametrisation's), n_l outputs (n_L = 1), and a_l =
//! 1/2 for a ReLU, 1 for a linear layer. C holds the P columns that the first layer reads, H = s_1
//! W_1 C (n_1 x P) has rows with covariance G = s_1^2 C^T C, and the entries of X = φ(H) form the
//! column x that layer 2 reads.
//!
//! *Masks.* Behind the first layer, flipping the sign of a unit's incoming weights flips its
//! pre-activation and can be undone in its outgoing weights; so the sign is independent of
//! everything else, and the layers 2..L-1 have the law of linear layers with independent
//! Bernoulli(a_l) masks. Now E\[K^2\] is a polynomial in Gaussian weights.
//!
//! *Contributions.* K = T_1 + ... + T_L with T_l = s_l^2 |c_l|^2 |δ_l|^2 for l >= 2 (c_l the column
//! read, δ_l the derivative by the layer's output) and T_1 = Σ_pq G_pq <δ_1p, δ_1q>. All T_l have
//! the same mean. In units of it, and with the sums over positions
//!
//! > ρ = a_1 Σ_p d_p,  d = diag G,
//! > f = Σ d_p d_q E[φ^2 φ^2] / ρ^2,  b = Σ d_p d_q E[φ' φ'] / ρ^2,  g = Σ d_p d_q E[φ' φ^2] / ρ^2,
//! > t = Σ G_pq^2 E[φ' φ'] / ρ^2,  u = Σ G_pq √(d_p d_q) E[φ φ] / ρ^2
//!
//! (expectations over a pair of standard normals whose correlation is that of p and q:
//! [`arc_cosine`]; [`PatchSums`] holds the five), independence of the n_1 channels gives
//!
//! > E|x|^4 = 1 + (f - 1)/n_1,  E (tr Q)^2 = 1 + (b - 1)/n_1,  E[|x|^2 tr Q] = 1 + (g - 1)/n_1,
//! > E tr Q^2 = t/n_1,  E[x^T Q x] = u/n_1,
//!
//! where Q, block-diagonal over channels, has the entries G_pq φ'_p φ'_q, so that T_1 = s_2^2 v^T Q
//! v with v = W_2^T δ_2.
//!
//! *Fourth moments.* A layer of width w multiplies E|δ|^4 and E|c|^4 by 1 + γ/w, γ = 5 for a ReLU
//! (E[k^2 + 2k] of a binomial k, over (w/2)^2) and 2 for a linear layer. With F_l and B_l the
//! products over the layers 2..l-1 and l..L-1:
//!
//! > E[T_l^2] = E|x|^4 F_l B_l for l >= 2,  E[T_1^2] = (E (tr Q)^2 + 2 E tr Q^2) B_2,
//! > E[T_1 T_2] = E[|x|^2 tr Q] B_2.
//!
//! *Cross terms.* For l < l' the pre-activations h of layer k and the matrix R, in which T_l is a
//! quadratic form there, are dependent. By symmetry E[h_i h_j R_km] = p δ_ij δ_km + q (δ_ik δ_jm +
//! δ_im δ_jk). A layer of width w maps (p, q) to
//!
//! > p' = ((p + 2q)/a + (w - 1) p)/w,  q' = ((p + 2q)/a + (w - 1) q)/w,
//!
//! and E[T_l T_l'] = F p' B_l' with the p' behind layer l' - 1. It starts from (1, 0) at l >= 2
//! with F = E|x|^4 F_l, and for l = 1 from (E[|x|^2 tr Q], E[x^T Q x]) at layer 2 with F = 1.
//!
//! The sum of all is E\[K^2\] / E\[K\]^2 times L^2: linear in the five sums, so that averaging
//! those over inputs averages it.
//!
//! *Standard parametrisation.* There the derivative is by weights that are drawn with a standard
//! deviation σ_l, so that K is in proportion to Σ λ_l T_l with λ_l = σ_l^-2 ([`LayerWeights`]): fan-in
//! over the gain for dense layers, half the fan-out for convolutions. So E\[K^2\] is the same sum of
//! products of layers, weighted by λ_l λ_l', over (Σ λ_l)^2.
//!
//! Transcendental functions are `libm`'s and not the system's, so that exact variances have the
//! same bits everywhere, WebAssembly included.

pub mod arc_cosine;
mod chain;
mod patches;
mod weights;

use serde::Serialize;

use crate::Error;
pub use chain::{AveragedMoments, OnePosition};
pub use patches::PatchSums;
pub use weights::LayerWeights;

/// Mean and second moment of the diagonal kernel entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExactMoments {
    /// E\[K(x, x)\]: of the given input, or for |x|^2 = n_0, which standard normal inputs have on
    /// average. (It scales with |x|^2.)
    pub mean: f64,
    /// E\[K^2\] / E\[K\]^2.
    pub second_moment_ratio: f64,
}

impl ExactMoments {
    /// Var\[K\] / E\[K\]^2.
    pub fn variance(&self) -> f64 {
        self.second_moment_ratio - 1.0
    }

    /// The α with which the law e^{α S} - 1 gives this variance, S being the sum of inverse
    /// fan-ins.
    pub fn effective_alpha(&self, inverse_fan_in_sum: f64) -> f64 {
        self.second_moment_ratio.ln() / inverse_fan_in_sum
    }
}

/// Nonlinearity behind a layer, as far as the formulas need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonlinearity {
    /// ReLU: half of the units are on.
    Relu,
    /// The identity.
    Linear,
}

impl Nonlinearity {
    /// a: the share of the units that are on.
    pub(crate) fn share(self) -> f64 {
        match self {
            Self::Relu => 0.5,
            Self::Linear => 1.0,
        }
    }

    /// γ: what a layer of width w adds to fourth moments, times w.
    fn growth(self) -> f64 {
        match self {
            Self::Relu => 5.0,
            Self::Linear => 2.0,
        }
    }
}

/// The exact moments of a fully connected ReLU network with the given hidden widths, in
/// O(layers).
///
/// ```
/// let moments = collegial_ntk::exact::moments(&[8, 8, 8])?;
/// assert_eq!(moments.second_moment_ratio, 2.986328125);
/// # Ok::<(), collegial_ntk::Error>(())
/// ```
///
/// # Errors
///
/// If a width is 0.
pub fn moments(hidden: &[usize]) -> Result<ExactMoments, Error> {
    if let Some(layer) = hidden.iter().position(|&width| width == 0) {
        return Err(Error::Invalid(format!(
            "hidden layer {layer} has width 0; widths must be at least 1",
            layer = layer + 1
        )));
    }
    let widths: Vec<f64> = hidden.iter().map(|&width| width as f64).collect();
    // Every layer contributes 1 to the mean: gains of 2 undo the masks, and the last layer's is 1.
    let mean = (widths.len() + 1) as f64;
    Ok(ExactMoments { mean, second_moment_ratio: second_moment_ratio(&widths) })
}

/// E\[K^2\] / E\[K\]^2 of a fully connected ReLU network for positive hidden widths, real-valued
/// ones included: it is a sum of products of inverse widths.
pub fn second_moment_ratio(widths: &[f64]) -> f64 {
    let layers = (widths.len() + 1) as f64;
    sum_of_products(widths, |_| Nonlinearity::Relu, |_| 1.0) / (layers * layers)
}

/// E\[K^2\] / E\[K\]^2 of a chain with a single column behind its first layer, for positive, also
/// real-valued widths n_1..n_{L-1}, at least one; `later` are the nonlinearities of the layers
/// 2..L-1. NTK parametrisation.
pub fn block_second_moment_ratio(sums: &PatchSums, widths: &[f64], later: &[Nonlinearity]) -> f64 {
    weighted_second_moment_ratio(sums, widths, later, |_| 1.0)
}

/// The same of K = Σ λ_l T_l, where `weight` gives λ_l of the layer l = 0..L-1.
pub fn weighted_second_moment_ratio(
    sums: &PatchSums,
    widths: &[f64],
    later: &[Nonlinearity],
    weight: impl Fn(usize) -> f64,
) -> f64 {
    let (n, behind) = (widths[0], &widths[1..]);
    let nonlinearity = |layer: usize| later[layer];
    let over_channels = |sum: f64| 1.0 + (sum - 1.0) / n;
    let (_, backward) = fourth_moments(behind, nonlinearity);
    let both = over_channels(sums.mixed);
    // Pairs of layers behind the first, then T_1 with itself, with T_2, and with those behind.
    let mut sum =
        over_channels(sums.forward) * sum_of_products(behind, nonlinearity, |layer| weight(layer + 1));
    let first = weight(0);
    sum += first * first * (over_channels(sums.backward) + 2.0 * sums.squared / n) * backward[0];
    sum += 2.0 * first * weight(1) * both * backward[0];
    let (mut p, mut q) = (both, sums.product / n);
    for (layer, &width) in behind.iter().enumerate() {
        (p, q) = carried(p, q, width, nonlinearity(layer));
        sum += 2.0 * first * weight(layer + 2) * p * backward[layer + 1];
    }
    let total: f64 = (0..=widths.len()).map(weight).sum();
    sum / (total * total)
}

/// Σ over all pairs of layers of λ_l λ_l' E[T_l T_l'], for hidden layers of the given widths that
/// are all seen at one position. Layers map (p, q) linearly, so that one pass carries λ_l F_l (p, q)
/// summed over all l that it has met.
fn sum_of_products(
    widths: &[f64],
    nonlinearity: impl Fn(usize) -> Nonlinearity,
    weight: impl Fn(usize) -> f64,
) -> f64 {
    let (forward, backward) = fourth_moments(widths, &nonlinearity);
    let (mut sum, mut p, mut q) = (0.0, 0.0, 0.0);
    for (layer, (forward, backward)) in forward.iter().zip(&backward).enumerate() {
        let weight = weight(layer);
        sum += 2.0 * weight * p * backward;
        sum += weight * weight * forward * backward;
        if let Some(&width) = widths.get(layer) {
            (p, q) = carried(p + weight * forward, q, width, nonlinearity(layer));
        }
    }
    sum
}

/// (p, q) behind a layer of width w.
fn carried(p: f64, q: f64, w: f64, nonlinearity: Nonlinearity) -> (f64, f64) {
    let on = (p + 2.0 * q) / nonlinearity.share();
    ((on + (w - 1.0) * p) / w, (on + (w - 1.0) * q) / w)
}

/// F and B, both indexed by the layer from 0: products of 1 + γ/w over the layers before, and from
/// it on.
fn fourth_moments(widths: &[f64], nonlinearity: impl Fn(usize) -> Nonlinearity) -> (Vec<f64>, Vec<f64>) {
    let growth = |layer: usize| 1.0 + nonlinearity(layer).growth() / widths[layer];
    let mut forward = vec![1.0];
    let mut backward = vec![1.0];
    for layer in 0..widths.len() {
        forward.push(forward[layer] * growth(layer));
        backward.push(backward[layer] * growth(widths.len() - 1 - layer));
    }
    backward.reverse();
    (forward, backward)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_values() {
        assert_eq!(moments(&[6, 5]).unwrap().second_moment_ratio, 2.6);
        assert_eq!(moments(&[8, 8, 8]).unwrap().second_moment_ratio, 2.986_328_125);
        assert_eq!(moments(&[]).unwrap(), ExactMoments { mean: 1.0, second_moment_ratio: 1.0 });
    }

    /// The sum over pairs of layers as the derivation has it, pair by pair.
    fn pair_by_pair(
        widths: &[f64],
        nonlinearity: impl Fn(usize) -> Nonlinearity,
        weight: impl Fn(usize) -> f64,
    ) -> f64 {
        let (forward, backward) = fourth_moments(widths, &nonlinearity);
        let mut sum = 0.0;
        for first in 0..=widths.len() {
            sum += weight(first).powi(2) * forward[first] * backward[first];
            let (mut p, mut q) = (1.0, 0.0);
            for (later, &width) in widths.iter().enumerate().skip(first) {
                (p, q) = carried(p, q, width, nonlinearity(later));
                sum += 2.0 * weight(first) * weight(later + 1) * forward[first] * p * backward[later + 1];
            }
        }
        sum
    }

    #[test]
    fn one_pass_is_the_sum_over_pairs() {
        for layers in [0, 1, 2, 5, 40] {
            let widths: Vec<f64> = (0..layers).map(|layer| f64::from(7 * layer % 11 + 1)).collect();
            let nonlinearity =
                |layer: usize| if layer % 3 == 1 { Nonlinearity::Linear } else { Nonlinearity::Relu };
            let weights: [fn(usize) -> f64; 2] = [|_| 1.0, |layer| 1.0 / (layer + 1) as f64];
            for weight in weights {
                let fast = sum_of_products(&widths, nonlinearity, weight);
                let slow = pair_by_pair(&widths, nonlinearity, weight);
                assert!((fast - slow).abs() <= 1e-12 * slow, "{layers}: {fast} {slow}");
            }
        }
    }

    #[test]
    fn variance_vanishes_with_width_like_its_inverse() {
        let wide = moments(&[100_000; 3]).unwrap().variance();
        let wider = moments(&[200_000; 3]).unwrap().variance();
        assert!((wide / wider - 2.0).abs() < 1e-3);
    }

    #[test]
    fn the_order_of_widths_can_be_reversed() {
        let (a, b) = (moments(&[3, 7, 20]).unwrap(), moments(&[20, 7, 3]).unwrap());
        assert!((a.second_moment_ratio - b.second_moment_ratio).abs() < 1e-12);
    }

    #[test]
    fn a_width_of_zero_is_refused() {
        let sentence = moments(&[4, 0]).unwrap_err().to_string();
        assert_eq!(sentence, "hidden layer 2 has width 0; widths must be at least 1");
    }

    /// A first layer with one column is the first layer of a fully connected network.
    #[test]
    fn one_column_gives_the_fully_connected_formula() {
        let one = PatchSums::of_gram(&[2.0], Nonlinearity::Relu).unwrap();
        for widths in [vec![1.0], vec![6.0, 5.0], vec![8.0; 3], vec![1.0, 17.0, 2.5, 9.0, 1.0]] {
            let block = block_second_moment_ratio(&one, &widths, &vec![Nonlinearity::Relu; widths.len() - 1]);
            let ratio = second_moment_ratio(&widths);
            assert!((block - ratio).abs() <= 1e-12 * ratio, "{widths:?}: {block} {ratio}");
        }
    }

    /// Values that were worked out apart from this code, by hand and by a million draws.
    #[test]
    fn bottleneck_blocks() {
        let gram = |decay: f64| -> Vec<f64> {
            (0..81).map(|at: i32| 2.0 * decay.powi((at / 9 - at % 9).abs())).collect()
        };
        let white = PatchSums::of_gram(&gram(0.0), Nonlinearity::Relu).unwrap();
        let smooth = PatchSums::of_gram(&gram(0.5), Nonlinearity::Relu).unwrap();
        for (n, of_white, of_smooth) in [
            (1.0, 5.975308642, 7.730541278),
            (4.0, 1.982253086, 2.163760861),
            (10.0, 1.371975309, 1.423994388),
            (64.0, 1.056281949, 1.062600787),
            (128.0, 1.028055827, 1.031131489),
        ] {
            for (sums, expected) in [(&white, of_white), (&smooth, of_smooth)] {
                let ratio = block_second_moment_ratio(sums, &[n, n], &[Nonlinearity::Relu]);
                assert!((ratio - expected).abs() < 1e-8, "{n}: {ratio} {expected}");
            }
        }
        let odd = block_second_moment_ratio(&smooth, &[5.0, 17.0], &[Nonlinearity::Relu]);
        assert!((odd - 1.370297035).abs() < 1e-8, "{odd}");
    }
}
