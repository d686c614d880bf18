//! Arrays of real numbers as `.npy` files, with shape and values apart.

use collegial_tensors::{Tensor, npy};

use super::Mismatch;

/// Reads an array of real numbers: its shape and its values in C order.
pub fn read(file: &[u8]) -> Result<(Vec<usize>, Vec<f32>), Mismatch> {
    let array = npy::read(file)?;
    Ok((array.shape().to_vec(), array.into_values()))
}

/// The file of an array in C order.
///
/// # Panics
///
/// If there are not as many values as the shape says.
pub fn write(shape: &[usize], values: &[f64]) -> Vec<u8> {
    let array = Tensor::new(shape, values.to_vec());
    npy::write(&array.unwrap_or_else(|error| panic!("{error}")))
}
