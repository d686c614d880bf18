//! Errors of training and evaluation, each in one sentence.

use std::io;
use std::path::{Path, PathBuf};

use crate::Difference;

/// Why training or evaluation stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A recipe that cannot be followed, or a network and a data set that do not belong together,
    /// as a sentence with what would be accepted.
    #[error("{0}")]
    Invalid(String),
    /// The spec is not one.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The engine refuses the network.
    #[error(transparent)]
    Engine(#[from] collegial_nn::Error),
    /// More memory than there is.
    #[error(
        "training needs {} of memory for weights, gradients, activations, the optimiser and a checkpoint, but {} are \
         free; take a smaller network or batch",
        collegial_nn::memory::words(*needed),
        collegial_nn::memory::words(*available)
    )]
    Memory {
        /// Bytes at once, the data set apart.
        needed: u64,
        /// Bytes that can be had.
        available: u64,
    },
    /// PyTorch where there is none.
    #[error("this process has no PyTorch; the torch engine is computed by the Python package collegial")]
    NoTorch,
    /// A backend refuses a network or a recipe, or fails.
    #[error("{reason}")]
    Backend {
        /// Its sentence.
        reason: String,
    },
    /// Tensors that do not make a table or a file.
    #[error("the tensors of the checkpoint: {0}")]
    Tensors(#[from] collegial_core::tensors::Error),
    /// What cannot be, since headers are plain data.
    #[error("the header of the checkpoint has no JSON form: {0}")]
    Header(#[source] serde_json::Error),
    /// The data cannot be read.
    #[error(transparent)]
    Data(#[from] crate::data::DataError),
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "read", "write", "create".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that is no checkpoint, or one that was cut off.
    #[error("{} is not a whole checkpoint: {reason}", path.display())]
    NotACheckpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A checkpoint of another network.
    #[error("{} does not fit {model}: {reason}", path.display())]
    OtherNetwork {
        /// The file.
        path: PathBuf,
        /// The network it was to fill.
        model: String,
        /// The first thing that differs.
        reason: String,
    },
    /// Another process trains there.
    #[error("the run directory {} is in use by process {process}; wait for it or choose another directory", path.display())]
    Busy {
        /// The run directory.
        path: PathBuf,
        /// The process that holds the lock, as it wrote it.
        process: String,
    },
    /// There is a run already.
    #[error("the run directory {} holds a run already; resume it or choose another directory", path.display())]
    Occupied {
        /// The run directory.
        path: PathBuf,
    },
    /// There is no checkpoint.
    #[error("there is no checkpoint in {}; give a run directory of a training, or a .safetensors file", path.display())]
    NoCheckpoint {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The run was begun in another way.
    #[error("cannot resume a run that began otherwise: {}", list(differences))]
    OtherRun {
        /// What differs, field by field.
        differences: Vec<Difference>,
    },
    /// A file whose content has changed since it was written.
    #[error("{} has changed since it was written: its checksum is not that of its content", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
    },
    /// Weights that are no numbers.
    #[error("{} has weights that are no numbers: {tensor} contains {value}", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The first tensor that has one.
        tensor: String,
        /// NaN or infinity.
        value: f32,
    },
    /// Somebody took the run's lock away: another process may train there.
    #[error(
        "the lock file {} was removed or replaced while this run held it; nothing more is written, resuming goes on from the \
         last checkpoint", path.display()
    )]
    LostLock {
        /// The lock file.
        path: PathBuf,
    },
    /// A run's checkpoints cannot be numbered on.
    #[error("the checkpoint {} has the last number there is; move it away or rename it", path.display())]
    LastNumber {
        /// The checkpoint.
        path: PathBuf,
    },
    /// The loss is no longer a number.
    #[error(
        "the loss became {loss} in epoch {epoch}, step {step}, at learning rate {rate}; lower the rate or add a warm-up \
         (learning_rate=..., schedule.warm_up=5), the last good checkpoint is {}", checkpoint.display()
    )]
    Diverged {
        /// NaN or infinity.
        loss: f64,
        /// Counted from 1.
        epoch: u32,
        /// Counted from 1 within the epoch.
        step: usize,
        /// The learning rate then.
        rate: f64,
        /// What can be gone back to.
        checkpoint: PathBuf,
    },
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Says what was tried on which path.
pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { action, path: path.to_owned(), source }
}
