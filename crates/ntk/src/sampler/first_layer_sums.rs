//! The first layer of a chain with a single column: several columns, summed over channels in one
//! pass.
//!
//! Layers are drawn from their law as in `sample.rs`, but no column is ever stored: channel by
//! channel, a piece at a time, normals come in and five sums come out, which are all that
//! `one_position.rs` needs.

use collegial_arch::Activation;
use collegial_core::{Rng, multiversion};

use super::factor::Factor;
use super::plan::LinearStep;

/// Channels worked on side by side: two AVX2 registers, or one of AVX-512.
const LANES: usize = 16;
type Lanes = [f32; LANES];

/// Channels whose normals are drawn at once: few enough for the first-level cache. Sums are f32
/// within, f64 across.
const PIECE: usize = 128;

/// A layer with P columns, whose patches have the Gram matrix Q = L L^T.
#[derive(Clone, Debug)]
pub(crate) struct FirstLayer {
    channels: usize,
    columns: usize,
    /// The largest entry of scale L. Sums are taken in this unit, so that inputs of any size stay
    /// within f32's range.
    unit: f64,
    /// scale L / unit, lower triangular once its rows are in the order of the pivots: packed rows,
    /// and packed columns.
    rows: Vec<f32>,
    transposed: Vec<f32>,
    /// φ(h) is the larger of h and this: 0 for ReLU, and no bound at all for a linear layer.
    floor: f32,
}

/// Sums over all channels, in the notation of equations (6) and (7) of `one_position.rs`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// |X|^2
    pub square: f64,
    /// <X, F>
    pub seen: f64,
    /// |X L|^2, <X L, (M F) L> and |(M F) L|^2.
    pub squares: [f64; 3],
}

impl FirstLayer {
    pub fn new(step: &LinearStep, factor: &Factor) -> Self {
        Self::with_factor(step.outputs, step.scale, factor, step.activation == Activation::Relu)
    }

    fn with_factor(channels: usize, scale: f64, factor: &Factor, relu: bool) -> Self {
        let columns = factor.size;
        let others = (0..columns).filter(|row| !factor.pivots.contains(row));
        let order: Vec<usize> = factor.pivots.iter().copied().chain(others).collect();
        // The first pivot has the longest row of L, and one entry in it. Columns of zeros have no
        // pivot.
        let unit = factor.pivots.first().map_or(1.0, |&row| factor.lower[row * columns]);
        let entry = |p: usize, k: usize| (factor.lower[order[p] * columns + k] / unit) as f32;
        let lower = (0..columns).flat_map(|p| (0..=p).map(move |k| (p, k)));
        let transposed = (0..columns).flat_map(|k| (k..columns).map(move |p| (p, k)));
        Self {
            channels,
            columns,
            unit: scale * unit,
            rows: lower.map(|(p, k)| entry(p, k)).collect(),
            transposed: transposed.map(|(p, k)| entry(p, k)).collect(),
            floor: if relu { 0.0 } else { f32::NEG_INFINITY },
        }
    }

    /// Two per column and channel, z and f.
    pub fn normals(&self) -> usize {
        2 * self.columns * self.channels
    }

    pub fn draw(&self, buffer: &mut Vec<f32>, rng: &mut Rng) -> Sums {
        let mut sums = Sums::default();
        for begin in (0..self.channels).step_by(PIECE) {
            let channels = PIECE.min(self.channels - begin);
            self.fill(channels, buffer, rng);
            let mut lanes = [[0.0; LANES]; 5];
            add_channels(self, buffer, &mut lanes);
            let [square, seen, squares @ ..] = lanes.map(|lanes| total(&lanes));
            sums.square += square;
            sums.seen += seen;
            sums.squares.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
        }
        let (unit, square) = (self.unit, self.unit * self.unit);
        let [xx, xf, ff] = sums.squares;
        Sums {
            square: square * sums.square,
            seen: unit * sums.seen,
            squares: [square * square * xx, square * unit * xf, square * ff],
        }
    }

