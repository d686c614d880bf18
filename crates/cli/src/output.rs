//! Results on stdout and in files.

use std::io::{self, Write};
use std::path::Path;

use collegial_report::{Figure, Table, write_whole};
use serde::Serialize;

use crate::arguments::Format;
use crate::failure::Failure;

/// What a verb answers. Serialised, it is the JSON that scripts read.
pub trait Document: Serialize {
    /// For people.
    fn text(&self) -> String;
    /// Its main table, for spreadsheets.
    fn data(&self) -> Table;
    /// For notebooks: sentences, then a table.
    fn summary(&self) -> (Vec<String>, Table);

    /// Prints it.
    fn show(&self, format: Format) -> Result<(), Failure>
    where
        Self: Sized,
    {
        match format {
            Format::Json => print_json(self),
            Format::Csv => print(&self.data().to_csv()),
            Format::Table => print(&self.text()),
        }
    }
}

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

/// Writes a file whole or not at all.
pub fn write_file(path: &Path, content: &str) -> Result<(), Failure> {
    write_bytes(path, content.as_bytes())
}

/// The same for files that are not text.
pub fn write_bytes(path: &Path, content: &[u8]) -> Result<(), Failure> {
    write_whole(path, content).map_err(Failure::User)
}

/// Writes a figure as SVG, and its data beside it as CSV.
pub fn write_figure(path: &Path, figure: &Figure) -> Result<(), Failure> {
    if path.extension().is_some_and(|ending| ending == "csv") {
        let message = format!(
            "{} is where the figure's data goes; give the figure a name that ends in .svg",
            path.display()
        );
        return Err(Failure::User(message));
    }
    write_file(path, &figure.to_svg())?;
    write_file(&path.with_extension("csv"), &figure.to_csv())
}
