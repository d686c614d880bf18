//! The variance of feed-forward layers, dense in and out, in closed form up to integrals over one normal
//! number.
//!
//! A layer of N neurons with one output unit is f = Σ_j w_j φ(h_j) / √N, or with a gate f = Σ_j w_j
//! φ(h_j) u_j / √N, where h_j and u_j are standard normal for tokens of variance 1 (NTK
//! parametrisation). Its kernel is the mean over neurons of independent terms
//!
//! > k = φ(h)^2 + w^2 φ'(h)^2,  with a gate k = (u^2 + w^2) φ(h)^2 + w^2 u^2 φ'(h)^2,
//!
//! so that Var\[K\] / E\[K\]^2 = c / N with c = Var\[k\] / E\[k\]^2. Splitting the layer into
//! m branches of n neurons relabels neurons: the variance is c / (m n) whatever the split.

use collegial_arch::Activation;

use crate::sampler::activation::{derivative, phi};

/// c of a layer, with a gate or without.
pub fn constant(activation: Activation, gated: bool) -> f64 {
    let (mean, square) = moments(activation, gated);
    square / (mean * mean) - 1.0
}

/// E\[K\], which no width changes.
pub fn mean(activation: Activation, gated: bool) -> f64 {
    moments(activation, gated).0
}

/// E[k] and E[k^2] of one neuron.
fn moments(activation: Activation, gated: bool) -> (f64, f64) {
    let value = |x: f64| phi(activation, x).powi(2);
    let slope = |x: f64| derivative(activation, x).powi(2);
    let (values, slopes) = (normal_mean(value), normal_mean(slope));
    let value_squares = normal_mean(|x| value(x).powi(2));
    let slope_squares = normal_mean(|x| slope(x).powi(2));
    let products = normal_mean(|x| value(x) * slope(x));
    // E[w^4] = 3, and u and w are independent of h and of each other.
    if gated {
        (2.0 * values + slopes, 8.0 * value_squares + 12.0 * products + 9.0 * slope_squares)
    } else {
        (values + slopes, value_squares + 2.0 * products + 3.0 * slope_squares)
    }
}

/// E[φ(x) φ(y)] of standard normal numbers of this correlation; with a gate times the correlation of
/// what the gates see.
pub fn dual(activation: Activation, gated: bool, correlation: f64) -> f64 {
    let rest = ((1.0 - correlation) * (1.0 + correlation)).max(0.0).sqrt();
    let inner = |x: f64| normal_mean(|y| phi(activation, correlation * x + rest * y));
    let value = normal_mean(|x| phi(activation, x) * inner(x));
    if gated { correlation * value } else { value }
}

/// Normal numbers beyond this are left out; pieces begin and end at multiples of 1 / PIECES, where all
/// kinks of activations lie.
const END: i32 = 10;
const PIECES: i32 = 2;

/// The mean of a function of a standard normal number: Gauss and Legendre's rule of five nodes, piece by
/// piece.
fn normal_mean(f: impl Fn(f64) -> f64) -> f64 {
    let root = 2.0 * (10.0_f64 / 7.0).sqrt();
    let (near, far) = ((5.0 - root).sqrt() / 3.0, (5.0 + root).sqrt() / 3.0);
    let (heavy, light) = ((322.0 + 13.0 * 70.0_f64.sqrt()) / 900.0, (322.0 - 13.0 * 70.0_f64.sqrt()) / 900.0);
    let nodes = [(0.0, 128.0 / 225.0), (near, heavy), (-near, heavy), (far, light), (-far, light)];
    let half = 0.5 / f64::from(PIECES);
    let mut sum = 0.0;
    for piece in -END * PIECES..END * PIECES {
        let middle = (f64::from(piece) + 0.5) / f64::from(PIECES);
        for (node, weight) in nodes {
            let x = middle + half * node;
            sum += weight * half * (-0.5 * x * x).exp() * f(x);
        }
    }
    sum / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::arc_cosine::ArcCosine;

    #[test]
    fn duals_of_relus_are_arc_cosine_kernels() {
        for correlation in [0.0, 0.3, 0.9, 1.0] {
            let exact = ArcCosine::relu(correlation).value;
            let found = dual(Activation::Relu, false, correlation);
            assert!((found - exact).abs() < 1e-3, "{correlation}: {found} {exact}");
            let linear = dual(Activation::None, true, correlation);
            assert!((linear - correlation * correlation).abs() < 1e-8);
        }
    }
}
