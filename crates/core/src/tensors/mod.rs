//! Named arrays of numbers, and the two file formats that carry them.
//!
//! The main type is [`TensorTable`]: names in a fixed order, each with a [`Tensor`] (a shape and as
//! many values). Parameters of the engine, checkpoints, ONNX initialisers and kernels are all
//! handed on in this form, so that shapes and names are checked in one place.
//! [`safetensors::Archive`] is a table with the metadata of its file; [`npy`] holds single arrays.
//!
//! ```
//! use collegial_core::tensors::{Tensor, TensorTable, safetensors::Archive};
//! let mut table = TensorTable::new();
//! table.insert("fc.weight", Tensor::new([2, 3], vec![0.5; 6])?)?;
//! let file = Archive::from(table).with_metadata("author", "me").to_bytes()?;
//! let read = Archive::from_bytes(&file)?;
//! assert_eq!(read.tensors.shaped("fc.weight", &[2, 3])?.values(), [0.5; 6]);
//! # Ok::<(), collegial_core::tensors::Error>(())
//! ```

mod error;
pub mod npy;
pub mod safetensors;
mod table;
mod tensor;

pub use error::Error;
pub use table::TensorTable;
pub use tensor::Tensor;
