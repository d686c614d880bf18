//! Transposition between `[batch][units]` and `[units][batch]`, and the sum over members (Eq. 2 of
//! the paper).

use super::{Dims, vector};
use crate::workers::{Shared, for_each};
use collegial_core::multiversion;

/// Side of the squares in which a matrix is transposed: 16 rows of 16 floats are 16 whole cache
/// lines on both sides.
const TILE: usize = 16;

multiversion! {
    /// Transposes a whole square; rows lie so many floats apart.
    fn square(x: &[f32], stride: usize, to: &mut [f32], to_stride: usize) {
        let mut rows = [[0.0; TILE]; TILE];
        for (row, x) in rows.iter_mut().zip(x.chunks(stride)) {
            row.copy_from_slice(&x[..TILE]);
        }
        for (column, to) in to.chunks_mut(to_stride).take(TILE).enumerate() {
            for (to, row) in to[..TILE].iter_mut().zip(&rows) {
                *to = row[column];
            }
        }
    }
}

/// `to[column][row] = x[row][column]`.
pub(crate) fn transpose(rows: usize, columns: usize, x: &[f32], to: &mut [f32]) {
    let to = Shared::new(to);
    for_each(columns.div_ceil(TILE), |task| {
        let range = task * TILE..((task + 1) * TILE).min(columns);
        // SAFETY: a task has its own rows of the result.
        let to = unsafe { to.piece(range.start * rows..range.end * rows) };
        for first in (0..rows).step_by(TILE) {
            if first + TILE <= rows && range.len() == TILE {
                square(&x[first * columns + range.start..], columns, &mut to[first..], rows);
                continue;
            }
            for row in first..(first + TILE).min(rows) {
                for (index, column) in range.clone().enumerate() {
                    to[index * rows + row] = x[row * columns + column];
                }
            }
        }
    });
}

/// `to[o] = sum over members of x[member][o] / sqrt(members)`; `dims` are those of the result.
pub(crate) fn member_sum_forward(dims: Dims, members: usize, x: &[f32], to: &mut [f32]) {
    let scale = 1.0 / (members as f32).sqrt();
    let from = Dims { channels: dims.channels * members, ..dims };
    dims.for_each_plane(to, |image, channel, to| {
        for member in 0..members {
            let x = &x[from.plane(image, member * dims.channels + channel)..][..dims.pixels];
            if member == 0 { to.copy_from_slice(x) } else { vector::add(to, x) }
        }
        vector::scale_in_place(to, scale);
    });
}

/// Every member receives the gradient / sqrt(members).
pub(crate) fn member_sum_backward(dims: Dims, members: usize, gradient: &[f32], to: &mut [f32]) {
    let scale = 1.0 / (members as f32).sqrt();
    let from = Dims { channels: dims.channels * members, ..dims };
    from.for_each_plane(to, |image, channel, to| {
        let source = dims.plane(image, channel % dims.channels);
        vector::scale(to, &gradient[source..][..dims.pixels], scale);
    });
}

/// `to += x`.
pub(crate) fn add(to: &mut [f32], x: &[f32]) {
    let to = Shared::new(to);
    super::for_each_piece(x.len(), |range| {
        // SAFETY: pieces are disjoint.
        vector::add(unsafe { to.piece(range.clone()) }, &x[range]);
    });
}

/// `x *= factor`
pub(crate) fn scale(x: &mut [f32], factor: f32) {
    let target = Shared::new(x);
    super::for_each_piece(target.len(), |range| {
        // SAFETY: pieces are disjoint.
        vector::scale_in_place(unsafe { target.piece(range) }, factor);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_sums_and_multiples() {
        let mut x = [1.0, 2.0, 3.0];
        add(&mut x, &[1.0; 3]);
        scale(&mut x, 0.5);
        assert_eq!(x, [1.0, 1.5, 2.0]);
    }

    #[test]
    fn a_transposed_matrix_has_rows_for_columns() {
        let large = if cfg!(miri) { (17, 16) } else { (128, 50) };
        for (rows, columns) in [(1, 1), (1, 40), (16, 16), (17, 31), (33, 16), large] {
            let x: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
            let mut to = vec![-1.0; x.len()];
            transpose(rows, columns, &x, &mut to);
            for (i, &value) in to.iter().enumerate() {
                assert_eq!(value, x[i % rows * columns + i / rows], "{rows} x {columns}");
            }
        }
    }
}
