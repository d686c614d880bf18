//! Eight floats as two NEON registers, for aarch64.
//!
//! Every such CPU has NEON and fused multiply-adds, so that nothing is detected at run time and no
//! function needs a `target_feature` of its own. A tile of 6 x 2 vectors takes 24 of the 32
//! registers, its two inputs four, a weight one.

use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vaddvq_f32, vbslq_f32, vcgtq_f32, vdupq_n_f32, vfmaq_f32, vld1q_f32, vmulq_f32,
    vreinterpretq_f32_f64, vreinterpretq_f64_f32, vst1q_f32, vsubq_f32, vtrn1q_f32, vtrn1q_f64, vtrn2q_f32,
    vtrn2q_f64,
};
use std::array::from_fn;

use super::simd::{LANES, Vector};

/// Lanes 0 to 3, and lanes 4 to 7.
#[derive(Clone, Copy)]
pub(crate) struct Pair(float32x4_t, float32x4_t);

/// The transpose of four rows of four.
#[inline(always)]
unsafe fn transpose4([a, b, c, d]: [float32x4_t; 4]) -> [float32x4_t; 4] {
    // SAFETY: NEON is part of the architecture, here and below.
    unsafe {
        let even = vreinterpretq_f64_f32(vtrn1q_f32(a, b));
        let odd = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
        let low_even = vreinterpretq_f64_f32(vtrn1q_f32(c, d));
        let low_odd = vreinterpretq_f64_f32(vtrn2q_f32(c, d));
        [
            vreinterpretq_f32_f64(vtrn1q_f64(even, low_even)),
            vreinterpretq_f32_f64(vtrn1q_f64(odd, low_odd)),
            vreinterpretq_f32_f64(vtrn2q_f64(even, low_even)),
            vreinterpretq_f32_f64(vtrn2q_f64(odd, low_odd)),
        ]
    }
}

impl Vector for Pair {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: see `transpose4`.
        let x = unsafe { vdupq_n_f32(x) };
        Self(x, x)
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for eight floats.
        unsafe { Self(vld1q_f32(from), vld1q_f32(from.add(4))) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as for `load`.
        unsafe {
            vst1q_f32(to, self.0);
            vst1q_f32(to.add(4), self.1);
        }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see `transpose4`.
        unsafe { Self(vaddq_f32(self.0, other.0), vaddq_f32(self.1, other.1)) }
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: see `transpose4`.
        unsafe { Self(vsubq_f32(self.0, other.0), vsubq_f32(self.1, other.1)) }
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: see `transpose4`.
        unsafe { Self(vmulq_f32(self.0, other.0), vmulq_f32(self.1, other.1)) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: see `transpose4`.
        unsafe { Self(vfmaq_f32(term.0, self.0, factor.0), vfmaq_f32(term.1, self.1, factor.1)) }
    }

    /// By comparison: NEON's own maximum is NaN where either lane is.
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: see `transpose4`.
        unsafe {
            Self(
                vbslq_f32(vcgtq_f32(self.0, other.0), self.0, other.0),
                vbslq_f32(vcgtq_f32(self.1, other.1), self.1, other.1),
            )
        }
    }

    /// Four blocks of four by four, the two off the diagonal exchanged.
    #[inline(always)]
    unsafe fn transpose([a, b, c, d, e, f, g, h]: [Self; LANES]) -> [Self; LANES] {
        // SAFETY: see `transpose4`.
        unsafe {
            let (left, right) = (transpose4([a.0, b.0, c.0, d.0]), transpose4([e.0, f.0, g.0, h.0]));
            let (left_low, right_low) = (transpose4([a.1, b.1, c.1, d.1]), transpose4([e.1, f.1, g.1, h.1]));
            from_fn(|i| if i < 4 { Self(left[i], right[i]) } else { Self(left_low[i - 4], right_low[i - 4]) })
        }
    }

    #[inline(always)]
    unsafe fn prefetch(at: *const f32) {
        // Miri knows no assembly.
        if !cfg!(miri) {
            // SAFETY: a hint; any address will do.
            unsafe {
                std::arch::asm!("prfm pstl1keep, [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
            }
        }
    }

    #[inline(always)]
    unsafe fn sums<const N: usize>(vectors: [Self; N]) -> [f32; N] {
        // SAFETY: see `transpose4`; the array holds a register.
        from_fn(|i| unsafe {
            let sum = vaddq_f32(vectors[i].0, vectors[i].1);
            if cfg!(miri) {
                // Miri does not know the instruction.
                let mut lanes = [0.0; 4];
                vst1q_f32(lanes.as_mut_ptr(), sum);
                return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
            }
            vaddvq_f32(sum)
        })
    }
}

/// Prefetches the line of an address that is about to be read.
#[inline(always)]
pub(crate) fn prefetch_read(at: *const f32) {
    // Miri knows no assembly.
    if !cfg!(miri) {
        // SAFETY: a hint; any address will do.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
        }
    }
}
