//! GEMM microkernels: products of packed panels, the innermost blocks of our sgemm.
//!
//! The right matrix is packed in panels of 16 columns, `[panel][depth][16]`, so that the inner loop
//! reads it from one address to the next. The left one comes in panels of 6 rows, packed as
//! `[panel][depth][6]` or, where few columns would not pay for that, as it is. A tile of 6 x 16
//! sums fills 12 of 16 AVX registers. `pack` writes panels, `product` and `pointwise_weights`
//! choose blocks that stay in the caches.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::epilogue::Bias;
use super::simd::{Isa, LANES, Vector};
use std::array::from_fn;

/// Rows of a left panel.
pub(crate) const ROWS: usize = 6;

/// Rows that are computed where a panel has no more.
const HALF: usize = ROWS / 2;

/// Columns of a right panel, in vectors and in floats.
const VECTORS: usize = 2;
pub(crate) const COLUMNS: usize = VECTORS * LANES;

/// The most depth of a block: a right panel (16 KB) stays in the first-level cache while left
/// panels go by.
pub(crate) const DEPTH: usize = 256;

/// Rows of a left matrix and where they lie: entry k of row i of panel p is at `p * panel + i * row
/// + k * depth`.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    entries: &'a [f32],
    panel: usize,
    row: usize,
    depth: usize,
    packed: bool,
}

impl<'a> Left<'a> {
    /// Packed panels of so much depth.
    pub(crate) fn packed(entries: &'a [f32], depth: usize) -> Self {
        Self { entries, panel: ROWS * depth, row: 1, depth: ROWS, packed: true }
    }

    /// Rows one after the other, `stride` apart.
    pub(crate) fn rows(entries: &'a [f32], stride: usize) -> Self {
        Self { entries, panel: ROWS * stride, row: stride, depth: 1, packed: false }
    }

    /// The transposed matrix: columns one after the other, `stride` apart.
    pub(crate) fn columns(entries: &'a [f32], stride: usize) -> Self {
        Self { entries, panel: ROWS, row: 1, depth: stride, packed: false }
    }

    /// Whether panels are packed.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn is_packed(&self) -> bool {
        self.packed
    }

    /// Distances between rows, which are one as long as panels are not packed, and between entries
    /// of a row.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn strides(&self) -> (usize, usize) {
        (self.row, self.depth)
    }

    /// Where up to [`ROWS`] rows from the first of a panel on begin (rows beyond the last are the
    /// last), and the distance between entries of a row.
    pub(super) fn rows_from(&self, first: usize, rows: usize) -> ([*const f32; ROWS], usize) {
        let panel = self.entries[first / ROWS * self.panel..].as_ptr();
        (from_fn(|i| panel.wrapping_add(i.min(rows - 1) * self.row)), self.depth)
    }

    /// Whether it has so many rows of this depth; packed panels are whole.
    fn holds(&self, rows: usize, depth: usize) -> bool {
        let rows = if self.packed { rows.next_multiple_of(ROWS) } else { rows };
        let Some(last) = rows.checked_sub(1) else { return true };
        depth == 0
            || last / ROWS * self.panel + last % ROWS * self.row + (depth - 1) * self.depth
                < self.entries.len()
    }
}

/// `target (+)= left * right`.
///
/// Columns of the target lie in planes (the pixels of an image): column j is `first_column + j` of
/// all, and column c of all lies at `c / plane * plane_stride + c % plane`.
pub(crate) struct Block<'a> {
    pub left: Left<'a>,
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
    /// What happens to the sums then (the last block of the depth); its biases are those of the
    /// block's rows.
    pub bias: Option<Bias<'a>>,
}

