//! The data set of an item: the real one, or at the smoke scale a made-up one in the same files.

use std::path::PathBuf;

use collegial_train::data::{Dataset, Kind};
use serde::{Deserialize, Serialize};

use crate::reproduce::{Context, Error, Scale};
use crate::synthetic;

/// Training and test images of a made-up data set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Synthetic {
    /// Training images.
    pub train: usize,
    /// Test images.
    pub test: usize,
}

/// Opens a data set of this kind for an item that needs it; without one, a made-up one at the smoke
/// scale.
///
/// # Errors
///
/// If it is not there, or cannot be read.
pub fn required(
    item: &'static str,
    context: &Context,
    kind: Kind,
    made_up: Option<Synthetic>,
) -> Result<Dataset, Error> {
    let missing = || Error::NoData { item, what: kind.title(), data: context.data.clone() };
    open(context, kind, made_up)?.ok_or_else(missing)
}

/// Opens a data set of this kind under the context's directory; without one, a made-up one at the
/// smoke scale. `None` where there is nothing to train on.
///
/// # Errors
///
/// If it is there and cannot be read.
pub fn open(context: &Context, kind: Kind, made_up: Option<Synthetic>) -> Result<Option<Dataset>, Error> {
    if let Some(directory) = context.data_directory(kind)? {
        return Ok(Some(Dataset::open(directory)?));
    }
    let (Scale::Smoke, Some(sizes)) = (context.scale, made_up) else { return Ok(None) };
    Ok(Some(Dataset::open(write(context, kind, sizes)?)?))
}

fn write(context: &Context, kind: Kind, Synthetic { train, test }: Synthetic) -> Result<PathBuf, Error> {
    let directory = context.cache.directory().join(format!("synthetic-{kind}").to_lowercase());
    match kind {
        Kind::Cifar10 => synthetic::write_colours(&directory, 10, train, test, context.seed)?,
        Kind::Cifar100 => synthetic::write_colours(&directory, 100, train, test, context.seed)?,
        _ => synthetic::write_digits(&directory, train, test, context.seed)?,
    }
    Ok(directory)
}
