//! An answer as Python sees it: its JSON at once, its text and pages on request.

use std::path::PathBuf;

use collegial::{self as ops, Error, Style};
use collegial_report::Provenance;
use pyo3::prelude::*;

use crate::rendering::{Keywords, exception};

/// What a verb answered.
#[pyclass(frozen, module = "collegial._collegial")]
pub struct Answer(Box<dyn ops::Answer>);

impl Answer {
    /// Of any verb, made without Python's lock.
    #[expect(clippy::unnecessary_wraps, reason = "every verb ends with it, after what can fail")]
    pub fn boxed(answer: impl ops::Answer + 'static) -> Result<Self, Error> {
        Ok(Self(Box::new(answer)))
    }
}

/// What a page says of the call that made it.
pub fn provenance(call: String) -> Provenance {
    let version = format!("collegial {}", env!("CARGO_PKG_VERSION"));
    Provenance { command: call, seed: None, version }
}

#[pymethods]
impl Answer {
    /// The document that the command line prints with --json.
    fn json(&self) -> PyResult<String> {
        self.0.json().map_err(|error| exception(&error))
    }

    /// For people, without escape sequences.
    fn text(&self) -> String {
        let style = Style { rendering: &Keywords, ..Style::default() };
        style.safe(&self.0.text(&style))
    }

    /// For notebooks.
    fn html(&self) -> String {
        self.0.html()
    }

    /// Writes a self-contained page that says by which call it was made; whether there is one.
    #[expect(clippy::needless_pass_by_value, reason = "Python's paths come as values")]
    fn write_page(&self, path: PathBuf, call: String) -> PyResult<bool> {
        let Some(page) = self.0.page(provenance(call)) else {
            return Ok(false);
        };
        ops::files::write(&path, page.to_html().as_bytes()).map_err(|error| exception(&error))?;
        Ok(true)
    }

    /// Writes the figures as SVG files, with their data as CSV, into a directory.
    #[expect(clippy::needless_pass_by_value, reason = "Python's paths come as values")]
    fn write_figures(&self, directory: PathBuf) -> PyResult<()> {
        ops::files::write_figures(&directory, self.0.as_ref()).map_err(|error| exception(&error))
    }
}
