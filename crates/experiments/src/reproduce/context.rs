//! The context of an item: its scale, its data, and the context of a sweep.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use collegial_train::data::{Dataset, Kind};

use crate::reproduce::experiment::STUDY;
use crate::reproduce::{Error, Scale};

/// What an item is given; it can be used as the context of its sweep.
pub struct Context<'a> {
    /// How much to compute.
    pub scale: Scale,
    /// The directory under which data sets are looked for.
    pub data: Option<PathBuf>,
    /// The directory of studies whose records are judged: `research` in the repository.
    pub records: Option<PathBuf>,
    /// The command or call that gives the same again, for the pages.
    pub command: &'a str,
    /// Seed, finished results, monitor and share of the trainings.
    pub sweep: crate::Context<'a>,
}

impl<'a> Deref for Context<'a> {
    type Target = crate::Context<'a>;

    fn deref(&self) -> &Self::Target {
        &self.sweep
    }
}

impl Context<'_> {
    /// The folder of a study that an item judges.
    ///
    /// # Errors
    ///
    /// If there are no records, or none of this study.
    pub fn study(&self, item: &'static str, study: &str) -> Result<PathBuf, Error> {
        let folder = self.records.as_ref().map(|records| records.join(study));
        match folder {
            Some(folder) if folder.join(STUDY).is_file() => Ok(folder),
            folder => Err(Error::NoRecords { item, folder }),
        }
    }

    /// The directory of a data set: the data root itself or one of its subdirectories, recognised
    /// by its files.
    ///
    /// # Errors
    ///
    /// If the root cannot be read. A data set that is not there is no error.
    pub fn data_directory(&self, kind: Kind) -> Result<Option<PathBuf>, Error> {
        let Some(root) = &self.data else { return Ok(None) };
        let unreadable = |source| Error::Directory { path: root.clone(), source };
        let entries = std::fs::read_dir(root).map_err(unreadable)?;
        let mut candidates: Vec<PathBuf> =
            entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        candidates.sort_unstable();
        candidates.insert(0, root.clone());
        let holds = |path: &Path| Dataset::recognise(path).is_ok_and(|found| found == Some(kind));
        Ok(candidates.into_iter().find(|path| holds(path)))
    }
}
