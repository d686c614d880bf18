//! What can be wrong with a question about a kernel.

/// A question that has no answer, said in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The spec itself.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// A chain without weights has no kernel.
    #[error("the module {module:?} has no layer with parameters, so it has no kernel")]
    NoParameters {
        /// Its name.
        module: String,
    },
    /// A window larger than the map it slides over.
    #[error("a {kernel}x{kernel} kernel does not fit a {height}x{width} map with padding {padding}")]
    KernelTooLarge {
        /// Side of the kernel.
        kernel: usize,
        /// Rows of the map.
        height: usize,
        /// Columns of the map.
        width: usize,
        /// Zeros on each side.
        padding: usize,
    },
    /// A receptive field beyond what Gram matrices can hold.
    #[error(
        "the output depends on {columns} positions of a layer, more than the sampler takes ({most}); take one output unit instead of a pooled one, or a smaller image"
    )]
    TooManyColumns {
        /// Positions times inputs.
        columns: usize,
        /// The limit.
        most: usize,
    },
    /// A chain whose second moment has no closed form.
    #[error(
        "{module} has no exact moments: its layer {layer} {reason}; they are known for linear and ReLU layers that one output unit sees at one position behind the first layer"
    )]
    NoClosedForm {
        /// The module's name.
        module: String,
        /// The layer in the way, counted from 1.
        layer: usize,
        /// What is in the way, as the end of a sentence about the layer.
        reason: String,
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
    Weights(collegial_tensors::Error),
    /// The engine refused the network.
    #[error(transparent)]
    Engine(#[from] collegial_nn::Error),
    /// Norms over a batch where every image must be treated alone.
    #[error("a kernel between inputs needs norms that treat every input alone: none or frozen, not batch")]
    BatchNorms,
    /// A layer that cannot be planned.
    #[error("the layer {name} cannot be planned: {reason}")]
    Layer {
        /// Its name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// An output that is not there.
    #[error("output {unit} does not exist: the network has {outputs}, counted from 0")]
    OutputUnit {
        /// Which, from 0.
        unit: usize,
        /// How many there are.
        outputs: usize,
    },
    /// No hidden layer to take moments over, or a width of 0.
    #[error("{0}")]
    Widths(String),
    /// Too few trials for a variance.
    #[error("the number of trials is {0}; a variance needs at least 2")]
    TooFewTrials(u64),
    /// A fit that cannot be made.
    #[error("{0}")]
    Fit(String),
}
