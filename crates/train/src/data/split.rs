//! A split: images and their labels, held in memory or listed for decoding on demand.

use std::ffi::OsString;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::image::Rgb;
use super::{DataError, Mismatch};

/// Channels, height and width of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// 1 for grey, 3 for red, green and blue.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl fmt::Display for Shape {
    /// "3x32x32".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.channels, self.height, self.width)
    }
}

impl Shape {
    /// The number of values of an image.
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// The number of values of one channel.
    pub const fn plane(&self) -> usize {
        self.height * self.width
    }
}

/// The images of one split.
#[derive(Debug)]
pub enum Split {
    /// All in memory.
    Stored(Stored),
    /// Files to decode.
    Photos(Photos),
}

impl Split {
    /// The number of images.
    pub fn len(&self) -> usize {
        match self {
            Self::Stored(stored) => stored.labels.len(),
            Self::Photos(photos) => photos.files.len(),
        }
    }

    /// Whether there is no image; a split that was opened always has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Leaves out all but the first images; at least one stays.
    pub(crate) fn truncate(&mut self, images: usize) {
        let images = images.max(1);
        match self {
            Self::Stored(stored) => {
                stored.labels.truncate(images);
                stored.pixels.truncate(stored.labels.len() * stored.shape.len());
            }
            Self::Photos(photos) => photos.files.truncate(images),
        }
    }

    /// Leaves out all but so many images, spread evenly: files are often in the order of classes. At
    /// least one stays.
    pub(crate) fn thin(&mut self, images: usize) {
        let length = self.len();
        let images = images.clamp(1, length.max(1));
        let kept = |index: usize| index * length / images;
        match self {
            Self::Stored(stored) => {
                let size = stored.shape.len();
                for index in 0..images {
                    stored.labels[index] = stored.labels[kept(index)];
                    stored.pixels.copy_within(kept(index) * size..(kept(index) + 1) * size, index * size);
                }
            }
            Self::Photos(photos) => (0..images).for_each(|index| photos.files.swap(index, kept(index))),
        }
        self.truncate(images);
    }

    /// The class of an image, counted from 0; `None` beyond the last.
    pub fn label(&self, index: usize) -> Option<u16> {
        match self {
            Self::Stored(stored) => stored.labels.get(index).copied(),
            Self::Photos(photos) => photos.files.get(index).map(|&(label, _)| label),
        }
    }
}

/// Images of one size in memory: bytes in channel, row, column order.
#[derive(Debug)]
pub struct Stored {
    shape: Shape,
    pixels: Vec<u8>,
    labels: Vec<u16>,
}

impl Stored {
    /// Checks that there is at least one image, that pixels and labels are as many as each other
    /// and that every label is one of `classes`.
    pub fn new(shape: Shape, classes: usize, pixels: Vec<u8>, labels: Vec<u16>) -> Result<Self, Mismatch> {
        if labels.is_empty() || Some(pixels.len()) != shape.len().checked_mul(labels.len()) {
            return Err(Mismatch::new(
                format!("as many images of {} bytes as labels, and at least one", shape.len()),
                format!("{} bytes of images and {} labels", pixels.len(), labels.len()),
            ));
        }
        match labels.iter().enumerate().find(|&(_, &label)| usize::from(label) >= classes) {
            Some((i, label)) => Err(Mismatch::new(
                format!("labels of 0 to {}", classes.saturating_sub(1)),
                format!("label {label} at image {i}"),
            )),
            None => Ok(Self { shape, pixels, labels }),
        }
    }

    /// The shape of every image.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The bytes of one image; `None` beyond the last.
    pub fn image(&self, index: usize) -> Option<&[u8]> {
        let start = index.checked_mul(self.shape.len())?;
        self.pixels.get(start..)?.get(..self.shape.len())
    }

    /// All labels.
    pub fn labels(&self) -> &[u16] {
        &self.labels
    }

