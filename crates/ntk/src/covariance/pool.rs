//! Pools: averages in closed form, maxima by quadrature with fixed normal numbers.
//!
//! The maximum of ReLUs is the ReLU of the maximum, so the covariance behind a max pool over ReLUs
//! of a Gaussian field is E[max(0, max_w g) max(0, max_w' g)] over two windows w, w' at the given
//! lag. There is no closed form; 2,000 fixed draws of both windows, each with its mirror image -g,
//! know it to about 1 %. The same numbers serve every lag, so that differences between lags are
//! known much better, and the answer depends on no seed.

use std::collections::BTreeSet;

use collegial_core::{Rng, multiversion};

use super::{Field, Lag, Lags};

/// Pairs of draws.
const DRAWS: usize = 2000;

/// Draws side by side in the lanes of vectors.
const LANES: usize = 16;

/// The same number of every draw.
type Lane = [f64; LANES];

/// The lags before the pool that lags behind it need.
pub(super) fn lags_before(lags: &Lags, kernel: usize, stride: usize) -> Lags {
    let taps = || (0..kernel * kernel).map(move |tap| (tap / kernel, tap % kernel));
    let between = |&(y, x): &Lag| {
        taps().flat_map(move |p| taps().map(move |q| between(p, (y * stride + q.0, x * stride + q.1))))
    };
    let before: BTreeSet<Lag> = lags.iter().flat_map(between).chain(taps()).collect();
    before.into_iter().collect()
}

fn between(p: (usize, usize), q: (usize, usize)) -> Lag {
    (p.0.abs_diff(q.0), p.1.abs_diff(q.1))
}

/// The covariance behind means over windows side by side: the mean over the pixels of both.
pub(super) fn averaged(before: &Field, lags: &Lags, side: usize) -> Field {
    let pixels = || (0..side * side).map(move |at| (at / side, at % side));
    let at_lag = |(y, x): Lag| {
        let pair = |p, q: Lag| before.at(between(p, (y * side + q.0, x * side + q.1)));
        let sum: f64 = pixels().map(|p| pixels().map(|q| pair(p, q)).sum::<f64>()).sum();
        sum / (side * side * side * side) as f64
    };
    Field::new(lags, at_lag, before.other)
}

/// The covariance behind a max pool over ReLUs of the Gaussian field `before`.
pub(super) fn behind(before: &Field, lags: &Lags, kernel: usize, stride: usize) -> Field {
    let taps = kernel * kernel;
    let normals = normals(2 * taps);
    let position = |tap: usize| (tap / kernel, tap % kernel);
    let first = |p: usize, q: usize| before.at(between(position(p), position(q)));
    // The first window is the same for all lags.
    let mut first_maxima = vec![[[0.0; LANES]; 2]; DRAWS / LANES];
    maxima(&cholesky(taps, &first), taps, &normals, 2 * taps, &mut first_maxima);
    let mut maxima_there = first_maxima.clone();
    let mut pair = |covariance: &dyn Fn(usize, usize) -> f64| {
        let lower = cholesky(2 * taps, &|p, q| match (p < taps, q < taps) {
            (false, true) => covariance(q, p - taps),
            (true, false) => covariance(p, q - taps),
            _ => first(p % taps, q % taps),
        });
        maxima(&lower[taps * 2 * taps..], 2 * taps, &normals, 2 * taps, &mut maxima_there);
        mean_product(&first_maxima, &maxima_there)
    };
    let other = pair(&|_, _| before.other);
    let at_lag = |(y, x): Lag| match (y, x) {
        (0, 0) => mean_product(&first_maxima, &first_maxima),
        _ => pair(&|p, q| {
            let (row, column) = position(q);
            before.at(between(position(p), (y * stride + row, x * stride + column)))
        }),
    };
    Field::new(lags, at_lag, other)
}

/// Of every draw `numbers` normal numbers; draws side by side in lanes.
fn normals(numbers: usize) -> Vec<Lane> {
    let mut drawn = vec![0.0f32; numbers * DRAWS];
    Rng::new(0, 0x0070_6f6f, 0).fill_normal(&mut drawn);
    let blocks = drawn.chunks_exact(numbers * LANES);
    let number = |block: &[f32], at: usize| std::array::from_fn(|lane| f64::from(block[lane * numbers + at]));
    blocks.flat_map(|block| (0..numbers).map(move |at| number(block, at))).collect()
}

