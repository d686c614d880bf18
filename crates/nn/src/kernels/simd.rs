//! SIMD vectors of eight floats, and the dispatch to instruction sets.
//!
//! Kernels are generic over [`Vector`]; an entry point per instruction set inlines them. All
//! instruction sets share eight lanes, so that tables of offsets, packed weights and scratch are
//! the same for each.

use std::sync::OnceLock;

use collegial_core::simd::Level;

/// Floats per vector, on every instruction set.
pub(crate) const LANES: usize = 8;

/// An instruction set the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// x86-64 with AVX-512 F and DQ, beside AVX2 and FMA.
    Avx512,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// aarch64, every CPU of which has NEON and fused multiply-adds.
    Neon,
    /// Plain Rust, vectorised by the compiler for the target's baseline (SSE2, NEON), without fused
    /// multiply-adds.
    Portable,
}

impl Isa {
    /// All of them, the widest first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// The best instruction set of the CPU that runs this, of those that [`Level::allowed`] admits.
    #[must_use]
    pub fn detect() -> Self {
        static DETECTED: OnceLock<Isa> = OnceLock::new();
        *DETECTED.get_or_init(|| match (Level::allowed(), Self::of_cpu()) {
            (Level::Baseline, _) => Self::Portable,
            (Level::Avx2, Self::Avx512) => Self::Avx2,
            (_, best) => best,
        })
    }

    fn of_cpu() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
            return if wide { Self::Avx512 } else { Self::Avx2 };
        }
        if cfg!(target_arch = "aarch64") { Self::Neon } else { Self::Portable }
    }

    /// Whether this CPU can run it.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Avx512 | Self::Neon => Self::of_cpu() == self,
            Self::Avx2 => matches!(Self::of_cpu(), Self::Avx512 | Self::Avx2),
            Self::Portable => true,
        }
    }
}

/// Eight floats.
///
/// # Safety
///
/// Every method requires that the CPU has the instruction set of the implementation; `load` and
/// `store` also require eight readable or writable floats at the pointer, with any alignment.
pub(crate) trait Vector: Copy {
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// `self * factor + term`.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The larger of two lanes; the second, if one is not a number.
    unsafe fn max(self, other: Self) -> Self;
    /// Row i of the result holds lane i of every vector.
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES];
    /// Prefetches a line of memory that will be written; any address will do.
    unsafe fn prefetch(at: *const f32);
    /// The sum of the lanes of each vector.
    unsafe fn sums<const N: usize>(vectors: [Self; N]) -> [f32; N];
}

/// An array of a function of the lane, written out for Miri, which takes ten times as long otherwise.
#[inline(always)]
fn lanes(of: impl Fn(usize) -> f32) -> [f32; LANES] {
    if cfg!(miri) {
        [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]
    } else {
        std::array::from_fn(of)
    }
}

