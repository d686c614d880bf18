//! Errors of the engine.

use crate::kernels::ShapeError;
use crate::memory::words;
use thiserror::Error;

/// Why a network cannot be planned, filled or run.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The values are not whole images.
    #[error(
        "{found} values were given, but the network takes images of {expected} values each, at least one"
    )]
    Images {
        /// How many values there are.
        found: usize,
        /// Values of an image.
        expected: usize,
    },
    /// The gradient of the outputs has another size than they.
    #[error("the gradient has {found} values, but the last forward pass gave {expected} outputs")]
    Gradient {
        /// How many values there are.
        found: usize,
        /// Outputs of the last pass.
        expected: usize,
    },
    /// A network for inference was to train, or one for training to be observed.
    #[error(
        "the network was not planned for this pass; training, inference and observation are chosen when it is built"
    )]
    WrongPurpose,
    /// A backward pass without a forward pass.
    #[error("a backward pass needs a forward pass of at most one batch before it")]
    NoForwardPass,
    /// Weights that are not this network's.
    #[error(transparent)]
    Tensors(#[from] collegial_core::tensors::Error),
    /// No images.
    #[error("a batch of 0 images was requested, at least 1 is needed")]
    EmptyBatch,
    /// A layer of an invalid shape.
    #[error("the layer {name} cannot be planned: {reason}")]
    Layer {
        /// Its name.
        name: String,
        /// The reason.
        reason: ShapeError,
    },
    /// A graph or arrays that do not fit, as a sentence with what would.
    #[error("{0}")]
    Invalid(String),
    /// More memory than there is.
    #[error("the network needs {} of memory, but {} are free", words(*needed), words(*available))]
    Memory {
        /// Bytes of all its arrays.
        needed: u64,
        /// Bytes that can be had.
        available: u64,
    },
    /// The pass was stopped.
    #[error("interrupted")]
    Interrupted,
    /// A label that is no class.
    #[error("the label {label} is not one of {classes} classes, which count from 0")]
    Label {
        /// The label.
        label: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// Values that are not as many rows of one length.
    #[error("{values} outputs are not {rows} rows of one length, one per image")]
    Rows {
        /// How many values there are.
        values: usize,
        /// Into how many rows they were to be cut.
        rows: usize,
    },
    /// An optimiser of another network.
    #[error("there are {found} parameters, but the optimiser was made for {planned}")]
    Optimiser {
        /// How many there are.
        found: usize,
        /// How many it was made for.
        planned: usize,
    },
    /// A tensor that is not there.
    #[error("the network has no tensor {name:?}; its first is {first:?}")]
    UnknownTensor {
        /// The name.
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
        /// The length of what was given.
        given: usize,
    },
}

impl Error {
    /// Whether the pass was stopped.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Interrupted)
    }
}

/// Returns an error if two arrays that belong together differ in length.
pub(crate) fn check_lengths(
    what: &'static str,
    found: usize,
    beside: &'static str,
    expected: usize,
) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::Invalid(format!("there are {found} {what}, but {expected} {beside}")))
    }
}
