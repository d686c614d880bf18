//! Batch statistics of a norm: in a sweep over a tensor, or from the partial sums of an epilogue.

use crate::kernels::{Epilogue, Piece};
use crate::memory::prefetch;
use crate::passes::{BLOCK, CHUNK, Dims, vector};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Mean and biased variance of some channels, in one sweep: the sums are taken of differences from
/// each channel's first value, so that a large mean does not cancel the variance.
pub(super) fn batch_statistics(dims: Dims, x: &[f32], channels: Range<usize>) -> [(f64, f64); BLOCK] {
    let shift = |channel: usize| x[dims.plane(0, channel)];
    let mut sums = [(0.0, 0.0); BLOCK];
    let mut chunks = dims.chunks(channels.clone()).peekable();
    while let Some((channel, range)) = chunks.next() {
        if let Some((_, next)) = chunks.peek() {
            prefetch(&x[next.clone()]);
        }
        let (first, second) = vector::sums(&x[range], shift(channel));
        let sum = &mut sums[channel - channels.start];
        *sum = (sum.0 + first, sum.1 + second);
    }
    let count = (dims.images * dims.pixels) as f64;
    for (channel, sum) in channels.zip(&mut sums) {
        *sum = mean_and_variance(f64::from(shift(channel)), count, *sum);
    }
    sums
}

/// Mean and biased variance from a shift and the sums of differences from it and of their squares.
fn mean_and_variance(shift: f64, count: f64, sums: (f64, f64)) -> (f64, f64) {
    let mean = sums.0 / count;
    let variance = sums.1 / count - mean * mean;
    // Rounding can take it below zero; a NaN stays, so that divergence shows.
    (shift + mean, if variance < 0.0 { 0.0 } else { variance })
}

/// Sums of some values: of differences from one of them, and of their squares.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: f64,
    shift: f64,
    first: f64,
    second: f64,
}

impl Sums {
    fn add(&mut self, values: &[f32]) {
        for values in values.chunks(CHUNK) {
            let (first, second) = vector::sums(values, self.shift as f32);
            *self = Self {
                count: self.count + values.len() as f64,
                first: self.first + first,
                second: self.second + second,
                ..*self
            };
        }
    }

    /// Adds sums about another shift: x - s = (x - t) + d with d = t - s.
    fn merge(&mut self, other: &Self) {
        let d = other.shift - self.shift;
        self.count += other.count;
        self.first += other.first + d * other.count;
        self.second += other.second + d * (2.0 * other.first + d * other.count);
    }
}

/// Sums of every channel, block by block, which a layer's [`Epilogue`] computes and a norm adds up in
/// the order of the blocks.
///
/// A place has one writer, and readers come after the pass; the atomics only say so to the compiler.
pub(crate) struct PartialSums {
    places: Vec<[AtomicU64; 4]>,
}

impl PartialSums {
    /// Room for so many blocks times channels.
    pub(crate) fn new(places: usize) -> Self {
        let zero = || [const { AtomicU64::new(0) }; 4];
        Self { places: (0..places).map(|_| zero()).collect() }
    }

    /// An epilogue of a layer of so many channels.
    pub(crate) fn writer(&self, channels: usize) -> PartialSumsWriter<'_> {
        PartialSumsWriter { places: &self.places, channels }
    }

    /// Means and biased variances of some of a layer's channels after so many blocks.
    pub(super) fn statistics(
        &self,
        (blocks, all): (usize, usize),
        channels: Range<usize>,
    ) -> [(f64, f64); BLOCK] {
        let writer = self.writer(all);
        let mut sums = [Sums::default(); BLOCK];
        for block in 0..blocks {
            for (channel, sums) in channels.clone().zip(&mut sums) {
                let more = writer.read(block, channel);
                if block == 0 {
                    *sums = more;
                } else {
                    sums.merge(&more);
                }
            }
        }
        sums.map(|sums| mean_and_variance(sums.shift, sums.count, (sums.first, sums.second)))
    }
}

/// Gathers sums of a layer's results.
pub(crate) struct PartialSumsWriter<'a> {
    places: &'a [[AtomicU64; 4]],
    channels: usize,
}

impl PartialSumsWriter<'_> {
    fn read(&self, block: usize, channel: usize) -> Sums {
        let places = self.places[block * self.channels + channel].each_ref();
        let [count, shift, first, second] = places.map(|place| f64::from_bits(place.load(Ordering::Relaxed)));
        Sums { count, shift, first, second }
    }
}

impl Epilogue for PartialSumsWriter<'_> {
    fn visit(&self, Piece { block, first, channel }: Piece, values: &[f32]) {
        let new = || Sums { shift: values.first().copied().map_or(0.0, f64::from), ..Sums::default() };
        let mut sums = if first { new() } else { self.read(block, channel) };
        sums.add(values);
        let Sums { count, shift, first, second } = sums;
        let places = &self.places[block * self.channels + channel];
        for (place, value) in places.iter().zip([count, shift, first, second]) {
            place.store(value.to_bits(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Pieces of any size, with means that are large beside the deviation.
        #[test]
        fn pieces_add_up_to_the_moments_of_all(
            lens in prop::collection::vec(1_usize..3000, 1..12),
            mean in prop_oneof![Just(0.0_f32), Just(3.0), Just(-300.0)],
            per_block in 1_usize..4,
        ) {
            let total: usize = lens.iter().sum();
            let values: Vec<f32> = (0..total).map(|i| mean + (i as f32 * 0.71).sin()).collect();
            let exact: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
            let partial_sums = PartialSums::new(2 * lens.len());
            let mut rest = values.as_slice();
            for (index, &len) in lens.iter().enumerate() {
                let (piece, after) = rest.split_at(len);
                rest = after;
                let (block, first) = (index / per_block, index % per_block == 0);
                partial_sums.writer(2).visit(Piece { block, first, channel: 1 }, piece);
            }
            let blocks = lens.len().div_ceil(per_block);
            let (got_mean, got_variance) = partial_sums.statistics((blocks, 2), 1..2)[0];
            let expected = exact.iter().sum::<f64>() / total as f64;
            let variance = exact.iter().map(|x| (x - expected).powi(2)).sum::<f64>() / total as f64;
            // Differences from a block's first value are at most 2, with 64 additions per lane.
            prop_assert!((got_mean - expected).abs() < 1e-5, "{got_mean}, not {expected}");
            prop_assert!((got_variance - variance).abs() < 2e-5, "{got_variance}, not {variance}");
        }
    }
}
