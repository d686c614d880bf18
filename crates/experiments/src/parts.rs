//! Finished parts, one JSON file each, so that a sweep that was stopped goes on where it was.
//!
//! A part is known by its name and its settings, which hold all that its result depends on: models,
//! recipes, seeds and the fingerprint of the data. Where the same settings come to mean another
//! result, the settings get a field that says so; the version of the program is in the file for
//! people only.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use collegial_core::Monitor;
use collegial_core::checksum::{self, Checked};
use collegial_core::files::{disk, sweep, write_whole};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;

/// A directory of finished parts.
#[derive(Clone, Debug)]
pub struct Parts {
    directory: PathBuf,
    /// Whether it was said that some part cannot be checked: a sweep may have hundreds.
    noted: Arc<AtomicBool>,
}

/// What a part's file holds. Its settings are compared in full, so that two settings with one hash
/// do no harm.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Of the whole file; version 0.1.0 wrote none.
    #[serde(default)]
    checksum: Option<String>,
    part: String,
    version: String,
    settings: Value,
    seconds: f64,
    result: Value,
}

/// A result that was kept, and whether a checksum covers it.
#[derive(Debug, PartialEq)]
struct Kept<T> {
    result: T,
    sealed: bool,
}

/// A checksum is the first field of its file.
fn seal_range(file: &[u8]) -> std::ops::Range<usize> {
    0..file.len().min(64)
}

