//! Reads of regular files. A pipe, socket or device may block for ever without hearing a signal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use super::disk;

/// Opens a regular file to read it.
///
/// # Errors
///
/// Where the path leads to no regular file, or the system refuses to open it.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        // A pipe that nobody writes to is opened at once, and then refused.
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    // A device may do something when it is opened, so that the path is looked at first.
    refuse_special(&path.metadata()?)?;
    let file = options.open(path)?;
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// The content of a regular file.
///
/// # Errors
///
/// Where the path leads to no regular file, or the system refuses to read it.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = vec![];
    open_regular(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// The same as text.
///
/// # Errors
///
/// Where it is not UTF-8, the path leads to no regular file, or the system refuses to read it.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_regular(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// The content of a regular file that another file names. A symbolic link is an error: both may
/// have come from somebody else.
///
/// # Errors
///
/// Where it is a link or no regular file, or the system refuses to read it.
pub fn read_beside(path: &Path) -> io::Result<Vec<u8>> {
    disk::refuse_link(path)?;
    read_regular(path)
}

/// A pipe, a socket or a device is an error.
pub(super) fn refuse_special(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    let sentence = "it is a pipe, a socket or a device; give a regular file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, sentence))
}
