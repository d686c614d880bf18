//! Answers in files, whole or not at all.

use std::path::Path;

use collegial_core::files::{disk, write_atomic, write_inside};
use collegial_report::Figure;

use crate::message::invalid;
use crate::{Answer, Error};

/// Writes a file whole or not at all.
///
/// # Errors
///
/// One sentence with the path.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    Ok(write_atomic(path, content)?)
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
