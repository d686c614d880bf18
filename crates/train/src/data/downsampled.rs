//! Downsampled ImageNet (Chrabaszcz, Loshchilov and Hutter 2017): ten training batches and
//! `val_data`, each an `.npz` archive or a pickled dict with `data` (one row per image, red, green
//! and blue planes), `labels` (1 to 1000) and, in training batches, `mean` (the mean training
//! image).

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

#[cfg(feature = "npz")]
use collegial_core::tensors::npy;
use collegial_core::tensors::npy::Array;

use super::dataset::{Dataset, Kind, find, missing};
use super::error::read;
use super::pickle::Dict;
use super::split::{Split, Stored};
#[cfg(feature = "npz")]
use super::zip::Archive;
use super::{DataError, Mismatch, Shape};

const CLASSES: usize = 1000;
const BATCHES: usize = 10;
/// Only the real set has batches this large; it must then be complete.
const OFFICIAL_BATCH: usize = 100_000;
/// The sides in which the set was published.
const SIDES: [usize; 4] = [8, 16, 32, 64];

/// One batch, checked: labels from 0, as many as rows, all rows of one size.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    pub(crate) side: usize,
    pub(crate) pixels: Cow<'a, [u8]>,
    pub(crate) labels: Vec<u16>,
    pub(crate) mean: Option<Vec<f32>>,
}

impl<'a> Batch<'a> {
    /// Reads an archive or a pickle, told apart by content.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Mismatch> {
        match bytes {
            [b'P', b'K', ..] => Self::parse_npz(bytes),
            [0x80, ..] => Self::parse_pickle(bytes),
            _ => Err(Mismatch::new("an .npz archive (it starts with PK) or a pickle (0x80)", "neither")),
        }
    }

    #[cfg(not(feature = "npz"))]
    fn parse_npz(_bytes: &'a [u8]) -> Result<Self, Mismatch> {
        Err(Mismatch::new("a build with the feature `npz`, which unpacks archives", "one without it"))
    }

    #[cfg(feature = "npz")]
    fn parse_npz(bytes: &'a [u8]) -> Result<Self, Mismatch> {
        let mut archive = Archive::open(bytes)?;
        let mut array = |name| -> Result<Option<Array<'a>>, Mismatch> {
            let member = archive.member(name)?;
            Ok(member.map(|bytes| npy::parse(Cow::Owned(bytes))).transpose()?)
        };
        let labels = array("labels.npy")?.map(|labels| labels.to_integers()).transpose()?;
        Self::check(array("data.npy")?, labels, array("mean.npy")?)
    }

    fn parse_pickle(bytes: &'a [u8]) -> Result<Self, Mismatch> {
        let mut dict = Dict::parse(bytes)?;
        let labels = dict.integers("labels")?;
        let mean = dict.array("mean")?;
        Self::check(dict.array("data")?, labels, mean)
    }

    fn check(
        data: Option<Array<'a>>,
        labels: Option<Vec<i64>>,
        mean: Option<Array<'a>>,
    ) -> Result<Self, Mismatch> {
        let (Some(data), Some(labels)) = (data, labels) else {
            return Err(Mismatch::new("a batch with data and labels", "one without"));
        };
        let (columns, pixels) = data.into_byte_rows()?;
        let side = SIDES.into_iter().find(|side| 3 * side * side == columns).ok_or_else(|| {
            Mismatch::new("rows of 192, 768, 3072 or 12288 bytes", format!("rows of {columns}"))
        })?;
        let rows = pixels.len() / columns;
        if rows == 0 || labels.len() != rows {
            return Err(Mismatch::new(
                "as many rows as labels, and at least one",
                format!("{rows} rows and {} labels", labels.len()),
            ));
        }
        let mean = mean.map(|mean| mean.to_reals()).transpose()?;
        if let Some(mean) = &mean
            && (mean.len() != columns || mean.iter().any(|value| !(0.0..=255.0).contains(value)))
        {
            return Err(Mismatch::new(
                format!("a mean image of {columns} values of 0 to 255"),
                format!("{} values, or one outside", mean.len()),
            ));
        }
        Ok(Self { side, pixels, labels: zero_based(&labels)?, mean })
    }
}

fn zero_based(labels: &[i64]) -> Result<Vec<u16>, Mismatch> {
    let shift = |(row, &label): (usize, &i64)| match u16::try_from(label) {
        Ok(label @ 1..=1000) => Ok(label - 1),
        _ => Err(Mismatch::new("labels of 1 to 1000", format!("label {label} in row {row}"))),
    };
    labels.iter().enumerate().map(shift).collect()
}

/// The two names a batch may have.
fn names(stem: &str) -> [String; 2] {
    [format!("{stem}.npz"), stem.to_owned()]
}

fn train_stem(number: usize) -> String {
    format!("train_data_batch_{number}")
}

/// Whether a directory has any of the batches.
pub(crate) fn recognises(dir: &Path) -> bool {
    (1..=BATCHES).map(train_stem).chain(["val_data".into()]).any(|stem| find(dir, &names(&stem)).is_some())
}

