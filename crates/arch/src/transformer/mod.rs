//! Transformers: attention, feed-forward layers, and networks of both, as data with counts.
//!
//! No engine here runs attention, so that there is no graph; what such layers count is added up
//! line by line, with the conventions of [`Counts`](crate::Counts). Parameters are those of the
//! published networks, to the last one. FLOPs of attention are 2 per multiply-accumulate of its two
//! products over tokens; all pairs of tokens count, hidden ones too. Softmax costs nothing, as
//! other pointwise functions.

mod attention;
mod feed_forward;
pub(crate) mod hugging_face;
mod ledger;
pub(crate) mod names;
mod network;

pub use attention::{Attention, Logits};
pub use feed_forward::FeedForward;
pub use network::{Embedding, NormOrder, Output, TokenNorm, Transformer, TransformerStage};

fn gelu() -> crate::Activation {
    crate::Activation::Gelu
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // The form that serde calls.
fn is_one(value: &usize) -> bool {
    *value == 1
}
