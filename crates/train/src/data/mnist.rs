//! MNIST and its look-alikes: four IDX files, plain or gzipped.

use std::path::Path;

use super::dataset::{Dataset, Kind, find, missing};
use super::error::read;
use super::split::{Split, Stored};
use super::{DataError, Mismatch, idx};

const CLASSES: usize = 10;
/// Training mean and deviation (of values divided by 255), by which the two sets of the same file
/// names are told apart.
const MNIST: (f64, f64) = (0.1307, 0.3081);
const FASHION: (f64, f64) = (0.2860, 0.3530);
const FASHION_NAMES: [&str; CLASSES] = [
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
];

/// The names under which a file of the set is distributed.
fn names(part: &str, dimensions: u8) -> Vec<String> {
    ["-", "."]
        .iter()
        .flat_map(|dot| ["", ".gz"].map(|gz| format!("{part}{dot}idx{dimensions}-ubyte{gz}")))
        .collect()
}

/// Whether a directory has any of the four files.
pub(crate) fn recognises(dir: &Path) -> bool {
    [("train-images", 3), ("train-labels", 1), ("t10k-images", 3), ("t10k-labels", 1)]
        .iter()
        .any(|&(part, dimensions)| find(dir, &names(part, dimensions)).is_some())
}

/// Reads all four.
pub(crate) fn open(dir: &Path) -> Result<Dataset, DataError> {
    let train = split(dir, "train")?;
    let test = split(dir, "t10k")?;
    let found = |what: &str| {
        Mismatch::new("t10k files with the smaller, other split of the same size", what.to_owned())
    };
    if test.shape() != train.shape() {
        return Err(found("images of another size than in train-images").in_file(dir));
    }
    if test.labels().len() > train.labels().len() {
        return Err(found("the larger one, as if train and t10k were swapped").in_file(dir));
    }
    if train.repeats(&(0..train.labels().len()), &test) {
        return Err(found("a copy of the train files").in_file(dir));
    }
    let near = |known: (f64, f64)| {
        train
            .channel_statistics()
            .iter()
            .all(|&(mean, deviation)| (mean - known.0).abs() < 0.005 && (deviation - known.1).abs() < 0.005)
    };
    let (kind, class_names) = if near(MNIST) {
        (Kind::Mnist, (0..CLASSES).map(|digit| Some(digit.to_string())).collect())
    } else if near(FASHION) {
        (Kind::FashionMnist, FASHION_NAMES.iter().map(|&name| Some(name.to_owned())).collect())
    } else {
        (Kind::Idx, vec![None; CLASSES])
    };
    Ok(Dataset::new(kind, train.shape(), class_names, Split::Stored(train), Split::Stored(test)))
}

fn split(dir: &Path, part: &str) -> Result<Stored, DataError> {
    let locate = |content: &str, dimensions| {
        let names = names(&format!("{part}-{content}"), dimensions);
        find(dir, &names).ok_or_else(|| missing(dir, &names[0], "an IDX file, plain or .gz"))
    };
    let (images, labels) = (locate("images", 3)?, locate("labels", 1)?);
    let (shape, pixels) = idx::images(&read(&images)?).map_err(|mismatch| mismatch.in_file(&images))?;
    let values = idx::labels(&read(&labels)?).map_err(|mismatch| mismatch.in_file(&labels))?;
    Stored::new(shape, CLASSES, pixels, values.into_iter().map(u16::from).collect())
        .map_err(|mismatch| mismatch.in_file(&labels))
}
