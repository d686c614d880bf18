//! The way back through a layer of whose weights only what the columns see was drawn: equation (2)
//! of `sample.rs`.

use collegial_core::{Rng, multiversion};

use super::columns::{LANES, Lanes, add_lanes, dot, total};
use super::factor::Factor;
use super::gram::Turned;
use super::plan::LinearStep;
use super::product::{add_product, vector};
use super::triangle::order_of;

/// Pairs of columns whose inner products are taken together: independent sums hide the latency of
/// the additions.
const TOGETHER: usize = 3;

/// What a layer has drawn and seen.
pub(super) struct Seen<'a> {
    /// The columns before the layer.
    pub x: &'a [f32],
    /// L, the factor of the inner products of its patches C.
    pub factor: &'a Factor,
    /// Z, rank x outputs.
    pub normals: &'a [f32],
    /// D and its inner products.
    pub cotangent: &'a [f32],
    pub cotangent_gram: &'a [f64],
}

/// Buffers for the way back.
#[derive(Clone, Debug, Default)]
pub(super) struct PullBack {
    factor: Factor,
    turned: Turned,
    /// For every tap, the patches C_S of the pivots and F', as rows over inputs.
    rows_of_taps: Vec<f32>,
    /// Z^T D, rank x columns.
    products: Vec<f64>,
    /// C_S^T F', rank x fresh rank, and C_S^T F, rank x columns.
    seen_fresh: Vec<f64>,
    seen: Vec<f64>,
    /// The coefficients of the rows of a tap in W^T D, columns x rows, columns in this order.
    coefficients: Vec<f32>,
    order: Vec<usize>,
    places: Vec<(usize, usize)>,
}

impl PullBack {
    /// Adds scale W^T D to the cotangents of the columns that the taps read.
    pub fn add(
        &mut self,
        step: &LinearStep,
        columns: usize,
        layer: &Seen<'_>,
        rng: &mut Rng,
        out: &mut [f32],
    ) {
        self.factor.compute(layer.cotangent_gram, columns);
        let (rank, fresh, n) = (layer.factor.rank, self.factor.rank, step.inputs);
        let rows = rank + fresh;
        self.fill_rows(step, layer, rng);
        self.condition(step, columns, layer);
        order_of(&self.factor, &mut self.order);
        self.coefficients.clear();
        for &q in &self.order {
            let known = (0..rank).map(|k| (step.scale * self.products[k * columns + q]) as f32);
            self.coefficients.extend(known);
            let lower = &self.factor.lower[q * columns..][..fresh];
            self.coefficients.extend(lower.iter().map(|weight| (step.scale * weight) as f32));
        }
        for tap in 0..step.taps {
            let rows_of_tap = &self.rows_of_taps[tap * rows * n..][..rows * n];
            for (begin, block) in self.order.chunks(BLOCK).enumerate().map(|(i, block)| (i * BLOCK, block)) {
                self.places.clear();
                let places = block
                    .iter()
                    .enumerate()
                    .filter_map(|(i, &q)| Some(((begin + i) * rows, step.source_column(q, tap)? * n)));
                self.places.extend(places);
                // Behind their pivots, rows of the factor are zero.
                let depth = rank + (begin + BLOCK).min(fresh);
                add_product(&self.places, &self.coefficients, depth, rows_of_tap, n, n, out);
            }
        }
    }

    /// The patches of the pivots, zero in the padding, and fresh normals F'.
    fn fill_rows(&mut self, step: &LinearStep, layer: &Seen<'_>, rng: &mut Rng) {
        let (rank, fresh, n) = (layer.factor.rank, self.factor.rank, step.inputs);
        self.rows_of_taps.resize(step.taps * (rank + fresh) * n, 0.0);
        for (tap, rows) in self.rows_of_taps.chunks_exact_mut(((rank + fresh) * n).max(1)).enumerate() {
            let (patches, normals) = rows.split_at_mut(rank * n);
            for (row, &pivot) in patches.chunks_exact_mut(n).zip(&layer.factor.pivots) {
                match step.source_column(pivot, tap) {
                    Some(source) => row.copy_from_slice(&layer.x[source * n..][..n]),
                    None => row.fill(0.0),
                }
            }
            rng.fill_normal(normals);
        }
    }

