//! Errors of kernel computations.

use std::fmt;

use collegial_arch::Activation;
use collegial_core::TallyError;
use collegial_nn::kernels::ShapeError;
use collegial_nn::memory::words;

/// A question that has no answer, said in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The spec itself.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// A request that cannot be met, as a sentence with what would be accepted.
    #[error("{0}")]
    Invalid(String),
    /// A chain without weights has no kernel.
    #[error("the module {module:?} has no layer with parameters, so it has no kernel")]
    NoParameters {
        /// Its name.
        module: String,
    },
    /// More memory than there is.
    #[error(
        "draws of the kernel need {} of memory on {threads} threads, but {} are free; take smaller widths or fewer threads",
        words(*needed), words(*available)
    )]
    Memory {
        /// Bytes of all buffers.
        needed: u64,
        /// Bytes that can be had.
        available: u64,
        /// How many draw side by side.
        threads: usize,
    },
    /// A chain whose second moment has no closed form.
    #[error(
        "{module} has no exact moments: its layer {layer} {obstacle}; they are known for linear and ReLU layers that one output unit sees at one position behind the first layer"
    )]
    NoClosedForm {
        /// The module's name.
        module: String,
        /// The layer in the way, counted from 1.
        layer: usize,
        /// What is in the way.
        obstacle: Obstacle,
    },
    /// A Gram matrix that no patches have.
    #[error(
        "{entries} values are not the Gram matrix of the patches that the unit sees; it must be square, finite and positive semidefinite, one row per position"
    )]
    Gram {
        /// How many values there are.
        entries: usize,
    },
    /// An input without anything in it.
    #[error("all that the output unit sees of the input is zero, so its kernel is zero; give another input")]
    ZeroInput,
    /// No inputs at all.
    #[error("a kernel needs at least one input, but none was given")]
    NoInputs,
    /// An input of the wrong size.
    #[error("input {index} has {found} values, but the module takes {expected}")]
    InputLength {
        /// Which input, from 0.
        index: usize,
        /// Its length.
        found: usize,
        /// The length it should have.
        expected: usize,
    },
    /// NaN or infinity.
    #[error("input {index} contains {value}; inputs must be finite numbers")]
    InputNotFinite {
        /// Which input, from 0.
        index: usize,
        /// The offending value.
        value: f32,
    },
    /// Weights that are not the network's.
    #[error("the weights cannot be used: {0}")]
    Weights(collegial_core::tensors::Error),
    /// The engine refused the network.
    #[error(transparent)]
    Engine(#[from] collegial_nn::Error),
    /// Norms over a batch where every image must be treated alone.
    #[error("a kernel between inputs needs norms that treat every input alone: none or frozen, not batch")]
    BatchNorms,
    /// A tiled kernel that does not fit the memory that it may take.
    #[error(
        "the kernel needs at least {} of memory, a tile between blocks of {side} inputs included, but may take {}",
        words(*needed), words(*allowed)
    )]
    TileMemory {
        /// Bytes of the smallest plan.
        needed: u64,
        /// Bytes that it may take.
        allowed: u64,
        /// Inputs of a block.
        side: usize,
    },
    /// Overflow on the way to a kernel.
    #[error("the kernel contains {value}: the weights or inputs are too large for f32")]
    NotFinite {
        /// The first such entry.
        value: f64,
    },
    /// A layer that cannot be planned.
    #[error("the layer {name} cannot be planned: {reason}")]
    Layer {
        /// Its name.
        name: String,
        /// What the kernels say.
        reason: ShapeError,
    },
    /// Attention over nothing.
    #[error("the number of tokens is 0; attention needs at least 1")]
    NoTokens,
    /// A correlation that equally correlated tokens cannot have.
    #[error("the correlation of the tokens is {correlation}; it must be between 0 and 1")]
    TokenCorrelation {
        /// What was given.
        correlation: f64,
    },
    /// A Gram matrix that no tokens have.
    #[error(
        "{entries} values are not the Gram matrix of tokens; it must be square, symmetric, finite and positive semidefinite, and not zero"
    )]
    TokenGram {
        /// How many values there are.
        entries: usize,
    },
    /// Too few trials for a variance.
    #[error("the number of trials is {0}; a variance needs at least 2")]
    TooFewTrials(u64),
    /// Shards that cannot be joined.
    #[error(transparent)]
    Tally(#[from] TallyError),
    /// Somebody wanted to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Whether a monitor stopped the computation.
    pub fn is_interruption(&self) -> bool {
        match self {
            Self::Interrupted => true,
            Self::Engine(error) => error.is_interruption(),
            _ => false,
        }
    }
}

/// What a layer has that no closed form is known for; shown as the end of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// It is a pool.
    Pool,
    /// It is neither linear nor followed by a ReLU.
    Activation(Activation),
    /// More than one position is seen of it.
    Positions(usize),
    /// It is the last, and not linear.
    OutputActivation(Activation),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool => f.write_str("is a pool"),
            Self::Activation(activation) => write!(f, "has the activation {activation}"),
            Self::Positions(positions) => write!(f, "is seen at {positions} positions"),
            Self::OutputActivation(activation) => write!(f, "puts out {activation}"),
        }
    }
}
