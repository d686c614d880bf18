//! Operands of a pass: its input and weights, plain or prepared, and the epilogue of the sums.

use super::epilogue::{Bias, Epilogue};
use super::input::Input;

/// The operands of a pass.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a> {
    /// May be read through a norm.
    pub input: Input<'a>,
    /// The layer's weights.
    pub weights: Weights<'a>,
    /// A bias and a floor per channel, where they are given.
    pub bias: Option<Bias<'a>>,
    /// Sees the results in [blocks](super::Conv::blocks).
    pub epilogue: Option<&'a dyn Epilogue>,
}

impl<'a> Operands<'a> {
    /// Plain arrays whose products are only summed.
    pub(crate) fn plain(input: &'a [f32], weights: &'a [f32]) -> Self {
        let (input, weights) = (Input::plain(input), Weights::Plain(weights));
        Self { input, weights, bias: None, epilogue: None }
    }
}

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
