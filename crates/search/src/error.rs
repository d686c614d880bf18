//! Searches that have no answer.

/// Why a search has no answer, in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The spec itself.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The kernel's statistics.
    #[error(transparent)]
    Kernel(#[from] collegial_ntk::Error),
    /// An α that cannot be.
    #[error("alpha is {0}; it must be a positive finite number, such as 1.6")]
    Alpha(f64),
    /// A baseline that has nothing to split.
    #[error(
        "the baseline {name} has width {width}; to be split into narrower members it needs a width of at least 2"
    )]
    NarrowBaseline {
        /// Its name.
        name: String,
        /// Its width.
        width: usize,
    },
    /// No width is left to choose from.
    #[error("{0}")]
    NoWidths(String),
    /// A budget below the smallest network.
    #[error("no design fits a budget of {budget} {cost}; the smallest, {smallest}, has {needs}")]
    Budget {
        /// What was allowed.
        budget: u64,
        /// In which unit.
        cost: &'static str,
        /// The nearest feasible design.
        smallest: String,
        /// What it needs.
        needs: u64,
    },
    /// A network that the engine cannot run.
    #[error("cannot time this network: {0}")]
    Timing(String),
    /// A variance that is not known where it is needed.
    #[error("{0}")]
    Variance(String),
}
