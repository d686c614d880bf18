//! Single files, whole or not at all.

use std::io;
use std::path::Path;

use crate::disk;

/// What the names of files begin with until they are whole.
pub const TEMPORARY: &str = ".collegial-";

/// Writes a file whole or not at all: into a temporary file beside it first, which then takes its
/// name. A link is followed, and what is not a regular file (a pipe, a device) is written to
/// directly.
///
/// # Errors
///
/// One sentence with the path.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), String> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let special = target.metadata().is_ok_and(|metadata| !metadata.is_file());
    let written = if special { std::fs::write(&target, content) } else { replace(&target, content) };
    written.map_err(|error| format!("cannot write {}: {}", path.display(), plain(&error)))
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
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
    let temporary = file.into_temp_path();
    disk::rename(&temporary, path)?;
    // It has its name now; there is nothing left to remove.
    let _ = temporary.keep();
    disk::sync_directory(directory)
}

/// The system's words without the temporary file's name.
fn plain(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code).to_string(),
        None => {
            error.get_ref().and_then(|inner| inner.source()).map_or(error.to_string(), ToString::to_string)
        }
    }
}
