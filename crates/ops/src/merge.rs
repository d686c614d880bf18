//! `merge`: joins the shards of a fit; the result equals that of one process to the bit.

use std::path::{Path, PathBuf};
use std::time::Instant;

use collegial_ntk::fit::Measurements;
use collegial_train::checksum::{self, Checked};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::fit::{Draws, Fitted, Line};

/// Which shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Files that a sharded `fit` wrote.
    pub files: Vec<PathBuf>,
    /// How the line is fitted.
    #[serde(flatten)]
    pub line: Line,
}

/// Joins and fits; [`Fitted::complete`] says whether shards are missing.
///
/// # Errors
///
/// Where a file is not a shard, or not one of the same run.
pub fn run(request: &Request) -> Result<Fitted, Error> {
    let start = Instant::now();
    let mut joined: Option<Measurements> = None;
    for path in &request.files {
        let part = read(path)?;
        joined = Some(match joined {
            None => part,
            Some(before) => before
                .join(part)
                .map_err(|error| Error::request(format!("cannot join {}: {error}", path.display())))?,
        });
    }
    let Some(measurements) = joined else {
        return Err(Error::request("there is nothing to join; give the files of a sharded `fit()`"));
    };
    let draws = Draws { measurements, seconds: start.elapsed().as_secs_f64(), interrupted: false };
    draws.fitted(request.line)
}

/// Shards of 0.1.0 have no checksum; what they say is checked all the same.
fn read(path: &Path) -> Result<Measurements, Error> {
    let file = std::fs::read(path).map_err(Error::reading(path))?;
    let refuse = |reason: String| {
        Error::request(format!("{} is not a file that `fit(out=)` wrote: {reason}", path.display()))
    };
    if checksum::check(&file, 0..file.len()) == Checked::Broken {
        return Err(refuse("it has changed since".into()));
    }
    let measurements: Measurements =
        serde_json::from_slice(&file).map_err(|error| refuse(error.to_string()))?;
    measurements.check().map_err(|error| refuse(error.to_string()))?;
    Ok(measurements)
}
