//! An answer as Python sees it: its JSON at once, its text and pages on request.

use std::path::{Path, PathBuf};

use collegial::{self as ops, Error, Style};
use collegial_report::Provenance;
use pyo3::prelude::*;

use crate::CollegialError;
use crate::rendering::{Keywords, exception};

/// What a verb answered.
#[pyclass(frozen, module = "collegial._collegial")]
pub struct Answer(Kind);

enum Kind {
    Plain(Box<dyn ops::Answer>),
    Paged(Box<dyn ops::Paged>),
}

impl Answer {
    /// Of any verb, made without Python's lock.
    #[expect(clippy::unnecessary_wraps, reason = "every verb ends with it, after what can fail")]
    pub fn boxed(answer: impl ops::Answer + 'static) -> Result<Self, Error> {
        Ok(Self(Kind::Plain(Box::new(answer))))
    }

    /// The same of a verb whose answer has a page.
    #[expect(clippy::unnecessary_wraps, reason = "as above")]
    pub fn paged(answer: impl ops::Paged + 'static) -> Result<Self, Error> {
        Ok(Self(Kind::Paged(Box::new(answer))))
    }

    fn inner(&self) -> &dyn ops::Answer {
        match &self.0 {
            Kind::Plain(answer) => answer.as_ref(),
            Kind::Paged(answer) => answer.as_ref(),
        }
    }
}

/// What a page says of the call that made it, which tells no directories of this machine.
pub fn provenance(call: &str) -> Provenance {
    let version = format!("collegial {}", env!("CARGO_PKG_VERSION"));
    Provenance { command: without_directories(call), seed: None, version }
}

/// A call whose texts that are absolute paths are their last names.
fn without_directories(call: &str) -> String {
    let quote = |c: char| matches!(c, '\'' | '"');
    let mut short = String::with_capacity(call.len());
    let mut rest = call;
    while let Some(begin) = rest.find(quote) {
        let (before, text) = rest.split_at(begin + 1);
        short.push_str(before);
        let end = text.find(&before[begin..]).unwrap_or(text.len());
        let path = Path::new(&text[..end]);
        match path.file_name() {
            Some(name) if path.is_absolute() => short.push_str(&name.to_string_lossy()),
            _ => short.push_str(&text[..end]),
        }
        let after = text.len().min(end + 1);
        short.push_str(&text[end..after]);
        rest = &text[after..];
    }
    short + rest
}

#[pymethods]
impl Answer {
    /// The document that the command line prints with --json.
    fn json(&self) -> PyResult<String> {
        self.inner().json().map_err(|error| exception(&error))
    }

    /// For people, without escape sequences.
    fn text(&self) -> String {
        let style = Style { rendering: &Keywords, ..Style::default() };
        style.safe(&self.inner().text(&style))
    }

    /// For notebooks.
    fn html(&self) -> String {
        self.inner().html()
    }

    /// Writes a self-contained page that says by which call it was made.
    #[expect(clippy::needless_pass_by_value, reason = "Python's paths come as values")]
    fn write_page(&self, path: PathBuf, call: &str) -> PyResult<()> {
        let Kind::Paged(answer) = &self.0 else {
            return Err(CollegialError::new_err("this answer has no page"));
        };
        let page = answer.page(provenance(call));
        page.and_then(|page| ops::files::write(&path, page.to_html().as_bytes()))
            .map_err(|error| exception(&error))
    }

    /// Writes the figures as SVG files, with their data as CSV, into a directory.
    #[expect(clippy::needless_pass_by_value, reason = "Python's paths come as values")]
    fn write_figures(&self, directory: PathBuf) -> PyResult<()> {
        ops::files::write_figures(&directory, self.inner()).map_err(|error| exception(&error))
    }
}
