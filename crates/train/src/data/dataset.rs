//! A data set: two splits of one shape, recognised by the files of its directory.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::augment::{Key, Transform};
use super::cifar::{self, Variant};
use super::resize::Scratch;
use super::split::{Shape, Split};
use super::{DataError, Mismatch, Part, downsampled, folder, mnist};

/// Which data set it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Handwritten digits.
    Mnist,
    /// Articles of clothing.
    FashionMnist,
    /// Other images in MNIST's files.
    Idx,
    /// CIFAR-10.
    Cifar10,
    /// CIFAR-100, fine labels.
    Cifar100,
    /// Downsampled ImageNet, 8x8 to 64x64.
    DownsampledImageNet,
    /// Photographs in class folders, such as ImageNet.
    ClassFolders,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Mnist,
        Self::FashionMnist,
        Self::Idx,
        Self::Cifar10,
        Self::Cifar100,
        Self::DownsampledImageNet,
        Self::ClassFolders,
    ];

    /// The name that its authors gave it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Mnist => "MNIST",
            Self::FashionMnist => "Fashion-MNIST",
            Self::Idx => "images in MNIST's format",
            Self::Cifar10 => "CIFAR-10",
            Self::Cifar100 => "CIFAR-100",
            Self::DownsampledImageNet => "downsampled ImageNet",
            Self::ClassFolders => "photographs in class folders",
        }
    }

    /// One word, as runs of every version have it.
    fn word(self) -> &'static str {
        match self {
            Self::Mnist => "Mnist",
            Self::FashionMnist => "FashionMnist",
            Self::Idx => "Idx",
            Self::Cifar10 => "Cifar10",
            Self::Cifar100 => "Cifar100",
            Self::DownsampledImageNet => "DownsampledImageNet",
            Self::ClassFolders => "ClassFolders",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A training and a test split, checked when they were opened.
#[derive(Debug)]
pub struct Dataset {
    kind: Kind,
    shape: Shape,
    class_names: Vec<Option<String>>,
    train: Split,
    test: Split,
    mean_image: Option<Vec<f32>>,
}

impl Dataset {
    /// Recognises a directory by what it holds and reads it. A directory with exactly one data set
    /// in one of its subdirectories stands for that.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, DataError> {
        let dir = dir.as_ref();
        let (dir, layout) = locate(dir)?;
        match layout {
            Layout::Mnist => mnist::open(&dir),
            Layout::Cifar(variant) => cifar::open(&dir, variant),
            Layout::Downsampled => downsampled::open(&dir),
            Layout::Folders => folder::open(&dir),
        }
    }

    /// Which data set a directory holds, by the names of its files only; `None` if it holds none.
    /// Files in MNIST's format are taken for MNIST's until they are read.
    pub fn recognise(dir: impl AsRef<Path>) -> Result<Option<Kind>, DataError> {
        let kind = |layout| match layout {
            Layout::Mnist => Kind::Mnist,
            Layout::Cifar(Variant::Ten) => Kind::Cifar10,
            Layout::Cifar(Variant::Hundred) => Kind::Cifar100,
            Layout::Downsampled => Kind::DownsampledImageNet,
            Layout::Folders => Kind::ClassFolders,
        };
        Ok(recognise(dir.as_ref())?.map(kind))
    }

    /// From parts that a reader has checked; `class_names` has one entry per class.
    pub(crate) fn new(
        kind: Kind,
        shape: Shape,
        class_names: Vec<Option<String>>,
        train: Split,
        test: Split,
    ) -> Self {
        Self { kind, shape, class_names, train, test, mean_image: None }
    }

    pub(crate) fn with_mean_image(self, mean: Vec<f32>) -> Self {
        Self { mean_image: Some(mean), ..self }
    }

    /// Trains on the first images only; the test split stays whole.
    pub fn limit_training(&mut self, images: usize) {
        self.train.truncate(images);
    }

    /// Tests on so many images only, spread evenly over the test split.
    pub fn limit_test(&mut self, images: usize) {
        self.test.thin(images);
    }

    /// Which data set it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The shape of an input; for photographs, that of the crops.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.class_names.len()
    }

    /// The name of a class where it is known.
    pub fn class_name(&self, label: usize) -> Option<&str> {
        self.class_names.get(label)?.as_deref()
    }

    /// The images to train on.
    pub fn train(&self) -> &Split {
        &self.train
    }

    /// The images to test on (ImageNet's validation images).
    pub fn test(&self) -> &Split {
        &self.test
    }

    /// One of the two.
    pub fn split(&self, part: Part) -> &Split {
        match part {
            Part::Train => &self.train,
            Part::Test => &self.test,
        }
    }

    /// The first images of a split as a network is tested on them: normalised, not augmented.
    pub fn first(&self, part: Part, count: usize) -> Result<Vec<Vec<f32>>, DataError> {
        let (transform, split) = (Transform::evaluation(self)?, self.split(part));
        if count > split.len() {
            let expected = format!("at most {} images, as many as there are", split.len());
            return Err(DataError::Request(Mismatch::new(expected, count.to_string())));
        }
        let mut scratch = Scratch::default();
        let image = |index: usize| {
            let mut values = vec![0.0; transform.shape().len()];
            let key = Key { seed: 0, epoch: 0, index: index as u32 };
            transform.apply(split, key, &mut scratch, &mut values).map(|()| values)
        };
        (0..count).map(image).collect()
    }

    /// The mean training image (values of 0 to 255) that downsampled ImageNet comes with.
    pub fn mean_image(&self) -> Option<&[f32]> {
        self.mean_image.as_deref()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Mnist,
    Cifar(Variant),
    Downsampled,
    Folders,
}

