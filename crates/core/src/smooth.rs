//! The normal distribution function, its density and the logistic function in single precision,
//! for loops over slices.
//!
//! Only additions, multiplications, divisions and integer operations are used, each correctly
//! rounded everywhere, without a branch: the compiler vectorises loops over them, and all CPUs give the
//! same bits.

use crate::random::normal::horner;
use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

/// 1 / sqrt(2 pi).
const DENSITY: f32 = 0.398_942_3;

/// (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2: Taylor's series, cut off below 1e-9.
const EXP: [f32; 6] = [0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];

/// e^(z^2) erfc(z) / t for t = 1 / (1 + z / 2), in powers of 2 t - 1, on z >= 0; relative error
/// below 2e-8.
const TAIL: [f32; 11] = [
    0.510_791_36,
    0.343_580_3,
    0.139_735_74,
    0.018_221_684,
    -0.010_751_651,
    -0.003_243_504_6,
    0.001_529_217_9,
    0.000_430_741_43,
    -0.000_299_443_8,
    -3.663_364_6e-5,
    4.218_304e-5,
];

/// e^x; arguments are cut off at -87 and 88, within f32's range.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding and subtracting it rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    // ln(2), its first part with few digits, so that multiples of it are exact.
    const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x * LOG2_E + ROUND;
    let power = shifted - ROUND;
    let r = (x - power * LN_2.0) - power * LN_2.1;
    let value = r * r * horner(&EXP, r) + r + 1.0;
    // The integer is in the last bits of the shifted number; from there into the exponent.
    f32::from_bits(value.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// The probability that a standard normal number is at most x, and its density at x; the tails go
/// to 0 like the density, to which they are in proportion.
#[inline(always)]
pub fn normal(x: f32) -> (f32, f32) {
    let square = exp(-0.5 * (x * x));
    let z = x.abs() * FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * z);
    let tail = 0.5 * square * t * horner(&TAIL, 2.0 * t - 1.0);
    (if x < 0.0 { tail } else { 1.0 - tail }, DENSITY * square)
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub fn logistic(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_cdf;

    /// Every 997th of the numbers from 2^-30 up to the limit, and their negatives.
    fn numbers(limit: f32) -> impl Iterator<Item = f32> {
        let ends = (1.0 / (1 << 30) as f32).to_bits()..=limit.to_bits();
        ends.step_by(997).map(f32::from_bits).flat_map(|x| [x, -x]).chain([0.0, -0.0, limit, -limit])
    }

    #[test]
    fn exponentials_are_right_to_rounding() {
        for x in numbers(87.0) {
            let (got, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((got - exact).abs() <= 2.5e-7 * exact, "e^{x}: {got} instead of {exact}");
        }
        assert!(exp(f32::NEG_INFINITY) < 2e-38 && exp(f32::INFINITY).is_finite());
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn normal_probabilities_and_densities_are_right_to_rounding() {
        for x in numbers(12.0) {
            let exact = f64::from(x);
            let (probability, density) = normal(x);
            let exact_density = (-0.5 * exact * exact).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let gap = (f64::from(probability) - normal_cdf(exact)).abs();
            // The exponent x^2 / 2 is rounded, which counts by its size.
            let rounding = 4e-7 + 1.2e-7 * exact * exact;
            assert!(gap <= rounding * normal_cdf(exact), "{x}: {probability}, off by {gap}");
            // At most 1.8e-7 was seen, near x = 0, where the roundings of a polynomial add up.
            assert!(gap <= 2.5e-7, "{x}: {probability}, off by {gap}");
            let gap = (f64::from(density) - exact_density).abs();
            assert!(gap <= rounding * exact_density && gap <= 1e-7, "{x}: {density}, off by {gap}");
        }
        assert_eq!(normal(f32::INFINITY).0, 1.0);
        assert!(normal(f32::NEG_INFINITY).0 < 1e-37);
    }

    #[test]
    fn the_logistic_function_is_right_to_rounding() {
        for x in numbers(80.0) {
            let (got, exact) = (f64::from(logistic(x)), 1.0 / (1.0 + f64::from(-x).exp()));
            assert!((got - exact).abs() <= 4e-7 * exact, "{x}: {got} instead of {exact}");
        }
    }
}
