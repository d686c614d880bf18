//! Searches that have no answer.

use collegial_arch::{Cost, Design};
use collegial_core::Monitor;

use crate::Costs;

/// Why a search has no answer, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// More widths than anybody waits for.
    #[error(
        "there are {count} widths to look at, more than a search takes ({most}); name fewer, or keep to multiples of a larger number"
    )]
    TooManyWidths {
        /// How many there are.
        count: usize,
        /// The limit.
        most: usize,
    },
    /// No width is left to choose from.
    #[error("there is no width to choose from")]
    NoWidths,
    /// A stage without widths.
    #[error("stage {stage} has no widths")]
    NoStageWidths {
        /// Which, counted from 1.
        stage: usize,
    },
    /// A step that passes by every width.
    #[error(
        "no width up to the baseline's {width} is a multiple of {multiple_of}; the nearest feasible multiple is {width}"
    )]
    NoMultiple {
        /// What widths must be a multiple of.
        multiple_of: usize,
        /// The baseline's width.
        width: usize,
    },
    /// A list without a width that Algorithm 2 may take.
    #[error(
        "no width in the list is a multiple of {multiple_of} between 1 and the baseline's {width}; the nearest feasible width is {nearest}"
    )]
    NoListedWidth {
        /// What widths must be a multiple of.
        multiple_of: usize,
        /// The baseline's width.
        width: usize,
        /// One that is allowed.
        nearest: usize,
    },
    /// Too few members to spend the budget.
    #[error(
        "every width needs more than {most} members to spend the budget; the fewest possible is {fewest}"
    )]
    TooFewMembers {
        /// How many were allowed.
        most: usize,
        /// How many would do.
        fewest: usize,
    },
    /// Widths that are a multiple of nothing.
    #[error("widths cannot be a multiple of 0; give 1 or more")]
    MultipleOfZero,
    /// Only widths that are not allowed.
    #[error(
        "no width asked for is a multiple of {multiple_of} between 1 and the baseline's inner width {most}; {nearest} would be"
    )]
    WidthsOutside {
        /// What widths must be a multiple of.
        multiple_of: usize,
        /// The largest width.
        most: usize,
        /// One that is allowed.
        nearest: usize,
    },
    /// No design that is as good as the baseline.
    #[error("no allowed design has as little variance as the baseline; allow more members or other widths")]
    NoDual,
    /// No design that is as good as the baseline and raises no cost.
    #[error(
        "no allowed design has as little variance as the baseline without more {}; allow a tolerance, or name fewer costs",
        costs.words()
    )]
    NoDualWithin {
        /// The costs.
        costs: Costs,
    },
    /// A tolerance that is no share.
    #[error("the tolerance is {value}; it must be a share from 0 to 1, such as 0.02")]
    Tolerance {
        /// What was given.
        value: f64,
    },
    /// Costs nearest to a budget, of which there can be one.
    #[error("nearest is for one cost without a tolerance; take under, or one of {costs}")]
    NearestOfSeveral {
        /// The costs.
        costs: Costs,
    },
    /// Several costs where designs per stage or two widths keep one.
    #[error("designs per stage and two widths keep one cost; ask for one of {costs}")]
    StagesOfSeveral {
        /// The costs.
        costs: Costs,
    },
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
    /// A budget that designs per stage cannot meet.
    #[error("no designs per stage fit a budget of {budget} {}; allow more", cost.unit())]
    StageBudget {
        /// What was allowed.
        budget: u64,
        /// Of what.
        cost: Cost,
    },
    /// Two widths for all stages of a network whose stages do not widen together.
    #[error("the stages of {name} have widths of their own; ask for designs per stage as well")]
    NoCommonWidths {
        /// Its name.
        name: String,
    },
    /// A time that cannot be one.
    #[error("a time is {value}; times must be positive finite numbers")]
    NotATime {
        /// What was given.
        value: f64,
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
    /// No timed design is as fast as the baseline.
    #[error("no design that was timed takes at most the baseline's time; time smaller ones")]
    NothingAsFast,
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
    /// Free widths of a variance without a formula.
    #[error("free widths need a variance formula, which measured variances have none of; take law or exact")]
    NoFormula,
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
        count if count > MOST_WIDTHS => Err(Error::TooManyWidths { count, most: MOST_WIDTHS }),
        _ => Ok(()),
    }
}
