//! Arrays that come along with a request, or go back with an answer.

use std::path::Path;

use collegial_arch::Graph;
use collegial_core::tensors::{Tensor, npy};

use crate::{Error, InputsError};

/// The content of a .npy file.
pub fn read(path: &Path) -> Result<Tensor, Error> {
    let file = collegial_core::files::read_regular(path).map_err(Error::reading(path))?;
    let name = path.display().to_string();
    npy::read(&file).map_err(|error| Error::Inputs { name, reason: error.into() })
}

/// The .npy file of a table of numbers, row by row.
pub(crate) fn write_rows(rows: usize, values: Vec<f64>) -> Result<Vec<u8>, Error> {
    let columns = values.len() / rows.max(1);
    Ok(npy::write(&Tensor::new([rows, columns], values)?))
}

/// The .npy file of a vector.
pub(crate) fn write_vector(values: Vec<f64>) -> Vec<u8> {
    npy::write(&Tensor::vector(values))
}

/// The rows of an array as inputs of a network; their values are checked where they are used.
/// `name` says where they come from.
pub fn rows(array: &Tensor, name: &str, graph: &Graph) -> Result<Vec<Vec<f32>>, Error> {
    let Some((&count, rest)) = array.shape().split_first() else {
        return Err(Error::Inputs { name: name.into(), reason: InputsError::SingleNumber });
    };
    let shape = graph.input_shape();
    let expected = [shape.channels, shape.height, shape.width];
    let len: usize = rest.iter().product();
    if count > 0 && len != expected.iter().product::<usize>() {
        return Err(Error::InputShape { name: name.into(), found: rest.to_vec(), expected });
    }
    Ok(array.values().chunks_exact(len.max(1)).map(<[f32]>::to_vec).collect())
}
