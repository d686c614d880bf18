//! Sentences in Python's words.

use collegial_ops::{Error, Words};
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

    fn verb(&self, name: &str, field: Option<&str>) -> String {
        let arguments = field.map_or(String::new(), |field| format!("({field}=...)"));
        format!("`collegial.{name}{arguments}`")
    }
}

/// The sentence in Python's words.
pub fn spoken(sentence: &str) -> String {
    collegial_ops::spoken(sentence, &Keywords)
}

/// The exception that a refusal becomes.
pub fn exception(error: &Error) -> PyErr {
    CollegialError::new_err(spoken(&error.to_string()))
}
