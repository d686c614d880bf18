//! The sampler's inner loops: sums and products of columns (vectors over channels, contiguous).
//!
//! Plain loops over lanes, compiled for the CPU's vector instructions by `multiversion!`. Sums run
//! over fixed lanes in a fixed order, so results do not depend on the CPU.

use collegial_stats::multiversion;

/// Columns are worked on in pieces of this many channels, so that all columns of a piece stay in
/// the first-level cache.
const PIECE: usize = 256;

/// Lanes of a running sum: two AVX2 registers, or one of AVX-512.
const LANES: usize = 16;

multiversion! {
    /// `out[p] = scale * sum over k < rank of weights[p * stride + k] * z[k]`, columns of length
    /// `n`.
    pub(crate) fn combine(
        scale: f64,
        weights: &[f64],
        stride: usize,
        rank: usize,
        z: &[f32],
        out: &mut [f32],
        n: usize,
    ) {
        if n == 0 {
            return;
        }
        let count = out.len() / n;
        for begin in (0..n).step_by(PIECE) {
            let length = PIECE.min(n - begin);
            for p in 0..count {
                let row = &weights[p * stride..p * stride + rank];
                let out = &mut out[p * n + begin..][..length];
                // The first product is stored, not added: a pass of zeros less.
                let mut fresh = true;
                for (k, &weight) in row.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
                    let weight = (scale * weight) as f32;
                    let z = &z[k * n + begin..][..length];
                    if std::mem::take(&mut fresh) {
                        for (out, z) in out.iter_mut().zip(z) {
                            *out = weight * z;
                        }
                    } else {
                        for (out, z) in out.iter_mut().zip(z) {
                            *out += weight * z;
                        }
                    }
                }
                if fresh {
                    out.fill(0.0);
                }
            }
        }
    }
}

multiversion! {
    /// `out += weight * x`
    pub(crate) fn add_scaled(weight: f32, x: &[f32], out: &mut [f32]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out += weight * x;
        }
    }
}

type Lanes = [f32; LANES];

/// By value, so that sums stay in vector registers.
#[inline(always)]
fn add_product(sum: Lanes, a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| sum[lane] + a[lane] * b[lane])
}

/// Not inlined, and its lanes hidden from the optimiser: otherwise the shape of this reduction
/// decides how the loops before it are vectorised, and badly.
#[inline(never)]
fn total(sum: &Lanes, a_rest: &[f32], b_rest: &[f32]) -> f64 {
    let sum = std::hint::black_box(sum);
    let halves: [f32; LANES / 2] = std::array::from_fn(|lane| sum[lane] + sum[lane + LANES / 2]);
    let quarters: [f32; LANES / 4] = std::array::from_fn(|lane| halves[lane] + halves[lane + LANES / 4]);
    let mut sum = (quarters[0] + quarters[2]) + (quarters[1] + quarters[3]);
    for (a, b) in a_rest.iter().zip(b_rest) {
        sum += a * b;
    }
    f64::from(sum)
}

#[inline(always)]
fn dot_piece(a: &[f32], b: &[f32]) -> f64 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sum = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        sum = add_product(sum, a, b);
    }
    total(&sum, a_rest, b_rest)
}

/// Inner products of one column with three: independent sums hide the latency of the additions.
#[inline(always)]
fn dot_three(a: &[f32], b: [&[f32]; 3]) -> [f64; 3] {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let [(b, b_rest), (c, c_rest), (d, d_rest)] = b.map(|b| b.as_chunks::<LANES>());
    let (mut first, mut second, mut third) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        first = add_product(first, a, b);
        second = add_product(second, a, c);
        third = add_product(third, a, d);
    }
    [total(&first, a_rest, b_rest), total(&second, a_rest, c_rest), total(&third, a_rest, d_rest)]
}

multiversion! {
    /// The inner product of two columns; f32 within a piece, f64 over pieces.
    pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
        let mut sum = 0.0;
        let length = a.len().min(b.len());
        for begin in (0..length).step_by(PIECE) {
            let end = (begin + PIECE).min(length);
            sum += dot_piece(&a[begin..end], &b[begin..end]);
        }
        sum
    }
}

multiversion! {
    /// `gram[p * count + q] = <x[p], x[q]>` for columns of length `n`, where `wanted[p]` lists the
    /// q <= p to compute.
    pub(crate) fn gram(x: &[f32], n: usize, wanted: &[Vec<usize>], gram: &mut [f64]) {
        gram.fill(0.0);
        let count = wanted.len();
        for begin in (0..n).step_by(PIECE) {
            let length = PIECE.min(n - begin);
            for (p, wanted) in wanted.iter().enumerate() {
                let a = &x[p * n + begin..][..length];
                let (threes, rest) = wanted.as_chunks::<3>();
                for three in threes {
                    let sums = dot_three(a, three.map(|q| &x[q * n + begin..][..length]));
                    for (q, sum) in three.iter().zip(sums) {
                        gram[p * count + q] += sum;
                    }
                }
                for &q in rest {
                    gram[p * count + q] += dot_piece(a, &x[q * n + begin..][..length]);
                }
            }
        }
        for p in 0..count {
            for q in 0..p {
                gram[q * count + p] = gram[p * count + q];
            }
        }
    }
}

/// All pairs of `count` columns, as [`gram`] wants them.
pub(crate) fn all_pairs(count: usize) -> Vec<Vec<usize>> {
    (0..count).map(|p| (0..=p).collect()).collect()
}

multiversion! {
    /// `products[p * right + q] = <a[p], b[q]>` for columns of length `n`, `right` of them in `b`.
    pub(crate) fn cross(a: &[f32], b: &[f32], n: usize, right: usize, products: &mut [f64]) {
        products.fill(0.0);
        for begin in (0..n).step_by(PIECE) {
            let length = PIECE.min(n - begin);
            for (index, product) in products.iter_mut().enumerate() {
                let (p, q) = (index / right, index % right);
                *product += dot_piece(&a[p * n + begin..][..length], &b[q * n + begin..][..length]);
            }
        }
    }
}

multiversion! {
    /// The positive part, in place.
    pub(crate) fn relu(x: &mut [f32]) {
        for x in x {
            *x = x.max(0.0);
        }
    }
}

multiversion! {
    /// Keeps a cotangent where the activation is positive.
    pub(crate) fn relu_mask(active: &[f32], cotangent: &mut [f32]) {
        for (cotangent, active) in cotangent.iter_mut().zip(active) {
            // A product, because the compiler turns the plain choice into masked stores, which are
            // slow.
            *cotangent *= if *active > 0.0 { 1.0 } else { 0.0 };
        }
    }
}

multiversion! {
    /// Explicit weights, forward: `out += sum over i of x[i] * weights[i * n ..]`, n = out.len().
    pub(crate) fn apply_weights(weights: &[f32], x: &[f32], out: &mut [f32]) {
        for (row, &x) in weights.chunks_exact(out.len()).zip(x) {
            for (out, weight) in out.iter_mut().zip(row) {
                *out += x * weight;
            }
        }
    }
}
