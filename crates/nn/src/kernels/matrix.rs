//! Matrix products on one thread, for the Gram matrices of activations.

use super::pack::{pack_across, pack_along};
use super::panels::{Block, COLUMNS, DEPTH, Left, ROWS, multiply_block, packed_len};
use super::simd::Isa;
use crate::workers::{even_blocks, panel_blocks};

/// Columns that are packed at a time: with [`DEPTH`] rows, 256 KB of the second-level cache.
const COLUMN_BLOCK: usize = 256;

/// Rows that are multiplied before the next panel of columns.
const ROW_BLOCK: usize = 20 * ROWS;

/// A matrix inside a slice, whose rows or columns are contiguous.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    stride: usize,
    by_rows: bool,
}

impl<'a> Matrix<'a> {
    /// A matrix of contiguous rows, `stride` apart: element (i, j) is `values[i * stride + j]`.
    ///
    /// # Panics
    ///
    /// If the matrix ends beyond the slice.
    pub fn by_rows(values: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        Self::new(values, (rows, columns), stride, true)
    }

    /// A matrix of contiguous columns, `stride` apart: element (i, j) is `values[i + j * stride]`.
    ///
    /// # Panics
    ///
    /// If the matrix ends beyond the slice.
    pub fn by_columns(values: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        Self::new(values, (rows, columns), stride, false)
    }

    fn new(values: &'a [f32], (rows, columns): (usize, usize), stride: usize, by_rows: bool) -> Self {
        let (lines, len) = if by_rows { (rows, columns) } else { (columns, rows) };
        let end = if lines == 0 { 0 } else { (lines - 1) * stride + len };
        assert!(end <= values.len(), "a matrix of {rows} x {columns} ends beyond its slice");
        Self { values, rows, columns, stride, by_rows }
    }

    /// Rows from `row` on, over the columns from `column` on, as a left operand.
    fn left(&self, row: usize, column: usize) -> Left<'a> {
        if self.by_rows {
            Left::rows(&self.values[row * self.stride + column..], self.stride)
        } else {
            Left::columns(&self.values[column * self.stride + row..], self.stride)
        }
    }

    /// Packs a block as a right operand, `[panel][depth][16]`.
    fn pack(
        &self,
        isa: Isa,
        (row, depth): (usize, usize),
        (column, columns): (usize, usize),
        to: &mut [f32],
    ) {
        if self.by_rows {
            for k in 0..depth {
                let from = &self.values[(row + k) * self.stride + column..][..columns];
                pack_across::<COLUMNS>(from, (depth, k), 0, to);
            }
            return;
        }
        let panels = (column..column + columns).step_by(COLUMNS).zip(to.chunks_exact_mut(COLUMNS * depth));
        for (first, panel) in panels {
            let count = COLUMNS.min(column + columns - first);
            let from = &self.values[first * self.stride + row..];
            pack_along::<COLUMNS>(isa, from, self.stride, (count, depth), 0, panel);
        }
    }
}

/// `target = left * right`, row by row. `scratch` grows as needed, and serves the next product.
///
/// # Panics
///
/// If the matrices do not fit each other, or the target is smaller than their product.
pub fn multiply(left: Matrix, right: Matrix, target: &mut [f32], scratch: &mut Vec<f32>) {
    multiply_with(Isa::detect(), left, right, target, scratch);
}

/// The same with given instructions, which the CPU must have.
fn multiply_with(isa: Isa, left: Matrix, right: Matrix, target: &mut [f32], scratch: &mut Vec<f32>) {
    let (rows, columns, depth) = (left.rows, right.columns, left.columns);
    assert_eq!(depth, right.rows, "the matrices do not fit each other");
    let target = &mut target[..rows * columns];
    if depth == 0 {
        target.fill(0.0);
    }
    if rows == 0 || columns == 0 {
        return;
    }
    let len = packed_len(columns.min(COLUMN_BLOCK), COLUMNS, depth.min(DEPTH));
    scratch.resize(scratch.len().max(len), 0.0);
    for (column, width) in panel_blocks(columns, COLUMNS, COLUMN_BLOCK) {
        for (start, deep) in even_blocks(depth, DEPTH) {
            right.pack(isa, (start, deep), (column, width), scratch);
            for (row, high) in panel_blocks(rows, ROWS, ROW_BLOCK) {
                let block = Block {
                    left: left.left(row, start),
                    right: scratch,
                    depth: deep,
                    rows: high,
                    columns: width,
                    first_column: column,
                    plane: columns,
                    plane_stride: 0,
                    row_stride: columns,
                    target: target[row * columns..][..high * columns].as_mut_ptr(),
                    accumulate: start > 0,
                    bias: None,
                };
                // SAFETY: the rows of the block were just cut from the target, which is ours alone;
                // `detect` finds what the CPU has.
                unsafe { multiply_block(isa, &block) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Multiples of 1/8 below 1: products and sums of a few hundred are exact in f32.
    fn entries(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7 + seed * 13) % 15) as f32 / 8.0 - 0.875).collect()
    }

    /// Both matrices by rows or by columns, whose strides are so much longer than needed.
    fn check(
        (rows, columns, depth): (usize, usize, usize),
        (left_by_rows, right_by_rows): (bool, bool),
        extra: usize,
    ) {
        let stride =
            |by_rows: bool, rows: usize, columns: usize| extra + if by_rows { columns } else { rows };
        let at = |by_rows: bool, stride: usize, i: usize, j: usize| {
            if by_rows { i * stride + j } else { i + j * stride }
        };
        let (a, b) = (stride(left_by_rows, rows, depth), stride(right_by_rows, depth, columns));
        let (x, y) = (entries(a * rows.max(depth), 1), entries(b * columns.max(depth), 2));
        let matrix = |values, size, stride, by_rows| Matrix::new(values, size, stride, by_rows);
        let mut scratch = vec![];
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let mut target = vec![f32::NAN; rows * columns];
            let left = matrix(&x, (rows, depth), a, left_by_rows);
            let right = matrix(&y, (depth, columns), b, right_by_rows);
            multiply_with(isa, left, right, &mut target, &mut scratch);
            for (place, got) in target.iter().enumerate() {
                let (i, j) = (place / columns, place % columns);
                let term = |k| x[at(left_by_rows, a, i, k)] * y[at(right_by_rows, b, k, j)];
                assert_eq!(*got, (0..depth).map(term).sum::<f32>());
            }
        }
    }

    /// One element, more rows and columns than a tile, and two blocks of the depth, small enough for
    /// Miri.
    #[test]
    fn smallest_products_match_the_definition() {
        for (size, by_rows) in [
            ((1, 1, 0), (true, true)),
            ((1, 1, 1), (true, false)),
            ((7, 17, 3), (false, true)),
            ((13, 33, 2), (true, true)),
            ((1, 1, 257), (false, false)),
        ] {
            check(size, by_rows, 1);
        }
    }

    proptest! {
        #[test]
        fn products_match_the_definition(
            size in (1_usize..40, 1_usize..300, 0_usize..600),
            by_rows in (any::<bool>(), any::<bool>()),
            extra in 0_usize..3,
        ) {
            check(size, by_rows, extra);
        }
    }
}
