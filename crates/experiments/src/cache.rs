//! Cache of results, one JSON file each, so that a sweep that was stopped goes on where it was.
//!
//! A result is known by its name and its settings, which hold all that it depends on: models,
//! recipes, seeds and the fingerprint of the data. Where the same settings come to mean another
//! result, the settings get a field that says so; the version of the program is in the file for
//! people only. Every reader passes through one function, so that a result that is counted as
//! finished is a result that can be used.

use std::path::{Path, PathBuf};

use collegial_core::checksum::{self, Checked};
use collegial_core::files::{disk, read_regular, remove_stale_temporaries, write_inside};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;

/// More seconds than any result takes: thirty years.
const MOST_SECONDS: f64 = 1e9;

/// A directory of cached results.
#[derive(Clone, Debug)]
pub struct ResultCache {
    directory: PathBuf,
}

/// What a result's file holds. Its settings are compared in full, so that two settings with one hash
/// do no harm.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Of the whole file.
    checksum: String,
    part: String,
    version: String,
    settings: Value,
    seconds: f64,
    result: Value,
}

/// A result and how long it took to compute.
#[derive(Debug, PartialEq)]
pub(crate) struct Timed<T> {
    pub result: T,
    pub seconds: f64,
}

impl File {
    fn timed<T: DeserializeOwned>(self) -> Result<Timed<T>, Defect> {
        let result = serde_json::from_value(self.result).map_err(Defect::BrokenResult)?;
        Ok(Timed { result, seconds: self.seconds })
    }
}

/// A checksum is the first field of its file.
fn seal_range(file: &[u8]) -> std::ops::Range<usize> {
    0..file.len().min(64)
}

/// Why a result's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Defect {
    #[error("the result cannot be read ({0})")]
    Unreadable(#[source] std::io::Error),
    #[error("the file of the result is broken ({0})")]
    Broken(#[source] serde_json::Error),
    #[error("the result has changed since it was written")]
    Changed,
    #[error("the result is of another name or of other settings")]
    OtherSettings,
    #[error("the result is broken ({0})")]
    BrokenResult(#[source] serde_json::Error),
    #[error("the result is impossible: {0}")]
    Impossible(String),
}

impl ResultCache {
    /// The cache in this directory, which is made if need be.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let directory = directory.into();
        disk::create_inside(&directory)
            .map_err(|source| Error::Directory { path: directory.clone(), source })?;
        remove_stale_temporaries(&directory);
        Ok(Self { directory })
    }

    /// Keeps a result.
    pub(crate) fn keep(
        &self,
        name: &str,
        settings: &impl Serialize,
        result: &impl Serialize,
        seconds: f64,
    ) -> Result<(), Error> {
        let settings = to_value(name, settings)?;
        let path = self.path(name, &settings);
        let file = File {
            checksum: checksum::BLANK.to_owned(),
            part: name.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings,
            seconds,
            result: to_value(name, result)?,
        };
        let no_json = |source| Error::NoJson { part: name.to_owned(), source };
        let mut text = serde_json::to_vec_pretty(&file).map_err(no_json)?;
        text.push(b'\n');
        let range = seal_range(&text);
        checksum::seal(&mut text, range);
        Ok(write_inside(&path, &text)?)
    }

    /// Where a result's file is.
    pub(crate) fn file(&self, name: &str, settings: &impl Serialize) -> Result<PathBuf, Error> {
        Ok(self.path(name, &to_value(name, settings)?))
    }

    /// A directory for what a result keeps while it is being computed; its maker removes it.
    pub(crate) fn scratch(&self, name: &str, settings: &impl Serialize) -> Result<PathBuf, Error> {
        Ok(self.path(name, &to_value(name, settings)?).with_extension("run"))
    }

    /// The name of a result's file, without extension.
    pub(crate) fn stem(&self, name: &str, settings: &impl Serialize) -> Result<String, Error> {
        Ok(stem(name, &to_value(name, settings)?))
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The result of a result; `None` if there is no file, a reason if it cannot be used.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        name: &str,
        settings: &impl Serialize,
    ) -> Result<Option<T>, Defect> {
        let settings = serde_json::to_value(settings).map_err(Defect::Broken)?;
        let Some(file) = load(&self.directory, &stem(name, &settings))? else { return Ok(None) };
        if file.part != name || file.settings != settings {
            return Err(Defect::OtherSettings);
        }
        file.timed().map(|timed| Some(timed.result))
    }

    fn path(&self, name: &str, settings: &Value) -> PathBuf {
        path(&self.directory, &stem(name, settings))
    }
}

/// The result of this file name, whose settings are known by their hash alone; `None` if there is
/// none.
pub(crate) fn read_by_stem<T: DeserializeOwned>(
    directory: &Path,
    stem: &str,
) -> Result<Option<Timed<T>>, Defect> {
    load(directory, stem)?.map(File::timed).transpose()
}

/// A result's file, whole and of the settings that its own name says; `None` if there is none.
fn load(directory: &Path, name: &str) -> Result<Option<File>, Defect> {
    let bytes = match read_regular(&path(directory, name)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Defect::Unreadable(error)),
    };
    let file: File = serde_json::from_slice(&bytes).map_err(Defect::Broken)?;
    if checksum::check(&bytes, seal_range(&bytes)) != Checked::Intact {
        return Err(Defect::Changed);
    }
    if stem(&file.part, &file.settings) != name {
        return Err(Defect::OtherSettings);
    }
    if !(0.0..=MOST_SECONDS).contains(&file.seconds) {
        return Err(Defect::Impossible(format!("it took {} seconds", file.seconds)));
    }
    Ok(Some(file))
}

