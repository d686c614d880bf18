//! Atomic writes of single files: a file has its old content or its new one, whatever fails.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use crate::files::disk;

/// The prefix of temporary files.
pub const TEMPORARY: &str = ".collegial-";

/// How old a temporary file is that no process still writes.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Removes stale temporary files of a directory, which killed processes left. Others may write here
/// now, so only files older than an hour go.
pub fn remove_stale_temporaries(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(TEMPORARY));
        let age = || entry.metadata().and_then(|metadata| metadata.modified()).map(|time| time.elapsed());
        if ours && matches!(age(), Ok(Ok(age)) if age > ABANDONED) {
            // One that cannot be removed only takes room.
            let _ = disk::remove(&entry.path());
        }
    }
}

/// Writes a file atomically: into a temporary file beside it first, which then takes its name. A
/// link is followed, and what is not a regular file (a pipe, a device) is written to directly. What
/// processes that were killed left beside it is [removed](remove_stale_temporaries).
///
/// # Errors
///
/// Where the system refuses one of the steps.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let special = target.metadata().is_ok_and(|metadata| !metadata.is_file());
    let written = if special { std::fs::write(&target, content) } else { replace(&target, content) };
    written.map_err(|error| WriteError { path: path.to_owned(), source: plain(error) })
}

/// Writes a file of a run or plan atomically. A symbolic link of its name is replaced, not followed:
/// such a directory may have come from somebody else.
///
/// # Errors
///
/// Where the system refuses one of the steps.
pub fn write_inside(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    replace(path, content).map_err(|error| WriteError { path: path.to_owned(), source: plain(error) })
}

/// A file that could not be written.
#[derive(Debug)]
pub struct WriteError {
    /// Which.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Writes a file whole unless there is one of this name. Of several processes that do so at once,
/// one succeeds; says whether it was this one.
///
/// # Errors
///
/// Where the system refuses one of the steps.
pub fn write_new(path: &Path, content: &[u8]) -> Result<bool, WriteError> {
    let link = || {
        let directory = disk::parent_of(path);
        let temporary = written_beside(directory, content)?;
        disk::renaming(&temporary, path)?;
        match temporary.persist_noclobber(path) {
            Ok(()) => disk::sync_directory(directory).map(|()| true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    };
    link().map_err(|error| WriteError { path: path.to_owned(), source: plain(error) })
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = disk::parent_of(path);
    let temporary = written_beside(directory, content)?;
    disk::rename(&temporary, path)?;
    // It has its name now; there is nothing left to remove.
    let _ = temporary.keep();
    disk::sync_directory(directory)
}

/// A temporary file of these bytes, on disk; what processes that were killed left beside it is
/// swept.
fn written_beside(directory: &Path, content: &[u8]) -> io::Result<tempfile::TempPath> {
    remove_stale_temporaries(directory);
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        // As any new file would have it; the umask is applied on top.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(directory)?;
    let temporary = file.path().to_owned();
    disk::creating(&temporary)?;
    disk::write_and_sync(file.as_file_mut(), &temporary, content)?;
    Ok(file.into_temp_path())
}

/// The system's error without the temporary file's name, which tempfile writes behind its words.
fn plain(error: io::Error) -> io::Error {
    let text = error.to_string();
    match (error.raw_os_error(), text.split_once(" at path ")) {
        (Some(code), _) => io::Error::from_raw_os_error(code),
        (None, Some((words, _))) => io::Error::new(error.kind(), words),
        (None, None) => error,
    }
}
