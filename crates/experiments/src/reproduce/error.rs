//! What keeps an item from an outcome.

use std::path::PathBuf;

/// Why nothing could be reproduced, in one sentence.
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
        "{item} trains on {what}: give a directory with it as `data=`{}",
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
        "{item} judges kept records: give the folder research of the repository as `records=`{}",
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
        reason: Misfit,
    },
    /// What it shares with every sweep: parts, directories, trainings, an interruption.
    #[error(transparent)]
    Trials(#[from] crate::Error),
    /// The engine.
    #[error(transparent)]
    Network(#[from] collegial_nn::Error),
}

/// Errors that every sweep knows.
macro_rules! from_trials {
    ($($error:ty),*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Trials(error.into())
            }
        }
    )*};
}

from_trials!(
    collegial_arch::Error,
    collegial_ntk::Error,
    collegial_search::Error,
    collegial_train::Error,
    collegial_train::data::DataError
);

impl Error {
    /// The refusal of a name, with those that there are.
    pub(crate) fn unknown_item(name: &str) -> Self {
        let known: Vec<&str> = crate::reproduce::ITEMS.iter().map(crate::reproduce::Item::name).collect();
        Self::UnknownItem { name: name.to_owned(), known: known.join(", ") }
    }

    /// An experiment that does not fit the program.
    pub(crate) fn experiment(source_name: impl Into<String>, reason: Misfit) -> Self {
        Self::Experiment { source_name: source_name.into(), reason }
    }

    /// Whether data or records are missing, without which an item cannot be had.
    pub fn is_missing_input(&self) -> bool {
        matches!(self, Self::NoData { .. } | Self::NoRecords { .. })
    }

    /// Whether the monitor stopped it; finished parts are kept.
    pub fn is_interruption(&self) -> bool {
        match self {
            Self::Trials(error) => error.is_interruption(),
            Self::Network(error) => error.is_interruption(),
            _ => false,
        }
    }
}

/// What does not fit of an experiment, of published numbers, or of data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// The settings are not TOML, or not the item's.
    #[error("{}", .0.trim().replace('\n', " "))]
    Settings(
        /// In the parser's words.
        String,
    ),
    /// A key that every experiment has.
    #[error("there is no {key}")]
    NoKey {
        /// The key.
        key: &'static str,
    },
    /// A list that is empty.
    #[error("it names no {what}")]
    Nothing {
        /// Of what.
        what: &'static str,
    },
    /// Published numbers that are not there.
    #[error("nothing under {id:?}, or not what is asked for")]
    NotPublished {
        /// Where they should be.
        id: String,
    },
    /// A published table without a row of it.
    #[error("it has no row {row}")]
    NoRow {
        /// The row.
        row: String,
    },
    /// Rows of a published table that belong to no baseline, or to none that is printed.
    #[error("it has {printed} rows, but {grouped} are in groups")]
    Groups {
        /// Rows of the table.
        printed: usize,
        /// Rows of all groups.
        grouped: usize,
    },
    /// A network without a width to choose.
    #[error("it has no width")]
    NoWidth,
    /// A law that no alpha of the range makes true.
    #[error("no alpha between {low} and {high} gives the optimum of Fig. 3")]
    NoAlpha {
        /// The least that was tried.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// A cell of recorded runs.
    #[error("{column} of row {row} is missing or not what it should be")]
    NoCell {
        /// The row, counted from 1.
        row: usize,
        /// Its column.
        column: String,
    },
    /// Runs too few to compare designs.
    #[error("a design has too few runs")]
    FewRuns,
    /// Photographs where pixels are wanted as they are.
    #[error("the tangent kernel is followed on stored images, not on photographs")]
    Photographs,
    /// A data set that is too small.
    #[error("{wanted} images are wanted, it has {found}")]
    FewImages {
        /// How many are wanted.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
}
