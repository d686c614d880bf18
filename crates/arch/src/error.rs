//! Errors of specs, each one sentence with the offending value and the accepted ones.

use std::fmt::Display;
use std::path::PathBuf;

use crate::shape::Shape;
use crate::unsupported::Unsupported;

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
    /// Numbers, names or shapes that make no network, as a sentence with what would be accepted.
    #[error("{0}")]
    Invalid(String),
    /// A name of no known form.
    #[error("unknown model {name:?}: {hint}")]
    UnknownName {
        /// What was given.
        name: String,
        /// The nearest known names, or the forms that names take.
        hint: String,
    },
    /// A well-known network that a search, or the list of names, does not support.
    #[error("{name} is not supported {reason}")]
    Unsupported {
        /// Its name.
        name: String,
        /// By which of them, and why.
        reason: Unsupported,
    },
    /// A model without bottleneck blocks where they are needed.
    #[error("{model} has no bottleneck blocks; take a resnext or bottleneck model")]
    NoBlocks {
        /// The model's name.
        model: String,
    },
    /// A layer that no engine here runs.
    #[error(
        "{model} has attention, a gate, a router or biases in its feed-forward layers, which the CPU engine does not run; \
         ask info, moments or search"
    )]
    NoGraph {
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
pub(crate) fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{:?}...", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// Checks that a dimension lies in `1..=MAX_DIMENSION`.
pub(crate) fn dimension(what: impl Display, value: usize) -> Result<usize, Error> {
    within(what, value, 1, MAX_DIMENSION)
}

/// Checks that a number lies in `low..=high`.
pub(crate) fn within(what: impl Display, value: usize, low: usize, high: usize) -> Result<usize, Error> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(Error::OutOfRange { what: what.to_string(), value: value.to_string(), low, high })
    }
}

/// A product of dimensions that is itself a dimension (for example the channels of all members
/// together).
pub(crate) fn product(what: impl Display, factors: &[usize]) -> Result<usize, Error> {
    let exact = factors.iter().fold(1u128, |total, &factor| total.saturating_mul(factor as u128));
    match usize::try_from(exact) {
        Ok(value) if (1..=MAX_DIMENSION).contains(&value) => Ok(value),
        _ => Err(Error::OutOfRange {
            what: what.to_string(),
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
