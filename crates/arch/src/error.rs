//! What can be wrong with a spec, each as one sentence with the offending value and what would be
//! accepted.

use std::path::PathBuf;

use crate::shape::Shape;

/// The largest accepted value of any dimension (channels, units, classes, members, batch).
///
/// It is far above any real network and low enough that every count fits 128 bits whatever the spec
/// says, so arithmetic on counts cannot wrap: the worst product is two channel counts (2^48), a
/// kernel (2^20), an image (2^32) and a factor 2, below 2^102 for one layer.
pub const MAX_DIMENSION: usize = 1 << 24;

/// The largest side of an image or a pool window.
pub(crate) const MAX_IMAGE_SIDE: usize = 1 << 16;

/// The most layers of a sequence: a text of some megabytes could list millions.
pub(crate) const MAX_LAYERS: usize = 10_000;

/// The longest text of a spec in bytes; as many layers as there may be take less than one megabyte.
pub(crate) const MAX_TEXT: usize = 4 << 20;

/// The largest side of a convolution kernel.
pub(crate) const MAX_KERNEL: usize = 1 << 10;

/// A spec that cannot be read or does not describe a network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name of no known form.
    #[error("unknown model {name:?}: {hint}")]
    UnknownName {
        /// What was given.
        name: String,
        /// The nearest known names, or the forms that names take.
        hint: String,
    },
    /// A network that members cannot be made of.
    #[error("{name} is outside: {reason}")]
    Outside {
        /// Its name.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// A well-known network without a spec, which can be asked in another way.
    #[error("{name} has no name here: {reason}")]
    Unnamed {
        /// Its name.
        name: String,
        /// What is special about it, and who answers.
        reason: &'static str,
    },
    /// A name in a spec that cannot stand as the name of a file.
    #[error(
        "a spec cannot be called {}: names have 1 to {MAX_NAME} letters, digits and -_., and do not begin \
         with a dot",
        shortened(name)
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// A model without bottleneck blocks where they are needed.
    #[error("{model} has no bottleneck blocks; take a resnext or bottleneck model")]
    NoBlocks {
        /// The model's name.
        model: String,
    },
    /// A number outside what is accepted.
    #[error("{what} is {value}; it must be between {low} and {high}")]
    OutOfRange {
        /// Which number, in words.
        what: String,
        /// The number as given.
        value: String,
        /// The smallest accepted value.
        low: usize,
        /// The largest accepted value.
        high: usize,
    },
    /// Text that is not a design m x n.
    #[error("{text:?} is not a design; write the number of members and their width, such as 37x10d")]
    NotADesign {
        /// What was given.
        text: String,
    },
    /// Text that is not the design of a stage.
    #[error(
        "{text:?} is not a design; write the number of members and their width, such as 37x10d, or their two widths, such as 37x10_12d"
    )]
    NotAStageDesign {
        /// What was given.
        text: String,
    },
    /// A stage that none of the designs is for.
    #[error("{designs} designs were given, but there is a stage {stage}; give one per stage")]
    MissingDesign {
        /// How many there are.
        designs: usize,
        /// The stage, counted from 1.
        stage: usize,
    },
    /// More or fewer designs than stages.
    #[error(
        "the network has {stages} stages but {designs} designs; give one for all stages or one per stage"
    )]
    DesignsPerStage {
        /// Stages of the network.
        stages: usize,
        /// How many were given.
        designs: usize,
    },
    /// Several designs for one block.
    #[error("{name} is one block but {designs} designs were given")]
    DesignsOfBlock {
        /// Its name.
        name: String,
        /// How many were given.
        designs: usize,
    },
    /// More or fewer widths of stages than stages.
    #[error("the network has {stages} stages but {outputs} numbers of outputs; give one per stage")]
    OutputsPerStage {
        /// Stages of the network.
        stages: usize,
        /// How many were given.
        outputs: usize,
    },
    /// Blocks that the stages cannot share equally.
    #[error(
        "a Wide ResNet of {stages} stages cannot have depth {depth}; the nearest depths are {below} and {above}"
    )]
    WideResnetDepth {
        /// Its stages.
        stages: usize,
        /// The depth that was given.
        depth: usize,
        /// The next lower one that is possible.
        below: usize,
        /// The next higher one.
        above: usize,
    },
    /// Widths that do not grow.
    #[error(
        "the widths of a RegNet grow by a slope of at least 0 in steps above 1, not by {slope} and {step}"
    )]
    RegnetGrowth {
        /// By which the widths grow from block to block.
        slope: f64,
        /// The ratio of two stages' widths.
        step: f64,
    },
    /// A network that no single block stands for.
    #[error(
        "the stages of {name} have widths of their own, so that no single block stands for it; its blocks can be analysed one by one, as TOML modules of kind bottleneck"
    )]
    NoSingleBlock {
        /// Its name.
        name: String,
    },
    /// A module without anything to scale.
    #[error("{name} has no inner width to scale; it needs at least two layers with parameters")]
    NoInnerWidth {
        /// Its name.
        name: String,
    },
    /// A width vector of another length than the module's.
    #[error("{name} has {expected} inner widths but {given} were given")]
    InnerWidths {
        /// The module's name.
        name: String,
        /// How many it has.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// More or fewer hidden widths than there are between the matrices.
    #[error("{depth} weight matrices have {hidden} hidden widths between them, but {given} were given")]
    HiddenWidths {
        /// Weight matrices.
        depth: usize,
        /// Widths between them.
        hidden: usize,
        /// How many were given.
        given: usize,
    },
    /// A module that has nothing to learn.
    #[error("the module {name:?} has no layer with parameters; give it at least one conv or dense layer")]
    NoParameters {
        /// Its name.
        name: String,
    },
    /// Members of one layer, whose sum is one layer.
    #[error(
        "the {members} members of {name:?} have one layer each and would collapse into one; add a layer or set join = \"scaled-sum\""
    )]
    OneLayerMembers {
        /// The module's name.
        name: String,
        /// Its members.
        members: usize,
    },
    /// Two branches of unequal shape that a layer should add.
    #[error("{layer} cannot add {left} to {right}; use a projection shortcut")]
    Branches {
        /// The sum's name.
        layer: String,
        /// One branch.
        left: Shape,
        /// The other.
        right: Shape,
    },
    /// A channel-wise scaling without one factor per channel.
    #[error("{layer} cannot scale {input} by {factors}; it needs one number per channel")]
    ChannelFactors {
        /// The layer's name.
        layer: String,
        /// What should be scaled.
        input: Shape,
        /// By what.
        factors: Shape,
    },
    /// Groups that do not divide a layer's channels.
    #[error("{layer} takes {input} to {output}, whose channels {groups} groups do not divide")]
    Groups {
        /// The layer's name.
        layer: String,
        /// What comes in.
        input: Shape,
        /// What should go out.
        output: Shape,
        /// The number of groups.
        groups: usize,
    },
    /// Members that do not share a layer's channels equally.
    #[error("{layer} cannot sum {members} members of {input}, whose channels they do not divide")]
    Members {
        /// The sum's name.
        layer: String,
        /// What comes in.
        input: Shape,
        /// The number of members.
        members: usize,
    },
    /// A window larger than the image that it should slide over.
    #[error("the {kernel}x{kernel} window of {layer} does not fit its input {input} with padding {padding}")]
    Window {
        /// The layer's name.
        layer: String,
        /// What comes in.
        input: Shape,
        /// Side of the window.
        kernel: usize,
        /// Border on each side.
        padding: usize,
    },
    /// An image where a dense layer needs a vector.
    #[error("the dense layer {layer} takes a flat input to {output} but gets {input}; put a pool before it")]
    NotFlat {
        /// The layer's name.
        layer: String,
        /// What comes in.
        input: Shape,
        /// What should go out.
        output: Shape,
    },
    /// An operand that is not in the graph.
    #[error("{layer} reads node {node}, but its graph has only {nodes} nodes so far")]
    UnknownNode {
        /// The layer's name.
        layer: String,
        /// What it should read.
        node: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A layer without a name of its own.
    #[error("a layer cannot be called {layer:?}: layers of a graph need names, each another one")]
    LayerName {
        /// The name.
        layer: String,
    },
    /// A total that does not fit 64 bits.
    #[error("the {quantity} of this network is {value}, more than this program counts (2^64 - 1)")]
    CountTooLarge {
        /// Which count.
        quantity: &'static str,
        /// Its exact value.
        value: u128,
    },
    /// A cost that is measured where a count is needed.
    #[error("{0} is measured, not counted; take params, flops or activations")]
    NotCounted(crate::Cost),
    /// A setting that this model does not have.
    #[error("{option} does not apply to {model}: {reason}{}", use_instead(instead))]
    NotApplicable {
        /// The setting.
        option: &'static str,
        /// The model's name.
        model: String,
        /// Why not.
        reason: &'static str,
        /// The settings that apply in its place.
        instead: &'static [&'static str],
    },
    /// A spec file that could not be opened.
    #[error("cannot read the spec file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A spec file that is not a spec.
    #[error("{} is not a valid spec: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The parser's words, on one line.
        message: String,
    },
}

