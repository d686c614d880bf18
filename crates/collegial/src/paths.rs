//! Paths as JSON: exact in what is read again, legible in what is shown.
//!
//! On Unix a path is any bytes, and JSON is text.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path that is UTF-8 as text, any other as its bytes: `[100, 255]`.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "a path")]
enum Exact {
    Text(PathBuf),
    Bytes(Vec<u8>),
}

impl Exact {
    fn of(path: &Path) -> Self {
        match path.to_str() {
            Some(_) => Self::Text(path.to_owned()),
            None => Self::Bytes(path.as_os_str().as_encoded_bytes().to_vec()),
        }
    }

    fn path(self) -> Option<PathBuf> {
        match self {
            Self::Text(path) => Some(path),
            Self::Bytes(bytes) => os_string(bytes).map(PathBuf::from),
        }
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not every sequence of bytes is a name")]
fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    Some(OsString::from_vec(bytes))
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}

fn read<'de, D: Deserializer<'de>>(exact: Exact) -> Result<PathBuf, D::Error> {
    exact.path().ok_or_else(|| serde::de::Error::custom(NO_PATH))
}

const NO_PATH: &str = "the bytes are no path of this system";

/// The path of these bytes.
pub(crate) fn of_bytes<E: serde::de::Error>(bytes: Vec<u8>) -> Result<PathBuf, E> {
    os_string(bytes).map(PathBuf::from).ok_or_else(|| E::custom(NO_PATH))
}

/// For `#[serde(with)]`: a path that is read again as it was.
pub(crate) mod exact {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        Exact::of(path).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        read::<D>(Exact::deserialize(deserializer)?)
    }
}

/// The same for a path that may be missing.
pub(crate) mod exact_option {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Exact::of).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Option::<Exact>::deserialize(deserializer)?.map(read::<D>).transpose()
    }
}

/// For `#[serde(serialize_with)]`: a path as people read it, with U+FFFD for what is no text.
pub(crate) fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// The same for a path that may be missing.
pub(crate) fn shown_option<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.display().to_string()).serialize(serializer)
}

/// The same for several.
pub(crate) fn shown_all<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both {
        #[serde(with = "exact")]
        one: PathBuf,
        #[serde(with = "exact_option")]
        other: Option<PathBuf>,
    }

    #[test]
    fn paths_are_read_as_they_were() {
        let plain = Both { one: "a/é".into(), other: None };
        let text = serde_json::to_string(&plain).unwrap();
        assert_eq!(text, r#"{"one":"a/é","other":null}"#);
        assert_eq!(serde_json::from_str::<Both>(&text).unwrap(), plain);
        #[cfg(unix)]
        {
            let odd = os_string(b"d\xff".to_vec()).map(PathBuf::from);
            let odd = Both { one: odd.clone().unwrap(), other: odd };
            let text = serde_json::to_string(&odd).unwrap();
            assert_eq!(text, r#"{"one":[100,255],"other":[100,255]}"#);
            assert_eq!(serde_json::from_str::<Both>(&text).unwrap(), odd);
        }
    }
}
