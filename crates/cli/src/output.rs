//! Results on stdout and in files.

use std::io::{self, Write};
use std::path::Path;

use collegial_report::Figure;
use serde::Serialize;

use crate::failure::Failure;

/// Writes text to stdout, whole.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::of_output(&error))
}

/// Writes one JSON document to stdout.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&format!("{}\n", to_json(value)?))
}

/// The JSON form of a result.
pub fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map_err(|error| Failure::User(format!("the result has no JSON form: {error}")))
}

/// Writes a file whole or not at all: into a temporary file beside it first, which then takes its name.
pub fn write_file(path: &Path, content: &str) -> Result<(), Failure> {
    write_bytes(path, content.as_bytes())
}

/// The same for files that are not text.
pub fn write_bytes(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".collegial-").tempfile_in(directory)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Failure::User(format!("cannot write {}: {error}", path.display())))
}

/// Writes a figure as SVG, and its data beside it as CSV.
pub fn write_figure(path: &Path, figure: &Figure) -> Result<(), Failure> {
    write_file(path, &figure.to_svg())?;
    write_file(&path.with_extension("csv"), &figure.to_csv())
}
