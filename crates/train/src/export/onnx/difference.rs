//! Differences between an ONNX file and the graph that its metadata name.

use std::path::PathBuf;

use collegial_core::protobuf::WireError;

use super::message::FLOAT;
use super::read::{MOST, MOST_AXES};

/// The first thing of a file that collegial does not write.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// It is not a protocol buffer of the kind.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// More operators, tensors or metadata than the largest network has.
    #[error("it has more than {MOST} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
    },
    /// One name for two tensors.
    #[error("it has two tensors {name}")]
    TwoTensors {
        /// Theirs.
        name: String,
    },
    /// A side beyond what the machine can count.
    #[error("a tensor has a side of {side}")]
    Side {
        /// The side.
        side: u64,
    },
    /// More axes than a tensor of ours has.
    #[error("a tensor has more than {MOST_AXES} axes")]
    Axes,
    /// No spec in its metadata.
    #[error("its metadata do not name a network of ours")]
    NoSpec,
    /// A spec that cannot be read.
    #[error("its metadata say something else ({0})")]
    Spec(serde_json::Error),
    /// An operator that the spec does not call for.
    #[error("its operator {name} is not the one that the spec in its metadata calls for")]
    Operator {
        /// Its output.
        name: String,
    },
    /// Operators beyond those of the spec, or too few.
    #[error("it has {found} operators, the spec in its metadata calls for {expected}")]
    Operators {
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// Weights in a file elsewhere.
    #[error("its weights are said to lie in {location:?}, which is not the name of a file beside it")]
    Location {
        /// Where.
        location: String,
    },
    /// Weights in a file beside it, where only its own bytes are at hand.
    #[error("its weights lie in {}, beside it; export it without", beside.display())]
    Beside {
        /// The file.
        beside: PathBuf,
    },
    /// A tensor whose values cannot be read.
    #[error("its tensor {name} {defect}")]
    Tensor {
        /// Its name.
        name: String,
        /// What is wrong with it.
        defect: TensorDefect,
    },
}

/// What is wrong with a tensor; shown as the end of a sentence about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorDefect {
    /// Not floats.
    #[error("is of type {kind}, expected {FLOAT} (32-bit floats)")]
    Kind {
        /// ONNX's number of the type.
        kind: u64,
    },
    /// Values in a form that we do not write, or none.
    #[error("has no raw values")]
    NoValues,
    /// A place behind the end of the file beside it.
    #[error("lies outside the file beside it, which has {bytes} bytes")]
    Outside {
        /// The length of that file.
        bytes: usize,
    },
    /// Bytes that are no whole number of floats.
    #[error("has {bytes} bytes, not a multiple of four")]
    Length {
        /// How many.
        bytes: usize,
    },
    /// A shape and values that do not fit each other.
    #[error("does not fit its shape: {0}")]
    Array(collegial_core::tensors::Error),
}