    /// The coefficients M of the columns C_S in W^T D, in `products`: L_S^-T (Z^T D - L_S^-1 C_S^T
    /// F), F = F' L_D^T with F' fresh.
    fn condition(&mut self, step: &LinearStep, columns: usize, layer: &Seen<'_>) {
        let (rank, fresh, n) = (layer.factor.rank, self.factor.rank, step.inputs);
        self.products.resize(rank * columns, 0.0);
        if rank == 0 {
            return;
        }
        if columns < TOGETHER {
            for (index, product) in self.products.iter_mut().enumerate() {
                let (k, q) = (index / columns, index % columns);
                let normals = &layer.normals[k * step.outputs..][..step.outputs];
                *product = dot(normals, &layer.cotangent[q * step.outputs..][..step.outputs]);
            }
        } else {
            self.turned.fill(layer.cotangent, step.outputs);
            self.turned.cross(layer.normals, step.outputs, columns, &mut self.products);
        }
        self.seen_fresh.resize(rank * fresh, 0.0);
        products_over_taps(&self.rows_of_taps, n, rank, fresh, &mut self.seen_fresh);
        self.seen.clear();
        self.seen.resize(rank * columns, 0.0);
        for (seen, fresh_seen) in
            self.seen.chunks_exact_mut(columns).zip(self.seen_fresh.chunks_exact(fresh.max(1)))
        {
            for (q, seen) in seen.iter_mut().enumerate() {
                let weights = &self.factor.lower[q * columns..][..fresh];
                *seen = weights.iter().zip(fresh_seen).map(|(weight, seen)| weight * seen).sum();
            }
        }
        layer.factor.solve(&mut self.seen, columns);
        for (product, seen) in self.products.iter_mut().zip(&self.seen) {
            *product -= seen;
        }
        layer.factor.solve_transposed(&mut self.products, columns);
    }
}

/// Columns whose rows of the factor end at the same place.
const BLOCK: usize = 6;

multiversion! {
    /// `out[k * fresh + j]`, the sum over taps of the inner products of row k with row `rank + j`
    /// of the tap, rows of length `n`.
    fn products_over_taps(rows: &[f32], n: usize, rank: usize, fresh: usize, out: &mut [f64]) {
        for k in 0..rank {
            let mut j = 0;
            while j < fresh {
                let out = &mut out[k * fresh + j..(k + 1) * fresh];
                if fresh - j >= TOGETHER {
                    several::<TOGETHER>(rows, n, rank + fresh, k, rank + j, out);
                    j += TOGETHER;
                } else {
                    several::<1>(rows, n, rank + fresh, k, rank + j, out);
                    j += 1;
                }
            }
        }
    }
}

/// The products of row k with `T` rows from `first` on; lanes are added up once for all taps.
#[inline(always)]
fn several<const T: usize>(rows: &[f32], n: usize, count: usize, k: usize, first: usize, out: &mut [f64]) {
    let whole = n - n % LANES;
    let mut sums = [[0.0; LANES]; T];
    for tap in rows.chunks_exact(count * n) {
        let a = &tap[k * n..][..whole];
        let b: [&[f32]; T] = std::array::from_fn(|j| &tap[(first + j) * n..][..whole]);
        sums = add_tap(sums, a, b);
    }
    for (j, sum) in sums.into_iter().enumerate() {
        let rest = |tap: &[f32]| -> f32 {
            let (a, b) = (&tap[k * n + whole..(k + 1) * n], &tap[(first + j) * n + whole..]);
            a.iter().zip(b).map(|(a, b)| a * b).sum()
        };
        let rests: f32 = if whole < n { rows.chunks_exact(count * n).map(rest).sum() } else { 0.0 };
        out[j] = total(&sum, &[], &[]) + f64::from(rests);
    }
}

/// By value, so that sums stay in vector registers.
#[inline(always)]
fn add_tap<const T: usize>(mut sums: [Lanes; T], a: &[f32], b: [&[f32]; T]) -> [Lanes; T] {
    for at in (0..a.len()).step_by(LANES) {
        let a: Lanes = vector(a, at);
        for j in 0..T {
            sums[j] = add_lanes(sums[j], &a, &vector(b[j], at));
        }
    }
    sums
}
