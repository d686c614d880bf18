//! Pools: averages in closed form, maxima by quadrature with fixed normal numbers.
//!
//! The maximum of ReLUs is the ReLU of the maximum, so the covariance behind a max pool over ReLUs
//! of a Gaussian field is E[max(0, max_w g) max(0, max_w' g)] over two windows w, w' at the given
//! lag. There is no closed form; 2,000 fixed draws of both windows, each with its mirror image -g,
//! know it to about 1 %. The same numbers serve every lag, so that differences between lags are
//! known much better, and the answer depends on no seed.

use std::collections::BTreeSet;

use collegial_core::Rng;

use super::{Field, Lag};

/// Pairs of draws.
const DRAWS: usize = 2000;

/// The lags before the pool that lags behind it need.
pub(super) fn lags_before(lags: &BTreeSet<Lag>, kernel: usize, stride: usize) -> BTreeSet<Lag> {
    let taps = || (0..kernel * kernel).map(move |tap| (tap / kernel, tap % kernel));
    let between = |&(y, x): &Lag| {
        taps().flat_map(move |p| taps().map(move |q| between(p, (y * stride + q.0, x * stride + q.1))))
    };
    lags.iter().flat_map(between).chain(taps()).collect()
}

fn between(p: (usize, usize), q: (usize, usize)) -> Lag {
    (p.0.abs_diff(q.0), p.1.abs_diff(q.1))
}

/// The covariance behind means over windows side by side: the mean over the pixels of both.
pub(super) fn averaged(before: &Field, lags: &BTreeSet<Lag>, side: usize) -> Field {
    let pixels = || (0..side * side).map(move |at| (at / side, at % side));
    let at_lag = |&(y, x): &Lag| {
        let pair = |p, q: Lag| before.at(between(p, (y * side + q.0, x * side + q.1)));
        let sum: f64 = pixels().map(|p| pixels().map(|q| pair(p, q)).sum::<f64>()).sum();
        ((y, x), sum / (side * side * side * side) as f64)
    };
    Field { at: lags.iter().map(at_lag).collect(), other: before.other }
}

/// The covariance behind a max pool over ReLUs of the Gaussian field `before`.
pub(super) fn behind(before: &Field, lags: &BTreeSet<Lag>, kernel: usize, stride: usize) -> Field {
    let taps = kernel * kernel;
    let mut normals = vec![0.0; 2 * taps * DRAWS];
    Rng::new(0, 0x0070_6f6f, 0).fill_normal(&mut normals);
    let position = |tap: usize| (tap / kernel, tap % kernel);
    let first = |p: usize, q: usize| before.at(between(position(p), position(q)));
    let lower = cholesky(taps, &first);
    // The first window is the same for all lags.
    let first_maxima: Vec<[f64; 2]> =
        normals.chunks_exact(2 * taps).map(|z| maxima(&lower, taps, taps, z)).collect();
    let pair = |covariance: &dyn Fn(usize, usize) -> f64| {
        let lower = cholesky(2 * taps, &|p, q| match (p < taps, q < taps) {
            (false, true) => covariance(q, p - taps),
            (true, false) => covariance(p, q - taps),
            _ => first(p % taps, q % taps),
        });
        let products = normals.chunks_exact(2 * taps).zip(&first_maxima).map(|(z, [a, b])| {
            let [c, d] = maxima(&lower[taps * 2 * taps..], taps, 2 * taps, z);
            a * c + b * d
        });
        products.sum::<f64>() / (2 * DRAWS) as f64
    };
    let square: f64 = first_maxima.iter().map(|[a, b]| a * a + b * b).sum::<f64>() / (2 * DRAWS) as f64;
    let at_lag = |&(y, x): &Lag| {
        let value = match (y, x) {
            (0, 0) => square,
            _ => pair(&|p, q| {
                let (row, column) = position(q);
                before.at(between(position(p), (y * stride + row, x * stride + column)))
            }),
        };
        ((y, x), value)
    };
    Field { at: lags.iter().map(at_lag).collect(), other: pair(&|_, _| before.other) }
}

