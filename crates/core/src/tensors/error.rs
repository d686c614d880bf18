//! Errors of arrays and their files.

use thiserror::Error;

/// Why an array, a table or a file of arrays was refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The number of values is not the product of the shape's sides.
    #[error("an array of shape {shape:?} has {expected} values, not {found}")]
    Length {
        /// The expected shape.
        shape: Vec<usize>,
        /// How many values it has.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A shape has more values than a machine can count.
    #[error("an array of shape {shape:?} has more values than this machine can address")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// A name is there already.
    #[error("there are two tensors {name:?}; every name may occur once")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A name is missing.
    #[error("there is no tensor {name:?}; {}", present(known))]
    Unknown {
        /// The name.
        name: String,
        /// The first names that are there.
        known: Vec<String>,
    },
    /// A tensor has another shape than it should.
    #[error("{name:?} has the shape {found:?}, expected {expected:?}")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// The shape it should have.
        expected: Vec<usize>,
    },
    /// A tensor contains NaN or an infinity.
    #[error("{name:?} contains {value}; only finite numbers are taken")]
    NotFinite {
        /// The tensor.
        name: String,
        /// The first such value.
        value: f32,
    },
    /// The bytes are not a safetensors file.
    #[error("it is not a safetensors file: {reason}")]
    NotSafetensors {
        /// What the parser says.
        reason: String,
    },
    /// A tensor of a safetensors file has a type that is not read.
    #[error("{name:?} holds {dtype}; F16, BF16, F32, F64 and integers are read")]
    ElementType {
        /// The tensor.
        name: String,
        /// Its type.
        dtype: String,
    },
    /// An integer of a safetensors file does not fit 64 signed bits.
    #[error("{name:?} contains {value}; integers up to {} are read", i64::MAX)]
    Integer {
        /// The tensor.
        name: String,
        /// The integer.
        value: u64,
    },
}

fn present(known: &[String]) -> String {
    if known.is_empty() { "the table is empty".into() } else { format!("the first ones are {known:?}") }
}
