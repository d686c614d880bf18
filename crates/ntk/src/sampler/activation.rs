//! Activations φ and their derivatives, on columns.

use collegial_arch::Activation;
use collegial_core::special::{erfc, normal_cdf};
use collegial_core::{multiversion, smooth};

use super::columns::{relu, relu_mask};

/// Puts φ on H, in place; `before` keeps H where φ' needs it (for ReLU, φ(H) > 0 says enough).
pub(crate) fn apply(activation: Activation, values: &mut [f32], before: &mut Vec<f32>) {
    match activation {
        Activation::None => {}
        Activation::Relu => relu(values),
        _ => {
            before.clear();
            before.extend_from_slice(values);
            match activation {
                Activation::Gelu => gelu(values),
                Activation::Sigmoid => sigmoids(values),
                Activation::Silu => silu(values),
                _ => values.iter_mut().for_each(|value| *value = phi(activation, f64::from(*value)) as f32),
            }
        }
    }
}

/// `cotangent *= φ'(H)`, with the buffers that [`apply`] left; the derivative of ReLU at 0 is 0.
pub(crate) fn pull_back(activation: Activation, after: &[f32], before: &[f32], cotangent: &mut [f32]) {
    match activation {
        Activation::None => {}
        Activation::Relu => relu_mask(after, cotangent),
        Activation::Gelu => gelu_slope(before, cotangent),
        Activation::Sigmoid => sigmoid_slope(after, cotangent),
        Activation::Silu => silu_slope(before, cotangent),
        _ => {
            for (cotangent, &before) in cotangent.iter_mut().zip(before) {
                *cotangent *= derivative(activation, f64::from(before)) as f32;
            }
        }
    }
}

multiversion! {
    fn gelu(values: &mut [f32]) {
        for x in values {
            *x *= smooth::normal(*x).0;
        }
    }
}

multiversion! {
    fn gelu_slope(before: &[f32], cotangent: &mut [f32]) {
        for (cotangent, &x) in cotangent.iter_mut().zip(before) {
            let (probability, density) = smooth::normal(x);
            *cotangent *= probability + x * density;
        }
    }
}

multiversion! {
    fn sigmoids(values: &mut [f32]) {
        for x in values {
            *x = smooth::logistic(*x);
        }
    }
}

multiversion! {
    fn sigmoid_slope(after: &[f32], cotangent: &mut [f32]) {
        for (cotangent, &after) in cotangent.iter_mut().zip(after) {
            *cotangent *= after * (1.0 - after);
        }
    }
}

multiversion! {
    fn silu(values: &mut [f32]) {
        for x in values {
            *x *= smooth::logistic(*x);
        }
    }
}

multiversion! {
    fn silu_slope(before: &[f32], cotangent: &mut [f32]) {
        for (cotangent, &x) in cotangent.iter_mut().zip(before) {
            let logistic = smooth::logistic(x);
            *cotangent *= logistic * (1.0 + x * (1.0 - logistic));
        }
    }
}

/// φ in double precision: for activations without vectors, and the reference of those with them.
pub(crate) fn phi(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Erf => 1.0 - erfc(x),
        Activation::Tanh => x.tanh(),
        Activation::Gelu => x * normal_cdf(x),
        Activation::Sigmoid => sigmoid(x),
        Activation::Silu => x * sigmoid(x),
        Activation::HardSwish => x * (x + 3.0).clamp(0.0, 6.0) / 6.0,
        Activation::Relu6 => x.clamp(0.0, 6.0),
        Activation::LeakyRelu => x.max(LEAK * x),
    }
}

/// What [`Activation::LeakyRelu`] leaves of negative numbers.
const LEAK: f64 = 0.01;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// φ' in double precision.
pub(crate) fn derivative(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::None => 1.0,
        Activation::Relu => f64::from(u8::from(x > 0.0)),
        Activation::Erf => std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp(),
        Activation::Tanh => 1.0 - x.tanh().powi(2),
        Activation::Gelu => normal_cdf(x) + x * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt(),
        Activation::Sigmoid => sigmoid(x) * (1.0 - sigmoid(x)),
        Activation::Silu => sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))),
        Activation::HardSwish if x <= -3.0 => 0.0,
        Activation::HardSwish if x >= 3.0 => 1.0,
        Activation::HardSwish => (2.0 * x + 3.0) / 6.0,
        Activation::Relu6 => f64::from(u8::from(x > 0.0 && x < 6.0)),
        Activation::LeakyRelu => {
            if x > 0.0 {
                1.0
            } else {
                LEAK
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_match_differences() {
        let step = 1e-5;
        for activation in Activation::ALL {
            for x in [-3.4, -2.3, -0.4, 0.3, 1.7, 3.2, 6.5] {
                let difference = (phi(activation, x + step) - phi(activation, x - step)) / (2.0 * step);
                assert!((difference - derivative(activation, x)).abs() < 1e-8, "{activation} at {x}");
            }
        }
    }

    /// Lengths that are no multiple of a vector's included.
    #[test]
    fn columns_get_the_values_of_single_numbers() {
        for activation in Activation::ALL {
            for length in [1, 7, 16, 1000] {
                let inputs: Vec<f32> = (0..length).map(|i| (i as f32 - 0.4 * length as f32) * 0.03).collect();
                let (mut after, mut before, mut cotangent) = (inputs.clone(), vec![], vec![1.0; length]);
                apply(activation, &mut after, &mut before);
                pull_back(activation, &after, &before, &mut cotangent);
                for ((x, after), slope) in inputs.iter().zip(after).zip(cotangent) {
                    let x = f64::from(*x);
                    let (value, derivative) = (phi(activation, x), derivative(activation, x));
                    let tolerance = 3e-7 * (1.0 + x.abs());
                    assert!((f64::from(after) - value).abs() <= tolerance, "{activation} of {x}: {after}");
                    assert!(
                        (f64::from(slope) - derivative).abs() <= tolerance,
                        "{activation}' of {x}: {slope}"
                    );
                }
            }
        }
    }
}
