//! Single-threaded matrix products over the `gemm` crate, and tasks over rayon's current pool.

use std::marker::PhantomData;

use rayon::prelude::*;

/// Multiply-accumulates below which handing work to other threads costs more than it saves.
const WORTH_SHARING: usize = 200_000;

/// A matrix inside a slice.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> View<'a> {
    /// Element (i, j) is `values[i * strides.0 + j * strides.1]`.
    pub(crate) fn new(values: &'a [f32], (rows, columns): (usize, usize), strides: (usize, usize)) -> Self {
        let last = rows.saturating_sub(1) * strides.0 + columns.saturating_sub(1) * strides.1;
        assert!(last < values.len(), "a matrix of {rows} x {columns} ends beyond its slice");
        Self { values, rows, columns, row_stride: strides.0, column_stride: strides.1 }
    }
}

/// `target = factor * left * right`, row by row.
pub(crate) fn multiply(target: &mut [f32], factor: f32, left: View, right: View) {
    let columns = right.columns;
    let blocks = Blocks::new(target);
    // SAFETY: the target is borrowed for this product alone.
    unsafe { blocks.multiply(0, (columns, 1), factor, left, right) };
}

/// A slice into which tasks write disjoint blocks of a matrix.
pub(crate) struct Blocks<'a> {
    start: *mut f32,
    len: usize,
    lifetime: PhantomData<&'a mut [f32]>,
}

// SAFETY: memory is only reached through `multiply`, whose caller keeps blocks disjoint.
unsafe impl Sync for Blocks<'_> {}

impl<'a> Blocks<'a> {
    pub(crate) fn new(slice: &'a mut [f32]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), lifetime: PhantomData }
    }

    /// Writes `factor * left * right` to the block whose element (i, j) lies at `at + i * strides.0 + j * strides.1`.
    ///
    /// # Safety
    ///
    /// No two blocks written at the same time overlap.
    pub(crate) unsafe fn multiply(
        &self,
        at: usize,
        strides: (usize, usize),
        factor: f32,
        left: View,
        right: View,
    ) {
        let (rows, columns, depth) = (left.rows, right.columns, left.columns);
        assert_eq!(depth, right.rows, "the matrices do not fit each other");
        let last = at + rows.saturating_sub(1) * strides.0 + columns.saturating_sub(1) * strides.1;
        assert!(last < self.len, "a block of {rows} x {columns} ends beyond its slice");
        // SAFETY: `View::new` and the line above check that every element lies inside its slice; the target is not written
        // by anybody else, by the caller.
        unsafe {
            gemm::gemm(
                rows,
                columns,
                depth,
                self.start.add(at),
                strides.1 as isize,
                strides.0 as isize,
                false,
                left.values.as_ptr(),
                left.column_stride as isize,
                left.row_stride as isize,
                right.values.as_ptr(),
                right.column_stride as isize,
                right.row_stride as isize,
                0.0,
                factor,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}

/// The results of all tasks in order; in parallel where `work` multiply-accumulates in all are worth it.
pub(crate) fn map_tasks<T: Send>(tasks: usize, work: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if tasks < 2 || work < WORTH_SHARING {
        (0..tasks).map(run).collect()
    } else {
        (0..tasks).into_par_iter().with_max_len(1).map(&run).collect()
    }
}

/// Runs `run(index, piece)` on pieces of `len` values; in parallel where `work` is worth it.
pub(crate) fn for_each_piece(
    values: &mut [f32],
    len: usize,
    work: usize,
    run: impl Fn(usize, &mut [f32]) + Sync,
) {
    if values.len() <= len || work < WORTH_SHARING {
        values.chunks_mut(len).enumerate().for_each(|(index, piece)| run(index, piece));
    } else {
        values.par_chunks_mut(len).with_max_len(1).enumerate().for_each(|(index, piece)| run(index, piece));
    }
}

/// Cuts `0..count` into blocks of `len`; the last may be shorter.
pub(crate) fn blocks_of(count: usize, len: usize) -> Vec<std::ops::Range<usize>> {
    (0..count).step_by(len).map(|start| start..(start + len).min(count)).collect()
}

/// Cuts `0..count` into the fewest blocks of at most `most`, as even as possible.
pub(crate) fn even_blocks(count: usize, most: usize) -> Vec<std::ops::Range<usize>> {
    let blocks = count.div_ceil(most);
    (0..blocks).map(|block| block * count / blocks..(block + 1) * count / blocks).collect()
}
