//! The identity of a data set, as a run stores it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DataError, Dataset, Fingerprint, Kind, Shape};

/// Kind, sizes and content of a data set: what a resumed run must find again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Which data set it is.
    pub kind: Kind,
    /// Training images, after the recipe's limit.
    pub train: usize,
    /// Test images.
    pub test: usize,
    /// The shape of an image.
    pub shape: Shape,
    /// Classes.
    pub classes: usize,
    /// Checksums of images and labels.
    pub fingerprint: Fingerprint,
}

impl Identity {
    /// That of a data set.
    ///
    /// # Errors
    ///
    /// If a photograph cannot be read.
    pub fn of(dataset: &Dataset) -> Result<Self, DataError> {
        Ok(Self {
            kind: dataset.kind(),
            train: dataset.train().len(),
            test: dataset.test().len(),
            shape: dataset.shape(),
            classes: dataset.classes(),
            fingerprint: Fingerprint::of(dataset)?,
        })
    }
}

impl fmt::Display for Identity {
    /// "Cifar10 with 50000 + 10000 images of 3x32x32 in 10 classes".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, train, test, shape, classes, .. } = self;
        write!(f, "{kind} with {train} + {test} images of {shape} in {classes} classes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back() {
        for kind in Kind::ALL {
            let shape = Shape { channels: 3, height: 8, width: 9 };
            let fingerprint = Fingerprint { train: "0123abcd".into(), test: "00000000".into() };
            let identity = Identity { kind, train: 40, test: 20, shape, classes: 10, fingerprint };
            let text = serde_json::to_string(&identity).unwrap();
            assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), identity);
        }
    }
}
