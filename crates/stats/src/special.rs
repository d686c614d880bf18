//! The few special functions intervals need: erfc, the normal law, Student's t.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// The complementary error function, to about 1e-15 relative for x >= 0.
pub fn erfc(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    let gauss = (-x * x).exp() / PI.sqrt();
    if x < 2.0 {
        // erf(x) = 2 / sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (2n+1)!!, all terms positive.
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while term > sum * 1e-17 {
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        1.0 - 2.0 * gauss * sum
    } else {
        // exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + 1 / (x + (3/2) / ...))), from the inside out.
        gauss / (1..=120).rev().fold(x, |tail, i| x + 0.5 * f64::from(i) / tail)
    }
}

/// The probability that a standard normal number is at most x.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// The x with `normal_cdf(x) = p`; infinite at 0 and 1, NaN outside of [0, 1].
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    // Abramowitz and Stegun 26.2.23 is right to 4.5e-4; each step of Halley's method triples the digits.
    let t = (-2.0 * p.ln()).sqrt();
    let mut x = (2.515517 + t * (0.802853 + t * 0.010328))
        / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
        - t;
    for _ in 0..3 {
        let error = 0.5 * erfc(-x / SQRT_2) - p;
        let newton = error * (2.0 * PI).sqrt() * (0.5 * x * x).exp();
        x -= newton / (1.0 + 0.5 * x * newton);
    }
    x
}

/// The logarithm of the gamma function for x > 0.
pub fn ln_gamma(x: f64) -> f64 {
    // Stirling's series from 10 on, the recurrence below.
    let (mut x, mut product) = (x, 1.0);
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = (1.0 / 12.0
        - y * (1.0 / 360.0
            - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y * (1.0 / 1188.0 - y * 691.0 / 360_360.0)))))
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - product.ln()
}

/// The regularised incomplete beta function I_x(a, b) for a, b > 0 and x in [0, 1].
pub fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The continued fraction converges fast on this side of the mean only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    front / beta_fraction(x, a, b)
}

/// 1 + d1 / (1 + d2 / (1 + ...)) of the incomplete beta function, by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let (mut value, mut c, mut d) = (1.0, 1.0, 0.0);
    for i in 1..10_000 {
        let m = f64::from(i / 2);
        let coefficient = if i % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        c = 1.0 + coefficient / c;
        d = 1.0 / (1.0 + coefficient * d);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The probability that Student's t with `dof` degrees of freedom exceeds t >= 0.
fn student_tail(t: f64, dof: f64) -> f64 {
    let t2 = t * t;
    // Whichever of the two arguments is small is the one computed without cancellation.
    if t2 < dof {
        0.5 - 0.5 * incomplete_beta(t2 / (dof + t2), 0.5, 0.5 * dof)
    } else {
        0.5 * incomplete_beta(dof / (dof + t2), 0.5 * dof, 0.5)
    }
}

/// The probability that Student's t with `dof` > 0 degrees of freedom is at most t.
pub fn student_cdf(t: f64, dof: f64) -> f64 {
    if t < 0.0 { student_tail(-t, dof) } else { 1.0 - student_tail(t, dof) }
}

/// The t with `student_cdf(t, dof) = p`; infinite at 0 and 1, NaN for p outside of [0, 1] or `dof` not above 0.
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
    // Bisection: sure, and quick enough for the handful of calls a report makes.
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
