//! `collegial._collegial`: what the Python package `collegial` is built on. No logic: words and arrays go in, the JSON, text and
//! arrays of [`collegial::ask`] come out, and errors become exceptions.
//!
//! Arrays cross as the content of .npy files, which numpy and we both read and write.

mod attended;

use std::ffi::OsString;
use std::path::PathBuf;

use attended::attended;
use collegial_report::{Align, Table, fragment};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

pyo3::create_exception!(
    collegial,
    CollegialError,
    PyValueError,
    "Something that can be fixed, in one sentence with the offending value and what would be accepted."
);

/// The functions behind the package `collegial`.
#[pymodule]
mod _collegial {
    #[pymodule_export]
    use super::{CollegialError, ask, forward, kernel, main, redesigned, table, to_toml};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// The JSON, the text and the HTML that answer the words of a command line.
#[pyfunction]
#[pyo3(signature = (words, progress = None))]
fn ask(
    py: Python<'_>,
    words: Vec<String>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, String, String)> {
    let answer = attended(py, progress, move |watch| collegial::ask::ask(&words, &watch))?;
    Ok((answer.json, answer.text, answer.html))
}

/// The kernel that answers the words of `collegial ntk`, between the given inputs.
#[pyfunction]
#[pyo3(signature = (words, inputs = None))]
fn kernel<'py>(
    py: Python<'py>,
    words: Vec<String>,
    inputs: Option<Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let file = attended(py, None, move |_| collegial::ask::kernel(&words, inputs.as_deref()))?;
    Ok(PyBytes::new(py, &file))
}

/// The outputs of a network.
#[pyfunction]
#[pyo3(signature = (model, weights, inputs, seed, threads))]
fn forward<'py>(
    py: Python<'py>,
    model: String,
    weights: Option<PathBuf>,
    inputs: Vec<u8>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let work = move |_| collegial::ask::forward(&model, weights.as_deref(), &inputs, seed, threads);
    Ok(PyBytes::new(py, &attended(py, None, work)?))
}

/// The TOML form of a model.
#[pyfunction]
fn to_toml(py: Python<'_>, model: String) -> PyResult<String> {
    attended(py, None, move |_| collegial::ask::to_toml(&model))
}

/// The JSON form of a model with another design.
#[pyfunction]
fn redesigned(py: Python<'_>, model: String, design: String) -> PyResult<String> {
    attended(py, None, move |_| collegial::ask::redesigned(&model, &design))
}

/// Sentences and a table, as text and as HTML; the first column lines up on the left.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python's lists come as values")]
fn table(sentences: Vec<String>, headings: Vec<String>, rows: Vec<Vec<String>>) -> (String, String) {
    let align = |index: usize| if index == 0 { Align::Left } else { Align::Right };
    let columns: Vec<(&str, Align)> =
        headings.iter().enumerate().map(|(index, name)| (name.as_str(), align(index))).collect();
    let mut table = Table::new(&columns);
    for row in rows {
        table.push_row(row);
    }
    let text = format!("{}\n{}", table.to_text(), sentences.join("\n"));
    (text, fragment(&sentences.join("\n\n"), &table))
}

/// The program; gives its exit code.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| collegial::main(words))
}