/// Why a part's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PartDefect {
    #[error("the part cannot be read ({0})")]
    Unreadable(#[source] std::io::Error),
    #[error("the part is broken ({0})")]
    Broken(#[source] serde_json::Error),
    #[error("the part has changed since it was written")]
    Changed,
    #[error("the part is of other settings")]
    OtherSettings,
    #[error("the part's result is broken ({0})")]
    BrokenResult(#[source] serde_json::Error),
}

impl Parts {
    /// The parts under this directory, which is made if need be.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let directory = directory.into();
        disk::create_directories(&directory)
            .map_err(|source| Error::Directory { path: directory.clone(), source })?;
        sweep(&directory);
        Ok(Self { directory, noted: Arc::default() })
    }

    /// The kept result; `None` if there is none. A file that cannot be used is said.
    pub(crate) fn find<T: DeserializeOwned>(
        &self,
        name: &str,
        settings: &impl Serialize,
        monitor: &dyn Monitor,
    ) -> Result<Option<T>, Error> {
        let settings = to_value(name, settings)?;
        let path = self.path(name, &settings);
        Ok(match self.read(name, &settings) {
            Ok(None) => None,
            Ok(Some(Kept { result, sealed })) => {
                if !sealed && !self.noted.swap(true, Ordering::Relaxed) {
                    let directory = self.directory.display();
                    monitor.say(&format!(
                        "note: {directory} has finished parts without a checksum: version 0.1.0 wrote them"
                    ));
                }
                Some(result)
            }
            Err(reason) => {
                monitor.say(&format!("{}: {reason}; computing it again", path.display()));
                None
            }
        })
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
            checksum: Some(checksum::BLANK.to_owned()),
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
        Ok(write_whole(&path, &text)?)
    }

    /// A directory for what a part keeps while it is being computed; its maker removes it.
    pub(crate) fn scratch(&self, name: &str, settings: &impl Serialize) -> Result<PathBuf, Error> {
        Ok(self.path(name, &to_value(name, settings)?).with_extension("run"))
    }

    /// The name of a part's file, without extension.
    pub(crate) fn stem(&self, name: &str, settings: &impl Serialize) -> Result<String, Error> {
        Ok(stem(name, &to_value(name, settings)?))
    }

    /// How long a part took that was computed before, by the name of its file.
    pub(crate) fn seconds(directory: &Path, stem: &str) -> Option<f64> {
        let bytes = std::fs::read(directory.join(format!("{stem}.json"))).ok()?;
        let intact = |file: &File| {
            file.checksum.is_none() || checksum::check(&bytes, seal_range(&bytes)) == Checked::Intact
        };
        serde_json::from_slice(&bytes).ok().filter(intact).map(|file: File| file.seconds)
    }

    /// Whether the part was computed before.
    pub(crate) fn has(&self, name: &str, settings: &impl Serialize) -> bool {
        to_value(name, settings)
            .is_ok_and(|settings| matches!(self.read::<Value>(name, &settings), Ok(Some(_))))
    }

    /// Where the parts are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file's result; `None` if there is no file, a reason if it cannot be used.
    fn read<T: DeserializeOwned>(&self, name: &str, settings: &Value) -> Result<Option<Kept<T>>, PartDefect> {
        let bytes = match std::fs::read(self.path(name, settings)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(PartDefect::Unreadable(error)),
        };
        let file: File = serde_json::from_slice(&bytes).map_err(PartDefect::Broken)?;
        if file.checksum.is_some() && checksum::check(&bytes, seal_range(&bytes)) != Checked::Intact {
            return Err(PartDefect::Changed);
        }
        if file.part != name || file.settings != *settings {
            return Err(PartDefect::OtherSettings);
        }
        let sealed = file.checksum.is_some();
        serde_json::from_value(file.result)
            .map(|result| Some(Kept { result, sealed }))
            .map_err(PartDefect::BrokenResult)
    }

    fn path(&self, name: &str, settings: &Value) -> PathBuf {
        self.directory.join(format!("{}.json", stem(name, settings)))
    }
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

    fn context(parts: &Parts) -> Context<'_> {
        Context::new(7, parts, &Silent)
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
        let parts = Parts::open(directory.path()).unwrap();
        let mut runs = 0;
        let mut get = |settings: u64| {
            let computed = || -> Result<Vec<f64>, Error> {
                runs += 1;
                Ok(vec![settings as f64 / 3.0, 1e-300])
            };
            context(&parts).part("p", &settings, computed).unwrap()
        };
        assert_eq!(get(1), get(1));
        assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        for broken in ["", "{\"part\":\"p\"}", "null"] {
            let value = serde_json::to_value((7, 2u64)).unwrap();
            std::fs::write(parts.path("p", &value), broken).unwrap();
            assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        }
        assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        assert_eq!(runs, 5);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let parts = Parts::open(directory.path()).unwrap();
        parts.keep("p", &3, &[0.25, 1.5], 0.5).unwrap();
        let path = parts.path("p", &3.into());
        let whole = std::fs::read(&path).unwrap();
        let kept = Kept { result: vec![0.25, 1.5], sealed: true };
        assert_eq!(parts.read::<Vec<f64>>("p", &3.into()).unwrap(), Some(kept));
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).unwrap();
            assert!(parts.read::<Vec<f64>>("p", &3.into()).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn parts_of_any_version_and_of_old_settings_open() {
        let directory = tempfile::tempdir().unwrap();
        let parts = Parts::open(directory.path()).unwrap();
        let settings = serde_json::to_value((7, "old")).unwrap();
        let file = serde_json::json!({
            "part": "p", "version": "0.1.0", "settings": settings, "seconds": 0.1, "result": 42,
        });
        std::fs::write(parts.path("p", &settings), file.to_string()).unwrap();
        let fail = || -> Result<u64, Error> { panic!("it was computed before") };
        assert_eq!(context(&parts).part("p", &"old", fail).unwrap(), 42);
        assert_eq!(context(&parts).part_or_old("p", &"new", Some(&"old"), fail).unwrap(), 42);
    }

    #[test]
    fn a_failed_part_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let parts = Parts::open(directory.path()).unwrap();
        let failed = context(&parts).part::<f64, _>("p", &1, || Err(Error::Interrupted));
        assert!(matches!(failed, Err(Error::Interrupted)));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
