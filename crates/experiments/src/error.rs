//! The error of this crate: why a sweep, a figure or a table has no result.

use std::path::PathBuf;

/// Why there is no result, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that is no figure and no table.
    #[error("{name:?} is no figure or table of the paper; take one of {known}, or all")]
    UnknownItem {
        /// The requested name.
        name: String,
        /// What there is.
        known: String,
    },
    /// An item that trains on a data set which is not there.
    #[error(
        "{item} trains on {what}: give a directory with it as data{}",
        data.as_ref().map_or(String::new(), |path| format!("; {} has none", path.display()))
    )]
    NoData {
        /// The item.
        item: &'static str,
        /// The data set.
        what: &'static str,
        /// Where it was looked for.
        data: Option<PathBuf>,
    },
    /// An item that judges records which are not there.
    #[error(
        "{item} judges kept records: give the folder research of the repository as records{}",
        folder.as_ref().map_or(String::new(), |path| format!("; there is no study in {}", path.display()))
    )]
    NoRecords {
        /// The item.
        item: &'static str,
        /// Where they were looked for.
        folder: Option<PathBuf>,
    },
    /// An experiment file or the published numbers, which are part of the program, do not fit it,
    /// or the data do not fit them.
    #[error("{source_name}: {reason}")]
    Experiment {
        /// The experiment file, the published tables or the data set.
        source_name: String,
        /// What does not fit.
        reason: String,
    },
    /// A file that could not be written.
    #[error(transparent)]
    Write(#[from] collegial_core::files::WriteError),
    /// A result or its settings that have no JSON form.
    #[error("the result {part} has no JSON form: {source}")]
    NoJson {
        /// The result's name.
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
    /// The monitor stopped it; finished results are kept.
    #[error("interrupted; finished results are kept, and the same request goes on from there")]
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
    /// A row of a table that describes no network, as a sentence.
    #[error("{0}")]
    Invalid(String),
    /// A spec.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The kernel's statistics.
    #[error(transparent)]
    Kernel(#[from] collegial_ntk::Error),
    /// A search.
    #[error(transparent)]
    Search(#[from] collegial_search::Error),
    /// The engine refuses a network.
    #[error(transparent)]
    Engine(#[from] collegial_nn::Error),
    /// A plan of jobs.
    #[error(transparent)]
    Plan(#[from] crate::jobs::PlanError),
    /// Training.
    #[error(transparent)]
    Train(#[from] collegial_train::Error),
    /// Data sets.
    #[error(transparent)]
    Data(#[from] collegial_train::data::DataError),
}

impl Error {
    /// The refusal of a name, with those that there are.
    pub(crate) fn unknown_item(name: &str) -> Self {
        let known: Vec<&str> = crate::reproduce::ITEMS.iter().map(crate::reproduce::Item::name).collect();
        Self::UnknownItem { name: name.to_owned(), known: known.join(", ") }
    }

    /// An experiment that does not fit the program.
    pub(crate) fn experiment(source_name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Experiment { source_name: source_name.into(), reason: reason.into() }
    }

    /// Content that is no table, until the name of its file is known.
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` hands errors over")]
    pub(crate) fn table(reason: impl ToString) -> Self {
        Self::Table { name: "the table".into(), reason: reason.to_string() }
    }

    /// Whether data or records are missing, without which an item cannot be had.
    pub fn is_missing_input(&self) -> bool {
        matches!(self, Self::NoData { .. } | Self::NoRecords { .. })
    }

    /// Whether the monitor stopped it; finished results are kept.
    pub fn is_interruption(&self) -> bool {
        match self {
            Self::Interrupted => true,
            Self::Kernel(error) => error.is_interruption(),
            Self::Search(error) => error.is_interruption(),
            Self::Engine(error) => error.is_interruption(),
            _ => false,
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
