//! Packing matrices into the panels that `panels` multiplies.
//!
//! A panel of W rows or columns holds `[depth][W]`. What lies beyond the matrix in the last panel
//! is left as it was: it only enters sums that are not stored.

use super::input::{Affine, ChannelMap};
use super::panels::COLUMNS;
use super::simd::{Isa, LANES, Vector};
use collegial_core::multiversion;

/// Packs one row across panels of `W`: element j is entry `depth_at` of place `at + j`.
#[inline(always)]
pub(crate) fn pack_across<const W: usize>(
    row: &[f32],
    (depth, depth_at): (usize, usize),
    at: usize,
    to: &mut [f32],
) {
    pack_across_with::<W>(row, (depth, depth_at), at, to, |x| x);
}

multiversion! {
    /// [`pack_across`] of a row's image under a map, into panels of [`COLUMNS`].
    pub(crate) fn pack_across_mapped(row: &[f32], depths: (usize, usize), at: usize, to: &mut [f32], map: ChannelMap) {
        pack_across_with::<COLUMNS>(row, depths, at, to, |x| map.of(x));
    }
}

#[inline(always)]
fn pack_across_with<const W: usize>(
    row: &[f32],
    (depth, depth_at): (usize, usize),
    at: usize,
    to: &mut [f32],
    map: impl Fn(f32) -> f32 + Copy,
) {
    let copy = |to: &mut [f32], from: &[f32]| to.iter_mut().zip(from).for_each(|(to, x)| *to = map(*x));
    let place = |at: usize| at / W * W * depth + depth_at * W + at % W;
    if let (Ok(row), 0) = (<&[f32; W]>::try_from(row), at) {
        if let Some(to) = to[depth_at * W..].first_chunk_mut::<W>() {
            *to = row.map(map);
        }
        return;
    }
    let head = (W - at % W) % W;
    let (head, rest) = row.split_at(head.min(row.len()));
    if !head.is_empty() {
        copy(&mut to[place(at)..][..head.len()], head);
    }
    let at = at + head.len();
    let (pieces, tail) = rest.as_chunks::<W>();
    for (piece, from) in pieces.iter().enumerate() {
        if let Some(to) = to[place(at + piece * W)..].first_chunk_mut::<W>() {
            *to = from.map(map);
        }
    }
    if !tail.is_empty() {
        copy(&mut to[place(at + pieces.len() * W)..][..tail.len()], tail);
    }
}

/// Packs rows that run along the depth into one panel of `W`: element k of row i, at `from[i *
/// row_stride + k]`, is entry `depth_at + k` of place i.
pub(crate) fn pack_along<const W: usize>(
    isa: Isa,
    from: &[f32],
    row_stride: usize,
    (rows, len): (usize, usize),
    depth_at: usize,
    panel: &mut [f32],
) {
    pack_along_through::<W>(isa, from, row_stride, (rows, len), depth_at, panel, None);
}

