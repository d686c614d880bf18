//! Weights as a pass is given them.

/// A layer's weights.
#[derive(Clone, Copy)]
pub(crate) enum Weights<'a> {
    /// `[out channels][in channels of the group][kernel][kernel]`: a pass packs or transforms them.
    Plain(&'a [f32]),
    /// What the pass has made of them before, since they do not change between the batches of a
    /// network that only infers.
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
