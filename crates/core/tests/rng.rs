//! The generator: laws of the scalar draws, and the promise that nothing but the position matters.

use collegial_core::{Moments, Rng};
use proptest::prelude::*;

fn check(name: &str, got: f64, expected: f64, standard_error: f64) {
    let deviation = (got - expected) / standard_error;
    assert!(deviation.abs() < 4.0, "{name}: {got} instead of {expected}, {deviation:.1} standard errors off");
}

/// E[chi^2] = k, Var[chi^2] = 2k, fourth central moment 12 k (k + 4), so the variance's estimate
/// has variance (12 k (k + 4) - 4 k^2) / n.
#[test]
fn chi_squared_moments() {
    let n = 400_000;
    for k in [1, 2, 3, 4, 10, 100, 1000] {
        let mut rng = Rng::new(9, k, 0);
        let m: Moments = (0..n).map(|_| rng.chi_square(k as usize)).collect();
        let (k, n) = (f64::from(k), f64::from(n));
        check(&format!("mean of chi^2({k})"), m.mean(), k, (2.0 * k / n).sqrt());
        check(
            &format!("variance of chi^2({k})"),
            m.variance(),
            2.0 * k,
            ((12.0 * k * (k + 4.0) - 4.0 * k * k) / n).sqrt(),
        );
    }
    assert_eq!(Rng::new(1, 2, 3).chi_square(0), 0.0);
}

/// For k = 2, P(chi^2 > x) = exp(-x / 2): the law itself, not only its moments.
#[test]
fn chi_square_with_two_degrees_is_exponential() {
    let n = 400_000;
    let mut rng = Rng::new(10, 0, 0);
    let draws: Vec<f64> = (0..n).map(|_| rng.chi_square(2)).collect();
    for x in [0.01, 0.25, 1.0, 4.0, 9.0, 16.0f64] {
        let p = (-x / 2.0).exp();
        let count = draws.iter().filter(|&&d| d > x).count() as f64;
        check(&format!("chi^2(2) above {x}"), count / f64::from(n), p, (p * (1.0 - p) / f64::from(n)).sqrt());
    }
}

/// Mean n/2, variance n/4, fourth central moment 3 n^2 / 16 - n / 8; and for few coins the whole
/// law, C(n, k) / 2^n.
#[test]
fn heads_are_binomial() {
    let draws = 400_000;
    for coins in [1, 2, 31, 32, 33, 64, 1000] {
        let mut rng = Rng::new(12, coins, 0);
        let m: Moments = (0..draws).map(|_| rng.heads(coins as usize) as f64).collect();
        let (n, draws) = (f64::from(coins), f64::from(draws));
        check(&format!("mean heads of {n}"), m.mean(), n / 2.0, (n / 4.0 / draws).sqrt());
        // One coin has no spread in its estimated variance beyond that of its mean; a small floor
        // stands for it.
        let error = ((3.0 * n * n / 16.0 - n / 8.0 - n * n / 16.0) / draws).sqrt().max(1e-5);
        check(&format!("variance of heads of {n}"), m.variance(), n / 4.0, error);
    }
    let mut rng = Rng::new(13, 0, 0);
    let mut counts = [0u32; 6];
    (0..draws).for_each(|_| counts[rng.heads(5)] += 1);
    for (heads, (count, ways)) in counts.iter().zip([1.0, 5.0, 10.0, 10.0, 5.0, 1.0]).enumerate() {
        let p: f64 = ways / 32.0;
        let error = (p * (1.0 - p) / f64::from(draws)).sqrt();
        check(&format!("{heads} heads of 5"), f64::from(*count) / f64::from(draws), p, error);
    }
    assert_eq!(rng.heads(0), 0);
}

#[test]
fn uniforms() {
    let n = 1_000_000;
    let mut rng = Rng::new(3, 1, 4);
    let m: Moments = (0..n).map(|_| rng.uniform()).inspect(|u| assert!(0.0 < *u && *u < 1.0)).collect();
    check("mean", m.mean(), 0.5, (1.0 / 12.0 / f64::from(n)).sqrt());
    // Fourth central moment 1/80.
    check("variance", m.variance(), 1.0 / 12.0, ((1.0 / 80.0 - 1.0 / 144.0) / f64::from(n)).sqrt());
}

#[test]
fn integers_below_are_even_handed() {
    let n = 600_000;
    let mut rng = Rng::new(1, 1, 1);
    let mut counts = [0u32; 6];
    (0..n).for_each(|_| counts[rng.below(6) as usize] += 1);
    for count in counts {
        check("face", f64::from(count), f64::from(n) / 6.0, (f64::from(n) * 5.0 / 36.0).sqrt());
    }
    // Two thirds of 2^64: without rejection, half of the values would be twice as likely and the
    // mean 4/9 of the range.
    let big = u64::MAX / 3 * 2;
    let m: Moments = (0..n).map(|_| rng.below(big) as f64 / big as f64).collect();
    check("mean below a big bound", m.mean(), 0.5, (1.0 / 12.0 / f64::from(n)).sqrt());
    assert_eq!(rng.below(1), 0);
}

#[test]
fn shuffles_are_uniform() {
    let n = 240_000;
    let mut rng = Rng::new(5, 5, 5);
    let mut counts = std::collections::HashMap::new();
    for _ in 0..n {
        let mut items = [0, 1, 2, 3];
        rng.shuffle(&mut items);
        *counts.entry(items).or_insert(0u32) += 1;
    }
    assert_eq!(counts.len(), 24);
    let p = 1.0 / 24.0;
    for &count in counts.values() {
        check("order", f64::from(count), f64::from(n) * p, (f64::from(n) * p * (1.0 - p)).sqrt());
    }
}

proptest! {
    #[test]
    fn normals_do_not_depend_on_the_split(seed: u64, stream: u32, trial: u64, lengths in prop::collection::vec(0usize..200, 1..8)) {
        let mut whole = vec![0.0; lengths.iter().sum()];
        Rng::new(seed, stream, trial).fill_normal(&mut whole);
        let mut rng = Rng::new(seed, stream, trial);
        let mut rest = whole.as_slice();
        for length in lengths {
            let mut part = vec![0.0; length];
            rng.next_u32();
            rng.fill_normal(&mut part);
            prop_assert_eq!(&part, &rest[..length]);
            rest = &rest[length..];
        }
    }
}
