//! Register-blocked microkernels of the direct convolutions, for every instruction set.
//!
//! Both read an "indirect" matrix: element (k, p) of the unrolled input is `input[taps[k] +
//! vectors[p] ..]`, eight pixels at a time, so no im2col buffer is ever written. `taps` runs over
//! channels and kernel positions, `vectors` over the output pixels. A table instead of nested loops
//! costs one integer load per ten or twelve multiplications and makes any kernel size, stride and
//! image shape the same code.

#[cfg(target_arch = "x86_64")]
use super::avx512;
#[cfg(target_arch = "aarch64")]
use super::neon::Pair;
use super::simd::{Isa, LANES, Vector};
use std::array::from_fn;

/// The most output channels a register tile of [`multiply`] holds: 6 x 2 accumulators, 2 inputs and
/// a weight are 15 of 16 AVX registers.
pub(crate) const MAX_ROWS: usize = 6;

/// The most output channels a register tile of [`correlate`] holds: 4 x 3 accumulators, 3 inputs
/// and a gradient.
pub(crate) const MAX_GRADIENT_ROWS: usize = 4;

/// `output[o][p] (+)= sum over k of weights[k][o] * input[taps[k] + vectors[p]]`, p in eights of
/// pixels.
#[derive(Clone, Copy)]
pub(crate) struct Multiply<'a> {
    pub input: *const f32,
    pub taps: &'a [u32],
    pub vectors: &'a [u32],
    /// Packed `[taps][rows]`.
    pub weights: &'a [f32],
    /// Pixel vector p of channel o is stored at `o * channel_stride + 8 p`.
    pub output: *mut f32,
    pub channel_stride: usize,
    /// Add to the output instead of overwriting it (later blocks of channels).
    pub accumulate: bool,
}

/// `output[o][k] (+)= sum over p of gradient[p][o] . input[taps[k] + vectors[p]]`, dot products of
/// eight pixels.
#[derive(Clone, Copy)]
pub(crate) struct Correlate<'a> {
    pub input: *const f32,
    pub taps: &'a [u32],
    pub vectors: &'a [u32],
    /// Packed `[vectors][rows][8]`.
    pub gradient: &'a [f32],
    /// Element k of channel o is at `o * channel_stride + k`.
    pub output: *mut f32,
    pub channel_stride: usize,
    /// Add to the output instead of overwriting it (later chunks of the batch).
    pub accumulate: bool,
}

/// Runs a [`Multiply`] for a tile of `rows` output channels (1 to [`MAX_ROWS`]).
///
/// # Safety
///
/// The CPU has `isa`. For every tap and vector, eight floats are readable at `input + tap +
/// vector`; rows x vectors x 8 floats are writable at `output`, and no other thread touches them
/// meanwhile.
pub(crate) unsafe fn multiply(isa: Isa, rows: usize, call: &Multiply) {
    debug_assert!(rows <= MAX_ROWS && call.weights.len() >= rows * call.taps.len());
    // SAFETY: handed on to the caller.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512::multiply(rows, call),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => multiply_avx2(rows, call),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => multiply_rows::<Pair>(rows, call),
            _ => multiply_rows::<[f32; LANES]>(rows, call),
        }
    }
}

