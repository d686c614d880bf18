//! Errors of searches.

use collegial_arch::{Cost, Design};
use collegial_core::Monitor;

/// Why a search has no answer, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The spec itself.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// Settings or a network that no design answers, as a sentence with what would be accepted.
    #[error("{0}")]
    Invalid(String),
    /// The kernel's statistics.
    #[error(transparent)]
    Kernel(#[from] collegial_ntk::Error),
    /// No design that is as good as the baseline.
    #[error("no allowed design has as little variance as the baseline; allow more members or other widths")]
    NoDual,
    /// A budget below the smallest network.
    #[error("no design fits a budget of {budget} {}; the smallest, {smallest}, has {needs}", cost.unit())]
    Budget {
        /// What was allowed.
        budget: u64,
        /// In which unit.
        cost: Cost,
        /// The nearest feasible design.
        smallest: Design,
        /// What it needs.
        needs: u64,
    },
    /// Time as the cost without any times.
    #[error("time is the cost, but no design was timed; time some, or take params, flops or activations")]
    NoTimings,
    /// What a runtime said that is not this program's own.
    #[error("{runtime} cannot be timed: {reason}")]
    Runtime {
        /// Its name.
        runtime: crate::timing::Runtime,
        /// In its words.
        reason: String,
    },
    /// Somebody wanted to stop.
    #[error("interrupted")]
    Interrupted,
    /// A network that the engine cannot run.
    #[error("cannot time this network: {0}")]
    Timing(#[from] collegial_nn::Error),
    /// A width whose variance was not measured.
    #[error("the variance was not measured at width {width}")]
    NotMeasured {
        /// The width.
        width: usize,
    },
    /// A baseline without stages where they are needed.
    #[error("{name} has no stages; designs per stage are for networks, such as resnext29-1x128d")]
    NoStages {
        /// Its name.
        name: String,
    },
}

impl Error {
    /// Whether a monitor stopped the search.
    pub fn is_interruption(&self) -> bool {
        match self {
            Self::Interrupted => true,
            Self::Kernel(error) => error.is_interruption(),
            Self::Timing(error) => error.is_interruption(),
            _ => false,
        }
    }
}

/// Ends the work where the monitor says so.
pub(crate) fn go_on(monitor: &dyn Monitor) -> Result<(), Error> {
    if monitor.stopped() { Err(Error::Interrupted) } else { Ok(()) }
}

/// The most widths of a search: some seconds.
const MOST_WIDTHS: usize = 100_000;

/// Refuses more widths than a search takes: so many up to the largest, every `multiple_of`th.
pub(crate) fn check_widths(largest: usize, multiple_of: usize) -> Result<(), Error> {
    match largest / multiple_of.max(1) {
        count if count > MOST_WIDTHS => Err(Error::Invalid(format!(
            "there are {count} widths to look at, more than a search takes ({MOST_WIDTHS}); name \
             fewer, or keep to multiples of a larger number"
        ))),
        _ => Ok(()),
    }
}
