//! Filter transform, and the inverse transform of weight gradients.

use super::maps::{Map, WeightGradient, Weights};
use crate::kernels::panels::COLUMNS;
use crate::kernels::simd::{Kernel, LANES, Vector};
use crate::workers::Shared;
use std::array::from_fn;

/// Weights of a kernel.
pub(super) const TAPS: usize = 9;

/// Transforms the weights of a panel of outputs: from `[channel][tap][16]` to entry `[channel][16]`
/// of T x T matrices.
pub(super) struct FilterTransform<'a, const T: usize> {
    pub taps: &'a [f32],
    /// Whether the kernel is rotated by 180 degrees (the data gradient).
    pub rotated: bool,
    pub to: &'a Shared<'a>,
    /// Where the panel begins in the first matrix, and the distance between matrices.
    pub at: usize,
    pub matrix: usize,
}

impl<const T: usize> Kernel for FilterTransform<'_, T>
where
    Weights: Map<3, T>,
{
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let channels = self.taps.len() / (TAPS * COLUMNS);
        let to = self.to.address(self.at, (T * T - 1) * self.matrix + channels * COLUMNS);
        for (channel, taps) in self.taps.chunks_exact(TAPS * COLUMNS).enumerate() {
            for half in (0..COLUMNS).step_by(LANES) {
                // SAFETY: nine vectors of the channel; the address was checked, and a task has its
                // own panel.
                unsafe {
                    let tap = |tap: usize| {
                        let tap = if self.rotated { TAPS - 1 - tap } else { tap };
                        V::load(taps.as_ptr().add(tap * COLUMNS + half))
                    };
                    // Loops: maps inside closures would not be inlined.
                    let mut columns = [[V::splat(0.0); T]; 3];
                    for (x, column) in columns.iter_mut().enumerate() {
                        *column = Weights::map::<V>([tap(x), tap(3 + x), tap(6 + x)]);
                    }
                    for t in 0..T {
                        // By reference: all columns would be copied for every row otherwise.
                        let row = columns.each_ref().map(|column| column[t]);
                        for (u, vector) in Weights::map::<V>(row).into_iter().enumerate() {
                            vector.store(to.add((t * T + u) * self.matrix + channel * COLUMNS + half));
                        }
                    }
                }
            }
        }
    }
}

/// Transforms one output's gradients back: from entries of T x T matrices, a channel after the
/// other, to `[channel][tap]`.
pub(super) struct WeightGradients<'a, const T: usize> {
    pub from: &'a [f32],
    pub matrix: usize,
    pub to: &'a mut [f32],
}

impl<const T: usize> Kernel for WeightGradients<'_, T>
where
    WeightGradient: Map<T, 3>,
{
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let channels = self.to.len() / TAPS;
        let last = (T * T - 1) * self.matrix + channels.next_multiple_of(LANES);
        assert!(last <= self.from.len(), "the matrices hold the channels");
        for (octet, to) in self.to.chunks_mut(LANES * TAPS).enumerate() {
            // SAFETY: the entries of the last channels were checked above.
            let taps: [V; TAPS] = unsafe {
                let from = self.from.as_ptr().add(octet * LANES);
                let mut columns = [[V::splat(0.0); 3]; T];
                for (u, column) in columns.iter_mut().enumerate() {
                    let place = |t: usize| (t * T + u) * self.matrix;
                    *column = WeightGradient::map::<V>(from_fn(|t| V::load(from.add(place(t)))));
                }
                let mut rows = [[V::splat(0.0); 3]; 3];
                for (a, row) in rows.iter_mut().enumerate() {
                    *row = WeightGradient::map::<V>(columns.each_ref().map(|column| column[a]));
                }
                from_fn(|tap| rows[tap / 3][tap % 3])
            };
            let mut last = [0.0; LANES];
            // SAFETY: eight floats each.
            let kernels = unsafe {
                taps[TAPS - 1].store(last.as_mut_ptr());
                V::transpose(from_fn(|tap| taps[tap]))
            };
            for ((to, kernel), last) in to.chunks_exact_mut(TAPS).zip(kernels).zip(last) {
                // SAFETY: nine floats.
                unsafe { kernel.store(to.as_mut_ptr()) };
                to[TAPS - 1] = last;
            }
        }
    }
}
