//! The innermost loops in 512-bit registers, each of which holds two vectors of eight.
//!
//! Tables of offsets, packed weights and panels are those of the narrower instruction sets: a
//! register takes two vectors of pixels (whose addresses need not follow one another) or a whole
//! panel of 16 columns. Every sum is taken in the same order, so results have the bits of AVX2.
//! Correlations, which sum over lanes, stay narrow for that reason.

use super::panels::{self, COLUMNS, ROWS};
use super::simd::LANES;
use super::tile::{self, Multiply};
use std::arch::x86_64::{
    __m256, __m512, _mm256_loadu_ps, _mm512_add_ps, _mm512_castps256_ps512, _mm512_fmadd_ps,
    _mm512_insertf32x8, _mm512_loadu_ps, _mm512_max_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
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

/// Computes a block of a matrix product: two panels of columns at a time where both are whole, or
/// one, the rest as AVX2 does.
///
/// # Safety
///
/// As for [`panels::multiply_block`]; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn multiply_block(block: &panels::Block) {
    // SAFETY: the caller's.
    unsafe { if block.left.is_packed() { tiles::<true>(block) } else { tiles::<false>(block) } }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn tiles<const PACKED: bool>(block: &panels::Block) {
    let mut column = 0;
    while column < block.columns {
        let panels = (block.contiguous(column) / COLUMNS).min(2);
        for row in (0..block.rows).step_by(ROWS) {
            let whole = block.rows - row >= ROWS;
            // SAFETY: whole panels lie inside the block and one plane; the rest is the caller's.
            unsafe {
                match panels {
                    2 if whole => six_rows::<PACKED, 2>(block, row, column),
                    1 if whole => six_rows::<PACKED, 1>(block, row, column),
                    _ => {
                        panels::tile_at::<__m256, PACKED>(block, row, column);
                        if panels == 2 {
                            panels::tile_at::<__m256, PACKED>(block, row, column + COLUMNS);
                        }
                    }
                }
            }
        }
        column += panels.max(1) * COLUMNS;
    }
}

/// Six rows of one or two panels.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn six_rows<const PACKED: bool, const PANELS: usize>(
    block: &panels::Block,
    row: usize,
    column: usize,
) {
    let (left, left_step) = block.left.rows_from(row, ROWS);
    let (mut at, mut right) = (0, block.right[column * block.depth..].as_ptr());
    let next_panel = COLUMNS * block.depth;
    // SAFETY: both panels hold `depth` entries of every row; the caller vouches for the target.
    unsafe {
        let target = block.target.add(block.place(row, column));
        let mut sums = [[_mm512_setzero_ps(); PANELS]; ROWS];
        for _ in 0..block.depth {
            let mut inputs = [_mm512_setzero_ps(); PANELS];
            for (panel, input) in inputs.iter_mut().enumerate() {
                *input = _mm512_loadu_ps(right.add(panel * next_panel));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = _mm512_set1_ps(if PACKED { *left[0].add(at + row) } else { *left[row].add(at) });
                for (sum, input) in sums.iter_mut().zip(inputs) {
                    *sum = _mm512_fmadd_ps(factor, input, *sum);
                }
            }
            (at, right) = (at + if PACKED { ROWS } else { left_step }, right.add(COLUMNS));
        }
        for (i, sums) in sums.into_iter().enumerate() {
            for (v, mut sum) in sums.into_iter().enumerate() {
                let place = target.add(i * block.row_stride + v * COLUMNS);
                if block.accumulate {
                    sum = _mm512_add_ps(sum, _mm512_loadu_ps(place));
                }
                if let Some(finish) = block.finish {
                    let biased = _mm512_add_ps(sum, _mm512_set1_ps(finish.bias[row + i]));
                    // The second operand where one is not a number: a NaN stays.
                    sum = _mm512_max_ps(_mm512_set1_ps(finish.floor), biased);
                }
                _mm512_storeu_ps(place, sum);
            }
        }
    }
}
