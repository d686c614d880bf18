//! Non-temporal stores, for results too large to stay in cache.

use super::vector::{affine, affine_two};

/// Stores of a pass: through the cache, or non-temporal where the result is too large to stay there,
/// which avoids reading the lines that are overwritten.
#[derive(Clone, Copy)]
pub(crate) struct Stores {
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "x86-64 alone has such stores"))]
    nontemporal: bool,
}

/// Floats of a tensor that is too large to stay in cache: 8 MB.
const TOO_LARGE: usize = 1 << 21;

impl Stores {
    pub(crate) fn for_tensor(len: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        let able = is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        let able = false;
        Self { nontemporal: able && len >= TOO_LARGE }
    }

    /// to = max(a x + b, floor)
    pub(crate) fn affine(self, to: &mut [f32], x: &[f32], by: (f32, f32), floor: f32) {
        #[cfg(target_arch = "x86_64")]
        if self.nontemporal && avx2::is_whole_vectors(to) {
            // SAFETY: `for_tensor` has seen AVX2, `is_whole_vectors` that aligned vectors are
            // written.
            return unsafe { avx2::affine(to, x, by, floor) };
        }
        affine(to, x, by, floor);
    }

    /// to = max((a x + b) + (c y + d), floor)
    pub(crate) fn affine_two(
        self,
        to: &mut [f32],
        x: &[f32],
        by: (f32, f32),
        y: &[f32],
        and: (f32, f32),
        floor: f32,
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.nontemporal && avx2::is_whole_vectors(to) {
            // SAFETY: as above.
            return unsafe { avx2::affine_two(to, x, by, y, and, floor) };
        }
        affine_two(to, x, by, y, and, floor);
    }

    /// Makes what was written visible to other threads; ends every task.
    pub(crate) fn finish(self) {
        // Miri does not know the instruction.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.nontemporal {
            // SAFETY: every x86-64 has the instruction.
            unsafe { std::arch::x86_64::_mm_sfence() };
        }
    }
}

/// Non-temporal stores; the arithmetic is that of the plain loops, bit for bit.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256, _mm256_add_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_mul_ps, _mm256_set1_ps,
        _mm256_store_ps, _mm256_stream_ps,
    };

    const LANES: usize = 8;

    /// Whether it is made of whole aligned vectors.
    pub(super) fn is_whole_vectors(to: &[f32]) -> bool {
        to.len().is_multiple_of(LANES) && to.as_ptr().align_offset(size_of::<__m256>()) == 0
    }

    #[target_feature(enable = "avx2")]
    fn line(x: &[f32; LANES], (a, b): (f32, f32)) -> __m256 {
        // SAFETY: eight floats are read.
        let x = unsafe { _mm256_loadu_ps(x.as_ptr()) };
        _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(a), x), _mm256_set1_ps(b))
    }

    /// `max` returns its second operand where one is NaN.
    #[target_feature(enable = "avx2")]
    fn store(to: &mut [f32; LANES], value: __m256, floor: f32) {
        let value = _mm256_max_ps(_mm256_set1_ps(floor), value);
        // SAFETY: `is_whole_vectors` has seen that vectors are aligned.
        unsafe {
            if cfg!(miri) {
                // Miri knows no assembly, which the other is; this one wants the same alignment.
                _mm256_store_ps(to.as_mut_ptr(), value);
            } else {
                _mm256_stream_ps(to.as_mut_ptr(), value);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn affine(to: &mut [f32], x: &[f32], by: (f32, f32), floor: f32) {
        for (to, x) in to.as_chunks_mut().0.iter_mut().zip(x.as_chunks().0) {
            store(to, line(x, by), floor);
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn affine_two(
        to: &mut [f32],
        x: &[f32],
        by: (f32, f32),
        y: &[f32],
        and: (f32, f32),
        floor: f32,
    ) {
        for ((to, x), y) in to.as_chunks_mut().0.iter_mut().zip(x.as_chunks().0).zip(y.as_chunks().0) {
            store(to, _mm256_add_ps(line(x, by), line(y, and)), floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(len: usize, seed: f32) -> Vec<f32> {
        (0..len).map(|i| ((i as f32 + seed) * 0.71).sin() * 3.0).collect()
    }

    #[test]
    fn nontemporal_stores_have_the_bits_of_plain_loops() {
        let nontemporal = Stores::for_tensor(TOO_LARGE);
        let plain = Stores::for_tensor(1);
        let (by, and) = ((1.3, -0.2), (-0.7, 0.1));
        // Miri is slow.
        let lens: &[usize] = if cfg!(miri) { &[0, 1, 8, 24] } else { &[0, 1, 7, 8, 64, 1000, 2048] };
        for &len in lens {
            // One of every alignment.
            for start in 0..8 {
                let (mut x, y) = (values(len, 1.0), values(len, 2.0));
                // Miri gives a NaN other bits each time, as the language may.
                if len > 2 && !cfg!(miri) {
                    x[2] = f32::NAN;
                }
                for floor in [0.0, f32::NEG_INFINITY] {
                    let mut results = [vec![9.0; len + 8], vec![9.0; len + 8]];
                    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    for (stores, result) in [plain, nontemporal].into_iter().zip(&mut results) {
                        stores.affine(&mut result[start..start + len], &x, by, floor);
                        stores.finish();
                    }
                    assert_eq!(bits(&results[0]), bits(&results[1]));
                    for (stores, result) in [plain, nontemporal].into_iter().zip(&mut results) {
                        stores.affine_two(&mut result[start..start + len], &x, by, &y, and, floor);
                        stores.finish();
                    }
                    assert_eq!(bits(&results[0]), bits(&results[1]));
                }
            }
        }
    }
}
