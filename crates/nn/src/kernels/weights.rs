//! Weights of a pass: plain, or packed or transformed before.

/// A layer's weights.
#[derive(Clone, Copy)]
pub(crate) enum Weights<'a> {
    /// `[out channels][in channels of the group][kernel][kernel]`: a pass packs or transforms them.
    Plain(&'a [f32]),
    /// Packed or transformed before, since they do not change between the batches of a network for
    /// inference.
    Prepared(&'a [f32]),
}

impl<'a> Weights<'a> {
    /// The prepared weights: these, or what `prepare` makes of the plain ones in `memory`.
    pub(super) fn or_prepare(
        self,
        memory: &'a mut [f32],
        prepare: impl FnOnce(&[f32], &mut [f32]),
    ) -> &'a [f32] {
        match self {
            Self::Prepared(prepared) => prepared,
            Self::Plain(weights) => {
                prepare(weights, memory);
                memory
            }
        }
    }
}
