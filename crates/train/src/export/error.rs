//! What can be wrong with a file of weights, or with what is asked of it, each in one sentence.

use std::path::{Path, PathBuf};

use crate::Builtin;

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
    /// Tensors of no network that we know.
    #[error("cannot tell the network of {} from its tensors: {reason}; if it is a network of yours, evaluate it with its spec as the model", path.display())]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// What is missing or odd.
        reason: Box<crate::export::infer::Unknown>,
    },
    /// The tensors of a network that we know, and others.
    #[error(
        "{} is no {model}: it has the tensor {tensor} besides; as a PyTorch model, `suggest` of collegial.torch takes it", path.display()
    )]
    Besides {
        /// The file.
        path: PathBuf,
        /// The network.
        model: String,
        /// The first tensor that it does not have.
        tensor: String,
    },
    /// Names of layers that timm has not.
    #[error(
        "timm has no network of the family of {model}, so that its layers have no names there; ResNets, ResNeXts and RegNets have"
    )]
    NotInTimm {
        /// The network.
        model: String,
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
    /// A spec and tensors that cannot belong together.
    #[error("{} does not fit {model}, which has {expected} parameters: the file holds only {found} numbers", path.display())]
    TooFewNumbers {
        /// The file.
        path: PathBuf,
        /// The network that its header or the user names.
        model: String,
        /// What it has.
        expected: u64,
        /// What the file has.
        found: u64,
    },
    /// Weights that other programs would take for the standard ones.
    #[error("{} holds weights of the NTK parametrisation, which other programs do not know; train with parametrisation=standard", path.display())]
    Parametrisation {
        /// The file.
        path: PathBuf,
    },
    /// Norms that were folded away cannot be had back.
    #[error("the batch norms of {} are folded into its convolutions; export the checkpoint that it was made from", path.display())]
    Folded {
        /// The file.
        path: PathBuf,
    },
    /// A family without a Python file.
    #[error(
        "{model} has no PyTorch module; resnext, wrn and fc models have one (onnx and safetensors take all)"
    )]
    NoModule {
        /// The model's name.
        model: String,
    },
    /// A data set that the exported script cannot read.
    #[error(
        "the exported script reads MNIST, CIFAR and class folders, not the images of the recipe {recipe}; give the recipe cifar10, \
         cifar100, mnist, imagenet or a TOML file"
    )]
    NoReader {
        /// The recipe.
        recipe: Builtin,
    },
}

impl Error {
    pub(crate) fn pickled(path: &Path) -> Self {
        let stem = path.with_extension("").display().to_string();
        Self::Pickled { path: path.display().to_string(), stem }
    }
}