impl Block<'_> {
    /// Where an element of the target lies.
    pub(super) fn place(&self, row: usize, column: usize) -> usize {
        let at = self.first_column + column;
        at / self.plane * self.plane_stride + row * self.row_stride + at % self.plane
    }

    /// How many columns from one on lie next to each other in the target.
    pub(super) fn contiguous(&self, column: usize) -> usize {
        (self.columns - column).min(self.plane - (self.first_column + column) % self.plane)
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
/// The CPU has `isa`; every element of the target is writable, and no other thread touches it
/// meanwhile.
pub(crate) unsafe fn multiply_block(isa: Isa, block: &Block) {
    assert!(block.left.holds(block.rows, block.depth), "the left panels hold the block");
    let packed = packed_len(block.columns, COLUMNS, block.depth);
    assert!(packed <= block.right.len(), "the right panels hold the block");
    assert!(block.bias.is_none_or(|bias| bias.values.len() >= block.rows), "a bias per row");
    // SAFETY: the panels were just checked; the rest is the caller's.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512::multiply_block(block),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => block_avx2(block),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => any_tiles::<super::neon::Pair>(block),
            _ => any_tiles::<[f32; LANES]>(block),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn block_avx2(block: &Block) {
    // SAFETY: AVX2 and FMA are enabled here; the rest is the caller's.
    unsafe { any_tiles::<std::arch::x86_64::__m256>(block) }
}

/// Packed panels have code of their own: six rows at fixed distances from one address.
#[inline(always)]
unsafe fn any_tiles<V: Vector>(block: &Block) {
    // SAFETY: the caller's.
    unsafe { if block.left.packed { tiles::<V, true>(block) } else { tiles::<V, false>(block) } }
}

#[inline(always)]
unsafe fn tiles<V: Vector, const PACKED: bool>(block: &Block) {
    for column in (0..block.columns).step_by(COLUMNS) {
        for row in (0..block.rows).step_by(ROWS) {
            // SAFETY: the caller's.
            unsafe { tile_at::<V, PACKED>(block, row, column) };
        }
    }
}

/// The tile of the block from a row and a column on.
///
/// # Safety
///
/// As for [`multiply_block`].
#[inline(always)]
unsafe fn tile_at<V: Vector, const PACKED: bool>(block: &Block, row: usize, column: usize) {
    let right = &block.right[column * block.depth..];
    let columns = (block.columns - column).min(COLUMNS);
    let rows = (block.rows - row).min(ROWS);
    let left = block.left.rows_from(row, rows);
    // SAFETY: a tile that is stored in place lies inside the block and one plane; the rest is the
    // caller's.
    unsafe {
        if rows == ROWS && block.contiguous(column) >= COLUMNS {
            let target = TileTarget {
                start: block.target.add(block.place(row, column)),
                row_stride: block.row_stride,
                accumulate: block.accumulate,
                bias: block.bias.map(|bias| bias.from(row)),
            };
            return tile::<V, ROWS, VECTORS, PACKED>(block.depth, left, right, target);
        }
        let mut sums = [0.0; ROWS * COLUMNS];
        let target =
            TileTarget { start: sums.as_mut_ptr(), row_stride: COLUMNS, accumulate: false, bias: None };
        let depth = block.depth;
        match (2 * rows <= ROWS, columns <= LANES) {
            (true, true) => tile::<V, HALF, 1, PACKED>(depth, left, right, target),
            (true, false) => tile::<V, HALF, VECTORS, PACKED>(depth, left, right, target),
            (false, true) => tile::<V, ROWS, 1, PACKED>(depth, left, right, target),
            (false, false) => tile::<V, ROWS, VECTORS, PACKED>(depth, left, right, target),
        }
        spread(block, &sums, COLUMNS, (row, rows), (column, columns));
    }
}

/// Puts the part of a tile, rows of `width` sums, that lies inside the block in its places, plane by
/// plane.
///
/// # Safety
///
/// As for [`multiply_block`].
pub(super) unsafe fn spread(
    block: &Block,
    sums: &[f32],
    width: usize,
    (row, rows): (usize, usize),
    (column, columns): (usize, usize),
) {
    let mut done = 0;
    while done < columns {
        let at = block.first_column + column + done;
        let (plane, pixel) = (at / block.plane, at % block.plane);
        let len = (block.plane - pixel).min(columns - done);
        for (i, sums) in sums.chunks_exact(width).enumerate().take(rows) {
            let place = plane * block.plane_stride + (row + i) * block.row_stride + pixel;
            // SAFETY: `len` elements of a row of the target, which the caller vouches for.
            let target = unsafe { std::slice::from_raw_parts_mut(block.target.add(place), len) };
            let sums = &sums[done..done + len];
            if block.accumulate {
                target.iter_mut().zip(sums).for_each(|(target, sum)| *target += sum);
            } else {
                target.copy_from_slice(sums);
            }
            if let Some(bias) = block.bias {
                bias.apply(row + i, target);
            }
        }
        done += len;
    }
}

/// Where a tile is stored, and how.
struct TileTarget<'a> {
    start: *mut f32,
    row_stride: usize,
    accumulate: bool,
    bias: Option<Bias<'a>>,
}

/// The first R rows and N vectors of a tile of two panels.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const N: usize, const PACKED: bool>(
    depth: usize,
    (left, left_step): ([*const f32; ROWS], usize),
    right: &[f32],
    TileTarget { start: target, row_stride, accumulate, bias }: TileTarget,
) {
    let (mut at, mut right) = (0, right.as_ptr());
    // SAFETY: both panels hold `depth` entries of every row; the caller vouches for the target.
    unsafe {
        for row in 0..R {
            V::prefetch(target.add(row * row_stride));
            V::prefetch(target.add(row * row_stride + N * LANES - 1));
        }
        let mut sums = [[V::splat(0.0); N]; R];
        for _ in 0..depth {
            let inputs: [V; N] = from_fn(|v| V::load(right.add(v * LANES)));
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(if PACKED { *left[0].add(at + row) } else { *left[row].add(at) });
                for (sum, input) in sums.iter_mut().zip(inputs) {
                    *sum = factor.mul_add(input, *sum);
                }
            }
            (at, right) = (at + if PACKED { ROWS } else { left_step }, right.add(COLUMNS));
        }
        let one = V::splat(1.0);
        let place = |row: usize, v: usize| target.add(row * row_stride + v * LANES);
        if accumulate {
            for (row, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = one.mul_add(*sum, V::load(place(row, v)));
                }
            }
        }
        if let Some(Bias { values, floor }) = bias {
            let floor = V::splat(floor);
            for (sums, bias) in sums.iter_mut().zip(&values[..R]) {
                for sum in sums {
                    *sum = floor.max(one.mul_add(*sum, V::splat(*bias)));
                }
            }
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                sum.store(place(row, v));
            }
        }
    }
}
