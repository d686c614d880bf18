//! What an item is given: how much to compute, from what seed, with which data, and who watches.

use std::path::{Path, PathBuf};

use crate::ResultCache;
use crate::jobs::Share;
use collegial_core::Monitor;
use collegial_train::data::{Dataset, Kind};
use collegial_train::{Backends, Engine};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::reproduce::experiment::STUDY;
use crate::reproduce::{Error, Scale};

/// What an item is given. Threads are those of the current rayon pool.
pub struct Context<'a> {
    /// How much to compute.
    pub scale: Scale,
    /// Seed of everything random.
    pub seed: u64,
    /// The directory under which data sets are looked for.
    pub data: Option<PathBuf>,
    /// The directory of studies whose records are judged: `research` in the repository.
    pub records: Option<PathBuf>,
    /// Results that are not computed again.
    pub cache: &'a ResultCache,
    /// The command or call that gives the same again, for the pages.
    pub command: &'a str,
    /// Whoever watches.
    pub monitor: &'a dyn Monitor,
    /// Which trainings are done here.
    pub share: Share<'a>,
    /// Who computes them.
    pub engine: Engine,
    /// The backends that this process has.
    pub backends: Backends,
}

impl Context<'_> {
    /// The result of one part of an item: read from its file where it was computed before with the
    /// same settings and seed, else computed and kept. Results are plain JSON: no NaN and no
    /// infinity.
    ///
    /// # Errors
    ///
    /// Those of the computation; if it was interrupted meanwhile, its result is dropped.
    pub fn cached<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        settings: &impl Serialize,
        compute: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.sweep().cached(name, settings, compute)
    }

    /// What a sweep of trainings is given.
    pub fn sweep(&self) -> crate::Context<'_> {
        crate::Context {
            seed: self.seed,
            cache: self.cache,
            monitor: self.monitor,
            share: self.share,
            engine: self.engine,
            backends: self.backends,
        }
    }

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
