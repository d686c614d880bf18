//! Why a question has no answer, each in one sentence.

use std::io;
use std::path::PathBuf;

/// Why there is no answer. Sentences name fields and verbs in the form that
/// [`spoken`](crate::spoken) reads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The spec itself.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The engine refuses the network.
    #[error(transparent)]
    Engine(#[from] collegial_nn::Error),
    /// The kernel's statistics.
    #[error(transparent)]
    Kernel(#[from] collegial_ntk::Error),
    /// The search.
    #[error(transparent)]
    Search(#[from] collegial_search::Error),
    /// Tensors that a file cannot hold.
    #[error(transparent)]
    Tensors(#[from] collegial_tensors::Error),
    /// Data, recipe, checkpoint or training.
    #[error(transparent)]
    Train(#[from] collegial_train::Error),
    /// A file of weights.
    #[error(transparent)]
    Export(#[from] collegial_export::Error),
    /// A figure or table of the paper, or a validation.
    #[error(transparent)]
    Reproduce(collegial_reproduce::Error),
    /// Threads that could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many; 0 stands for one per core.
        threads: usize,
        /// The system's words.
        reason: String,
    },
    /// Fields that contradict each other or leave something out.
    #[error("{0}")]
    Request(String),
    /// A request that is not one.
    #[error("{0}")]
    Malformed(String),
    /// A file that could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that could not be written; the sentence has its path.
    #[error("{0}")]
    Unwritable(String),
    /// A file whose content is not what it should be.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An array that the network does not take.
    #[error("{name} holds inputs of shape {found:?}, but the network takes {expected:?}")]
    InputShape {
        /// Where the array comes from.
        name: String,
        /// The shape of one of its rows.
        found: Vec<usize>,
        /// Channels, height and width of the network's input.
        expected: [usize; 3],
    },
    /// Inputs that cannot be read.
    #[error("cannot take inputs from {name}: {reason}")]
    Inputs {
        /// Where they come from.
        name: String,
        /// What is wrong with them.
        reason: String,
    },
    /// A number that JSON does not have.
    #[error("the result has no JSON form: {0}")]
    Json(serde_json::Error),
    /// The monitor said stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<collegial_reproduce::Error> for Error {
    fn from(error: collegial_reproduce::Error) -> Self {
        if error.is_interruption() { Self::Interrupted } else { Self::Reproduce(error) }
    }
}

impl From<collegial_trials::Error> for Error {
    fn from(error: collegial_trials::Error) -> Self {
        collegial_reproduce::Error::from(error).into()
    }
}

impl Error {
    /// Fields that do not go together, or one that is missing.
    pub(crate) fn request(sentence: impl Into<String>) -> Self {
        Self::Request(sentence.into())
    }

    /// For `map_err` on reading a file.
    pub(crate) fn reading(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { path, source }
    }
}
