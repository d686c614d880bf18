//! Errors of import and export, each in one sentence.

use std::path::{Path, PathBuf};

use crate::export::onnx::Difference;

/// Why a network could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The spec is not one.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The engine refuses the network.
    #[error(transparent)]
    Engine(#[from] collegial_nn::Error),
    /// The checkpoint cannot be read, or is another network's.
    #[error(transparent)]
    Checkpoint(#[from] crate::Error),
    /// What a form of file cannot hold, as a sentence with what would be accepted.
    #[error("{0}")]
    Invalid(String),
    /// Tensors of no network that we know.
    #[error("cannot tell the network of {} from its tensors: {reason}; if it is a network of yours, evaluate it with its spec as the model", path.display())]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// What is missing or odd.
        reason: String,
    },
    /// A file of `torch.save`.
    #[error(
        "{path} is a PyTorch file, which can run code when it is read; convert it with python -c \"import torch; from \
         safetensors.torch import save_file; save_file(torch.load('{path}', map_location='cpu', weights_only=True), \
         '{stem}.safetensors')\""
    )]
    Pickled {
        /// The file.
        path: String,
        /// Its name without the ending.
        stem: String,
    },
    /// An ONNX file that is not one of ours, or was changed.
    #[error("{} is not an ONNX file that collegial wrote: {reason}", path.display())]
    Onnx {
        /// The file.
        path: PathBuf,
        /// The first thing that differs.
        reason: Box<Difference>,
    },
}

impl Error {
    pub(crate) fn pickled(path: &Path) -> Self {
        let stem = path.with_extension("").display().to_string();
        Self::Pickled { path: path.display().to_string(), stem }
    }
}
