//! Answers in files, whole or not at all.
//!
//! A symbolic link is followed where the user gave the path of the file ([`write()`]). Where the program
//! chose the name, a link of it is replaced ([`write_own`]): the directory may have come from somebody
//! else, who would decide what is overwritten.

use std::path::{Path, PathBuf};

use collegial_core::files::{Stopped, disk, open_pipe, write_atomic, write_inside};
use collegial_report::Figure;

use crate::message::{invalid, option};
use crate::{Answer, Error, Monitor};

/// Writes the file that the user named, whole or not at all; a link is followed.
///
/// # Errors
///
/// One sentence with the path.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    Ok(write_atomic(path, content)?)
}

/// The same where the monitor's stop ends the wait for a pipe's reader.
///
/// # Errors
///
/// One sentence with the path, or [`Error::Interrupted`].
pub(crate) fn write_unless_stopped(path: &Path, content: &[u8], monitor: &dyn Monitor) -> Result<(), Error> {
    // Held until the content is written: a reader that loses its only writer has reached the end.
    let _writer = open_pipe(path, monitor).map_err(|Stopped| Error::Interrupted)?;
    write(path, content)
}

/// Refuses a directory that can be neither used nor made, before anything is computed for it. Its
/// option has this name.
///
/// # Errors
///
/// One sentence with the path.
pub(crate) fn check_directory(name: &str, directory: Option<&Path>) -> Result<(), Error> {
    let Some(directory) = directory else { return Ok(()) };
    let unusable = |path, reason: &str| unusable(name, path, reason);
    let there = directory.ancestors().find(|path| path.as_os_str().is_empty() || path.exists());
    // A relative path may begin in the working directory.
    let there = there.filter(|path| !path.as_os_str().is_empty());
    match there {
        Some(path) if !path.is_dir() => Err(unusable(directory, &format!("{} is a file", path.display()))),
        Some(path) if path.metadata().is_ok_and(|data| data.permissions().readonly()) => {
            Err(unusable(directory, &format!("{} is read-only", path.display())))
        }
        _ => Ok(()),
    }
}

/// Refuses the path of a file whose directory is not there, before anything is computed for it. Its
/// option has this name.
///
/// # Errors
///
/// One sentence with the path.
pub(crate) fn check_file(name: &str, path: Option<&Path>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    let unusable = |path, reason: &str| unusable(name, path, reason);
    if path.is_dir() {
        return Err(unusable(path, "it is a directory"));
    }
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if !parent.is_dir() => {
            Err(unusable(path, &format!("there is no directory {}", parent.display())))
        }
        _ => Ok(()),
    }
}

fn unusable(name: &str, path: &Path, reason: &str) -> Error {
    invalid![option(name), format!(" cannot be {}: {reason}", path.display())].into()
}

/// Writes a file whose name the program chose, whole or not at all: one in a directory that was given,
/// or beside a file that was given. A symbolic link of its name is replaced.
///
/// # Errors
///
/// One sentence with the path.
pub fn write_own(path: &Path, content: &[u8]) -> Result<(), Error> {
    Ok(write_inside(path, content)?)
}

/// Writes a figure as SVG, and its data beside it as CSV.
///
/// # Errors
///
/// Where one of the files cannot be written, or the figure has the name of its data.
pub fn write_figure(path: &Path, figure: &Figure) -> Result<(), Error> {
    if path.extension().is_some_and(|ending| ending == "csv") {
        return Err(invalid![format!(
            "{} is where the figure's data goes; give the figure a name that ends in .svg",
            path.display()
        )]
        .into());
    }
    write(path, figure.to_svg().as_bytes())?;
    write_own(&path.with_extension("csv"), figure.to_csv().as_bytes())
}

/// Writes all figures of an answer into a directory, which is made if it is not there.
///
/// # Errors
///
/// Where the directory cannot be made, or a file cannot be written.
pub fn write_figures(directory: &Path, answer: &dyn Answer) -> Result<(), Error> {
    make_directory(directory)?;
    for (name, figure) in answer.figures() {
        let path = directory.join(name.as_ref());
        write_own(&path, figure.to_svg().as_bytes())?;
        write_own(&path.with_extension("csv"), figure.to_csv().as_bytes())?;
    }
    Ok(())
}

/// The directory for results that was given, or the usual one; a link in place of the usual one is
/// an error.
///
/// # Errors
///
/// One sentence with the path.
pub(crate) fn directory_or(given: Option<&Path>, usual: impl FnOnce() -> PathBuf) -> Result<PathBuf, Error> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let path = usual();
    match disk::refuse_link(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::Directory { path, source }),
    }
}

/// Makes a directory that the user named, where it is not there.
///
/// # Errors
///
/// One sentence with the path.
pub(crate) fn make_directory(directory: &Path) -> Result<(), Error> {
    disk::create_directories(directory)
        .map_err(|source| Error::Directory { path: directory.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_cannot_be_written_are_refused_first() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        let refused = |error: Result<(), Error>| error.unwrap_err().to_string();
        assert!(check_directory("out", Some(&root.path().join("a/b"))).is_ok());
        assert!(check_directory("out", Some(Path::new("not-there-yet/b"))).is_ok());
        assert!(refused(check_directory("out", Some(&file.join("a")))).ends_with("file is a file"));
        assert!(check_file("out", Some(&root.path().join("a.onnx"))).is_ok());
        assert!(check_file("out", Some(Path::new("a.onnx"))).is_ok());
        assert!(
            refused(check_file("out", Some(&root.path().join("a/b.onnx")))).contains("there is no directory")
        );
        assert!(refused(check_file("out", Some(root.path()))).ends_with("it is a directory"));
    }
}