impl Layout {
    const ALL: [Self; 5] = [
        Self::Mnist,
        Self::Cifar(Variant::Ten),
        Self::Cifar(Variant::Hundred),
        Self::Downsampled,
        Self::Folders,
    ];

    fn is_in(self, dir: &Path) -> bool {
        match self {
            Self::Mnist => mnist::recognises(dir),
            Self::Cifar(variant) => variant.recognises(dir),
            Self::Downsampled => downsampled::recognises(dir),
            Self::Folders => folder::recognises(dir),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Mnist => "MNIST (IDX files)",
            Self::Cifar(Variant::Ten) => "CIFAR-10 (binary version)",
            Self::Cifar(Variant::Hundred) => "CIFAR-100 (binary version)",
            Self::Downsampled => "downsampled ImageNet (.npz or pickled batches)",
            Self::Folders => "class folders (train/ and val/)",
        }
    }
}

/// The data set of a directory, or the only one of its subdirectories.
fn locate(dir: &Path) -> Result<(PathBuf, Layout), DataError> {
    let io = |source| DataError::Io { path: dir.to_owned(), source };
    let inside = std::fs::read_dir(dir).map_err(io)?;
    if let Some(layout) = recognise(dir)? {
        return Ok((dir.to_owned(), layout));
    }
    let mut subdirectories: Vec<_> =
        inside.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    subdirectories.sort_unstable();
    let mut found = Vec::new();
    for path in subdirectories {
        if let Some(layout) = recognise(&path)? {
            found.push((path, layout));
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(unrecognised(dir, none_found(dir))),
        _ => {
            let names: Vec<_> = found.iter().filter_map(|(path, _)| path.file_name()?.to_str()).collect();
            Err(unrecognised(dir, format!("several: choose one of {}", names.join(", "))))
        }
    }
}

fn recognise(dir: &Path) -> Result<Option<Layout>, DataError> {
    let found: Vec<_> = Layout::ALL.into_iter().filter(|layout| layout.is_in(dir)).collect();
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        [first, second, ..] => {
            Err(unrecognised(dir, format!("files of both {} and {}", first.name(), second.name())))
        }
    }
}

fn none_found(dir: &Path) -> String {
    let python = ["data_batch_1", "meta", "batches.meta"].iter().any(|name| dir.join(name).is_file());
    if python {
        "CIFAR's Python version: the binary version is read".into()
    } else {
        "none of their files".into()
    }
}

fn unrecognised(dir: &Path, found: String) -> DataError {
    let known: Vec<_> = Layout::ALL.into_iter().map(Layout::name).collect();
    let expected = format!("one data set out of {}", known.join(", "));
    DataError::Unrecognised { path: dir.to_owned(), mismatch: Mismatch::new(expected, found) }
}

/// The first of these names that is there in `dir` and no directory; a pipe is refused when it is read.
pub(crate) fn find(dir: &Path, names: &[impl AsRef<str>]) -> Option<PathBuf> {
    names.iter().map(|name| dir.join(name.as_ref())).find(|path| path.exists() && !path.is_dir())
}

/// A file that the rest of the set calls for is not there.
pub(crate) fn missing(dir: &Path, name: &str, what: &str) -> DataError {
    Mismatch::new(what.to_owned(), "no such file").in_file(&dir.join(name))
}
