//! Results on stdout.

use std::io::{self, Write};

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
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::User(format!("the result has no JSON form: {error}")))?;
    print(&format!("{text}\n"))
}
