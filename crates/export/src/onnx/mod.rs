//! ONNX: plain operators of opset 17, any batch size, the network's tensors as initialisers under their own names.
//!
//! The spec goes with the file as metadata, and so the file can be read back: [`read`] takes exactly what [`write`] writes.

mod message;
mod operators;
mod read;
mod wire;
mod write;

#[cfg(test)]
mod tests;

pub use read::{Header, read};
pub use write::{Files, Options, write};

/// The metadata key of the document that safetensors checkpoints have too.
const KEY: &str = "collegial";
/// The metadata key that says whether norms were folded.
const FOLDED: &str = "collegial.folded";
