//! What can be wrong with sampling widths and fitting a line through them.

use collegial_core::TallyError;

/// Why Algorithm 1 has no answer, in one sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// A run with no shares.
    #[error("a run has at least one shard; write 1/1 for the whole")]
    NoShards,
    /// A share that is none of the run's.
    #[error("shard {index}/{count} does not exist; shards are 1/{count} to {count}/{count}")]
    NoSuchShard {
        /// Which, from 1.
        index: u64,
        /// How many there are.
        count: u64,
    },
    /// More trials than anybody can wait for.
    #[error("{given} trials would never end; take at most {most}")]
    TooManyTrials {
        /// What was given.
        given: u64,
        /// The limit.
        most: u64,
    },
    /// A precision that is no share.
    #[error("the precision is {given}; it must be a positive share of {quantity}, such as 0.02")]
    Precision {
        /// What was given.
        given: f64,
        /// What it would be a share of.
        quantity: &'static str,
    },
    /// A precision that a run cannot aim at.
    #[error(
        "a precision cannot be reached by one shard alone and needs trials that are a multiple of {block}"
    )]
    PrecisionOfShard {
        /// Trials that are drawn together.
        block: u64,
    },
    /// No line goes through fewer than two points.
    #[error("a fit needs at least two different widths, but {found} was given")]
    FewWidths {
        /// How many there are.
        found: usize,
    },
    /// Points at one place of the axis.
    #[error("all widths given have the same sum of inverse fan-ins; give different widths")]
    SameSums,
    /// A width at which next to every kernel drawn is 0.
    #[error(
        "hardly any of the {trials} kernels drawn at width {width} differs from 0, so its variance is unknown; take more trials or leave it out"
    )]
    ZeroKernels {
        /// The width.
        width: usize,
        /// How many were drawn.
        trials: u64,
    },
    /// Measurements that no sampling writes.
    #[error("its widths are not at least two in ascending order")]
    NotAscending,
    /// Draws that are not of the run that they are said to be of.
    #[error("width {width} has trials beyond the {trials} of the run")]
    TrialsBeyond {
        /// The width.
        width: usize,
        /// Trials of the run.
        trials: u64,
    },
    /// Shards of several runs.
    #[error("these shards have different {what}; merge shards of one run only")]
    DifferentRuns {
        /// What differs.
        what: &'static str,
    },
    /// Shards that cannot be joined.
    #[error(transparent)]
    Tally(#[from] TallyError),
    /// Measurements of something without widths.
    #[error("{name} is not a module")]
    NotAModule {
        /// Its name.
        name: String,
    },
}