/// Runs a [`Correlate`] for a tile of `rows` output channels (1 to [`MAX_GRADIENT_ROWS`]).
///
/// # Safety
///
/// As for [`multiply`], with rows x taps floats writable at `output`.
pub(crate) unsafe fn correlate(isa: Isa, rows: usize, call: &Correlate) {
    debug_assert!(rows <= MAX_GRADIENT_ROWS && call.gradient.len() >= rows * call.vectors.len() * LANES);
    // SAFETY: handed on to the caller.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx2 => correlate_avx2(rows, call),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => correlate_rows::<Pair>(rows, call),
            _ => correlate_rows::<[f32; LANES]>(rows, call),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn multiply_avx2(rows: usize, call: &Multiply) {
    // SAFETY: AVX2 and FMA are enabled here; the rest is the caller's.
    unsafe { multiply_rows::<std::arch::x86_64::__m256>(rows, call) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn correlate_avx2(rows: usize, call: &Correlate) {
    // SAFETY: AVX2 and FMA are enabled here; the rest is the caller's.
    unsafe { correlate_rows::<std::arch::x86_64::__m256>(rows, call) }
}

/// Two FMAs of latency four per cycle want eight accumulators or more; narrow tiles take more
/// vectors to get there.
#[inline(always)]
unsafe fn multiply_rows<V: Vector>(rows: usize, call: &Multiply) {
    // SAFETY: handed on to the caller.
    unsafe {
        match rows {
            1 => multiply_tiles::<V, 1, 8>(call),
            2 => multiply_tiles::<V, 2, 4>(call),
            3 => multiply_tiles::<V, 3, 3>(call),
            4 => multiply_tiles::<V, 4, 2>(call),
            5 => multiply_tiles::<V, 5, 2>(call),
            6 => multiply_tiles::<V, 6, 2>(call),
            _ => unreachable!("a tile has 1 to {MAX_ROWS} rows, not {rows}"),
        }
    }
}

#[inline(always)]
unsafe fn multiply_tiles<V: Vector, const ROWS: usize, const WIDTH: usize>(call: &Multiply) {
    let mut at = 0;
    let left = |at: usize| call.vectors.len() - at;
    // SAFETY: `at` plus the tile's width never passes the number of vectors; the rest is the
    // caller's.
    unsafe {
        while left(at) >= WIDTH {
            multiply_tile::<V, ROWS, WIDTH>(call, at);
            at += WIDTH;
        }
        if WIDTH > 4 && left(at) >= 4 {
            multiply_tile::<V, ROWS, 4>(call, at);
            at += 4;
        }
        if WIDTH > 2 && left(at) >= 2 {
            multiply_tile::<V, ROWS, 2>(call, at);
            at += 2;
        }
        if left(at) > 0 {
            multiply_tile::<V, ROWS, 1>(call, at);
        }
    }
}

/// `WIDTH` vectors of pixels from the first on.
///
/// # Safety
///
/// As for [`multiply`].
#[inline(always)]
pub(super) unsafe fn multiply_tile<V: Vector, const ROWS: usize, const WIDTH: usize>(
    call: &Multiply,
    first: usize,
) {
    // SAFETY: the caller vouches for every address read and written.
    unsafe {
        let pixels: [*const f32; WIDTH] = from_fn(|p| call.input.add(call.vectors[first + p] as usize));
        let output = |o: usize, p: usize| call.output.add(o * call.channel_stride + (first + p) * LANES);
        let mut sums = [[V::splat(0.0); WIDTH]; ROWS];
        if call.accumulate {
            sums = from_fn(|o| from_fn(|p| V::load(output(o, p))));
        }
        let mut weights = call.weights.as_ptr();
        for &tap in call.taps {
            let inputs: [V; WIDTH] = from_fn(|p| V::load(pixels[p].add(tap as usize)));
            for (o, sums) in sums.iter_mut().enumerate() {
                let weight = V::splat(*weights.add(o));
                for (sum, input) in sums.iter_mut().zip(inputs) {
                    *sum = weight.mul_add(input, *sum);
                }
            }
            weights = weights.add(ROWS);
        }
        for (o, sums) in sums.iter().enumerate() {
            for (p, sum) in sums.iter().enumerate() {
                sum.store(output(o, p));
            }
        }
    }
}

/// Three columns are one row of a 3x3 kernel; a lone channel (depthwise) takes the whole kernel at
/// once.
#[inline(always)]
unsafe fn correlate_rows<V: Vector>(rows: usize, call: &Correlate) {
    // SAFETY: handed on to the caller.
    unsafe {
        match rows {
            1 => correlate_tiles::<V, 1, 9>(call),
            2 => correlate_tiles::<V, 2, 3>(call),
            3 => correlate_tiles::<V, 3, 3>(call),
            4 => correlate_tiles::<V, 4, 3>(call),
            _ => unreachable!("a tile has 1 to {MAX_GRADIENT_ROWS} rows, not {rows}"),
        }
    }
}

#[inline(always)]
unsafe fn correlate_tiles<V: Vector, const ROWS: usize, const COLUMNS: usize>(call: &Correlate) {
    let mut at = 0;
    // SAFETY: `at` plus the tile's columns never passes the number of taps; the rest is the
    // caller's.
    unsafe {
        while call.taps.len() - at >= COLUMNS {
            correlate_tile::<V, ROWS, COLUMNS>(call, at);
            at += COLUMNS;
        }
        while at < call.taps.len() {
            correlate_tile::<V, ROWS, 1>(call, at);
            at += 1;
        }
    }
}

#[inline(always)]
unsafe fn correlate_tile<V: Vector, const ROWS: usize, const COLUMNS: usize>(call: &Correlate, first: usize) {
    // SAFETY: the caller vouches for every address read and written.
    unsafe {
        let columns: [*const f32; COLUMNS] = from_fn(|k| call.input.add(call.taps[first + k] as usize));
        let mut sums = [[V::splat(0.0); COLUMNS]; ROWS];
        let mut gradient = call.gradient.as_ptr();
        for &vector in call.vectors {
            let inputs: [V; COLUMNS] = from_fn(|k| V::load(columns[k].add(vector as usize)));
            for (o, sums) in sums.iter_mut().enumerate() {
                let gradient = V::load(gradient.add(o * LANES));
                for (sum, input) in sums.iter_mut().zip(inputs) {
                    *sum = gradient.mul_add(input, *sum);
                }
            }
            gradient = gradient.add(ROWS * LANES);
        }
        for (o, sums) in sums.into_iter().enumerate() {
            let output = call.output.add(o * call.channel_stride + first);
            for (k, sum) in V::sums(sums).into_iter().enumerate() {
                let before = if call.accumulate { *output.add(k) } else { 0.0 };
                *output.add(k) = before + sum;
            }
        }
    }
}
