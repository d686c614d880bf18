//! Messages in Python's syntax.

use collegial::Error;
use collegial::message::{Call, Rendering, Setting};
use collegial_report::visible;
use pyo3::PyErr;

use crate::CollegialError;

/// Options as keywords, verbs as functions of the package.
#[derive(Debug)]
pub struct Keywords;

impl Rendering for Keywords {
    fn setting(&self, Setting { name, value }: &Setting) -> String {
        match value.as_deref() {
            None => format!("{name}="),
            Some("true") => format!("{name}=True"),
            Some(value) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
            Some(value) => format!("{name}={value:?}"),
        }
    }

    fn call(&self, Call { verb, model, settings }: &Call) -> String {
        let keyword = |setting: &Setting| match setting.value {
            None => format!("{}=...", setting.name),
            Some(_) => self.setting(setting),
        };
        let model_word = model.as_ref().map(|model| format!("{model:?}"));
        let arguments: Vec<String> = model_word.into_iter().chain(settings.iter().map(keyword)).collect();
        let call = match arguments.as_slice() {
            [] => format!("collegial.{verb}"),
            arguments => format!("collegial.{verb}({})", arguments.join(", ")),
        };
        if model.is_some() { call } else { format!("`{call}`") }
    }
}

/// The exception that an error becomes; tracebacks reach terminals.
pub fn exception(error: &Error) -> PyErr {
    CollegialError::new_err(visible(&error.message().render(&Keywords)))
}
