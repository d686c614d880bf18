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
    /// Parts that do not fit together.
    #[error("{0}")]
    Inconsistent(String),
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
    /// A gate without one number per channel.
    #[error("{layer} cannot scale {input} by {gate}; it needs one number per channel")]
    Gate {
        /// The layer's name.
        layer: String,
        /// What should be scaled.
        input: Shape,
        /// By what.
        gate: Shape,
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
    #[error("{option} does not apply to {model}: {reason}")]
    NotApplicable {
        /// The command-line option or field.
        option: &'static str,
        /// The model's name.
        model: String,
        /// What it would apply to.
        reason: &'static str,
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
