//! Results on stdout and in files.

use std::io::{self, Write};

use crate::Answer;

use crate::program::arguments::Format;
use crate::program::failure::Failure;
use crate::program::terminal;

/// Prints an answer.
pub fn show(answer: &dyn Answer, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => print(&format!("{}\n", answer.json()?)),
        Format::Csv => print(&answer.table().to_csv()),
        Format::Table => print(&text(answer)),
    }
}

/// An answer for people, in the program's words and without control characters of what it names.
pub fn text(answer: &dyn Answer) -> String {
    let style = terminal::style();
    style.safe(&answer.text(&style))
}

/// Writes text to stdout, whole.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::of_output(&error))
}
