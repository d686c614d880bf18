//! Nonlinearities other than ReLU: erf, tanh, the exact GELU x Φ(x), sigmoid, SiLU, hard swish, ReLU6
//! and leaky ReLU.

use super::for_each_piece;
use crate::workers::Shared;
use collegial_arch::Activation;
use collegial_core::multiversion;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// Terms of erf's Taylor series. At |x| = 4 the 60th is below 1e-9.
const TERMS: usize = 60;

/// Beyond, erf is 1 within half a unit of f32.
const SATURATION: f64 = 4.0;

/// 2 / sqrt(pi) (-1)^k / (k! (2k + 1)).
const SERIES: [f64; TERMS] = {
    let mut series = [0.0; TERMS];
    let (mut term, mut k) = (FRAC_2_SQRT_PI, 0);
    while k < TERMS {
        series[k] = term / (2 * k + 1) as f64;
        k += 1;
        term /= -(k as f64);
    }
    series
};

/// The error function to within 1e-9: its Taylor series in f64, which has no branches and so runs
/// in vector registers. Cancellation costs seven digits at |x| = 4, of sixteen.
#[inline(always)]
fn erf(x: f64) -> f64 {
    // A NaN passes the clamp.
    let x = x.clamp(-SATURATION, SATURATION);
    let square = x * x;
    x * SERIES.iter().rev().fold(0.0, |sum, term| sum * square + term)
}

/// Samples worked on at once, so that the series runs over vectors.
const LANES: usize = 16;

#[inline(always)]
fn erf_all(x: [f64; LANES]) -> [f64; LANES] {
    let x = x.map(|x| x.clamp(-SATURATION, SATURATION));
    let mut sum = [0.0; LANES];
    for term in SERIES.iter().rev() {
        for lane in 0..LANES {
            sum[lane] = sum[lane] * (x[lane] * x[lane]) + term;
        }
    }
    std::array::from_fn(|lane| x[lane] * sum[lane])
}

multiversion! {
    fn erf_into(to: &mut [f32], x: &[f32]) {
        let (blocks, rest) = to.as_chunks_mut::<LANES>();
        let (x_blocks, x_rest) = x.as_chunks::<LANES>();
        for (to, x) in blocks.iter_mut().zip(x_blocks) {
            *to = erf_all(x.map(f64::from)).map(|y| y as f32);
        }
        for (to, x) in rest.iter_mut().zip(x_rest) {
            *to = erf(f64::from(*x)) as f32;
        }
    }
}

/// Φ(x) = (1 + erf(x / sqrt 2)) / 2.
fn normal_cdf(x: f64) -> f64 {
    0.5 + 0.5 * erf(x * FRAC_1_SQRT_2)
}

/// `to = φ(x)`; [`fused`](super::fused) has the ReLU.
pub(crate) fn forward(activation: Activation, x: &[f32], to: &mut [f32]) {
    let to = Shared::new(to);
    for_each_piece(x.len(), |range| {
        // SAFETY: pieces are disjoint.
        let to = unsafe { to.piece(range.clone()) };
        let x = &x[range];
        match activation {
            Activation::Erf => erf_into(to, x),
            Activation::Tanh => apply(to, x, f32::tanh),
            Activation::Gelu => apply(to, x, |x| (f64::from(x) * normal_cdf(f64::from(x))) as f32),
            Activation::Sigmoid => apply(to, x, sigmoid),
            Activation::Silu => apply(to, x, |x| x * sigmoid(x)),
            Activation::HardSwish => apply(to, x, |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0),
            Activation::Relu6 => apply(to, x, |x| x.clamp(0.0, 6.0)),
            Activation::LeakyRelu => apply(to, x, |x| if x > 0.0 { x } else { LEAK * x }),
            Activation::None | Activation::Relu => to.copy_from_slice(x),
        }
    });
}

/// `gradient *= φ'(x)`.
pub(crate) fn backward(activation: Activation, x: &[f32], gradient: &mut [f32]) {
    let gradient = Shared::new(gradient);
    for_each_piece(x.len(), |range| {
        // SAFETY: pieces are disjoint.
        let gradient = unsafe { gradient.piece(range.clone()) };
        for (gradient, x) in gradient.iter_mut().zip(&x[range]) {
            *gradient *= slope(activation, *x);
        }
    });
}

fn apply(to: &mut [f32], x: &[f32], phi: impl Fn(f32) -> f32) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to = phi(*x));
}

/// Negative slope of [`Activation::LeakyRelu`].
const LEAK: f32 = 0.01;

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn slope(activation: Activation, x: f32) -> f32 {
    match activation {
        Activation::Erf => FRAC_2_SQRT_PI as f32 * (-x * x).exp(),
        Activation::Tanh => {
            let y = x.tanh();
            1.0 - y * y
        }
        Activation::Gelu => {
            let wide = f64::from(x);
            let density = 0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (-0.5 * wide * wide).exp();
            (normal_cdf(wide) + wide * density) as f32
        }
        Activation::Sigmoid => sigmoid(x) * (1.0 - sigmoid(x)),
        Activation::Silu => {
            let y = sigmoid(x);
            y + x * y * (1.0 - y)
        }
        Activation::HardSwish if x <= -3.0 => 0.0,
        Activation::HardSwish if x >= 3.0 => 1.0,
        Activation::HardSwish => (2.0 * x + 3.0) / 6.0,
        Activation::Relu6 => f32::from(x > 0.0 && x < 6.0),
        Activation::LeakyRelu if x > 0.0 => 1.0,
        Activation::LeakyRelu => LEAK,
        Activation::Relu => f32::from(x > 0.0),
        Activation::None => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_is_right_to_a_billionth_and_saturates() {
        for step in -5000..=5000 {
            let x = f64::from(step) * 1e-3;
            let exact = 1.0 - collegial_core::special::erfc(x);
            // Beyond 4 the series is held at erf(4), which is 1.6e-8 from 1.
            let tolerance = if x.abs() <= SATURATION { 1e-9 } else { 2e-8 };
            assert!((erf(x) - exact).abs() <= tolerance, "erf({x}) = {}, expected {exact}", erf(x));
        }
        assert!(erf(f64::NAN).is_nan());
    }

    #[test]
    fn vectors_have_the_bits_of_scalars() {
        let x: Vec<f32> = (0..35).map(|i| (i as f32 - 17.0) * 0.31).collect();
        let mut to = vec![0.0; x.len()];
        erf_into(&mut to, &x);
        assert!(to.iter().zip(&x).all(|(to, &x)| *to == erf(f64::from(x)) as f32));
    }
}
