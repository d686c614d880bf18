//! Arrays that come along with a request, or go back with an answer.

use std::path::Path;

use collegial_arch::Graph;
use collegial_train::data::npy;

use crate::Error;

/// Numbers in rows, the last axis contiguous.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The length of every axis.
    pub shape: Vec<usize>,
    /// As many values as the product of the axes.
    pub values: Vec<f32>,
}

impl Array {
    /// The content of a .npy file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = std::fs::read(path).map_err(Error::reading(path))?;
        let refuse = |reason: String| Error::Inputs { name: path.display().to_string(), reason };
        let (shape, values) = npy::read(&file).map_err(|mismatch| refuse(mismatch.to_string()))?;
        Ok(Self { shape, values })
    }

    /// Its rows as inputs of a network; their values are checked where they are used. `name` says where they come from.
    pub fn rows(&self, name: &str, graph: &Graph) -> Result<Vec<Vec<f32>>, Error> {
        let Some((&count, rest)) = self.shape.split_first() else {
            return Err(Error::Inputs { name: name.into(), reason: "it is a single number".into() });
        };
        let shape = graph.input_shape();
        let expected = [shape.channels, shape.height, shape.width];
        let len: usize = rest.iter().product();
        if count > 0 && len != expected.iter().product::<usize>() {
            return Err(Error::InputShape { name: name.into(), found: rest.to_vec(), expected });
        }
        Ok(self.values.chunks_exact(len.max(1)).map(<[f32]>::to_vec).collect())
    }
}
