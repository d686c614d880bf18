//! What keeps an item from an outcome.

/// Why nothing could be reproduced, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that is no figure and no table.
    #[error("{name:?} is no figure or table of the paper; take one of {known}, or all")]
    UnknownItem {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
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
    /// What it shares with every sweep: parts, directories, trainings, an interruption.
    #[error(transparent)]
    Trials(#[from] collegial_trials::Error),
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

impl Error {
    /// An experiment that does not fit the program.
    pub(crate) fn experiment(source_name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Experiment { source_name: source_name.into(), reason: reason.into() }
    }

    /// Whether somebody wanted to stop; finished parts are kept.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Trials(collegial_trials::Error::Interrupted))
    }
}
