//! Standard normal numbers over lanes: Box and Muller's transform with polynomials for the
//! logarithm, sine and cosine.
//!
//! There is no branch and no rejection. A pair of words gives a pair of normals: 31 bits of the
//! first the radius, its last bit a sign, the second the angle within the right half-plane. Only
//! additions, multiplications, square roots and integer operations are used, each correctly rounded
//! everywhere, hence the same bits on every CPU.

use crate::multiversion;
use crate::random::philox::{Key, LANES, Schedule, TILE};

/// -2 ln(1 + f) / f on [sqrt(1/2) - 1, sqrt(2) - 1]; relative error below 2.7e-8.
const LOG_EVEN: [f32; 5] = [-2.0, -0.66668371, -0.39913667, -0.29904532, -0.17444718];
const LOG_ODD: [f32; 4] = [0.99999976, 0.5000415, 0.33124786, 0.2873369];
/// sin(pi a) / a in powers of a^2 on |a| <= 1/2; relative error below 6e-9.
const SIN: [f32; 5] = [std::f32::consts::PI, -5.16771, 2.5500697, -0.5982421, 0.07756039];
/// cos(pi a) / (1/4 - a^2) in powers of a^2 on |a| <= 1/2; relative error below 1e-9. The factor
/// split off keeps the zero at a = 1/2 where it belongs.
const COS: [f32; 5] = [4.0, -3.739208, 1.2779898, -0.22873854, 0.024154096];

/// A polynomial, its constant first.
#[inline(always)]
pub(crate) fn horner<const N: usize>(coefficients: &[f32; N], x: f32) -> f32 {
    let mut sum = coefficients[N - 1];
    for &c in coefficients[..N - 1].iter().rev() {
        sum = sum * x + c;
    }
    sum
}

/// -2 ln(u) for u = (k + 1/2) 2^-31, with k in 0..2^31; so u >= 2^-32 and the result lies in [0,
/// 44.4].
#[inline(always)]
fn minus_two_log(k: u32) -> f32 {
    const ROOT_HALF: i32 = 0x3f35_04f3;
    const MANTISSA: i32 = 0x007f_ffff;
    let bits = (k as i32 as f32 + 0.5).to_bits() as i32;
    // u = 2^e m with m in [sqrt(1/2), sqrt(2)), where the exponent also takes in the factor 2^-31.
    let shifted = bits - (ROOT_HALF + (31 << 23));
    let e = (shifted >> 23) as f32;
    let f = f32::from_bits(((shifted & MANTISSA) + ROOT_HALF) as u32) - 1.0;
    // Even and odd powers apart: two short chains instead of a long one.
    let f2 = f * f;
    let log = horner(&LOG_EVEN, f2) + horner(&LOG_ODD, f2) * f;
    log * f + e * (-2.0 * std::f32::consts::LN_2)
}

/// (sin(pi a), cos(pi a)) for |a| <= 1/2.
#[inline(always)]
fn sin_cos_pi(a: f32) -> (f32, f32) {
    let a2 = a * a;
    (horner(&SIN, a2) * a, horner(&COS, a2) * (0.25 - a2))
}

#[inline(always)]
fn box_muller(radius: u32, angle: u32) -> (f32, f32) {
    let r = minus_two_log(radius >> 1).sqrt();
    let (sin, cos) = sin_cos_pi(angle as i32 as f32 * (1.0 / (1u64 << 32) as f32));
    let signed = f32::from_bits(cos.to_bits() ^ (radius << 31));
    (r * sin, r * signed)
}

#[inline(always)]
fn tiles_body(key: &Key, first_block: u32, out: &mut [[f32; TILE]]) {
    let schedule = Schedule::new(key);
    let mut words = [0; TILE];
    for (tile, out) in out.iter_mut().enumerate() {
        schedule.tile(first_block.wrapping_add((tile * LANES) as u32), &mut words);
        transform(&words, out);
    }
}