impl Vector for [f32; LANES] {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        [x; LANES]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for eight floats; the read is unaligned.
        unsafe { from.cast::<Self>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as for `load`.
        unsafe { to.cast::<Self>().write_unaligned(self) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        lanes(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        lanes(|lane| self[lane] - other[lane])
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        lanes(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // Not f32::mul_add: without FMA instructions that is a call into the maths library.
        lanes(|lane| self[lane] * factor[lane] + term[lane])
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        lanes(|lane| if self[lane] > other[lane] { self[lane] } else { other[lane] })
    }

    #[inline(always)]
    unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        std::array::from_fn(|i| std::array::from_fn(|j| rows[j][i]))
    }

    #[inline(always)]
    unsafe fn prefetch(_: *const f32) {}

    #[inline(always)]
    unsafe fn sums<const N: usize>(vectors: [Self; N]) -> [f32; N] {
        vectors.map(|v| ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{LANES, Vector};
    use std::arch::x86_64::{
        __m128, __m256, _MM_HINT_T0, _mm_add_ps, _mm_prefetch, _mm_storeu_ps, _mm256_add_ps,
        _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_hadd_ps, _mm256_loadu_ps,
        _mm256_max_ps, _mm256_mul_ps, _mm256_permute2f128_ps, _mm256_set1_ps, _mm256_setzero_ps,
        _mm256_shuffle_ps, _mm256_storeu_ps, _mm256_sub_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    /// The four sums of four vectors, in order.
    #[inline(always)]
    unsafe fn four_sums(a: __m256, b: __m256, c: __m256, d: __m256) -> __m128 {
        // SAFETY: the callers run with AVX2.
        unsafe {
            let halves = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
            _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves))
        }
    }

    impl Vector for __m256 {
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: the trait's contract, here and below.
            unsafe { _mm256_set1_ps(x) }
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm256_loadu_ps(from) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: see `splat`.
            unsafe { _mm256_storeu_ps(to, self) }
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm256_add_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm256_sub_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm256_mul_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm256_fmadd_ps(self, factor, term) }
        }

        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm256_max_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
            // Written out: closures would keep the compiler from inlining the instructions.
            let [a, b, c, d, e, f, g, h] = rows;
            // SAFETY: see `splat`.
            unsafe {
                let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
                let (ef, gh) = (_mm256_unpacklo_ps(e, f), _mm256_unpacklo_ps(g, h));
                let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
                let (ef_high, gh_high) = (_mm256_unpackhi_ps(e, f), _mm256_unpackhi_ps(g, h));
                let (top0, top1) = (_mm256_shuffle_ps::<0x44>(ab, cd), _mm256_shuffle_ps::<0xEE>(ab, cd));
                let (low0, low1) = (_mm256_shuffle_ps::<0x44>(ef, gh), _mm256_shuffle_ps::<0xEE>(ef, gh));
                let top2 = _mm256_shuffle_ps::<0x44>(ab_high, cd_high);
                let top3 = _mm256_shuffle_ps::<0xEE>(ab_high, cd_high);
                let low2 = _mm256_shuffle_ps::<0x44>(ef_high, gh_high);
                let low3 = _mm256_shuffle_ps::<0xEE>(ef_high, gh_high);
                [
                    _mm256_permute2f128_ps::<0x20>(top0, low0),
                    _mm256_permute2f128_ps::<0x20>(top1, low1),
                    _mm256_permute2f128_ps::<0x20>(top2, low2),
                    _mm256_permute2f128_ps::<0x20>(top3, low3),
                    _mm256_permute2f128_ps::<0x31>(top0, low0),
                    _mm256_permute2f128_ps::<0x31>(top1, low1),
                    _mm256_permute2f128_ps::<0x31>(top2, low2),
                    _mm256_permute2f128_ps::<0x31>(top3, low3),
                ]
            }
        }

        #[inline(always)]
        unsafe fn prefetch(at: *const f32) {
            // SAFETY: see `splat`.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
        }

        #[inline(always)]
        unsafe fn sums<const N: usize>(vectors: [Self; N]) -> [f32; N] {
            let mut sums = [0.0; N];
            let mut padded = [0.0; 4];
            // SAFETY: see `splat`.
            let zero = unsafe { _mm256_setzero_ps() };
            for first in (0..N).step_by(4) {
                let of = |i: usize| if first + i < N { vectors[first + i] } else { zero };
                // SAFETY: see `splat`; `padded` holds four floats.
                unsafe { _mm_storeu_ps(padded.as_mut_ptr(), four_sums(of(0), of(1), of(2), of(3))) };
                let n = (N - first).min(4);
                sums[first..first + n].copy_from_slice(&padded[..n]);
            }
            sums
        }
    }
}

/// A loop that is written once for all vectors.
pub(crate) trait Kernel {
    /// # Safety
    ///
    /// The CPU has the instructions of V.
    unsafe fn run<V: Vector>(self);
}

/// Runs a kernel with eight-lane vectors of an instruction set.
///
/// # Safety
///
/// The CPU has `isa`.
pub(crate) unsafe fn dispatch<K: Kernel>(isa: Isa, kernel: K) {
    // SAFETY: the caller's.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx2 => with_avx2(kernel),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => kernel.run::<super::neon::Pair>(),
            _ => kernel.run::<[f32; LANES]>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_avx2<K: Kernel>(kernel: K) {
    // SAFETY: AVX2 and FMA are enabled here.
    unsafe { kernel.run::<std::arch::x86_64::__m256>() }
}
