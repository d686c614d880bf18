//! Results on stdout and in files.

use std::io::{self, Write};
use std::path::PathBuf;

use collegial_report::visible;

use crate::options::options;
use crate::program::arguments::{Common, Format};
use crate::program::failure::Failure;
use crate::program::terminal;
use crate::{Answer, Paged, files};

/// Prints an answer.
pub fn show(answer: &dyn Answer, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => print(&format!("{}\n", answer.json()?)),
        Format::Csv => print(&visible(&answer.table().to_csv())),
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

// Files beside the result; a doc comment would be the verb's help.
options! {
    pub struct Files {
        /// Write a self-contained HTML page
        #[arg(long, value_name = "FILE")]
        pub report: Option<PathBuf>,
        /// Write the figures as SVG files, with their data as CSV, into this directory
        #[arg(long, value_name = "DIR")]
        pub figures: Option<PathBuf>,
    }
}

impl Files {
    /// Refuses those that cannot be written, before anything is computed for them.
    pub fn check(&self) -> Result<(), Failure> {
        files::check_directory("figures", self.figures.as_deref())?;
        Ok(files::check_file("report", self.report.as_deref())?)
    }

    /// Writes those that are wanted.
    pub fn write(&self, answer: &dyn Paged, common: &Common) -> Result<(), Failure> {
        if let Some(directory) = &self.figures {
            files::write_figures(directory, answer)?;
            common.say(&format!("wrote figures to {}", directory.display()));
        }
        if let Some(path) = &self.report {
            files::write(path, answer.page(terminal::provenance())?.to_html().as_bytes())?;
            common.say(&format!("wrote {}", path.display()));
        }
        Ok(())
    }
}