/// The longest accepted name of a spec.
pub(crate) const MAX_NAME: usize = 100;

/// A name in quotes and without control characters, cut where it is too long to read.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{:?}...", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// Checks that a dimension lies in `1..=MAX_DIMENSION`.
pub(crate) fn dimension(what: impl Into<String>, value: usize) -> Result<usize, Error> {
    within(what, value, 1, MAX_DIMENSION)
}

/// Checks that a number lies in `low..=high`.
pub(crate) fn within(what: impl Into<String>, value: usize, low: usize, high: usize) -> Result<usize, Error> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(Error::OutOfRange { what: what.into(), value: value.to_string(), low, high })
    }
}

/// A product of dimensions that is itself a dimension (for example the channels of all members
/// together).
pub(crate) fn product(what: impl Into<String>, factors: &[usize]) -> Result<usize, Error> {
    let exact = factors.iter().fold(1u128, |total, &factor| total.saturating_mul(factor as u128));
    match usize::try_from(exact) {
        Ok(value) if (1..=MAX_DIMENSION).contains(&value) => Ok(value),
        _ => Err(Error::OutOfRange {
            what: what.into(),
            value: exact.to_string(),
            low: 1,
            high: MAX_DIMENSION,
        }),
    }
}

/// The settings to take in place of one that does not apply.
fn use_instead(settings: &[&str]) -> String {
    if settings.is_empty() { String::new() } else { format!("; use {}", settings.join(" and ")) }
}
