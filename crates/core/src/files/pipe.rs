//! Pipes that are written to: opening one waits for its reader.

use std::fs::File;
use std::path::Path;

use crate::Monitor;

/// The monitor said stop before a pipe had a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Opens a pipe to write to it, as soon as somebody reads it; nothing where the path leads to no pipe
/// that can be opened. The system would wait without asking the monitor.
///
/// # Errors
///
/// If the monitor stops it.
pub fn open_pipe(path: &Path, monitor: &dyn Monitor) -> Result<Option<File>, Stopped> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        use std::time::Duration;
        let is_pipe = path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo());
        let mut options = std::fs::OpenOptions::new();
        options.write(true).custom_flags(libc::O_NONBLOCK);
        let no_reader = |error: &std::io::Error| error.raw_os_error() == Some(libc::ENXIO);
        if is_pipe {
            loop {
                match options.open(path) {
                    Err(error) if no_reader(&error) && monitor.stopped() => return Err(Stopped),
                    Err(error) if no_reader(&error) => std::thread::sleep(Duration::from_millis(20)),
                    opened => return Ok(opened.ok()),
                }
            }
        }
    }
    #[cfg(not(unix))]
    let _ = (path, monitor);
    Ok(None)
}
