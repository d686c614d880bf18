//! Differences between an ONNX file and the graph that its metadata name.

use collegial_core::protobuf::WireError;

/// The first thing of a file that collegial does not write.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// It is not a protocol buffer of the kind.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It is another network's, as the end of a sentence about the file.
    #[error("{0}")]
    Invalid(String),
}
