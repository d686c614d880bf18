//! Fingerprint of a data set: checksums by which a resumed run knows its images again.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DataError, Dataset, Split};

/// Photographs of a split whose content is read; of the others the names count.
const SAMPLE: usize = 256;

/// Checksums (CRC-32) of the two splits, in hexadecimal digits.
///
/// Images in memory count with every byte and label. Photographs count with all their names and
/// classes, and with the bytes of at most 256 of them, evenly spaced: reading millions of files
/// only to begin would take longer than an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Of the training images.
    pub train: String,
    /// Of the test images.
    pub test: String,
}

impl Fingerprint {
    /// That of a data set.
    ///
    /// # Errors
    ///
    /// If a photograph cannot be read.
    pub fn of(dataset: &Dataset) -> Result<Self, DataError> {
        Ok(Self { train: split(dataset.train())?, test: split(dataset.test())? })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.train, self.test)
    }
}

fn split(split: &Split) -> Result<String, DataError> {
    let mut hasher = crc32fast::Hasher::new();
    match split {
        Split::Stored(stored) => {
            stored.labels().iter().for_each(|label| hasher.update(&label.to_le_bytes()));
            (0..stored.labels().len())
                .filter_map(|index| stored.image(index))
                .for_each(|image| hasher.update(image));
        }
        Split::Photos(photos) => {
            let paths: Vec<_> = (0..split.len()).filter_map(|index| photos.path(index)).collect();
            for (index, path) in paths.iter().enumerate() {
                let name = path.file_name().unwrap_or_default().as_encoded_bytes();
                hasher.update(&split.label(index).unwrap_or_default().to_le_bytes());
                hasher.update(&(name.len() as u64).to_le_bytes());
                hasher.update(name);
            }
            for path in paths.iter().step_by(paths.len().div_ceil(SAMPLE).max(1)) {
                hasher.update(&super::error::read(path)?);
            }
        }
    }
    Ok(format!("{:08x}", hasher.finalize()))
}