/// max(0, max g) over `rows` rows of g = L z, and the same of -g.
fn maxima(lower: &[f64], rows: usize, size: usize, z: &[f32]) -> [f64; 2] {
    let (mut highest, mut lowest) = (0.0f64, 0.0f64);
    for row in lower.chunks_exact(size).take(rows) {
        let g: f64 = row.iter().zip(z).map(|(l, &z)| l * f64::from(z)).sum();
        highest = highest.max(g);
        lowest = lowest.min(g);
    }
    [highest, -lowest]
}

/// The lower factor of a covariance matrix, row by row; directions without variance are left at 0.
fn cholesky(size: usize, covariance: &dyn Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut lower = vec![0.0; size * size];
    for p in 0..size {
        for q in 0..=p {
            let dot: f64 = (0..q).map(|k| lower[p * size + k] * lower[q * size + k]).sum();
            let rest = covariance(p, q) - dot;
            let pivot = lower[q * size + q];
            lower[p * size + q] = match p == q {
                true => rest.max(0.0).sqrt(),
                false if pivot > 1e-7 => rest / pivot,
                false => 0.0,
            };
        }
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn field(at: &[(Lag, f64)], other: f64) -> Field {
        Field { at: at.iter().copied().collect(), other }
    }

    /// Where all pixels of an image are equal the pool changes nothing: E[relu^2] = 1/2, and 1/(2π)
    /// between independent images.
    #[test]
    fn a_constant_image_is_left_alone() {
        let lags: BTreeSet<Lag> = [(0, 0), (0, 1)].into();
        let before = lags_before(&lags, 3, 2);
        let constant = Field { at: before.iter().map(|&lag| (lag, 1.0)).collect(), other: 0.0 };
        let behind = behind(&constant, &lags, 3, 2);
        // The mirrored draws know E[z^2] to sqrt(2 / 2000) = 3 %.
        assert!((behind.variance() - 0.5).abs() < 0.06, "{behind:?}");
        assert!((behind.at((0, 1)) - behind.variance()).abs() < 1e-9);
        assert!((behind.other - 0.5 / PI).abs() < 0.03, "{behind:?}");
    }

    /// White pixels: a window of four has a quarter of the variance and nothing in common with the
    /// next. A linear covariance: the mean over all pairs, by hand.
    #[test]
    fn averages_over_windows() {
        let lags: BTreeSet<Lag> = [(0, 0), (0, 1), (1, 1)].into();
        let of = |value: fn(Lag) -> f64| {
            let at = lags_before(&lags, 2, 2).iter().map(|&lag| (lag, value(lag))).collect();
            averaged(&Field { at, other: 0.3 }, &lags, 2)
        };
        let white = of(|lag| if lag == (0, 0) { 1.0 } else { 0.0 });
        assert_eq!(
            (white.variance(), white.at((0, 1)), white.at((1, 1)), white.other),
            (0.25, 0.0, 0.0, 0.3)
        );
        // Columns 0 and 1 against 0 and 1: lags 0, 1, 1, 0; against 2 and 3: 2, 3, 1, 2.
        let linear = of(|(_, column)| 10.0 - column as f64);
        assert_eq!((linear.variance(), linear.at((0, 1))), (9.5, 8.0));
    }

    /// The maximum of two independent standard normals, rectified: E[max(0, g1, g2)] = (1 + √2) /
    /// (2 √π), which squared is the covariance of windows that have nothing in common.
    #[test]
    fn two_independent_pixels() {
        let lags: BTreeSet<Lag> = [(0, 0), (0, 3)].into();
        let mut white = field(&[], 0.0);
        white.at =
            lags_before(&lags, 2, 2).iter().map(|&lag| (lag, if lag.1 == 0 { 1.0 } else { 0.0 })).collect();
        // Rows are equal, columns independent: a 2 x 2 window holds two different numbers.
        let behind = behind(&white, &lags, 2, 2);
        let mean = (1.0 + 2f64.sqrt()) / (2.0 * PI.sqrt());
        assert!((behind.at((0, 3)) - mean * mean).abs() < 0.03, "{} {}", behind.at((0, 3)), mean * mean);
        // E[max(0, g1, g2)^2] = 1 - E[max^2 where both are below 0]: E[max(g1, g2)^2] is 1.
        let both_negative = 0.25 - 0.5 / PI;
        assert!((behind.variance() - (1.0 - both_negative)).abs() < 0.06, "{}", behind.variance());
    }
}
