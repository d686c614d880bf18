//! NumPy's `.npy` format: a magic string, a Python dict literal that tells type and shape, the
//! bytes.
//!
//! Versions 1 to 3 are read, arrays in C order; version 1 with `<f4` or `<f8` is written. Written
//! by hand because the reader has to borrow arrays from archives and pickles of hundreds of
//! megabytes, to take nothing on trust, and to say in one sentence what it expected and what it
//! found.

mod array;
mod header;

use std::borrow::Cow;

use crate::tensors::Tensor;
pub use array::{Array, Dtype};
use header::Header;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The header ends at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// What was expected of some bytes, and what they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct NpyError {
    /// What would be accepted.
    pub expected: Cow<'static, str>,
    /// What is there.
    pub found: Cow<'static, str>,
}

impl NpyError {
    /// The two halves of the sentence.
    pub fn new(expected: impl Into<Cow<'static, str>>, found: impl Into<Cow<'static, str>>) -> Self {
        Self { expected: expected.into(), found: found.into() }
    }
}

/// A number that can be written.
pub trait Real: Copy {
    /// NumPy's name of the type.
    const DESCR: &str;
    /// Adds its bytes to a file.
    fn append(self, file: &mut Vec<u8>);
}

impl Real for f32 {
    const DESCR: &str = "<f4";
    fn append(self, file: &mut Vec<u8>) {
        file.extend(self.to_le_bytes());
    }
}

impl Real for f64 {
    const DESCR: &str = "<f8";
    fn append(self, file: &mut Vec<u8>) {
        file.extend(self.to_le_bytes());
    }
}

/// Reads an array of real numbers (f4 or f8), in single precision.
///
/// # Errors
///
/// If the bytes are not such an array.
pub fn read(file: &[u8]) -> Result<Tensor, NpyError> {
    let array = parse(Cow::Borrowed(file))?;
    let (shape, values) = (array.shape().to_vec(), array.reals()?);
    Tensor::new(shape, values).map_err(|error| NpyError::new("an array", error.to_string()))
}

/// The file of an array.
pub fn write<T: Real>(array: &Tensor<T>) -> Vec<u8> {
    let mut file = header::<T>(array.shape());
    array.values().iter().for_each(|value| value.append(&mut file));
    file
}

/// The bytes that come before an array's values.
pub fn header<T: Real>(shape: &[usize]) -> Vec<u8> {
    let axes: Vec<String> = shape.iter().map(|side| format!("{side},")).collect();
    let (descr, axes) = (T::DESCR, axes.join(" "));
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(ALIGNMENT) - unpadded));
    header.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend([1, 0]);
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file
}

/// Reads an array of any type, whose bytes are borrowed from the file where possible.
///
/// # Errors
///
/// If the bytes are not an array of a known type in C order.
pub fn parse(bytes: Cow<'_, [u8]>) -> Result<Array<'_>, NpyError> {
    let (text, start) = header::text(&bytes)?;
    let header = Header::parse(text)?;
    let body = match bytes {
        Cow::Borrowed(all) => Cow::Borrowed(all.get(start..).unwrap_or_default()),
        Cow::Owned(mut all) => {
            all.drain(..start.min(all.len()));
            Cow::Owned(all)
        }
    };
    Array::new(header.dtype, header.shape, body)
}
