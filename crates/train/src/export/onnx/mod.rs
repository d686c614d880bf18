//! ONNX: plain operators of opset 17, any batch size, the network's tensors as initialisers under
//! their own names.
//!
//! The spec goes with the file as metadata, and so the file can be read back: [`read`] takes
//! exactly what [`write()`] writes.

mod difference;
mod message;
mod operators;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use difference::Difference;
pub use read::{Header, parse, read};
pub use write::{Files, Options, write};

/// The metadata key of the document that safetensors checkpoints have too.
const KEY: &str = "collegial";
/// The metadata key that says whether norms were folded.
const FOLDED: &str = "collegial.folded";
/// The metadata key of the CRC-32 of the file beside it, where the weights are there.
const DATA_CHECKSUM: &str = "collegial.data-crc32";
/// The metadata key of the file's own checksum; it is the last one, so that it lies at the end of
/// the file.
const CHECKSUM: &str = "collegial.checksum";

/// Where a file's own checksum lies: in the last entry, whose key and value have 32 bytes.
fn seal_range(file: &[u8]) -> std::ops::Range<usize> {
    file.len().saturating_sub(48)..file.len()
}