    /// Mean and standard deviation of each channel, pixel values divided by 255. Exact: it counts
    /// bytes.
    pub fn channel_statistics(&self) -> Vec<(f64, f64)> {
        let mut counts = vec![[0_u64; 256]; self.shape.channels];
        for (i, plane) in self.pixels.chunks_exact(self.shape.plane()).enumerate() {
            let counts = &mut counts[i % self.shape.channels];
            plane.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        }
        counts.iter().map(moments).collect()
    }

    /// The mean over all images at each place, as bytes' values (0 to 255).
    pub fn mean_image(&self) -> Vec<f32> {
        let mut sums = vec![0_u64; self.shape.len()];
        for image in self.pixels.chunks_exact(self.shape.len()) {
            sums.iter_mut().zip(image).for_each(|(sum, &byte)| *sum += u64::from(byte));
        }
        let count = self.labels.len() as f64;
        sums.iter().map(|&sum| (sum as f64 / count) as f32).collect()
    }

    /// Whether the images in `range` are those of `other`, one by one: one file copied over
    /// another.
    pub(crate) fn repeats(&self, range: &Range<usize>, other: &Self) -> bool {
        let bytes = self.pixels.get(range.start * self.shape.len()..range.end * self.shape.len());
        self.shape == other.shape && bytes == Some(other.pixels.as_slice())
    }
}

/// Mean and standard deviation of bytes divided by 255, from how often each occurs.
pub(crate) fn moments(counts: &[u64; 256]) -> (f64, f64) {
    let values = || counts.iter().enumerate().map(|(byte, &count)| (byte as f64 / 255.0, count as f64));
    let total: f64 = values().map(|(_, count)| count).sum();
    let mean = values().map(|(value, count)| value * count).sum::<f64>() / total;
    let variance = values().map(|(value, count)| (value - mean).powi(2) * count).sum::<f64>() / total;
    (mean, variance.sqrt())
}

/// Photographs in class folders. Only their names are in memory.
#[derive(Debug)]
pub struct Photos {
    folders: Vec<PathBuf>,
    files: Vec<(u16, OsString)>,
}

impl Photos {
    /// `files` are (index into `folders`, name within it).
    pub(crate) fn new(folders: Vec<PathBuf>, files: Vec<(u16, OsString)>) -> Self {
        Self { folders, files }
    }

    /// Where a photograph lies; `None` beyond the last.
    pub fn path(&self, index: usize) -> Option<PathBuf> {
        let (label, name) = self.files.get(index)?;
        Some(self.folders.get(usize::from(*label))?.join(name))
    }

    /// Reads and decodes a photograph.
    pub fn decode(&self, index: usize) -> Result<Rgb, DataError> {
        let path = self.path(index).ok_or_else(|| {
            let expected = format!("an index below {}", self.files.len());
            DataError::Request(Mismatch::new(expected, index.to_string()))
        })?;
        Rgb::decode(&super::error::read(&path)?).map_err(|mismatch| mismatch.in_file(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_splits_are_spread_evenly() {
        let shape = Shape { channels: 1, height: 1, width: 2 };
        let images: Vec<u16> = (0..7).collect();
        let pixels = images.iter().flat_map(|&image| [image as u8, 10 + image as u8]).collect();
        let files = images.iter().map(|&image| (image, OsString::from(image.to_string()))).collect();
        let stored = Split::Stored(Stored::new(shape, 7, pixels, images).unwrap());
        for (mut split, images, expected) in
            [(stored, 3, &[0, 2, 4][..]), (Split::Photos(Photos::new(vec![], files)), 5, &[0, 1, 2, 4, 5])]
        {
            split.thin(images);
            let labels: Vec<u16> = (0..).map_while(|index| split.label(index)).collect();
            assert_eq!(labels, expected);
            if let Split::Stored(stored) = &split {
                assert_eq!(stored.pixels, [0, 10, 2, 12, 4, 14]);
            }
            split.thin(0);
            assert_eq!(split.len(), 1, "at least one stays");
            split.thin(9);
            assert_eq!((split.len(), split.label(0)), (1, Some(0)));
        }
    }
}
