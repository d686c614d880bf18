//! The sampler's inner loops: sums and products of columns (vectors over channels, contiguous).
//!
//! Plain loops over lanes, compiled for the CPU's vector instructions by `multiversion!`. Sums run over fixed lanes in a
//! fixed order, so results do not depend on the CPU.

use collegial_stats::multiversion;

/// Columns are worked on in pieces of this many channels, so that all columns of a piece stay in the first-level cache.
const PIECE: usize = 256;

/// Lanes of a running sum.
const LANES: usize = 16;

multiversion! {
    /// `out[p] = scale * sum over k < rank of weights[p * stride + k] * z[k]`, columns of length `n`.
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
                out.fill(0.0);
                for (k, &weight) in row.iter().enumerate() {
                    if weight != 0.0 {
                        let weight = (scale * weight) as f32;
                        for (out, z) in out.iter_mut().zip(&z[k * n + begin..][..length]) {
                            *out += weight * z;
                        }
                    }
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

#[inline(always)]
fn dot_piece(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0f32; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        lanes[lane] += a * b;
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    f64::from(lanes[0])
}

multiversion! {
    /// The inner product of two columns; f32 within a piece, f64 over pieces.
    pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
        let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
        pieces.map(|(a, b)| dot_piece(a, b)).sum()
    }
}

multiversion! {
    /// `gram[p * count + q] = <x[p], x[q]>` for the columns of length `n` of `x`.
    pub(crate) fn gram(x: &[f32], n: usize, gram: &mut [f64]) {
        gram.fill(0.0);
        if n == 0 {
            return;
        }
        let count = x.len() / n;
        for begin in (0..n).step_by(PIECE) {
            let length = PIECE.min(n - begin);
            for p in 0..count {
                let a = &x[p * n + begin..][..length];
                for q in 0..=p {
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
    /// The positive part.
    pub(crate) fn relu(x: &[f32], out: &mut [f32]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = x.max(0.0);
        }
    }
}

multiversion! {
    /// Keeps a cotangent where the activation is positive.
    pub(crate) fn relu_mask(active: &[f32], cotangent: &mut [f32]) {
        for (cotangent, active) in cotangent.iter_mut().zip(active) {
            *cotangent = if *active > 0.0 { *cotangent } else { 0.0 };
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
