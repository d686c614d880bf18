//! Packing of weights for a direct pass.

use super::{Pass, Stencil, WeightStrides};
use crate::kernels::tile::MAX_ROWS;
use crate::workers::{Shared, even_blocks, for_each};

impl Pass {
    /// Floats of all packed weights.
    pub(crate) fn prepared_len(&self) -> usize {
        self.groups * self.group_weights
    }

    /// Packs all weights.
    pub(crate) fn pack_all(&self, weights: &[f32], to: &mut [f32]) {
        let (to, tiles) = (Shared::new(to), even_blocks(self.outputs, MAX_ROWS));
        for_each(self.groups * tiles.len(), |task| {
            let (group, tile) = (task / tiles.len(), task % tiles.len());
            self.pack_weights(weights, group, tiles.clone().nth(tile), &to);
        });
    }

    /// Packs weights of a group as `[group][stencil][block of inputs][tile of outputs][tap][row]`.
    pub(super) fn pack_weights(
        &self,
        weights: &[f32],
        group: usize,
        tiles: impl IntoIterator<Item = (usize, usize)>,
        packed: &Shared,
    ) {
        let base = group * self.group_weights;
        let weights = &weights[base..][..self.group_weights];
        for (row, rows) in tiles {
            let mut stencil_at = base;
            for stencil in &self.stencils {
                let positions = stencil.positions.len();
                for (start, channels) in even_blocks(self.inputs, stencil.channels) {
                    let at = stencil_at + start * positions * self.outputs + row * channels * positions;
                    // SAFETY: every (group, tile, stencil, block) has its own place in the packed
                    // weights.
                    let to = unsafe { packed.piece(at..at + rows * channels * positions) };
                    self.pack_tile(stencil, &weights[start * self.weight_strides.input..], (row, rows), to);
                }
                stencil_at += self.outputs * self.inputs * positions;
            }
        }
    }

    fn pack_tile(&self, stencil: &Stencil, weights: &[f32], (row, rows): (usize, usize), to: &mut [f32]) {
        let WeightStrides { output, input } = self.weight_strides;
        let positions = stencil.positions.len();
        if input == positions {
            // A whole kernel after the other: the taps of a channel lie in a row.
            for o in 0..rows {
                let from = &weights[(row + o) * output..];
                to[o..].iter_mut().step_by(rows).zip(from).for_each(|(to, from)| *to = *from);
            }
            return;
        }
        for (tap, to) in to.chunks_exact_mut(rows).enumerate() {
            let at = row * output + tap / positions * input + stencil.positions[tap % positions];
            let from = weights[at..].iter().step_by(output);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
    }
}
