//! AVX-512 microkernels: a 512-bit register holds two vectors of eight.
//!
//! Tables of offsets, packed weights and panels are those of the narrower instruction sets: a
//! register takes two vectors of pixels (whose addresses need not follow one another) or a whole
//! panel of 16 columns. Every sum is taken in the same order, so results have the bits of AVX2.
//! Correlations, which sum over lanes, stay narrow for that reason.

use super::panels::{self, COLUMNS, ROWS};
use super::simd::LANES;
use super::tile::{self, Multiply};
use std::arch::asm;
use std::arch::x86_64::{
    __m256, __m512, _mm256_loadu_ps, _mm256_max_ps, _mm512_add_ps, _mm512_castps256_ps512,
    _mm512_castps512_ps256, _mm512_extractf32x8_ps, _mm512_fmadd_ps, _mm512_insertf32x8, _mm512_loadu_ps,
    _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_max_ps, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_storeu_ps,
};

/// Runs a [`Multiply`] for a tile of `rows` output channels.
///
/// # Safety
///
/// As for [`tile::multiply`]; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn multiply(rows: usize, call: &Multiply) {
    // SAFETY: handed on to the caller.
    unsafe {
        match rows {
            1 => multiply_tiles::<1, 8>(call),
            2 => multiply_tiles::<2, 4>(call),
            3 => multiply_tiles::<3, 4>(call),
            4 => multiply_tiles::<4, 4>(call),
            5 => multiply_tiles::<5, 4>(call),
            6 => multiply_tiles::<6, 4>(call),
            _ => unreachable!("a tile has 1 to {} rows, not {rows}", tile::MAX_ROWS),
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn multiply_tiles<const R: usize, const PAIRS: usize>(call: &Multiply) {
    let mut at = 0;
    let left = |at: usize| call.vectors.len() - at;
    // SAFETY: `at` plus the tile's width never passes the number of vectors; the rest is the
    // caller's.
    unsafe {
        while left(at) >= 2 * PAIRS {
            multiply_tile::<R, PAIRS>(call, at);
            at += 2 * PAIRS;
        }
        if PAIRS > 4 && left(at) >= 8 {
            multiply_tile::<R, 4>(call, at);
            at += 8;
        }
        if left(at) >= 4 {
            multiply_tile::<R, 2>(call, at);
            at += 4;
        }
        if left(at) >= 2 {
            multiply_tile::<R, 1>(call, at);
            at += 2;
        }
        if left(at) > 0 {
            tile::multiply_tile::<__m256, R, 1>(call, at);
        }
    }
}

/// Two vectors of eight.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn load([low, high]: [*const f32; 2]) -> __m512 {
    // SAFETY: the caller vouches for eight floats at each address.
    unsafe { _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high)) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn multiply_tile<const R: usize, const PAIRS: usize>(call: &Multiply, first: usize) {
    // SAFETY: the caller vouches for every address read and written.
    unsafe {
        let mut pixels = [[call.input; 2]; PAIRS];
        for (p, pixels) in pixels.iter_mut().enumerate() {
            let [low, high] = [call.vectors[first + 2 * p], call.vectors[first + 2 * p + 1]];
            *pixels = [pixels[0].add(low as usize), pixels[1].add(high as usize)];
        }
        let output = call.output.add(first * LANES);
        let mut sums = [[_mm512_setzero_ps(); PAIRS]; R];
        if call.accumulate {
            for (o, sums) in sums.iter_mut().enumerate() {
                for (p, sum) in sums.iter_mut().enumerate() {
                    *sum = _mm512_loadu_ps(output.add(o * call.channel_stride + 2 * p * LANES));
                }
            }
        }
        let mut weights = call.weights.as_ptr();
        for &tap in call.taps {
            let mut inputs = [_mm512_setzero_ps(); PAIRS];
            for (input, [low, high]) in inputs.iter_mut().zip(pixels) {
                *input = load([low.add(tap as usize), high.add(tap as usize)]);
            }
            for (o, sums) in sums.iter_mut().enumerate() {
                let weight = _mm512_set1_ps(*weights.add(o));
                for (sum, input) in sums.iter_mut().zip(inputs) {
                    *sum = _mm512_fmadd_ps(weight, input, *sum);
                }
            }
            weights = weights.add(R);
        }
        for (o, sums) in sums.into_iter().enumerate() {
            for (p, sum) in sums.into_iter().enumerate() {
                _mm512_storeu_ps(output.add(o * call.channel_stride + 2 * p * LANES), sum);
            }
        }
    }
}

/// The most rows of a tile.
const TALL: usize = 2 * ROWS;

/// Computes a block of a matrix product, up to twelve rows of two panels of columns at a time.
///
/// Twelve rows of two registers are 24 sums, beside two inputs and a factor: 14 loads feed 24
/// multiplications, and two panels of the whole depth (32 KB) stay in the first-level cache while
/// the rows go by.
///
/// # Safety
///
/// As for [`panels::multiply_block`]; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn multiply_block(block: &panels::Block) {
    let mut column = 0;
    while column < block.columns {
        let panels = (block.columns - column).div_ceil(COLUMNS).min(2);
        // SAFETY: the caller's.
        unsafe {
            match (block.left.is_packed(), panels) {
                (true, 2) => row_tiles::<true, 2>(block, column),
                (true, _) => row_tiles::<true, 1>(block, column),
                (false, 2) => row_tiles::<false, 2>(block, column),
                (false, _) => row_tiles::<false, 1>(block, column),
            }
        }
        column += panels * COLUMNS;
    }
}

