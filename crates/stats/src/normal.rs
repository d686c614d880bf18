//! Standard normal numbers over lanes: Box and Muller's transform with polynomials for the logarithm, sine and cosine.
//!
//! There is no branch and no rejection. A pair of words gives a pair of normals: 31 bits of the first the radius, its last
//! bit a sign, the second the angle within the right half-plane. Only additions, multiplications, square roots
//! and integer operations are used, each correctly rounded everywhere, hence the same bits on every CPU.

use crate::multiversion;
use crate::philox::{Key, LANES, Schedule, TILE};

/// -2 ln(1 + f) / f on [sqrt(1/2) - 1, sqrt(2) - 1]; relative error below 2.7e-8.
const LOG: [f32; 9] = [
    -1.999999948,
    0.9999997593,
    -0.6666837125,
    0.5000414817,
    -0.3991366722,
    0.3312478568,
    -0.2990453184,
    0.2873368852,
    -0.1744471784,
];
/// sin(pi a) / a in powers of a^2 on |a| <= 1/2; relative error below 6e-9.
const SIN: [f32; 5] = [3.141592637, -5.167709685, 2.550069726, -0.5982421264, 0.07756038692];
/// cos(pi a) / (1/4 - a^2) in powers of a^2 on |a| <= 1/2; relative error below 1e-9. The factor split off keeps the
/// zero at a = 1/2 where it belongs.
const COS: [f32; 5] = [3.999999996, -3.739208048, 1.277989765, -0.2287385415, 0.02415409605];

#[inline(always)]
fn horner<const N: usize>(coefficients: &[f32; N], x: f32) -> f32 {
    let mut sum = coefficients[N - 1];
    for &c in coefficients[..N - 1].iter().rev() {
        sum = sum * x + c;
    }
    sum
}

/// -2 ln(u) for u = (k + 1/2) 2^-31, with k in 0..2^31; so u >= 2^-32 and the result lies in [0, 44.4].
#[inline(always)]
fn minus_two_log(k: u32) -> f32 {
    const ROOT_HALF: i32 = 0x3f35_04f3;
    const MANTISSA: i32 = 0x007f_ffff;
    let bits = (k as i32 as f32 + 0.5).to_bits() as i32;
    // u = 2^e m with m in [sqrt(1/2), sqrt(2)), where the exponent also takes in the factor 2^-31.
    let shifted = bits - (ROOT_HALF + (31 << 23));
    let e = (shifted >> 23) as f32;
    let f = f32::from_bits(((shifted & MANTISSA) + ROOT_HALF) as u32) - 1.0;
    horner(&LOG, f) * f + e * (-2.0 * std::f32::consts::LN_2)
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
    for (tile, out) in out.iter_mut().enumerate() {
        let [w0, w1, w2, w3] = schedule.tile(first_block.wrapping_add((tile * LANES) as u32));
        let (first, second) = out.split_at_mut(2 * LANES);
        transform(&w0, &w1, first);
        transform(&w2, &w3, second);
    }
}

/// The normals of a row of word pairs: all those along the sine, then all along the cosine.
#[inline(always)]
fn transform(radii: &[u32; LANES], angles: &[u32; LANES], out: &mut [f32]) {
    let (sines, cosines) = out.split_at_mut(LANES);
    for lane in 0..LANES {
        (sines[lane], cosines[lane]) = box_muller(radii[lane], angles[lane]);
    }
}

multiversion! {
    /// Fills whole tiles with the normals made of the blocks from `first_block` on.
    pub fn fill_tiles(key: &Key, first_block: u32, out: &mut [[f32; TILE]]) {
        tiles_body(key, first_block, out);
    }
}
