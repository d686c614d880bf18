//! What every answer can become.

use std::borrow::Cow;

use collegial_report::{Card, Figure, Page, Provenance, Table, fragment};
use serde::Serialize;

use crate::{Error, Style};

/// What a verb answers. Text, figures and pages are made on request only.
pub trait Answer: Send + Sync {
    /// The JSON document that scripts read.
    fn json(&self) -> Result<String, Error>;
    /// For people, on a terminal.
    fn text(&self, style: &Style) -> String;
    /// The main table, for spreadsheets.
    fn table(&self) -> Table;
    /// The gist: sentences, then a table.
    fn summary(&self) -> (Vec<String>, Table);

    /// The gist as a fragment of a page, for notebooks.
    fn html(&self) -> String {
        let (sentences, table) = self.summary();
        fragment(&sentences.join("\n\n"), &table)
    }

    /// The numbers that the answer comes down to, where it does.
    fn cards(&self) -> Vec<Card> {
        vec![]
    }

    /// The figures with their file names; none for most answers.
    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        vec![]
    }

    /// A page with everything, where there is more to say than the text does.
    fn page(&self, _provenance: Provenance) -> Option<Page> {
        None
    }
}

/// The gist as text, and how long it took.
pub(crate) fn timed(answer: &dyn Answer, seconds: f64) -> String {
    let (sentences, table) = answer.summary();
    format!("{}\n{}\n{seconds:.2} s\n", table.to_text(), sentences.join("\n"))
}

/// The same without how long it took, for pages: one that is made again is the same to the byte.
pub fn untimed_json(document: &impl Serialize) -> Result<String, Error> {
    let mut value = serde_json::to_value(document).map_err(Error::Json)?;
    value.as_object_mut().map(|fields| fields.remove("seconds"));
    to_json(&value)
}

/// The JSON form of a document, indented.
pub fn to_json(document: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(document).map_err(Error::Json)
}