/// All rows of one or two panels.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn row_tiles<const PACKED: bool, const PANELS: usize>(block: &panels::Block, column: usize) {
    for row in (0..block.rows).step_by(TALL) {
        // SAFETY: the rows are the block's; the rest is the caller's.
        unsafe {
            match (block.rows - row).min(TALL) {
                1 => tile_at::<PACKED, PANELS, 1>(block, row, column),
                2 => tile_at::<PACKED, PANELS, 2>(block, row, column),
                3 => tile_at::<PACKED, PANELS, 3>(block, row, column),
                4 => tile_at::<PACKED, PANELS, 4>(block, row, column),
                5 => tile_at::<PACKED, PANELS, 5>(block, row, column),
                6 => tile_at::<PACKED, PANELS, 6>(block, row, column),
                7 => tile_at::<PACKED, PANELS, 7>(block, row, column),
                8 => tile_at::<PACKED, PANELS, 8>(block, row, column),
                9 => tile_at::<PACKED, PANELS, 9>(block, row, column),
                10 => tile_at::<PACKED, PANELS, 10>(block, row, column),
                11 => tile_at::<PACKED, PANELS, 11>(block, row, column),
                _ => tile_at::<PACKED, PANELS, TALL>(block, row, column),
            }
        }
    }
}

/// R rows of one or two panels, and where they go: in place where all columns lie side by side.
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn tile_at<const PACKED: bool, const PANELS: usize, const R: usize>(
    block: &panels::Block,
    row: usize,
    column: usize,
) {
    let columns = (block.columns - column).min(PANELS * COLUMNS);
    // SAFETY: the target's rows hold the tile's columns, or the caller vouches for each of them.
    unsafe {
        let in_place = block.contiguous(column) >= columns;
        let target = block.target.add(block.place(row, column));
        if row == 0 && in_place {
            for row in 0..R {
                prefetch(target.wrapping_add(row * block.row_stride));
                prefetch(target.wrapping_add(row * block.row_stride + columns - 1));
            }
        }
        // Later tiles of these columns find their lines fetched by the one before.
        let next = (row + R < block.rows).then(|| target.wrapping_add(R * block.row_stride));
        let sums = products::<PACKED, PANELS, R>(block, row, column, next);
        if in_place {
            return store(block, sums, (row, columns), target);
        }
        let mut spilled = [0.0; TALL * 2 * COLUMNS];
        for (sums, spilled) in sums.iter().zip(spilled.as_chunks_mut::<{ 2 * COLUMNS }>().0) {
            for (sum, to) in sums.iter().zip(spilled.as_chunks_mut::<COLUMNS>().0) {
                _mm512_storeu_ps(to.as_mut_ptr(), *sum);
            }
        }
        panels::spread(block, &spilled, 2 * COLUMNS, (row, R), (column, columns));
    }
}

/// Steps of the depth between two requests for a row of the next tile.
const STRETCH: usize = 8;

