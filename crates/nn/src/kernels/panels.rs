//! Matrix products of packed operands: the innermost blocks of our sgemm.
//!
//! The left matrix is packed in panels of 6 rows, `[panel][depth][6]`, the right one in panels of 16 columns,
//! `[panel][depth][16]`, so that the inner loop reads both from one address to the next; a tile of 6 x 16 sums fills 12 of 16
//! AVX registers. `pack` writes panels, `pointwise` chooses blocks that stay in the caches.

use super::simd::{Isa, LANES, Vector};
use std::array::from_fn;

/// Rows of a left panel.
pub(crate) const ROWS: usize = 6;

/// Columns of a right panel, in vectors and in floats.
const VECTORS: usize = 2;
pub(crate) const COLUMNS: usize = VECTORS * LANES;

/// The most depth of a block: a right panel (16 KB) stays in the first-level cache while left panels go by.
pub(crate) const DEPTH: usize = 256;

/// `target (+)= left * right`.
///
/// Columns of the target lie in planes (the pixels of an image): column j is `first_column + j` of all, and column c of all
/// lies at `c / plane * plane_stride + c % plane`.
pub(crate) struct Block<'a> {
    pub left: &'a [f32],
    pub right: &'a [f32],
    pub depth: usize,
    pub rows: usize,
    pub columns: usize,
    pub first_column: usize,
    pub plane: usize,
    pub plane_stride: usize,
    pub row_stride: usize,
    /// Row 0 of column 0 of all.
    pub target: *mut f32,
    /// Add to the target instead of overwriting it (later blocks of the depth).
    pub accumulate: bool,
    /// What happens to the sums then (the last block of the depth); its biases are those of the block's rows.
    pub finish: Option<Finish<'a>>,
}

/// What happens to a finished sum of row i: `max(sum + bias[i], floor)`.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a> {
    pub bias: &'a [f32],
    /// 0 for a ReLU, minus infinity for none.
    pub floor: f32,
}

impl<'a> Finish<'a> {
    /// Of rows from `row` on.
    pub(crate) fn from(self, row: usize) -> Self {
        Self { bias: &self.bias[row..], ..self }
    }

    /// Finishes sums of one row; a NaN stays, so that divergence shows.
    pub(crate) fn apply(self, row: usize, sums: &mut [f32]) {
        let (bias, floor) = (self.bias[row], self.floor);
        for sum in sums {
            let x = *sum + bias;
            *sum = if x < floor { floor } else { x };
        }
    }
}

/// Floats of a packed matrix of `count` rows or columns in panels of `width`.
pub(crate) fn packed_len(count: usize, width: usize, depth: usize) -> usize {
    count.next_multiple_of(width) * depth
}