    /// Normals for some channels, in groups of [`LANES`] channels: a row of lanes per column for z,
    /// then for f. Where the last group is not full its rows end in zeros, which add nothing to any
    /// sum.
    fn fill(&self, channels: usize, buffer: &mut Vec<f32>, rng: &mut Rng) {
        let rows = 2 * self.columns;
        buffer.resize(rows * channels.next_multiple_of(LANES), 0.0);
        rng.fill_normal(&mut buffer[..rows * channels]);
        let rest = channels % LANES;
        if rest > 0 {
            let group = &mut buffer[rows * (channels - rest)..];
            for row in (0..rows).rev() {
                group.copy_within(row * rest..(row + 1) * rest, row * LANES);
                group[row * LANES + rest..(row + 1) * LANES].fill(0.0);
            }
        }
    }
}

/// By value, so that sums stay in vector registers.
#[inline(always)]
fn add_scaled(sum: Lanes, weight: f32, x: &Lanes) -> Lanes {
    std::array::from_fn(|lane| sum[lane] + weight * x[lane])
}

#[inline(always)]
fn add_product(sum: &mut Lanes, a: &Lanes, b: &Lanes) {
    *sum = std::array::from_fn(|lane| sum[lane] + a[lane] * b[lane]);
}

/// Adds the channels whose z and f the buffer holds to the five sums; X takes the place of z, and M
/// F that of f.
#[inline(always)]
fn channels_body(layer: &FirstLayer, buffer: &mut [f32], sums: &mut [Lanes; 5]) {
    let columns = layer.columns;
    let [square, seen, xx, xf, ff] = sums;
    let (lanes, _) = buffer.as_chunks_mut::<LANES>();
    for group in lanes.chunks_exact_mut(2 * columns) {
        let (x, f) = group.split_at_mut(columns);
        let mut rows = layer.rows.as_slice();
        // From the last column to the first: H = Z L^T reads z no further than its own place.
        for p in (0..columns).rev() {
            let (earlier, row) = rows.split_at(rows.len() - p - 1);
            rows = earlier;
            let mut h = [0.0; LANES];
            for (&weight, z) in row.iter().zip(x.iter()) {
                h = add_scaled(h, weight, z);
            }
            x[p] = h;
        }
        for (x, f) in x.as_flattened_mut().iter_mut().zip(f.as_flattened_mut()) {
            // A product, because the compiler turns the plain choice into masked stores, which are
            // slow.
            *f *= if *x > layer.floor { 1.0 } else { 0.0 };
            *x = if *x > layer.floor { *x } else { layer.floor };
        }
        for (x, f) in x.iter().zip(f.iter()) {
            add_product(square, x, x);
            add_product(seen, x, f);
        }
        let mut transposed = layer.transposed.as_slice();
        for k in 0..columns {
            let (column, later) = transposed.split_at(columns - k);
            transposed = later;
            let (mut xl, mut fl) = ([0.0; LANES], [0.0; LANES]);
            for (&weight, (x, f)) in column.iter().zip(x[k..].iter().zip(&f[k..])) {
                xl = add_scaled(xl, weight, x);
                fl = add_scaled(fl, weight, f);
            }
            add_product(xx, &xl, &xl);
            add_product(xf, &xl, &fl);
            add_product(ff, &fl, &fl);
        }
    }
}

multiversion! {
    fn add_channels(layer: &FirstLayer, buffer: &mut [f32], sums: &mut [Lanes; 5]) {
        channels_body(layer, buffer, sums);
    }
}

/// The sum over lanes, halves onto halves.
fn total(lanes: &Lanes) -> f64 {
    let halves: [f32; LANES / 2] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + LANES / 2]);
    let quarters: [f32; LANES / 4] = std::array::from_fn(|lane| halves[lane] + halves[lane + LANES / 4]);
    f64::from((quarters[0] + quarters[2]) + (quarters[1] + quarters[3]))
}

#[cfg(test)]
mod tests {
    use collegial_core::Rng;
    use proptest::prelude::*;

    use super::*;

