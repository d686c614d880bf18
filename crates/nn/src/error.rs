//! What can be wrong with a network.

use crate::kernels::ShapeError;
use thiserror::Error;

/// Why a network cannot be planned or filled.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Error {
    /// No images.
    #[error("a batch of 0 images was asked for, at least 1 is needed")]
    EmptyBatch,
    /// A batch norm would have to take the variance of one number.
    #[error(
        "{name} cannot be trained on a batch of {batch}: a norm needs at least two values per channel, and there is one"
    )]
    OneValuePerChannel {
        /// The norm.
        name: String,
        /// Images of the batch.
        batch: usize,
    },
    /// A layer that the kernels refuse.
    #[error("the layer {name} cannot be planned: {reason}")]
    Layer {
        /// Its name.
        name: String,
        /// What the kernels say.
        reason: ShapeError,
    },
    /// The graph does not fit itself.
    #[error("the graph is not well formed at {name}: {reason}")]
    Malformed {
        /// The node.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A tensor that is not there.
    #[error("the network has no tensor {name:?}; its first is {first:?}")]
    UnknownTensor {
        /// What was asked for.
        name: String,
        /// One that exists.
        first: String,
    },
    /// A tensor of the wrong size.
    #[error("the tensor {name:?} holds {expected} numbers, but {given} were given")]
    WrongLength {
        /// Its name.
        name: String,
        /// Its length.
        expected: usize,
        /// The length that came.
        given: usize,
    },
}
