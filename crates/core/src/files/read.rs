//! Reads of regular files. A pipe, socket or device may block for ever without hearing a signal.

use std::io;
use std::path::Path;

/// The content of a regular file.
///
/// # Errors
///
/// Where the path leads to no regular file, or the system refuses to read it.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    refuse_special(path)?;
    std::fs::read(path)
}

/// An error where a path leads to a pipe, socket or device; looking does not open it.
///
/// # Errors
///
/// The sentence says so. A path that leads nowhere is left to the reader.
pub fn refuse_special(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(kind) if !kind.is_file() && !kind.is_dir() => {
            let sentence = "it is a pipe, a socket or a device; give a regular file";
            Err(io::Error::new(io::ErrorKind::InvalidInput, sentence))
        }
        _ => Ok(()),
    }
}