/// The normals of a tile of words: all those along the sine, then all along the cosine.
#[inline(always)]
fn transform(words: &[u32; TILE], out: &mut [f32; TILE]) {
    let (radii, angles) = words.split_at(TILE / 2);
    let (sines, cosines) = out.split_at_mut(TILE / 2);
    for lane in 0..TILE / 2 {
        (sines[lane], cosines[lane]) = box_muller(radii[lane], angles[lane]);
    }
}

multiversion! {
    /// Fills whole tiles with the normals made of the blocks from `first_block` on.
    pub fn fill_tiles(key: &Key, first_block: u32, out: &mut [[f32; TILE]]) {
        tiles_body(key, first_block, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// A few units of f32's rounding, 6e-8, for the sums of a polynomial.
    const TOLERANCE: f64 = 2.5e-7;

    #[test]
    fn logarithm_is_right_to_rounding() {
        let ends = (0..100_000u32).chain((1 << 31) - 100_000..1 << 31);
        for k in ends.chain((0..1u32 << 31).step_by(4099)) {
            // The argument itself is rounded to f32, once.
            let u = f64::from(k as f32 + 0.5) / f64::from(1u32 << 31);
            let (got, exact) = (f64::from(minus_two_log(k)), -2.0 * u.ln());
            assert!((got - exact).abs() <= TOLERANCE * exact, "k = {k}: {got} instead of {exact}");
        }
        assert!(minus_two_log(0).sqrt() > 6.66);
    }

    #[test]
    fn sine_and_cosine_are_right_to_rounding() {
        for k in (i32::MIN..=i32::MAX).step_by(4099).chain([i32::MIN, i32::MAX, 0, 1, -1]) {
            let a = k as f32 / (1u64 << 32) as f32;
            let (sin, cos) = sin_cos_pi(a);
            let (exact_sin, exact_cos) = (std::f64::consts::PI * f64::from(a)).sin_cos();
            assert!((f64::from(sin) - exact_sin).abs() <= TOLERANCE * exact_sin.abs(), "sin at {a}");
            assert!((f64::from(cos) - exact_cos).abs() <= TOLERANCE * (0.1 + exact_cos.abs()), "cos at {a}");
        }
    }

    #[test]
    fn extreme_words_stay_finite() {
        for radius in [0, 1, 2, u32::MAX - 1, u32::MAX, 1 << 31] {
            for angle in [0, 1, u32::MAX, 1 << 31, (1 << 31) - 1] {
                let (x, y) = box_muller(radius, angle);
                assert!(x.abs() < 6.67 && y.abs() < 6.67, "{x} {y}");
            }
        }
    }

    #[test]
    fn portable_and_dispatched_agree() {
        for (seed, trial) in [(0, 0), (u64::MAX, 1 << 40), (7, 3)] {
            let key = Key { seed, stream: 5, trial };
            let mut portable = vec![[0.0; TILE]; 40];
            tiles_body(&key, 1 << 31, &mut portable);
            for length in [0, 1, 7, 9, 63, 64, 65, 1001, 40 * TILE] {
                let mut dispatched = vec![0.0f32; length];
                Rng::new(seed, 5, trial).fill_normal(&mut dispatched);
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&dispatched), bits(&portable.as_flattened()[..length]));
            }
        }
    }

    /// Pins the sequence: stored results depend on it.
    #[test]
    fn normals_are_box_muller_of_philox_blocks() {
        let key = Key { seed: 11, stream: 12, trial: 13 };
        let mut out = [[0.0; TILE]; 2];
        fill_tiles(&key, 1 << 31, &mut out);
        for (i, tile) in out.iter().enumerate() {
            for lane in 0..LANES {
                let number = (1 << 31) + (i * LANES + lane) as u32;
                let [r0, r1, a0, a1] = crate::random::philox::block(key.counter(number), key.words());
                let slots = [lane, lane + 2 * LANES, lane + LANES, lane + 3 * LANES].map(|slot| tile[slot]);
                let ((x0, y0), (x1, y1)) = (box_muller(r0, a0), box_muller(r1, a1));
                assert_eq!(slots, [x0, y0, x1, y1]);
            }
        }
    }
}