/// [`pack_along`] of the rows' images under maps, that of row i being channel i's.
pub(crate) fn pack_along_through<const W: usize>(
    isa: Isa,
    from: &[f32],
    row_stride: usize,
    (rows, len): (usize, usize),
    depth_at: usize,
    panel: &mut [f32],
    through: Option<Affine>,
) {
    let panel = &mut panel[depth_at * W..][..len * W];
    let end = rows.checked_sub(1).map_or(0, |above| above * row_stride + len);
    assert!(rows <= W && end <= from.len(), "{rows} rows up to {end} of {} floats", from.len());
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: plans are only made for instructions that the CPU has.
        Isa::Avx512 | Isa::Avx2 => unsafe { along_avx2::<W>(from, row_stride, rows, len, panel, through) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: NEON is part of the architecture.
        Isa::Neon => unsafe { along::<super::neon::Pair, W>(from, row_stride, rows, len, panel, through) },
        // SAFETY: plain Rust.
        _ => unsafe { along::<[f32; LANES], W>(from, row_stride, rows, len, panel, through) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn along_avx2<const W: usize>(
    from: &[f32],
    row_stride: usize,
    rows: usize,
    len: usize,
    panel: &mut [f32],
    through: Option<Affine>,
) {
    // SAFETY: AVX2 is enabled here.
    unsafe { along::<std::arch::x86_64::__m256, W>(from, row_stride, rows, len, panel, through) }
}

/// Blocks of 8 x 8 are transposed in registers; the last reaches back over the one before. A panel
/// of 6 takes the first six rows of eight (the last are repeated), and each store of eight floats is
/// overlapped by the next.
#[inline(always)]
unsafe fn along<V: Vector, const W: usize>(
    from: &[f32],
    row_stride: usize,
    rows: usize,
    len: usize,
    panel: &mut [f32],
    through: Option<Affine>,
) {
    // Eight rows at a time: rows that are a power of two apart share few lines of the cache.
    let whole = if rows == W && len >= LANES { len } else { 0 };
    for half in (0..W).step_by(LANES) {
        for done in (0..whole).step_by(LANES) {
            let done = done.min(len - LANES);
            let last = done + LANES == len;
            // SAFETY: row i of W has `len` floats by the assertion of `pack_along`. A store of
            // eight floats ends inside the panel: at entry k + 1 if W spills over, and what
            // follows the last entry is not ours.
            unsafe {
                let mut block = [V::splat(0.0); LANES];
                for (i, vector) in block.iter_mut().enumerate() {
                    *vector = V::load(from.as_ptr().add((half + i).min(W - 1) * row_stride + done));
                }
                if let Some(through) = through {
                    for (i, vector) in block.iter_mut().enumerate() {
                        *vector = through.channel((half + i).min(W - 1)).of_vector(*vector);
                    }
                }
                for (k, column) in V::transpose(block).into_iter().enumerate() {
                    let to = panel.as_mut_ptr().add((done + k) * W + half);
                    if last && k + 1 == LANES && half + LANES > W {
                        let mut entry = [0.0; LANES];
                        column.store(entry.as_mut_ptr());
                        to.copy_from_nonoverlapping(entry.as_ptr(), W - half);
                    } else {
                        column.store(to);
                    }
                }
            }
        }
    }
    for i in 0..rows {
        let map = through.map(|through| through.channel(i));
        for k in whole..len {
            let x = from[i * row_stride + k];
            panel[k * W + i] = map.map_or(x, |map| map.of(x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packs into the middle of a larger panel, of which nothing else may change.
    fn check_along<const W: usize>(rows: usize, len: usize, extra: usize, depth_at: usize) {
        let stride = len + extra;
        let from: Vec<f32> = (0..rows * stride).map(|x| x as f32).collect();
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let mut panel = vec![-1.0; (depth_at + len + 2) * W];
            pack_along::<W>(isa, &from, stride, (rows, len), depth_at, &mut panel);
            for (at, &got) in panel.iter().enumerate() {
                let (entry, row) = (at / W, at % W);
                let inside = (depth_at..depth_at + len).contains(&entry);
                // Places of rows that a panel does not have hold anything.
                if !inside || row < rows {
                    let expected = if inside { from[row * stride + entry - depth_at] } else { -1.0 };
                    assert_eq!(got, expected, "{isa:?}, row {row} of {rows}, entry {entry}");
                }
            }
        }
    }

    /// Small enough for Miri.
    #[test]
    fn smallest_panels_are_packed() {
        for (rows, len) in [(1, 0), (1, 1), (6, 9), (7, 8), (16, 17)] {
            check_along::<COLUMNS>(rows, len, 1, 1);
            check_along::<6>(rows.min(6), len, 0, 0);
        }
    }

    proptest! {
        #[test]
        fn rows_of_any_length_are_packed(
            rows in 1_usize..17,
            (len, extra, depth_at) in (0_usize..40, 0_usize..3, 0_usize..3),
        ) {
            check_along::<COLUMNS>(rows, len, extra, depth_at);
            check_along::<6>(rows.min(6), len, extra, depth_at);
        }
    }
}
