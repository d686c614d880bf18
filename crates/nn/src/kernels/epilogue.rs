//! What is done with results while they are in cache.

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
