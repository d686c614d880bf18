//! Data sets, augmentation and batches.
//!
//! Every reader works on bytes that may be anything: sizes are checked before they are believed,
//! nothing is allocated because a header says so, nothing panics, and a refusal is one sentence
//! that names the file, what was expected and what was found.

mod amplification;
mod augment;
mod cifar;
mod dataset;
#[cfg(feature = "images")]
mod decode;
mod downsampled;
mod error;
mod fingerprint;
mod folder;
mod identity;
mod idx;
mod image;
mod loader;
mod mnist;
mod normalise;
mod pickle;
#[cfg(all(feature = "fuzzing", feature = "images", feature = "npz"))]
pub mod readers;
mod resize;
mod split;
#[cfg(feature = "npz")]
mod zip;

#[cfg(all(test, feature = "images", feature = "npz"))]
mod tests;

pub use self::augment::{Augment, Key, Transform};
pub use self::dataset::{Dataset, Kind};
pub use self::error::{DataError, Mismatch};
pub use self::fingerprint::Fingerprint;
pub use self::identity::Identity;
pub use self::image::Rgb;
pub use self::loader::{Batch, Loader, Order, Part, Plan, Position, epoch_order};
pub use self::normalise::{Normalise, Statistics};
pub use self::resize::Scratch;
pub use self::split::{Photos, Shape, Split, Stored};