    /// A layer whose patches are `columns` columns of `rows` entries, dependent where there are
    /// more than rows.
    fn layer(channels: usize, columns: usize, rows: usize, seed: u64, relu: bool) -> FirstLayer {
        let mut c = vec![0.0; columns * rows];
        Rng::new(seed, 1, 0).fill_normal(&mut c);
        let entry =
            |p: usize, q: usize| (0..rows).map(|i| f64::from(c[p * rows + i] * c[q * rows + i])).sum();
        let gram: Vec<f64> =
            (0..columns * columns).map(|index| entry(index / columns, index % columns)).collect();
        let mut factor = Factor::default();
        factor.compute(&gram, columns);
        let scale = (2.0 / rows as f64).sqrt();
        FirstLayer::with_factor(channels, scale, &factor, relu)
    }

    /// The sums, entry by entry in f64, from normals in the order that [`FirstLayer::fill`]
    /// documents.
    fn slow(layer: &FirstLayer, rng: &mut Rng) -> Sums {
        let columns = layer.columns;
        let l = |p: usize, k: usize| {
            if k > p { 0.0 } else { layer.unit * f64::from(layer.rows[p * (p + 1) / 2 + k]) }
        };
        let mut sums = Sums::default();
        let mut done = 0;
        while done < layer.channels {
            let group = LANES.min(PIECE - done % PIECE).min(layer.channels - done);
            let mut normals = vec![0.0; 2 * columns * group];
            rng.fill_normal(&mut normals);
            for channel in 0..group {
                let z = |k: usize| f64::from(normals[k * group + channel]);
                let h: Vec<f64> = (0..columns).map(|p| (0..columns).map(|k| l(p, k) * z(k)).sum()).collect();
                let on: Vec<bool> = h.iter().map(|&h| h > f64::from(layer.floor)).collect();
                let keep = |p: usize, value: f64| if on[p] { value } else { 0.0 };
                let x: Vec<f64> = (0..columns).map(|p| keep(p, h[p])).collect();
                let f: Vec<f64> = (0..columns).map(|p| keep(p, z(columns + p))).collect();
                let through = |v: &[f64]| -> Vec<f64> {
                    (0..columns).map(|k| (0..columns).map(|p| l(p, k) * v[p]).sum()).collect()
                };
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                let (xl, fl) = (through(&x), through(&f));
                sums.square += dot(&x, &x);
                sums.seen += dot(&x, &f);
                let squares = [dot(&xl, &xl), dot(&xl, &fl), dot(&fl, &fl)];
                sums.squares.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
            }
            done += group;
        }
        sums
    }

    proptest! {
        #[test]
        fn sums_are_those_of_single_channels(channels in 1usize..300, columns in 1usize..12, rows in 1usize..30, seed in 0u64..1000, relu: bool) {
            let layer = layer(channels, columns, rows, seed, relu);
            let mut buffer = vec![f32::NAN; 7];
            let fast = layer.draw(&mut buffer, &mut Rng::new(seed, 2, 0));
            let slow = slow(&layer, &mut Rng::new(seed, 2, 0));
            // Sums of f32 products, each good to 1e-7 of its largest term; an entry of H that
            // rounding takes across 0 is as small.
            let close = |a: f64, b: f64, size: f64| (a - b).abs() <= 2e-5 * size;
            prop_assert!(close(fast.square, slow.square, slow.square));
            let ([a, b, c], [x, y, z]) = (fast.squares, slow.squares);
            prop_assert!(close(a, x, x) && close(c, z, z) && close(b, y, (x * z).sqrt()), "{fast:?} {slow:?}");
            let bound = (slow.square * (channels * columns) as f64).sqrt();
            prop_assert!(close(fast.seen, slow.seen, bound), "{} {}", fast.seen, slow.seen);
        }
    }

    #[test]
    fn portable_and_dispatched_agree() {
        for (channels, columns) in [(16, 9), (48, 3), (128, 1)] {
            let layer = layer(channels, columns, 20, 3, true);
            let mut buffer = vec![];
            layer.fill(channels, &mut buffer, &mut Rng::new(4, 0, 0));
            let (mut portable, mut dispatched) = ([[0.0; LANES]; 5], [[0.0; LANES]; 5]);
            channels_body(&layer, &mut buffer.clone(), &mut portable);
            add_channels(&layer, &mut buffer, &mut dispatched);
            assert_eq!(
                portable.map(|lanes| lanes.map(f32::to_bits)),
                dispatched.map(|lanes| lanes.map(f32::to_bits))
            );
        }
    }
}
