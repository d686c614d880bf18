//! Errors of data sets, each in one sentence that names the file.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use collegial_core::tensors::npy::NpyError;

/// Why a data set could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system refused.
    #[error("cannot read {}: {source}.", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is truncated, swapped with another, or not of this format at all.
    #[error("{}: {mismatch}.", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it should have held, and what it holds.
        mismatch: Mismatch,
    },
    /// The directory is none of the known layouts.
    #[error("{}: {mismatch}.", path.display())]
    Unrecognised {
        /// The directory.
        path: PathBuf,
        /// What was looked for, and what is there.
        mismatch: Mismatch,
    },
    /// A request that this data set cannot meet.
    #[error("cannot load batches: {0}.")]
    Request(Mismatch),
    /// The loading thread ended without a word, which only a bug of ours can cause.
    #[error("the loading thread stopped before its last batch.")]
    Stopped,
}

/// "expected this, found that": what every parser of bytes says when it refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    expected: Cow<'static, str>,
    found: Cow<'static, str>,
}

impl Mismatch {
    /// The two halves of the sentence.
    pub fn new(expected: impl Into<Cow<'static, str>>, found: impl Into<Cow<'static, str>>) -> Self {
        Self { expected: expected.into(), found: found.into() }
    }

    /// Says which file it was.
    pub(crate) fn in_file(self, path: &Path) -> DataError {
        DataError::Malformed { path: path.to_owned(), mismatch: self }
    }
}

impl From<NpyError> for Mismatch {
    fn from(error: NpyError) -> Self {
        Self::new(error.expected, error.found)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

/// Reads a whole file; what is allocated is what the file really holds.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    collegial_core::files::read_regular(path)
        .map_err(|source| DataError::Io { path: path.to_owned(), source })
}
