//! The law of the normals, on 2^24 draws with fixed seeds. A statistic with standard error s passes
//! within 4 s, which a right generator fails once in 16,000 tries.

use collegial_core::Rng;
use collegial_core::special::{erfc, normal_cdf};

const N: usize = 1 << 24;

fn draw(seed: u64, stream: u32, trial: u64) -> Vec<f32> {
    let mut out = vec![0.0; N];
    Rng::new(seed, stream, trial).fill_normal(&mut out);
    out
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() / N as f64
}

fn check(name: &str, got: f64, expected: f64, standard_error: f64) {
    let deviation = (got - expected) / standard_error;
    assert!(deviation.abs() < 4.0, "{name}: {got} instead of {expected}, {deviation:.1} standard errors off");
}

/// E[z^k] and the variance E[z^2k] - E[z^k]^2 of its estimate, from E[z^2j] = (2j - 1)!!.
#[test]
fn moments() {
    let z = draw(1, 0, 0);
    for (k, expected, second) in
        [(1, 0.0, 1.0), (2, 1.0, 3.0), (3, 0.0, 15.0), (4, 3.0, 105.0), (6, 15.0, 10395.0)]
    {
        let got = mean(z.iter().map(|&x| f64::from(x).powi(k)));
        let variance: f64 = second - expected * expected;
        check(&format!("moment {k}"), got, expected, (variance / N as f64).sqrt());
    }
}

/// Counts beyond a bound are binomial.
#[test]
fn tails() {
    let z = draw(2, 0, 0);
    for bound in [2.0f32, 3.0, 4.0, 5.0] {
        let p = erfc(f64::from(bound) / 2f64.sqrt()) / 2.0;
        let error = (N as f64 * p * (1.0 - p)).sqrt();
        let above = z.iter().filter(|&&x| x > bound).count() as f64;
        let below = z.iter().filter(|&&x| x < -bound).count() as f64;
        check(&format!("count above {bound}"), above, N as f64 * p, error);
        check(&format!("count below -{bound}"), below, N as f64 * p, error);
    }
    let largest = z.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    assert!((5.0..6.67).contains(&largest), "largest of 2^24 is {largest}");
}

/// Chi-square over 1000 bins of equal probability: mean 999, variance 2 * 999.
#[test]
fn equal_probability_bins() {
    const BINS: usize = 1000;
    let mut counts = [0u64; BINS];
    for x in draw(3, 0, 0) {
        counts[((normal_cdf(f64::from(x)) * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let expected = N as f64 / BINS as f64;
    let chi_square: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
    check("chi-square", chi_square, 999.0, (2.0 * 999.0f64).sqrt());
}

/// The mean of x y has variance 1 / n, that of (x^2 - 1)(y^2 - 1) has 4 / n.
fn check_uncorrelated<'a>(name: &str, pairs: impl Iterator<Item = (&'a f32, &'a f32)>) {
    let (mut n, mut products, mut squares) = (0u32, 0.0, 0.0);
    for (&x, &y) in pairs {
        let (x, y) = (f64::from(x), f64::from(y));
        n += 1;
        products += x * y;
        squares += (x * x - 1.0) * (y * y - 1.0);
    }
    let n = f64::from(n);
    check(&format!("correlation, {name}"), products / n, 0.0, n.sqrt().recip());
    check(&format!("correlation of squares, {name}"), squares / n, 0.0, 2.0 / n.sqrt());
}

#[test]
fn correlations() {
    let z = draw(4, 5, 6);
    // A tile holds 32 sines and then the 32 cosines belonging to them, so a pair is 32 apart.
    let partners = z.chunks_exact(64).flat_map(|tile| tile[..32].iter().zip(&tile[32..]));
    check_uncorrelated("the two of a Box-Muller pair", partners);
    for lag in [1, 2, 8, 16, 32, 64] {
        check_uncorrelated(&format!("lag {lag}"), z.iter().zip(&z[lag..]));
    }
    check_uncorrelated("next seed", z.iter().zip(&draw(5, 5, 6)));
    check_uncorrelated("next stream", z.iter().zip(&draw(4, 6, 6)));
    check_uncorrelated("next trial", z.iter().zip(&draw(4, 5, 7)));
}
