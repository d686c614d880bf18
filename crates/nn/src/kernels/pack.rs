//! Packing matrices into the panels that `panels` multiplies.
//!
//! A panel of W rows or columns holds `[depth][W]`. What lies beyond the matrix in the last panel
//! is left as it was: it only enters sums that are not stored.

use super::simd::{Isa, LANES, Vector};

/// Packs one row across panels of `W`: element j is entry `depth_at` of place `at + j`.
#[inline(always)]
pub(crate) fn pack_across<const W: usize>(
    row: &[f32],
    (depth, depth_at): (usize, usize),
    at: usize,
    to: &mut [f32],
) {
    let place = |at: usize| at / W * W * depth + depth_at * W + at % W;
    if let (Ok(row), 0) = (<&[f32; W]>::try_from(row), at) {
        to[depth_at * W..][..W].copy_from_slice(row);
        return;
    }
    let head = (W - at % W) % W;
    let (head, rest) = row.split_at(head.min(row.len()));
    if !head.is_empty() {
        to[place(at)..][..head.len()].copy_from_slice(head);
    }
    let at = at + head.len();
    let (pieces, tail) = rest.as_chunks::<W>();
    for (piece, from) in pieces.iter().enumerate() {
        if let Some(to) = to[place(at + piece * W)..].first_chunk_mut::<W>() {
            *to = *from;
        }
    }
    if !tail.is_empty() {
        to[place(at + pieces.len() * W)..][..tail.len()].copy_from_slice(tail);
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
    let panel = &mut panel[depth_at * W..][..len * W];
    let end = rows.checked_sub(1).map_or(0, |above| above * row_stride + len);
    assert!(rows <= W && end <= from.len(), "{rows} rows up to {end} of {} floats", from.len());
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: plans are only made for instructions that the CPU has.
        Isa::Avx512 | Isa::Avx2 => unsafe { along_avx2::<W>(from, row_stride, rows, len, panel) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: NEON is part of the architecture.
        Isa::Neon => unsafe { along::<super::neon::Pair, W>(from, row_stride, rows, len, panel) },
        // SAFETY: plain Rust.
        _ => unsafe { along::<[f32; LANES], W>(from, row_stride, rows, len, panel) },
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
) {
    // SAFETY: AVX2 is enabled here.
    unsafe { along::<std::arch::x86_64::__m256, W>(from, row_stride, rows, len, panel) }
}

/// Blocks of 8 x 8 are transposed in registers. A panel of 6 takes the first six rows of eight (the
/// last are repeated), and each store of eight floats is overlapped by the next.
#[inline(always)]
unsafe fn along<V: Vector, const W: usize>(
    from: &[f32],
    row_stride: usize,
    rows: usize,
    len: usize,
    panel: &mut [f32],
) {
    let mut done = 0;
    if rows == W {
        while done + LANES <= len {
            let last = done + LANES == len;
            for half in (0..W).step_by(LANES) {
                // SAFETY: row i of W has `len` floats by the assertion of `pack_along`. A store of
                // eight floats ends inside the panel: at entry k + 1 if W spills over, and what
                // follows the last entry is not ours.
                unsafe {
                    let mut block = [V::splat(0.0); LANES];
                    for (i, vector) in block.iter_mut().enumerate() {
                        *vector = V::load(from.as_ptr().add((half + i).min(W - 1) * row_stride + done));
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
            done += LANES;
        }
    }
    for i in 0..rows {
        for k in done..len {
            panel[k * W + i] = from[i * row_stride + k];
        }
    }
}
