//! The sampler's inner loops: sums and products of columns (vectors over channels, contiguous).
//!
//! Plain loops over lanes, compiled for the CPU's vector instructions by `multiversion!`. Sums run
//! over fixed lanes in a fixed order, so results do not depend on the CPU.

use collegial_core::multiversion;

/// Columns are worked on in pieces of this many channels, so that all columns of a piece stay in
/// the first-level cache.
pub(super) const PIECE: usize = 256;

/// Lanes of a running sum: two AVX2 registers, or one of AVX-512.
pub(super) const LANES: usize = 16;

multiversion! {
    /// `out += weight * x`
    pub(crate) fn add_scaled(weight: f32, x: &[f32], out: &mut [f32]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out += weight * x;
        }
    }
}

pub(super) type Lanes = [f32; LANES];

/// By value, so that sums stay in vector registers.
#[inline(always)]
pub(super) fn add_lanes(sum: Lanes, a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| sum[lane] + a[lane] * b[lane])
}

/// Not inlined, and its lanes hidden from the optimiser: otherwise the shape of this reduction
/// decides how the loops before it are vectorised, and badly.
#[inline(never)]
pub(super) fn total(sum: &Lanes, a_rest: &[f32], b_rest: &[f32]) -> f64 {
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
pub(super) fn dot_piece(a: &[f32], b: &[f32]) -> f64 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sum = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        sum = add_lanes(sum, a, b);
    }
    total(&sum, a_rest, b_rest)
}

/// Inner products of one column with three: independent sums hide the latency of the additions.
#[inline(always)]
pub(super) fn dot_three(a: &[f32], b: [&[f32]; 3]) -> [f64; 3] {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let [(b, b_rest), (c, c_rest), (d, d_rest)] = b.map(|b| b.as_chunks::<LANES>());
    let (mut first, mut second, mut third) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        first = add_lanes(first, a, b);
        second = add_lanes(second, a, c);
        third = add_lanes(third, a, d);
    }
    [total(&first, a_rest, b_rest), total(&second, a_rest, c_rest), total(&third, a_rest, d_rest)]
}

multiversion! {
    /// The sum of squares, in f64.
    pub(crate) fn squares(x: &[f32]) -> f64 {
        let (vectors, rest) = x.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for x in vectors {
            let add = |lane: usize| sums[lane] + f64::from(x[lane]) * f64::from(x[lane]);
            sums = std::array::from_fn(add);
        }
        sums.iter().sum::<f64>() + rest.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>()
    }
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
