//! Sentences in Python's words.

use collegial::{Error, Field, Words};
use pyo3::PyErr;

use crate::CollegialError;

/// Fields as keywords, verbs as functions of the package.
struct Keywords;

impl Words for Keywords {
    fn field(&self, name: &str, value: Option<&str>) -> String {
        match value {
            None => format!("{name}="),
            Some(value) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
            Some(value) => format!("{name}={value:?}"),
        }
    }

    fn verb(&self, name: &str, model: Option<&str>, fields: &[Field<'_>]) -> String {
        let keyword = |&(name, value): &Field<'_>| match value {
            None => format!("{name}=..."),
            Some("true") => format!("{name}=True"),
            value => self.field(name, value),
        };
        let model_word = model.map(|model| format!("{model:?}"));
        let arguments: Vec<String> = model_word.into_iter().chain(fields.iter().map(keyword)).collect();
        let call = match arguments.as_slice() {
            [] => format!("collegial.{name}"),
            arguments => format!("collegial.{name}({})", arguments.join(", ")),
        };
        if model.is_some() { call } else { format!("`{call}`") }
    }
}

/// A sentence, or a text, in Python's words.
pub fn spoken(sentence: &str) -> String {
    collegial::spoken(sentence, &Keywords)
}

/// The exception that a refusal becomes.
pub fn exception(error: &Error) -> PyErr {
    CollegialError::new_err(spoken(&error.to_string()))
}
