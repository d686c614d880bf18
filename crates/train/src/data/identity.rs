//! What a data set is, as a run stores it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use super::{DataError, Dataset, Fingerprint, Kind, NotAKind, Shape};

/// Kind, sizes and content of a data set: what a resumed run must find again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// What the images are; runs of version 0.1.0 did not store it.
    pub fingerprint: Option<Fingerprint>,
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
            fingerprint: Some(Fingerprint::of(dataset)?),
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

/// A sentence that describes no data set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnIdentity {
    /// It has another form.
    #[error("{text:?} does not describe a data set")]
    Form {
        /// The sentence.
        text: String,
    },
    /// Its first word is no kind of data set.
    #[error(transparent)]
    Kind(#[from] NotAKind),
}

impl FromStr for Identity {
    type Err = NotAnIdentity;

    /// Reads the sentence of [`Display`](fmt::Display), which is all that version 0.1.0 stored.
    fn from_str(text: &str) -> Result<Self, NotAnIdentity> {
        let wrong = || NotAnIdentity::Form { text: text.to_owned() };
        let words: Vec<&str> = text.split(' ').collect();
        let [kind, "with", train, "+", test, "images", "of", shape, "in", classes, "classes"] =
            words.as_slice()
        else {
            return Err(wrong());
        };
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let sides: Result<Vec<usize>, NotAnIdentity> = shape.split('x').map(number).collect();
        let [channels, height, width] = *sides?.as_slice() else { return Err(wrong()) };
        Ok(Self {
            kind: kind.parse()?,
            train: number(train)?,
            test: number(test)?,
            shape: Shape { channels, height, width },
            classes: number(classes)?,
            fingerprint: None,
        })
    }
}

impl<'de> Deserialize<'de> for Identity {
    /// Takes the fields, or the sentence of version 0.1.0.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Sentence(String),
            Fields {
                kind: Kind,
                train: usize,
                test: usize,
                shape: Shape,
                classes: usize,
                fingerprint: Option<Fingerprint>,
            },
        }
        match Stored::deserialize(deserializer)? {
            Stored::Sentence(text) => text.parse().map_err(serde::de::Error::custom),
            Stored::Fields { kind, train, test, shape, classes, fingerprint } => {
                Ok(Self { kind, train, test, shape, classes, fingerprint })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_every_kind_read_back() {
        for kind in Kind::ALL {
            let shape = Shape { channels: 3, height: 8, width: 9 };
            let identity = Identity { kind, train: 40, test: 20, shape, classes: 10, fingerprint: None };
            assert_eq!(identity.to_string().parse(), Ok(identity.clone()));
            let old: Identity = serde_json::from_str(&format!("\"{identity}\"")).unwrap();
            assert_eq!(old, identity);
            let prints = Fingerprint { train: "0123abcd".into(), test: "00000000".into() };
            let new = Identity { fingerprint: Some(prints), ..identity };
            assert_eq!(serde_json::from_str::<Identity>(&serde_json::to_string(&new).unwrap()).unwrap(), new);
        }
        for wrong in ["", "Cifar10", "Cifar11 with 1 + 1 images of 3x1x1 in 10 classes"] {
            assert!(wrong.parse::<Identity>().is_err(), "{wrong}");
        }
    }
}
