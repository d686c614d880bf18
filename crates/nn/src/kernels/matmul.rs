//! Single-threaded sgemm on slices, over the `gemm` crate, and the transposes that it wants.

use super::simd::{Isa, LANES, transpose_block};

/// A matrix stored row by row, row i from `i * row_stride` on.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::with_stride(values, rows, columns, columns)
    }

    pub(crate) fn with_stride(values: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(rows > 0 && values.len() >= (rows - 1) * row_stride + columns);
        Self { values, rows, columns, row_stride }
    }
}

/// `target (+)= left * right`.
pub(crate) fn matmul(target: &mut [f32], left: Matrix, right: Matrix, accumulate: bool) {
    let (rows, columns, depth) = (left.rows, right.columns, left.columns);
    assert!(right.rows == depth && target.len() >= rows * columns);
    // SAFETY: `Matrix::with_stride` and the line above check that each slice holds its matrix.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            target.as_mut_ptr(),
            1,
            columns as isize,
            accumulate,
            left.values.as_ptr(),
            1,
            left.row_stride as isize,
            right.values.as_ptr(),
            1,
            right.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Writes the transpose of a `rows x columns` matrix, row i of which starts at `i * row_stride`.
///
/// In blocks of 8 x 8, 32 columns at a time, so that the rows being written stay in cache until they are whole lines.
pub(crate) fn transpose(
    isa: Isa,
    from: &[f32],
    row_stride: usize,
    (rows, columns): (usize, usize),
    to: &mut [f32],
) {
    const STRIP: usize = 32;
    assert!(from.len() >= (rows - 1) * row_stride + columns && to.len() >= rows * columns);
    for strip in (0..columns).step_by(STRIP) {
        for i in (0..rows).step_by(LANES) {
            for j in (strip..columns.min(strip + STRIP)).step_by(LANES) {
                if i + LANES <= rows && j + LANES <= columns {
                    // SAFETY: the block is inside both matrices, whose sizes were checked.
                    unsafe {
                        let (from, to) =
                            (from.as_ptr().add(i * row_stride + j), to.as_mut_ptr().add(j * rows + i));
                        transpose_block(isa, from, row_stride, to, rows);
                    }
                } else {
                    for r in i..rows.min(i + LANES) {
                        for c in j..columns.min(j + LANES) {
                            to[c * rows + r] = from[r * row_stride + c];
                        }
                    }
                }
            }
        }
    }
}
