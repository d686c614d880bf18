//! The journal of the finished tiles of a file.
//!
//! Beside `FILE.npy` lies the directory `FILE.npy.tiles` with
//!
//! - `plan.json`: the question that the kernel answers, and how it is cut, written once by whoever
//!   comes first;
//! - one journal per process that computed tiles, `0.journal` and on: a line per finished tile with
//!   its number, the CRC-32 of its bytes, and the CRC-32 of the line up to there.
//!
//! A line is written when the tile's bytes have been forced to disk. A last line without its end is
//! what a kill leaves, and does not count; any other line that is not as it was written is refused.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use collegial_core::checksum::{self, Checked};
use collegial_core::files::{WriteError, disk, read_beside, write_new};
use collegial_ntk::tiles::Cut;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ContentError, Error};

/// What a kernel's plan says.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    /// Of the whole file.
    checksum: String,
    /// All that the kernel depends on.
    question: Value,
    cut: Cut,
}

/// Inputs that a cut may have at a time.
const POSSIBLE: std::ops::RangeInclusive<usize> = 1..=1 << 31;

/// The directory beside a file.
pub(crate) fn directory(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tiles");
    name.into()
}

/// The cut of a kernel that was begun; `None` if it was not.
///
/// # Errors
///
/// If it was another kernel, or the plan is broken.
pub(crate) fn cut(path: &Path, question: &Value) -> Result<Option<Cut>, Error> {
    let directory = directory(path);
    disk::refuse_link(&directory).map_err(Error::reading(&directory))?;
    let plan = directory.join("plan.json");
    let bytes = match read_beside(&plan) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Error::Unreadable { path: plan, source }),
    };
    let broken = |reason: ContentError| Error::Content { path: plan.clone(), reason };
    let file: PlanFile = serde_json::from_slice(&bytes).map_err(|error| broken(error.into()))?;
    if checksum::check(&bytes, 0..bytes.len().min(64)) != Checked::Intact {
        return Err(broken(ContentError::Invalid("it has changed since it was written".into())));
    }
    if file.question != *question {
        let fields = question.as_object().into_iter().flat_map(|fields| fields.keys());
        let mut differing: Vec<String> =
            fields.filter(|name| file.question.get(name) != question.get(name)).cloned().collect();
        differing.sort_unstable();
        return Err(broken(ContentError::AnotherKernel { file: path.to_owned(), differing }));
    }
    let Cut { side, pass } = file.cut;
    if ![side, pass].iter().all(|inputs| POSSIBLE.contains(inputs)) {
        let reason = format!("blocks of {side} inputs, {pass} at a time, are impossible");
        return Err(broken(ContentError::Invalid(reason)));
    }
    Ok(Some(file.cut))
}

/// Writes the plan unless somebody was quicker; the cut that counts.
pub(crate) fn agree(path: &Path, question: &Value, cut: Cut) -> Result<Cut, Error> {
    let directory = directory(path);
    disk::create_inside(&directory).map_err(|source| Error::Directory { path: directory.clone(), source })?;
    let file = PlanFile { checksum: checksum::BLANK.to_owned(), question: question.clone(), cut };
    let mut text = serde_json::to_vec_pretty(&file).map_err(Error::Json)?;
    text.push(b'\n');
    let head = 0..text.len().min(64);
    checksum::seal(&mut text, head);
    write_new(&directory.join("plan.json"), &text)?;
    Ok(self::cut(path, question)?.unwrap_or(cut))
}

/// The finished tiles of all journals, with the checksums of their bytes: several where several
/// processes computed one, perhaps on CPUs that round differently.
pub(crate) fn finished(path: &Path) -> Result<BTreeMap<usize, Vec<u32>>, Error> {
    let directory = directory(path);
    disk::refuse_link(&directory).map_err(Error::reading(&directory))?;
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(source) => return Err(Error::Unreadable { path: directory, source }),
    };
    let mut tiles: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for entry in entries {
        let journal = entry.map_err(Error::reading(&directory))?.path();
        if journal.extension().is_none_or(|ending| ending != "journal") {
            continue;
        }
        let text = read_beside(&journal).map_err(Error::reading(&journal))?;
        for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let Some(line) = line.strip_suffix(b"\n") else { break };
            let (tile, crc) = parse(line).ok_or_else(|| Error::Content {
                path: journal.clone(),
                reason: ContentError::Invalid(format!(
                    "line {line} has changed since it was written",
                    line = number + 1
                )),
            })?;
            tiles.entry(tile).or_default().push(crc);
        }
    }
    Ok(tiles)
}

fn parse(line: &[u8]) -> Option<(usize, u32)> {
    let (content, seal) = str::from_utf8(line).ok()?.rsplit_once(' ')?;
    let (tile, crc) = content.split_once(' ')?;
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let (tile, crc) = (tile.parse().ok()?, hex(crc)?);
    // Compared as a whole, so that no other spelling passes.
    (line_of(tile, crc) == format!("{content} {seal}\n")).then_some((tile, crc))
}

fn line_of(tile: usize, crc: u32) -> String {
    let content = format!("{tile} {crc:08x}");
    format!("{content} {:08x}\n", crc32fast::hash(content.as_bytes()))
}

/// A process's own journal.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// A new one: the first number that nobody has.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let directory = directory(path);
        let mut number = 0;
        loop {
            let path = directory.join(format!("{number}.journal"));
            match disk::create_for_appending(&path) {
                Ok(file) => {
                    disk::sync_directory(&directory)
                        .map_err(|source| WriteError { path: directory.clone(), source })?;
                    return Ok(Self { path, file });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(source) => return Err(WriteError { path, source }.into()),
            }
        }
    }

    /// Adds tiles whose bytes are on disk.
    pub(crate) fn add(&mut self, tiles: &[(usize, u32)]) -> Result<(), Error> {
        let lines: String = tiles.iter().map(|&(tile, crc)| line_of(tile, crc)).collect();
        let written = disk::append(&mut self.file, &self.path, lines.as_bytes());
        let written = written.and_then(|()| disk::sync(&self.file, &self.path));
        written.map_err(|source| WriteError { path: self.path.clone(), source }.into())
    }
}