/// Reads all batches.
pub(crate) fn open(dir: &Path) -> Result<Dataset, DataError> {
    let mut train = Growing::default();
    let paths = train_paths(dir)?;
    for path in &paths {
        train.add(path)?;
    }
    train.check_complete(dir)?;
    let val_path =
        find(dir, &names("val_data")).ok_or_else(|| missing(dir, "val_data", "the validation batch"))?;
    let mut test = Growing { side: train.side, ..Growing::default() };
    test.add(&val_path)?;
    let (ranges, mean) = (train.ranges, train.mean);
    let stored = |pixels, labels| {
        Stored::new(Shape { channels: 3, height: train.side, width: train.side }, CLASSES, pixels, labels)
    };
    let train = stored(train.pixels, train.labels).map_err(|mismatch| mismatch.in_file(dir))?;
    let test = stored(test.pixels, test.labels).map_err(|mismatch| mismatch.in_file(&val_path))?;
    if let Some((path, _)) = ranges.iter().find(|(_, range)| train.repeats(range, &test)) {
        let found = format!("a copy of {}", path.display());
        return Err(Mismatch::new("images that are in no training batch", found).in_file(&val_path));
    }
    let mean = mean.unwrap_or_else(|| train.mean_image());
    let names = class_names(dir)?;
    let shape = train.shape();
    Ok(Dataset::new(Kind::DownsampledImageNet, shape, names, Split::Stored(train), Split::Stored(test))
        .with_mean_image(mean))
}

/// The training batches, numbered from 1 without a gap.
fn train_paths(dir: &Path) -> Result<Vec<PathBuf>, DataError> {
    let found: Vec<_> = (1..=BATCHES).map(|number| find(dir, &names(&train_stem(number)))).collect();
    let count = found.iter().rposition(Option::is_some).map_or(1, |last| last + 1);
    (1..=count)
        .zip(found)
        .map(|(number, path)| path.ok_or_else(|| missing(dir, &train_stem(number), "a training batch")))
        .collect()
}

/// A split while its batches are read.
#[derive(Default)]
struct Growing {
    side: usize,
    pixels: Vec<u8>,
    labels: Vec<u16>,
    mean: Option<Vec<f32>>,
    ranges: Vec<(PathBuf, Range<usize>)>,
}

impl Growing {
    fn add(&mut self, path: &Path) -> Result<(), DataError> {
        let bytes = read(path)?;
        let batch = Batch::parse(&bytes).map_err(|mismatch| mismatch.in_file(path))?;
        if self.side != 0 && batch.side != self.side {
            let (expected, found) = (self.side, batch.side);
            return Err(Mismatch::new(
                format!("images of {expected}x{expected}"),
                format!("{found}x{found}"),
            )
            .in_file(path));
        }
        // Every training batch carries the same mean; a validation batch among them has none.
        if !self.ranges.is_empty() && self.mean != batch.mean {
            return Err(Mismatch::new(
                "the mean image of the batches before it",
                "another or none, as in a batch of another set or split",
            )
            .in_file(path));
        }
        let start = self.labels.len();
        self.side = batch.side;
        self.mean = batch.mean;
        self.pixels.reserve_exact(batch.pixels.len());
        self.pixels.extend_from_slice(&batch.pixels);
        self.labels.extend(batch.labels);
        self.ranges.push((path.to_owned(), start..self.labels.len()));
        Ok(())
    }

    /// A sample may have fewer than ten batches, the real set may not: its parts are downloaded one
    /// by one.
    fn check_complete(&self, dir: &Path) -> Result<(), DataError> {
        let official = self.ranges.iter().any(|(_, range)| range.len() >= OFFICIAL_BATCH);
        if official && self.ranges.len() != BATCHES {
            return Err(missing(dir, &train_stem(self.ranges.len() + 1), "one of ten training batches"));
        }
        Ok(())
    }
}

/// From `map_clsloc.txt` (the authors') or `classes.txt`: lines of WordNet identifier, label from
/// 1, name.
fn class_names(dir: &Path) -> Result<Vec<Option<String>>, DataError> {
    let mut names = vec![None; CLASSES];
    let Some(path) = find(dir, &["map_clsloc.txt", "classes.txt"]) else { return Ok(names) };
    for line in String::from_utf8_lossy(&read(&path)?).lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace().skip(1);
        let label =
            words.next().and_then(|label| label.parse::<usize>().ok()).and_then(|label| label.checked_sub(1));
        match (label.and_then(|label| names.get_mut(label)), words.next()) {
            (Some(slot), Some(name)) => *slot = Some(name.to_owned()),
            _ => {
                let found = format!("{:?}", line.chars().take(80).collect::<String>());
                return Err(
                    Mismatch::new("lines of identifier, label (1 to 1000) and name", found).in_file(&path)
                );
            }
        }
    }
    Ok(names)
}
