//! Winograd's transform matrices of F(m x m, 3 x 3), in one dimension, for m = 2 and 4.
//!
//! An algorithm for m outputs of a filter g of three taps over an input d of m + 2 values is y =
//! A^T [(G g) * (B^T d)] with an elementwise product; it evaluates polynomials at m + 1 points and
//! at infinity. In two dimensions every map is applied along both axes. The weight gradient is the
//! transposed algorithm, dg = G^T [(A dy) * (B^T d)].
//!
//! With stride 2, two outputs are y0 = g0 d0 + g2 d2 + g1 d1 and y1 = g0 d2 + g2 d4 + g1 d3: three
//! multiplications for the outer taps, those of F(2, 2), and two for the middle one, 25 in place of
//! 36 in two dimensions. Only the weight gradient is computed so.
//!
//! For m = 2 the points are 0, 1 and -1. For m = 4 they are 0, +-1/sqrt(2) and +-sqrt(2): with +-1
//! and +-2, which need no roots, errors are twice to four times as large.

use crate::kernels::simd::Vector;
use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

/// A linear map of I vectors to O.
pub(super) trait Map<const I: usize, const O: usize> {
    /// # Safety
    ///
    /// As for [`Vector`].
    unsafe fn map<V: Vector>(from: [V; I]) -> [V; O];
}

/// B^T, of inputs.
pub(super) struct Input;
/// G, of weights.
pub(super) struct Weights;
/// A^T, to outputs.
pub(super) struct Output;
/// A, of the outputs' gradients.
pub(super) struct Gradient;
/// G^T, to the weights' gradients.
pub(super) struct WeightGradient;

impl Map<4, 4> for Input {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
        // SAFETY: the caller's, here and below.
        unsafe { [a.sub(c), b.add(c), c.sub(b), b.sub(d)] }
    }
}

impl Map<3, 4> for Weights {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c]: [V; 3]) -> [V; 4] {
        // SAFETY: see above.
        unsafe {
            let half = V::splat(0.5);
            let (even, odd) = (half.mul(a.add(c)), half.mul(b));
            [a, even.add(odd), even.sub(odd), c]
        }
    }
}

impl Map<4, 2> for Output {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 2] {
        // SAFETY: see above.
        unsafe { [a.add(b.add(c)), b.sub(c).sub(d)] }
    }
}

impl Map<2, 4> for Gradient {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b]: [V; 2]) -> [V; 4] {
        // SAFETY: see above.
        unsafe { [a, a.add(b), a.sub(b), V::splat(0.0).sub(b)] }
    }
}

impl Map<4, 3> for WeightGradient {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 3] {
        // SAFETY: see above.
        unsafe {
            let half = V::splat(0.5);
            let (even, odd) = (half.mul(b.add(c)), half.mul(b.sub(c)));
            [a.add(even), odd, even.add(d)]
        }
    }
}

/// Stride 2: pixels a, c, e meet the outer taps, as in F(2, 2), and b, d the middle one.
impl Map<5, 5> for Input {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d, e]: [V; 5]) -> [V; 5] {
        // SAFETY: see above.
        unsafe { [a.sub(c), c, c.sub(e), b, d] }
    }
}

impl Map<2, 5> for Gradient {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b]: [V; 2]) -> [V; 5] {
        // SAFETY: see above.
        unsafe { [a, a.add(b), V::splat(0.0).sub(b), a, b] }
    }
}

impl Map<5, 3> for WeightGradient {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d, e]: [V; 5]) -> [V; 3] {
        // SAFETY: see above.
        unsafe { [a.add(b), d.add(e), b.add(c)] }
    }
}

/// Rows of B^T are the coefficients of x (x^2 - 1/2) (x^2 - 2) without one factor, from the
/// constant term on.
impl Map<6, 6> for Input {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 6] {
        // SAFETY: see above.
        unsafe {
            let middle = V::splat(-2.5);
            let (two, half) = (V::splat(-2.0), V::splat(-0.5));
            // Points +-1/sqrt(2): x^4 - 2 x^2 and 1/sqrt(2) (x^3 - 2 x).
            let (near, near_odd) = (two.mul_add(c, e), V::splat(FRAC_1_SQRT_2).mul(two.mul_add(b, d)));
            // Points +-sqrt(2): x^4 - 1/2 x^2 and sqrt(2) (x^3 - 1/2 x).
            let (far, far_odd) = (half.mul_add(c, e), V::splat(SQRT_2).mul(half.mul_add(b, d)));
            [
                middle.mul_add(c, a).add(e),
                near.add(near_odd),
                near.sub(near_odd),
                far.add(far_odd),
                far.sub(far_odd),
                middle.mul_add(d, b).add(f),
            ]
        }
    }
}

/// A row is (1, p, p^2) at a point p over the product of its distances from the others: 1 at 0,
/// -3/2 at +-1/sqrt(2), 6 at +-sqrt(2).
impl Map<3, 6> for Weights {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c]: [V; 3]) -> [V; 6] {
        // SAFETY: see above.
        unsafe {
            let near = V::splat(-2.0 / 3.0).mul(V::splat(0.5).mul_add(c, a));
            let near_odd = V::splat(-2.0 / 3.0 * FRAC_1_SQRT_2).mul(b);
            let far = V::splat(1.0 / 6.0).mul(V::splat(2.0).mul_add(c, a));
            let far_odd = V::splat(SQRT_2 / 6.0).mul(b);
            [a, near.add(near_odd), near.sub(near_odd), far.add(far_odd), far.sub(far_odd), c]
        }
    }
}

impl Map<6, 4> for Output {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 4] {
        // SAFETY: see above.
        unsafe {
            let (near, near_odd) = (b.add(c), V::splat(FRAC_1_SQRT_2).mul(b.sub(c)));
            let (far, far_odd) = (d.add(e), V::splat(SQRT_2).mul(d.sub(e)));
            let (half, two) = (V::splat(0.5), V::splat(2.0));
            [
                a.add(near.add(far)),
                near_odd.add(far_odd),
                half.mul_add(near, two.mul(far)),
                half.mul_add(near_odd, two.mul_add(far_odd, f)),
            ]
        }
    }
}

/// A row is (1, p, p^2, p^3) at a point p.
impl Map<4, 6> for Gradient {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 6] {
        // SAFETY: see above.
        unsafe {
            let (half, two) = (V::splat(0.5), V::splat(2.0));
            let (near, near_odd) = (half.mul_add(c, a), V::splat(FRAC_1_SQRT_2).mul(half.mul_add(d, b)));
            let (far, far_odd) = (two.mul_add(c, a), V::splat(SQRT_2).mul(two.mul_add(d, b)));
            [a, near.add(near_odd), near.sub(near_odd), far.add(far_odd), far.sub(far_odd), d]
        }
    }
}

impl Map<6, 3> for WeightGradient {
    #[inline(always)]
    unsafe fn map<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 3] {
        // SAFETY: see above.
        unsafe {
            let (near, near_odd) = (b.add(c), V::splat(-2.0 / 3.0 * FRAC_1_SQRT_2).mul(b.sub(c)));
            let (far, far_odd) = (d.add(e), V::splat(SQRT_2 / 6.0).mul(d.sub(e)));
            [
                V::splat(-2.0 / 3.0).mul_add(near, V::splat(1.0 / 6.0).mul_add(far, a)),
                near_odd.add(far_odd),
                V::splat(1.0 / 3.0).mul_add(far.sub(near), f),
            ]
        }
    }
}
