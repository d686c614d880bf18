//! Answers in files, whole or not at all.

use std::path::Path;

use collegial_core::files::{disk, write_atomic, write_inside};
use collegial_report::Figure;

use crate::message::{invalid, option};
use crate::{Answer, Error};

/// Writes a file whole or not at all.
///
/// # Errors
///
/// One sentence with the path.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    Ok(write_atomic(path, content)?)
}

/// Refuses a directory that can be neither used nor made, before anything is computed for it.
///
/// # Errors
///
/// One sentence with the path.
pub(crate) fn check_directory(directory: Option<&Path>) -> Result<(), Error> {
    let Some(directory) = directory else { return Ok(()) };
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

/// Refuses the path of a file whose directory is not there, before anything is computed for it.
///
/// # Errors
///
/// One sentence with the path.
pub(crate) fn check_file(path: Option<&Path>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
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

fn unusable(path: &Path, reason: &str) -> Error {
    invalid![option("out"), format!(" cannot be {}: {reason}", path.display())].into()
}

/// Writes a file of a plan's directory atomically; a symbolic link of its name is replaced.
///
/// # Errors
///
/// One sentence with the path.
pub(crate) fn write_own(path: &Path, content: &[u8]) -> Result<(), Error> {
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
    write(&path.with_extension("csv"), figure.to_csv().as_bytes())
}

/// Writes all figures of an answer into a directory, which is made if it is not there.
///
/// # Errors
///
/// Where the directory cannot be made, or a file cannot be written.
pub fn write_figures(directory: &Path, answer: &dyn Answer) -> Result<(), Error> {
    disk::create_directories(directory)
        .map_err(|source| Error::Directory { path: directory.to_owned(), source })?;
    for (name, figure) in answer.figures() {
        write_figure(&directory.join(name.as_ref()), &figure)?;
    }
    Ok(())
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
        assert!(check_directory(Some(&root.path().join("a/b"))).is_ok());
        assert!(check_directory(Some(Path::new("not-there-yet/b"))).is_ok());
        assert!(refused(check_directory(Some(&file.join("a")))).ends_with("file is a file"));
        assert!(check_file(Some(&root.path().join("a.onnx"))).is_ok());
        assert!(check_file(Some(Path::new("a.onnx"))).is_ok());
        assert!(refused(check_file(Some(&root.path().join("a/b.onnx")))).contains("there is no directory"));
        assert!(refused(check_file(Some(root.path()))).ends_with("it is a directory"));
    }
}
