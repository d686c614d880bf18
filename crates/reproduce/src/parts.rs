//! Finished parts, one JSON file each, so that a run that was stopped goes on where it was.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use collegial_report::write_whole;
use collegial_stats::Monitor;

/// A directory of finished parts.
#[derive(Clone, Debug)]
pub struct Parts {
    directory: PathBuf,
}

/// What a part's file holds. Its settings are compared in full, so that two settings with one hash do no harm.
#[derive(Serialize, Deserialize)]
struct File {
    part: String,
    /// Another version may compute something else under the same settings.
    version: String,
    settings: Value,
    seconds: f64,
    result: Value,
}

impl Parts {
    /// The parts under this directory, which is made if need be.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let directory = directory.into();
        std::fs::create_dir_all(&directory)
            .map_err(|source| Error::Directory { path: directory.clone(), source })?;
        Ok(Self { directory })
    }

    /// The kept result, or a newly computed one, which is then kept. A file that cannot be used is said and computed anew.
    pub(crate) fn get<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        settings: &impl Serialize,
        monitor: &dyn Monitor,
        compute: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let settings = to_value(name, settings)?;
        let path = self.path(name, &settings);
        match self.read(name, &settings) {
            Ok(Some(result)) => return Ok(result),
            Ok(None) => {}
            Err(reason) => monitor.say(&format!("{}: {reason}; computing it again", path.display())),
        }
        let start = Instant::now();
        let result = compute()?;
        let file = File {
            part: name.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings,
            seconds: start.elapsed().as_secs_f64(),
            result: to_value(name, &result)?,
        };
        let text = serde_json::to_string_pretty(&file).map_err(|error| unwritable(name, &error))?;
        write_whole(&path, format!("{text}\n").as_bytes()).map_err(Error::Write)?;
        Ok(result)
    }

    /// A directory for what a part keeps while it is being computed; whoever makes it removes it.
    pub(crate) fn scratch(&self, name: &str, settings: &impl Serialize) -> Result<PathBuf, Error> {
        Ok(self.path(name, &to_value(name, settings)?).with_extension("run"))
    }

    /// Whether the part was computed before.
    pub(crate) fn has(&self, name: &str, settings: &impl Serialize) -> bool {
        to_value(name, settings)
            .is_ok_and(|settings| matches!(self.read::<Value>(name, &settings), Ok(Some(_))))
    }

    /// Where the parts are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file's result; `None` if there is no file, a reason if it cannot be used.
    fn read<T: DeserializeOwned>(&self, name: &str, settings: &Value) -> Result<Option<T>, String> {
        let path = self.path(name, settings);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("the part cannot be read ({error})")),
        };
        let file: File =
            serde_json::from_str(&text).map_err(|error| format!("the part is broken ({error})"))?;
        if file.version != env!("CARGO_PKG_VERSION") || file.part != name || file.settings != *settings {
            return Err("the part is of another version or other settings".into());
        }
        serde_json::from_value(file.result)
            .map(Some)
            .map_err(|error| format!("the part's result is broken ({error})"))
    }

    fn path(&self, name: &str, settings: &Value) -> PathBuf {
        self.directory.join(format!("{name}-{:016x}.json", hash(&settings.to_string())))
    }
}

fn to_value(name: &str, value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| unwritable(name, &error))
}

fn unwritable(name: &str, error: &serde_json::Error) -> Error {
    Error::Write(format!("the part {name} has no JSON form: {error}"))
}

/// 64-bit FNV-1a: short, and the same on every machine and version of Rust.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_stats::Silent;

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
            parts
                .get("p", &settings, &Silent, || {
                    runs += 1;
                    Ok(vec![settings as f64 / 3.0, 1e-300])
                })
                .unwrap()
        };
        assert_eq!(get(1), get(1));
        assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        for broken in ["", "{\"part\":\"p\"}", "null"] {
            let value = serde_json::to_value(2u64).unwrap();
            std::fs::write(parts.path("p", &value), broken).unwrap();
            assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        }
        assert_eq!(get(2), [2.0 / 3.0, 1e-300]);
        assert_eq!(runs, 5);
    }

    #[test]
    fn a_failed_part_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let parts = Parts::open(directory.path()).unwrap();
        let failed = parts.get::<f64>("p", &1, &Silent, || Err(Error::Interrupted));
        assert!(matches!(failed, Err(Error::Interrupted)));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