/// Computes a block.
///
/// # Safety
///
/// The CPU has `isa`; every element of the target is writable, and nobody else touches it meanwhile.
pub(crate) unsafe fn multiply_block(isa: Isa, block: &Block) {
    assert!(block.left.len() >= packed_len(block.rows, ROWS, block.depth));
    assert!(block.right.len() >= packed_len(block.columns, COLUMNS, block.depth));
    assert!(block.finish.is_none_or(|finish| finish.bias.len() >= block.rows));
    // SAFETY: the panels were just checked; the rest is the caller's.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => block_avx2(block),
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 => tiles::<[f32; LANES]>(block),
            Isa::Portable => tiles::<[f32; LANES]>(block),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn block_avx2(block: &Block) {
    // SAFETY: AVX2 and FMA are enabled here; the rest is the caller's.
    unsafe { tiles::<std::arch::x86_64::__m256>(block) }
}

#[inline(always)]
unsafe fn tiles<V: Vector>(block: &Block) {
    for column in (0..block.columns).step_by(COLUMNS) {
        let right = &block.right[column * block.depth..];
        let at = block.first_column + column;
        let (plane, pixel) = (at / block.plane, at % block.plane);
        let columns = (block.columns - column).min(COLUMNS);
        let whole = columns.min(block.plane - pixel) == COLUMNS;
        for row in (0..block.rows).step_by(ROWS) {
            let left = &block.left[row * block.depth..];
            let rows = (block.rows - row).min(ROWS);
            // SAFETY: a tile that is stored in place lies inside the block and one plane; the rest is the caller's.
            unsafe {
                if whole && rows == ROWS {
                    let place = plane * block.plane_stride + row * block.row_stride + pixel;
                    let target = (block.target.add(place), block.row_stride);
                    tile::<V, ROWS, VECTORS>(block.depth, left, right, target, block.accumulate);
                    if let Some(finish) = block.finish {
                        finish_tile::<V>(finish.from(row), target);
                    }
                    continue;
                }
                let mut sums = [0.0; ROWS * COLUMNS];
                let target = (sums.as_mut_ptr(), COLUMNS);
                match (2 * rows <= ROWS, columns <= LANES) {
                    (true, true) => tile::<V, { ROWS / 2 }, 1>(block.depth, left, right, target, false),
                    (true, false) => {
                        tile::<V, { ROWS / 2 }, VECTORS>(block.depth, left, right, target, false);
                    }
                    (false, true) => tile::<V, ROWS, 1>(block.depth, left, right, target, false),
                    (false, false) => tile::<V, ROWS, VECTORS>(block.depth, left, right, target, false),
                }
                spread(block, &sums, (row, rows), (column, columns));
            }
        }
    }
}

/// Puts the part of a tile that lies inside the block in its places, plane by plane.
unsafe fn spread(
    block: &Block,
    sums: &[f32; ROWS * COLUMNS],
    (row, rows): (usize, usize),
    (column, columns): (usize, usize),
) {
    let mut done = 0;
    while done < columns {
        let at = block.first_column + column + done;
        let (plane, pixel) = (at / block.plane, at % block.plane);
        let len = (block.plane - pixel).min(columns - done);
        for (i, sums) in sums.chunks_exact(COLUMNS).enumerate().take(rows) {
            let place = plane * block.plane_stride + (row + i) * block.row_stride + pixel;
            // SAFETY: `len` elements of a row of the target, which the caller vouches for.
            let target = unsafe { std::slice::from_raw_parts_mut(block.target.add(place), len) };
            let sums = &sums[done..done + len];
            if block.accumulate {
                target.iter_mut().zip(sums).for_each(|(target, sum)| *target += sum);
            } else {
                target.copy_from_slice(sums);
            }
            if let Some(finish) = block.finish {
                finish.apply(row + i, target);
            }
        }
        done += len;
    }
}

/// Finishes a tile right after it was stored.
#[inline(always)]
unsafe fn finish_tile<V: Vector>(finish: Finish, (target, row_stride): (*mut f32, usize)) {
    // SAFETY: the tile was just written.
    unsafe {
        let (one, floor) = (V::splat(1.0), V::splat(finish.floor));
        for (row, bias) in finish.bias[..ROWS].iter().enumerate() {
            for v in 0..VECTORS {
                let place = target.add(row * row_stride + v * LANES);
                floor.max(one.mul_add(V::load(place), V::splat(*bias))).store(place);
            }
        }
    }
}

/// The first R rows and N vectors of a tile of two panels.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const N: usize>(
    depth: usize,
    left: &[f32],
    right: &[f32],
    (target, row_stride): (*mut f32, usize),
    accumulate: bool,
) {
    let (mut left, mut right) = (left.as_ptr(), right.as_ptr());
    // SAFETY: both panels hold `depth` rows; the caller vouches for the target.
    unsafe {
        for row in 0..R {
            V::prefetch(target.add(row * row_stride));
            V::prefetch(target.add(row * row_stride + N * LANES - 1));
        }
        let mut sums = [[V::splat(0.0); N]; R];
        for _ in 0..depth {
            let inputs: [V; N] = from_fn(|v| V::load(right.add(v * LANES)));
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(*left.add(row));
                for (sum, input) in sums.iter_mut().zip(inputs) {
                    *sum = factor.mul_add(input, *sum);
                }
            }
            (left, right) = (left.add(ROWS), right.add(COLUMNS));
        }
        let one = V::splat(1.0);
        for (row, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let place = target.add(row * row_stride + v * LANES);
                let sum = if accumulate { one.mul_add(sum, V::load(place)) } else { sum };
                sum.store(place);
            }
        }
    }
}
