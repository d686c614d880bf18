//! Data sets, augmentation and batches.
//!
//! Every reader works on bytes that may be anything: sizes are checked before they are believed, nothing is
//! allocated because a header says so, nothing panics, and a refusal is one sentence that names the file, what was
//! expected and what was found.

mod array;
mod cifar;
mod dataset;
mod downsampled;
mod error;
mod folder;
mod idx;
mod image;
mod mnist;
mod npy;
mod pickle;
mod split;
mod zip;

pub use self::dataset::{Dataset, Kind};
pub use self::error::{DataError, Mismatch};
pub use self::image::Rgb;
pub use self::split::{Photos, Shape, Split, Stored};
