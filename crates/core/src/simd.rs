//! One portable source, compiled for several instruction sets and chosen at run time.

use std::sync::OnceLock;

/// Compiles a function for AVX-512, AVX2 and the target's baseline, and calls the widest version
/// the CPU supports.
///
/// The body should be plain loops over slices or lane arrays, which the compiler vectorises;
/// whatever it calls must be `#[inline(always)]`, otherwise it stays compiled for the baseline.
/// Rust never contracts `a * b + c` into a fused operation by itself, so all versions give the same
/// bits. On other architectures (NEON is part of the aarch64 baseline) there is one version only.
/// Arguments are plain names: no patterns, no generics.
///
/// ```
/// collegial_core::multiversion! {
///     /// y += a x
///     pub fn axpy(a: f32, x: &[f32], y: &mut [f32]) {
///         for (y, x) in y.iter_mut().zip(x) {
///             *y += a * x;
///         }
///     }
/// }
/// let mut y = [1.0, 2.0, 3.0];
/// axpy(2.0, &[1.0, 1.0, 1.0], &mut y);
/// assert_eq!(y, [3.0, 4.0, 5.0]);
/// ```
#[macro_export]
macro_rules! multiversion {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                match $crate::simd::Level::of_this_cpu() {
                    // SAFETY: the level says that the CPU has the features the callee is compiled
                    // for.
                    $crate::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::simd::Level::Baseline => {}
                }
            }
            body($($arg),*)
        }
    };
}

/// The instruction sets [`multiversion!`](crate::multiversion) compiles for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every CPU of the target architecture has (SSE2, NEON).
    Baseline,
    /// AVX2.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Level {
    /// The widest level that this CPU supports and [`allowed`](Self::allowed) admits.
    #[inline]
    pub fn of_this_cpu() -> Self {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| Self::detected().min(Self::allowed()))
    }

    /// The widest level that the environment admits: `COLLEGIAL_INSTRUCTIONS` is `portable`, `avx2`
    /// or `avx512`, the last by default; `COLLEGIAL_PORTABLE=1` is another word for the first.
    pub fn allowed() -> Self {
        let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|set| set == value);
        if is("COLLEGIAL_PORTABLE", "1") || is("COLLEGIAL_INSTRUCTIONS", "portable") {
            Self::Baseline
        } else if is("COLLEGIAL_INSTRUCTIONS", "avx2") {
            Self::Avx2
        } else {
            Self::Avx512
        }
    }

    fn detected() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }
}
