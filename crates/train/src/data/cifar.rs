//! The binary version of CIFAR-10 and CIFAR-100: records of label bytes followed by a 3x32x32
//! image.

use std::ops::Range;
use std::path::Path;

use super::dataset::{Dataset, Kind, missing};
use super::error::read;
use super::split::{Split, Stored};
use super::{DataError, Mismatch, Shape};

/// The shape of every CIFAR image.
pub(crate) const SHAPE: Shape = Shape { channels: 3, height: 32, width: 32 };

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// One label byte.
    Ten,
    /// A coarse label byte, then a fine one; the fine one is the class.
    Hundred,
}

impl Variant {
    /// How many values each label byte takes, in file order.
    fn label_counts(self) -> &'static [u8] {
        match self {
            Self::Ten => &[10],
            Self::Hundred => &[20, 100],
        }
    }

    /// The number of classes, which the last label byte counts.
    pub(crate) fn classes(self) -> usize {
        match self {
            Self::Ten => 10,
            Self::Hundred => 100,
        }
    }
}

/// Appends the records of one file to `pixels` and `labels`, or leaves both as they were.
pub(crate) fn append(
    bytes: &[u8],
    variant: Variant,
    pixels: &mut Vec<u8>,
    labels: &mut Vec<u16>,
) -> Result<(), Mismatch> {
    let counts = variant.label_counts();
    let record = counts.len() + SHAPE.len();
    if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
        return Err(Mismatch::new(
            format!("one or more CIFAR-{} records of {record} bytes", variant.classes()),
            format!("{} bytes, which is not a multiple", bytes.len()),
        ));
    }
    check_labels(bytes, record, counts)?;
    pixels.reserve_exact(bytes.len() / record * SHAPE.len());
    for (head, image) in bytes.chunks_exact(record).map(|r| r.split_at(counts.len())) {
        labels.extend(head.last().map(|&fine| u16::from(fine)));
        pixels.extend_from_slice(image);
    }
    Ok(())
}

fn check_labels(bytes: &[u8], record: usize, counts: &[u8]) -> Result<(), Mismatch> {
    for (i, head) in bytes.chunks_exact(record).enumerate() {
        if let Some((count, label)) = counts.iter().zip(head).find(|(count, label)| label >= count) {
            return Err(Mismatch::new(
                format!("labels of 0 to {}", count - 1),
                format!("label {label} in record {i}"),
            ));
        }
    }
    Ok(())
}

const TRAIN_10: [&str; 5] =
    ["data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"];
/// Images of each file of the real CIFAR-10.
const OFFICIAL_BATCH: usize = 10_000;

impl Variant {
    fn files(self) -> (&'static [&'static str], &'static str, &'static str) {
        match self {
            Self::Ten => (&TRAIN_10, "test_batch.bin", "batches.meta.txt"),
            Self::Hundred => (&["train.bin"], "test.bin", "fine_label_names.txt"),
        }
    }

    /// Whether a directory has any of this variant's files.
    pub(crate) fn recognises(self, dir: &Path) -> bool {
        let (train, test, _) = self.files();
        train.iter().chain([&test]).any(|name| dir.join(name).is_file())
    }
}

/// Reads all files of a variant.
pub(crate) fn open(dir: &Path, variant: Variant) -> Result<Dataset, DataError> {
    let (train_files, test_file, names_file) = variant.files();
    let (train, ranges) = split(dir, variant, train_files)?;
    let (test, _) = split(dir, variant, &[test_file])?;
    if let Some((name, _)) = ranges.iter().find(|(_, range)| train.repeats(range, &test)) {
        return Err(Mismatch::new("images that are in no training file", format!("a copy of {name}"))
            .in_file(&dir.join(test_file)));
    }
    if test.labels().len() > train.labels().len() {
        return Err(Mismatch::new(
            "fewer images than for training",
            "more, as if train and test were swapped",
        )
        .in_file(&dir.join(test_file)));
    }
    if variant == Variant::Ten {
        check_official(dir, &ranges, &test)?;
    }
    let class_names = class_names(&dir.join(names_file), variant.classes())?;
    let kind = if variant == Variant::Ten { Kind::Cifar10 } else { Kind::Cifar100 };
    Ok(Dataset::new(kind, SHAPE, class_names, Split::Stored(train), Split::Stored(test)))
}

type Ranges = Vec<(&'static str, Range<usize>)>;

fn split(dir: &Path, variant: Variant, files: &[&'static str]) -> Result<(Stored, Ranges), DataError> {
    let (mut pixels, mut labels, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
    for &name in files {
        let path = dir.join(name);
        if !path.is_file() {
            return Err(missing(dir, name, &format!("a file of CIFAR-{} records", variant.classes())));
        }
        let start = labels.len();
        append(&read(&path)?, variant, &mut pixels, &mut labels)
            .map_err(|mismatch| mismatch.in_file(&path))?;
        ranges.push((name, start..labels.len()));
    }
    let stored = Stored::new(SHAPE, variant.classes(), pixels, labels).map_err(|m| m.in_file(dir))?;
    Ok((stored, ranges))
}

/// The real set can be held to more: every file has 10,000 images, and only the test file has
/// exactly 1,000 of each class. Subsets, which have neither, pass.
fn check_official(dir: &Path, train: &Ranges, test: &Stored) -> Result<(), DataError> {
    let official = train.iter().any(|(_, range)| range.len() == OFFICIAL_BATCH);
    if !official {
        return Ok(());
    }
    if let Some((name, range)) = train.iter().find(|(_, range)| range.len() != OFFICIAL_BATCH) {
        return Err(Mismatch::new("10,000 images, as its neighbours have", format!("{}", range.len()))
            .in_file(&dir.join(name)));
    }
    let mut counts = [0; 10];
    test.labels().iter().for_each(|&label| counts[usize::from(label)] += 1);
    if counts == [OFFICIAL_BATCH / 10; 10] {
        return Ok(());
    }
    Err(Mismatch::new("1,000 test images of each class", format!("{counts:?}, as in a training batch"))
        .in_file(&dir.join("test_batch.bin")))
}

/// One name per line in label order; all unknown where the file is not there.
fn class_names(path: &Path, classes: usize) -> Result<Vec<Option<String>>, DataError> {
    if !path.is_file() {
        return Ok(vec![None; classes]);
    }
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    let names: Vec<_> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| Some(line.to_owned()))
        .collect();
    if names.len() == classes {
        Ok(names)
    } else {
        Err(Mismatch::new(format!("{classes} class names"), format!("{}", names.len())).in_file(path))
    }
}
