//! Epilogues: the bias and the ReLU of results, and visits to them, while they are in cache.

/// A piece of a result: some pixels of one channel of one image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Which part of the images it lies in; the shape alone decides how they are cut.
    pub block: usize,
    /// Whether it is the first of its channel in the block; the others follow in order.
    pub first: bool,
    /// The channel, counted over all groups.
    pub channel: usize,
}

/// Visits every piece of a result once, when it is finished. Pieces of a block and a channel come
/// in order from one thread, others at any time.
pub(crate) trait Epilogue: Sync {
    fn visit(&self, piece: Piece, values: &[f32]);
}

/// Bias and activation of every channel: `max(sum + bias, floor)`.
#[derive(Clone, Copy, Debug)]
pub struct Bias<'a> {
    /// One per channel.
    pub values: &'a [f32],
    /// 0 for a ReLU, minus infinity for none.
    pub floor: f32,
}

impl<'a> Bias<'a> {
    /// The bias of channels from `channel` on.
    pub(crate) fn from(self, channel: usize) -> Self {
        Self { values: &self.values[channel..], ..self }
    }

    /// Adds the bias to sums of one channel; a NaN stays, so that divergence shows.
    pub(crate) fn apply(self, channel: usize, sums: &mut [f32]) {
        let (bias, floor) = (self.values[channel], self.floor);
        for sum in sums {
            let x = *sum + bias;
            *sum = if x < floor { floor } else { x };
        }
    }
}
