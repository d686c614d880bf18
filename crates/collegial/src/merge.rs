//! `merge`: joins the shards of a fit; the result equals that of one process to the bit.

use std::path::{Path, PathBuf};
use std::time::Instant;

use collegial_core::checksum::{self, Checked};
use collegial_ntk::fit::Measurements;

use crate::fit::{Draws, FitAnswer, Kernels, Line};
use crate::message::{invalid, verb};
use crate::options::options;
use crate::{Error, Monitor};

options! {
    /// Join the shares of a sharded fit; the result equals that of one process to the bit
    #[command(after_help = "Example:\n  collegial merge part-1.json part-2.json")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// Files that `collegial fit --shard I/N --out FILE` wrote
        #[arg(value_name = "FILE", required = true)]
        pub files: Vec<PathBuf>,
        /// How the line is fitted
        #[command(flatten)]
        pub line: Line,
    }
}

/// Joins and fits; [`FitAnswer::complete`] says whether shards are missing.
///
/// # Errors
///
/// Where a file is not a shard, or not one of the same run.
pub fn run(request: &Request, _monitor: &dyn Monitor) -> Result<FitAnswer, Error> {
    let start = Instant::now();
    let mut joined: Option<Measurements> = None;
    for path in &request.files {
        let part = parse(path, &collegial_core::files::read_regular(path).map_err(Error::reading(path))?)?;
        joined = Some(match joined {
            None => part,
            Some(before) => before
                .join(part)
                .map_err(|reason| invalid![format!("cannot join {}: {reason}", path.display())])?,
        });
    }
    let Some(measurements) = joined else {
        return Err(
            invalid!["there is nothing to join; give the files of a sharded ", verb("fit", &[])].into()
        );
    };
    let (kernels, seconds) = (Kernels::AtOneInput(measurements), start.elapsed().as_secs_f64());
    Draws { kernels, seconds, interrupted: false }.fitted(request.line)
}

/// The draws in the content of the file at `path`.
///
/// # Errors
///
/// Where it is not a shard, or has changed.
pub fn parse(path: &Path, file: &[u8]) -> Result<Measurements, Error> {
    let refuse = |message: String| {
        invalid![
            format!("{} is not a file that ", path.display()),
            verb("fit", &["out"]),
            format!(" wrote: {message}")
        ]
    };
    let changed = || refuse("it has changed since".to_owned());
    let checked = checksum::check(file, 0..file.len());
    if checked == Checked::Broken {
        return Err(changed().into());
    }
    let measurements: Measurements =
        serde_json::from_slice(file).map_err(|error| refuse(error.to_string()))?;
    if checked == Checked::Absent {
        return Err(changed().into());
    }
    measurements.check().map_err(|error| refuse(error.to_string()))?;
    Ok(measurements)
}