/// The mean over all draws and their mirror images, in the order of the draws.
fn mean_product(left: &[[Lane; 2]], right: &[[Lane; 2]]) -> f64 {
    let products = left
        .iter()
        .zip(right)
        .flat_map(|([a, b], [c, d])| (0..LANES).map(move |lane| a[lane] * c[lane] + b[lane] * d[lane]));
    products.sum::<f64>() / (2 * DRAWS) as f64
}

multiversion! {
    /// max(0, max g) over the rows of g = L z, and the same of -g, for every draw z of `numbers`
    /// numbers. `lower` has the last rows of a factor of so many columns.
    fn maxima(lower: &[f64], columns: usize, normals: &[Lane], numbers: usize, into: &mut [[Lane; 2]]) {
        let above = columns - lower.len() / columns;
        for (z, into) in normals.chunks_exact(numbers).zip(into) {
            let (mut highest, mut lowest) = ([0.0; LANES], [0.0; LANES]);
            for (row, factors) in lower.chunks_exact(columns).enumerate() {
                let mut g = [0.0; LANES];
                for (factor, z) in factors[..=above + row].iter().zip(z) {
                    for (g, z) in g.iter_mut().zip(z) {
                        *g += factor * z;
                    }
                }
                for ((&g, highest), lowest) in g.iter().zip(&mut highest).zip(&mut lowest) {
                    *highest = if g > *highest { g } else { *highest };
                    *lowest = if g < *lowest { g } else { *lowest };
                }
            }
            into[0] = highest;
            for (to, lowest) in into[1].iter_mut().zip(&lowest) {
                *to = -lowest;
            }
        }
    }
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

    fn lags(of: &[Lag]) -> Lags {
        of.iter().copied().collect()
    }

    /// The sums draw by draw, number by number, with the zeros above the diagonal.
    #[test]
    fn lanes_have_the_bits_of_single_draws() {
        let (rows, columns) = (9, 18);
        let mut lower = vec![0.0; columns * columns];
        for (p, q) in (0..columns).flat_map(|p| (0..=p).map(move |q| (p, q))) {
            lower[p * columns + q] = ((p * 31 + q * 17) % 23) as f64 / 7.0 - 1.4;
        }
        let lower = &lower[(columns - rows) * columns..];
        let mut drawn = vec![0.0f32; columns * DRAWS];
        Rng::new(0, 0x0070_6f6f, 0).fill_normal(&mut drawn);
        let mut found = vec![[[0.0; LANES]; 2]; DRAWS / LANES];
        maxima(lower, columns, &normals(columns), columns, &mut found);
        for (draw, z) in drawn.chunks_exact(columns).enumerate() {
            let g = |row: &[f64]| -> f64 { row.iter().zip(z).map(|(l, &z)| l * f64::from(z)).sum() };
            let all: Vec<f64> = lower.chunks_exact(columns).map(g).collect();
            let highest = all.iter().fold(0.0, |a: f64, &b| a.max(b));
            let lowest = all.iter().fold(0.0, |a: f64, &b| a.min(b));
            let there = found[draw / LANES].map(|lane| lane[draw % LANES]);
            assert_eq!(there, [highest, -lowest], "draw {draw}");
        }
    }

    /// Where all pixels of an image are equal the pool changes nothing: E[relu^2] = 1/2, and 1/(2π)
    /// between independent images.
    #[test]
    fn a_constant_image_is_left_alone() {
        let lags = lags(&[(0, 0), (0, 1)]);
        let constant = Field::new(&lags_before(&lags, 3, 2), |_| 1.0, 0.0);
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
        let lags = lags(&[(0, 0), (0, 1), (1, 1)]);
        let of =
            |value: fn(Lag) -> f64| averaged(&Field::new(&lags_before(&lags, 2, 2), value, 0.3), &lags, 2);
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
        let lags = lags(&[(0, 0), (0, 3)]);
        let equal_rows = |lag: Lag| if lag.1 == 0 { 1.0 } else { 0.0 };
        let white = Field::new(&lags_before(&lags, 2, 2), equal_rows, 0.0);
        // Rows are equal, columns independent: a 2 x 2 window holds two different numbers.
        let behind = behind(&white, &lags, 2, 2);
        let mean = (1.0 + 2f64.sqrt()) / (2.0 * PI.sqrt());
        assert!((behind.at((0, 3)) - mean * mean).abs() < 0.03, "{} {}", behind.at((0, 3)), mean * mean);
        // E[max(0, g1, g2)^2] = 1 - E[max^2 where both are below 0]: E[max(g1, g2)^2] is 1.
        let both_negative = 0.25 - 0.5 / PI;
        assert!((behind.variance() - (1.0 - both_negative)).abs() < 0.06, "{}", behind.variance());
    }
}
