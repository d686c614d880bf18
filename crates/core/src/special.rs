//! The few special functions that intervals and tests need: the error function by `libm` (good to
//! the last digit), the incomplete beta and gamma functions behind Student's t and the chi-square
//! by `statrs`.
//!
//! Quantiles of probabilities outside of [0, 1] are NaN, and those of 0 and 1 infinite, where the
//! crate's types would refuse or panic.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use statrs::function::{beta, gamma};

pub use libm::{erf, erfc};

/// The probability that a standard normal number is at most x.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// The x with `normal_cdf(x) = p`; infinite at 0 and 1, NaN outside of [0, 1].
pub fn normal_quantile(p: f64) -> f64 {
    if (0.0..=1.0).contains(&p) { -SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p) } else { f64::NAN }
}

/// The probability that Student's t with `dof` > 0 degrees of freedom is at most t.
pub fn student_cdf(t: f64, dof: f64) -> f64 {
    if t < 0.0 { student_tail(-t, dof) } else { 1.0 - student_tail(t, dof) }
}

/// The probability that Student's t with `dof` degrees of freedom exceeds t >= 0.
fn student_tail(t: f64, dof: f64) -> f64 {
    if dof.is_infinite() {
        return normal_cdf(-t);
    }
    let t2 = t * t;
    // Whichever of the two arguments is small is the one that is computed without cancellation.
    if t2 < dof {
        0.5 - 0.5 * beta::beta_reg(0.5, 0.5 * dof, t2 / (dof + t2))
    } else {
        0.5 * beta::beta_reg(0.5 * dof, 0.5, dof / (dof + t2))
    }
}

/// The t with `student_cdf(t, dof) = p`; infinite at 0 and 1, NaN for p outside of [0, 1] or `dof`
/// not above 0.
///
/// By bisection on the tail: the crate's inverse of the incomplete beta function loses its digits
/// at many degrees of freedom.
pub fn student_quantile(p: f64, dof: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || dof.is_nan() || dof <= 0.0 {
        return f64::NAN;
    }
    if dof.is_infinite() {
        return normal_quantile(p);
    }
    if p < 0.5 {
        return -student_quantile(1.0 - p, dof);
    }
    let tail = 1.0 - p;
    if tail == 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while student_tail(high, dof) > tail && high < f64::MAX / 2.0 {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if student_tail(middle, dof) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The probability that a chi-square number with `dof` degrees of freedom exceeds x; 1 where there
/// are none.
pub fn chi_square_tail(x: f64, dof: usize) -> f64 {
    if dof == 0 || x <= 0.0 { 1.0 } else { gamma::gamma_ur(0.5 * dof as f64, 0.5 * x) }
}