/// The sums of R rows and one or two panels; `next` is where the next tile goes.
#[inline(always)]
unsafe fn products<const PACKED: bool, const PANELS: usize, const R: usize>(
    block: &panels::Block,
    row: usize,
    column: usize,
    next: Option<*mut f32>,
) -> [[__m512; PANELS]; R] {
    let first = block.left.rows_from(row, 1).0[0];
    let (pitch, step) = block.left.strides();
    // Rows 0, 3, 6 and 9, from each of which two more are a stride or two away; packed panels are
    // six rows side by side.
    let mut left = [first; TALL / 3];
    for (i, left) in left.iter_mut().enumerate() {
        let row = if PACKED { i / 2 * ROWS * block.depth + i % 2 * 3 } else { i * 3 * pitch };
        *left = first.wrapping_add(row);
    }
    let pitch = if PACKED { 1 } else { pitch };
    let mut right = block.right[column * block.depth..].as_ptr();
    let next_panel = COLUMNS * block.depth;
    let rows_at_once = TALL.div_ceil(block.depth.div_ceil(STRETCH).max(1));
    let mut asked = 0;
    // SAFETY: panels hold `depth` entries of every row and column, and the CPU has AVX-512.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); PANELS]; R];
        let mut left_over = block.depth;
        while left_over > 0 {
            let steps = left_over.min(STRETCH);
            left_over -= steps;
            if let Some(next) = next {
                for row in asked..TALL.min(asked + rows_at_once) {
                    let line = next.wrapping_add(row * block.row_stride);
                    prefetch(line);
                    prefetch(line.wrapping_add(PANELS * COLUMNS - 1));
                }
                asked += rows_at_once;
            }
            for _ in 0..steps {
                let mut inputs = [_mm512_setzero_ps(); PANELS];
                for (panel, input) in inputs.iter_mut().enumerate() {
                    *input = _mm512_loadu_ps(right.add(panel * next_panel));
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let factor = _mm512_set1_ps(*left[row / 3].add(row % 3 * pitch));
                    for (sum, input) in sums.iter_mut().zip(inputs) {
                        *sum = _mm512_fmadd_ps(factor, input, *sum);
                    }
                }
                for left in &mut left[..R.div_ceil(3)] {
                    *left = left.wrapping_add(if PACKED { ROWS } else { step });
                }
                right = right.wrapping_add(COLUMNS);
            }
        }
        sums
    }
}

/// Prefetches a line that will be written; any address will do.
#[inline(always)]
unsafe fn prefetch(at: *const f32) {
    // Miri knows no assembly.
    if !cfg!(miri) {
        // SAFETY: a hint, which cannot fault; every CPU with AVX-512 has the instruction.
        unsafe { asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly)) }
    }
}

/// Adds, finishes and stores sums whose columns lie side by side in the target.
#[inline(always)]
unsafe fn store<const PANELS: usize, const R: usize>(
    block: &panels::Block,
    sums: [[__m512; PANELS]; R],
    (row, columns): (usize, usize),
    target: *mut f32,
) {
    for (i, sums) in sums.into_iter().enumerate() {
        for (v, mut sum) in sums.into_iter().enumerate() {
            let mask = mask(columns - v * COLUMNS);
            // SAFETY: the masked columns are the block's; the caller vouches for the target, and
            // the CPU has AVX-512.
            unsafe {
                let place = target.add(i * block.row_stride + v * COLUMNS);
                if block.accumulate {
                    sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, place));
                }
                if let Some(bias) = block.bias {
                    let biased = _mm512_add_ps(sum, _mm512_set1_ps(bias.values[row + i]));
                    // The second operand where one is not a number: a NaN stays.
                    let floor = _mm512_set1_ps(bias.floor);
                    sum =
                        if cfg!(miri) { max_of_halves(floor, biased) } else { _mm512_max_ps(floor, biased) };
                }
                _mm512_mask_storeu_ps(place, mask, sum);
            }
        }
    }
}

/// The maximum for Miri, which knows the narrower instruction only.
#[target_feature(enable = "avx512f,avx512dq")]
fn max_of_halves(a: __m512, b: __m512) -> __m512 {
    let low = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_castps512_ps256(b));
    let high = _mm256_max_ps(_mm512_extractf32x8_ps::<1>(a), _mm512_extractf32x8_ps::<1>(b));
    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
}

/// The first of 16 lanes.
#[inline(always)]
fn mask(lanes: usize) -> u16 {
    if lanes >= COLUMNS { u16::MAX } else { (1 << lanes) - 1 }
}
