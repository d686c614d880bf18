//! What keeps a sweep from its end.

use std::path::PathBuf;

/// Why nothing came of it, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that could not be written.
    #[error("{sentence}")]
    Write {
        /// What the writer said: the path and why.
        sentence: String,
    },
    /// A result or its settings that have no JSON form.
    #[error("the part {part} has no JSON form: {source}")]
    NoJson {
        /// The part's name.
        part: String,
        /// What the writer of JSON said.
        source: serde_json::Error,
    },
    /// A directory that could not be made or read.
    #[error("cannot use {}: {source}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Somebody wanted to stop; finished parts are kept.
    #[error("interrupted; finished parts are kept, and the same command goes on from there")]
    Interrupted,
    /// Threads that could not be started.
    #[error("cannot start threads: {reason}")]
    Threads {
        /// What the system said.
        reason: String,
    },
    /// A file that is no table.
    #[error("{name} cannot be read as a table: {reason}")]
    Table {
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },
    /// A column that a table has not.
    #[error("the table has no column {column:?}; it has {}", quoted(columns))]
    Column {
        /// The one that was named.
        column: String,
        /// Those that there are.
        columns: Vec<String>,
    },
    /// A row that describes no network.
    #[error("{reason}")]
    Row {
        /// Why.
        reason: String,
    },
    /// A spec.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
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

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