fn path(directory: &Path, stem: &str) -> PathBuf {
    directory.join(format!("{stem}.json"))
}

fn stem(name: &str, settings: &Value) -> String {
    format!("{name}-{:016x}", hash(&settings.to_string()))
}

fn to_value(name: &str, value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|source| Error::NoJson { part: name.to_owned(), source })
}

/// 64-bit FNV-1a: short, and the same on every machine and version of Rust.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;
    use collegial_core::Silent;

    fn context(cache: &ResultCache) -> Context<'_> {
        Context::new(7, cache, &Silent)
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // The reference values of the algorithm's authors.
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_part_is_computed_once_and_again_if_its_file_is_broken() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ResultCache::open(directory.path()).unwrap();
        let mut runs = 0;
        let mut get = |settings: u64| {
            let computed = || -> Result<Vec<f64>, Error> {
                runs += 1;
                Ok(vec![settings as f64 / 3.0, 1e-300])
            };
            context(&cache).cached("p", &settings, computed).unwrap()
        };
        assert_eq!(get(1), get(1));
        assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        for broken in ["", "{\"part\":\"p\"}", "null"] {
            let value = serde_json::to_value((7, 2u64)).unwrap();
            std::fs::write(cache.path("p", &value), broken).unwrap();
            assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        }
        assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        assert_eq!(runs, 5);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ResultCache::open(directory.path()).unwrap();
        cache.keep("p", &3, &[0.25, 1.5], 0.5).unwrap();
        let path = cache.path("p", &3.into());
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(cache.read::<Vec<f64>>("p", &3).unwrap(), Some(vec![0.25, 1.5]));
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).unwrap();
            assert!(cache.read::<Vec<f64>>("p", &3).is_err(), "bit {bit}");
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(cache.read::<Vec<f64>>("p", &3).is_err(), "cut at {length}");
        }
    }

    /// By settings or by file name: a file with an intact checksum under a name that is not its own
    /// is refused, and so is one without a checksum.
    #[test]
    fn misplaced_and_unsealed_files_are_refused_by_every_reader() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ResultCache::open(directory.path()).unwrap();
        cache.keep("p", &3, &0.25, 0.5).unwrap();
        let content = std::fs::read_to_string(cache.path("p", &3.into())).unwrap();
        let unsealed = {
            let mut file: Value = serde_json::from_str(&content).unwrap();
            file["checksum"] = "none".into();
            file.to_string()
        };
        for (name, settings, content) in [("p", 4, &content), ("q", 3, &content), ("p", 3, &unsealed)] {
            std::fs::write(cache.path(name, &settings.into()), content).unwrap();
            assert!(cache.read::<f64>(name, &settings).is_err(), "{name} {settings}");
            let stem = cache.stem(name, &settings).unwrap();
            assert!(read_by_stem::<f64>(directory.path(), &stem).is_err(), "{name} {settings}");
        }
    }

    /// The times of results are added up and shown.
    #[test]
    fn results_of_impossible_times_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ResultCache::open(directory.path()).unwrap();
        for (seconds, possible) in [(0.0, true), (1e6, true), (-1.0, false), (1e300, false)] {
            cache.keep("p", &3, &0.25, seconds).unwrap();
            assert_eq!(cache.read::<f64>("p", &3).is_ok(), possible, "{seconds}");
            let stem = cache.stem("p", &3).unwrap();
            assert_eq!(read_by_stem::<f64>(directory.path(), &stem).is_ok(), possible, "{seconds}");
        }
    }

    #[test]
    fn a_failed_part_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ResultCache::open(directory.path()).unwrap();
        let failed = context(&cache).cached::<f64>("p", &1, || Err(Error::Interrupted));
        assert!(matches!(failed, Err(Error::Interrupted)));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
