//! What keeps an item from an outcome.

use std::path::PathBuf;

/// Why nothing could be reproduced, in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that is no figure and no table.
    #[error("{name:?} is no figure or table of the paper; take one of {known}, or all")]
    UnknownItem {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// An experiment file or the published numbers, which are part of the program, do not fit it.
    #[error("{0}")]
    Experiment(String),
    /// A file that could not be written.
    #[error("{0}")]
    Write(String),
    /// A directory that could not be made or read.
    #[error("cannot use {path}: {source}")]
    Directory {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Ctrl-C; finished parts are kept.
    #[error("interrupted; finished parts are kept, and the same command goes on from there")]
    Interrupted,
    /// Threads that could not be started.
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// A spec.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The engine.
    #[error(transparent)]
    Network(#[from] collegial_nn::Error),
    /// The kernel's statistics.
    #[error(transparent)]
    Kernel(#[from] collegial_ntk::Error),
    /// A search.
    #[error(transparent)]
    Search(#[from] collegial_search::Error),
    /// Training.
    #[error(transparent)]
    Train(#[from] collegial_train::Error),
    /// Data sets.
    #[error(transparent)]
    Data(#[from] collegial_train::data::DataError),
}
