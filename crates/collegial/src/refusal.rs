//! What can be wrong with the fields of a request.

use std::path::PathBuf;

use collegial_nn::memory::words;
use collegial_ntk::fit::FitError;

/// Fields that contradict each other, are out of range or leave something out; the sentences name
/// fields and verbs in the form that [`spoken`](crate::spoken) reads.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A number outside what is accepted.
    #[error("`{field}=` is {value}; it must be between {low} and {high}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// What it is.
        value: f64,
        /// The smallest number that would do.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// More draws than one answer holds, or too few for a variance.
    #[error("`draws=` is {draws}; with {members} members it must be between 2 and {most}")]
    DrawsOfMembers {
        /// What was given.
        draws: u64,
        /// Members of the ensemble.
        members: usize,
        /// The largest number that would do.
        most: u64,
    },
    /// A kernel that does not fit into memory.
    #[error(
        "a kernel between {count} inputs needs {} of memory, but {} are free; take a smaller `count=`",
        words(*needed), words(*available)
    )]
    KernelMemory {
        /// How many inputs there would be.
        count: usize,
        /// Bytes of the matrix, its copy and the inputs.
        needed: u64,
        /// Bytes that can be had.
        available: u64,
    },
    /// A kernel that is no number.
    #[error(
        "the kernel between inputs {row} and {column} is {value}: weights or inputs are too large for it to be \
         computed in single precision"
    )]
    KernelNotFinite {
        /// One input, from 0.
        row: usize,
        /// The other.
        column: usize,
        /// NaN or infinity.
        value: f64,
    },
    /// A regression without anything to learn.
    #[error("`regress=` needs labelled images: give their `data=`")]
    RegressionData,
    /// A regression with less or more than a kernel.
    #[error(
        "`regress=` takes the whole kernel of one output or of their sum: leave out `full=`, `diagonal=` and `tiles=`"
    )]
    RegressionOfPart,
    /// Draws that shards cannot share.
    #[error("draws at many inputs are not saved; say how many `trials=` to take")]
    DrawsAtManyInputs,
    /// A sweep of nothing.
    #[error("`models=` is empty; name networks to train")]
    NoModels,
    /// A request without trainings.
    #[error("nothing would be trained: there are no jobs to plan")]
    NoJobs,
    /// A step that takes no time.
    #[error("`seconds_per_step=` is {seconds}; it must be above 0")]
    SecondsPerStep {
        /// What was given.
        seconds: f64,
    },
    /// A job whose request no longer has its training.
    #[error(
        "the training of {model} with seed {seed} is not what it was when the jobs were planned: the data or the \
         program has changed; plan again"
    )]
    AnotherTraining {
        /// The network.
        model: String,
        /// The seed.
        seed: u64,
    },
    /// A network whose kernel does not vary.
    #[error("a network without hidden layers has a constant kernel; give at least one hidden width")]
    NoHiddenLayers,
    /// A network whose variance is no number of ours.
    #[error(
        "the variance of {model}'s kernel exceeds the largest number that can be told (1.8e308): it grows by a factor with every layer; take wider or fewer layers"
    )]
    VarianceTooLarge {
        /// Its name.
        model: String,
    },
    /// Two networks.
    #[error("a model and `widths=` were both given; leave one of them out")]
    ModelAndWidths,
    /// No network.
    #[error("give a model or `widths=`")]
    NoModel,
    /// A network where a module is needed.
    #[error(
        "{model} is a whole network; exact moments are those of a module, such as its block: `search()` gives \
         every block's variance, and `ntk(draws=)` draws the network's"
    )]
    WholeNetwork {
        /// Its name.
        model: String,
    },
    /// A share that is not written as one.
    #[error("write it as 2/8: the second of eight")]
    ShardForm,
    /// A share whose parts are no numbers.
    #[error("{text:?} is not a number; write it as 2/8")]
    ShardNumber {
        /// The part.
        text: String,
    },
    /// A share of another run.
    #[error("cannot join {}: {reason}", path.display())]
    CannotJoin {
        /// Its file.
        path: PathBuf,
        /// What differs.
        reason: FitError,
    },
    /// No shares at all.
    #[error("there is nothing to join; give the files of a sharded `fit()`")]
    NothingToJoin,
    /// A share whose bytes are not those that were written.
    #[error("{} is not a file that `fit(out=)` wrote: it has changed since", path.display())]
    ChangedShard {
        /// Its file.
        path: PathBuf,
    },
    /// A file that is no share.
    #[error("{} is not a file that `fit(out=)` wrote: {message}", path.display())]
    NotAShard {
        /// The file.
        path: PathBuf,
        /// The reader's words.
        message: String,
    },
    /// Two sets of weights.
    #[error("the weights are given twice, by {} and by `weights={}`; leave one out", file.display(), weights.display())]
    WeightsTwice {
        /// The model's file.
        file: PathBuf,
        /// The field's.
        weights: PathBuf,
    },
    /// Weights where they are drawn.
    #[error("draws have weights of their own; leave the given ones out")]
    WeightsOfDraws,
    /// Draws of a kernel that is to be computed in tiles.
    #[error(
        "`draws=` gives a mean and a variance, not a kernel; leave it out, or `out=`, `memory=`, `full=` and `diagonal=`"
    )]
    DrawsInTiles,
    /// Two sets of inputs.
    #[error("inputs are given twice; leave one of `data=`, `input=` and the array out")]
    InputsTwice,
    /// Inputs, and how many to draw.
    #[error("both inputs and a `count=` of inputs to draw were given; leave one of them out")]
    InputsAndCount,
    /// A batch that does not hold its inputs.
    #[error("`batch=` is {batch}, but {count} inputs are part of it")]
    SmallBatch {
        /// What was given.
        batch: usize,
        /// The inputs.
        count: usize,
    },
    /// A check's settings without a check.
    #[error("`draws=` and `norm=` belong to `check=`; ask for a check as well")]
    DrawsWithoutCheck,
    /// Widths of one design where there are several.
    #[error("`widths=` are those of one design for all stages; leave `free_widths=` and `per_stage=` out")]
    WidthsOfStages,
    /// Times that nothing is counted in.
    #[error("`timings=` are times; ask for `cost=time` as well")]
    TimingsWithoutTime,
    /// A count where there is none.
    #[error("`budget=` is a count, and `cost=time` is measured; leave one of them out")]
    BudgetOfTime,
    /// Inputs of a data set where the paper has white ones.
    #[error("`data=` says what blocks see, and as printed they see white patches; leave it out")]
    DataAsPrinted,
    /// Draws of networks where the paper has blocks.
    #[error("`check=` draws whole networks, which `paper=` knows nothing of; leave one of them out")]
    CheckAsPrinted,
    /// Limits that Algorithm 2 does not have.
    #[error(
        "as printed, `free_widths=` and `per_stage=` know neither `multiple_of=` nor `max_multiplicity=`; leave them out"
    )]
    LimitsAsPrinted,
    /// The law's slope where the law is not used.
    #[error("`alpha=` belongs to `variance=law`; leave one of them out")]
    AlphaWithoutLaw,
    /// A precision where nothing is measured.
    #[error("`precision=` belongs to `variance=measured`; for alpha itself see `fit(precision=)`")]
    PrecisionWithoutMeasuring,
    /// Stages whose blocks were not measured.
    #[error(
        "`per_stage=` compares blocks of different shapes, which `variance=measured` has not measured; take law"
    )]
    StagesNotMeasured,
    /// A time that is no number.
    #[error("row {row} of the timings has {seconds:?} for seconds; it must be a number")]
    TimingSeconds {
        /// Which, counted from 1.
        row: usize,
        /// What stands there.
        seconds: String,
    },
    /// A time of another network.
    #[error("row {row} of the timings is {model:?}, which is not {baseline} with another design")]
    TimingModel {
        /// Which, counted from 1.
        row: usize,
        /// What stands there.
        model: String,
        /// The baseline's name.
        baseline: String,
    },
    /// No time to compare with.
    #[error("the timings lack the baseline; add a row with the time of {baseline}")]
    NoBaselineTiming {
        /// The baseline's name.
        baseline: String,
    },
    /// Designs of equal time, which changes from run to run.
    #[error(
        "designs are compared at a cost that stays the same from run to run; take params, flops or activations"
    )]
    DesignsOfTime,
    /// A figure with the name of its data.
    #[error("{} is where the figure's data goes; give the figure a name that ends in .svg", path.display())]
    FigureName {
        /// The name.
        path: PathBuf,
    },
    /// Data that are not there.
    #[error("the data directory {} does not exist", path.display())]
    NoDataDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// Nothing to reproduce.
    #[error("`items=` is empty; name figures or tables, or all")]
    NoItems,
    /// A field of another form of file.
    #[error("`{field}=` does not apply to `to={to}`; it is for `to={form}`")]
    NotForTarget {
        /// The field.
        field: &'static str,
        /// The form that was chosen.
        to: &'static str,
        /// The form that has the field.
        form: &'static str,
    },
    /// An export onto its own source.
    #[error("{} would be replaced by its own export; choose another `out=`", path.display())]
    OwnExport {
        /// The file.
        path: PathBuf,
    },
    /// A path that ends in no name.
    #[error("{} is not the name of a file", path.display())]
    NotAFileName {
        /// The path.
        path: PathBuf,
    },
}
