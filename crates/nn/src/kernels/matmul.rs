//! Single-threaded sgemm on slices, over the `gemm` crate.

/// A matrix stored row by row.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        assert!(values.len() >= rows * columns);
        Self { values, rows, columns }
    }
}

/// `target (+)= left * right`.
pub(crate) fn matmul(target: &mut [f32], left: Matrix, right: Matrix, accumulate: bool) {
    let (rows, columns, depth) = (left.rows, right.columns, left.columns);
    assert!(right.rows == depth && target.len() >= rows * columns);
    // SAFETY: `Matrix::new` and the line above check that each slice holds its matrix.
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
            depth as isize,
            right.values.as_ptr(),
            1,
            columns as isize,
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
/// In blocks of 8 x 8, which the compiler keeps in registers.
pub(crate) fn transpose(from: &[f32], row_stride: usize, (rows, columns): (usize, usize), to: &mut [f32]) {
    const BLOCK: usize = 8;
    for i in (0..rows).step_by(BLOCK) {
        for j in (0..columns).step_by(BLOCK) {
            if i + BLOCK <= rows && j + BLOCK <= columns {
                let block: [[f32; BLOCK]; BLOCK] = std::array::from_fn(|r| {
                    let row = &from[(i + r) * row_stride + j..][..BLOCK];
                    std::array::from_fn(|c| row[c])
                });
                for c in 0..BLOCK {
                    let column: [f32; BLOCK] = std::array::from_fn(|r| block[r][c]);
                    to[(j + c) * rows + i..][..BLOCK].copy_from_slice(&column);
                }
            } else {
                for r in i..rows.min(i + BLOCK) {
                    for c in j..columns.min(j + BLOCK) {
                        to[c * rows + r] = from[r * row_stride + c];
                    }
                }
            }
        }
    }
}
