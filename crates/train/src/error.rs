//! What can go wrong on the way from a data set to a trained network, each in one sentence.

use std::io;
use std::path::{Path, PathBuf};

/// Why training or evaluation stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recipe that cannot be followed.
    #[error("{0}")]
    Recipe(String),
    /// The network and the data set do not belong together.
    #[error("{0}")]
    Unfit(String),
    /// The spec is not one.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The engine refuses the network.
    #[error(transparent)]
    Engine(#[from] collegial_nn::Error),
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
        /// The first tensor that differs.
        reason: String,
    },
    /// Another process trains there.
    #[error("the run directory {} is in use by process {process}; wait for it or choose another --out", path.display())]
    Busy {
        /// The run directory.
        path: PathBuf,
        /// The process that holds the lock, as it wrote it.
        process: String,
    },
    /// There is a run already.
    #[error("the run directory {} holds a run already; continue it with --resume or choose another --out", path.display())]
    Occupied {
        /// The run directory.
        path: PathBuf,
    },
    /// There is no checkpoint.
    #[error("there is no checkpoint in {}; give a run directory of `collegial train` or a .safetensors file", path.display())]
    NoCheckpoint {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The run was begun in another way.
    #[error(
        "cannot resume with another {what} than the run began with: it has {saved}, {given} was asked for"
    )]
    OtherRun {
        /// What differs.
        what: &'static str,
        /// What the run has.
        saved: String,
        /// What was asked for.
        given: String,
    },
    /// The loss is no longer a number.
    #[error(
        "the loss became {loss} in epoch {epoch}, step {step}, at learning rate {rate}; lower the rate or add a warm-up \
         (--set learning_rate=... --set schedule.warm_up=5), the last good checkpoint is {}", checkpoint.display()
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

/// Says what was tried on which path.
pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { action, path: path.to_owned(), source }
}
