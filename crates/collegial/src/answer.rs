//! Answers of verbs, as text, JSON, tables, figures and pages.

use std::borrow::Cow;

use collegial_report::{Card, Figure, Page, Provenance, Table, fragment};
use serde::Serialize;

use crate::style::wrapped;
use crate::{Error, Style};

/// What a verb answers. Text, figures and pages are made on request only.
pub trait Answer: Document + Send + Sync {
    /// The main table, for spreadsheets.
    fn table(&self) -> Table;
    /// The gist: sentences, then a table.
    fn summary(&self) -> (Vec<String>, Table);

    /// The JSON document that scripts read.
    fn json(&self) -> Result<String, Error> {
        self.document()
    }

    /// For people, on a terminal: the gist, its table first, and how long it took.
    fn text(&self, _style: &Style) -> String {
        let (sentences, table) = self.summary();
        let time = self.seconds().map(|seconds| format!("{seconds:.2} s\n")).unwrap_or_default();
        let lines: Vec<String> = sentences.iter().flat_map(|sentence| wrapped(sentence)).collect();
        format!("{}\n{}\n{time}", table.to_text(), lines.join("\n"))
    }

    /// How long it took, where that is worth a line of the text.
    fn seconds(&self) -> Option<f64> {
        None
    }

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
}

/// An answer that has more to say than its text: a page with everything.
pub trait Paged: Answer {
    /// The page.
    ///
    /// # Errors
    ///
    /// Where a number of it has no JSON form.
    fn page(&self, provenance: Provenance) -> Result<Page, Error>;
}

/// What has a JSON form: everything that serialises.
pub trait Document {
    /// The JSON form, indented.
    fn document(&self) -> Result<String, Error>;
}

impl<T: Serialize> Document for T {
    fn document(&self) -> Result<String, Error> {
        to_json(self)
    }
}

/// The same without how long it took, for pages: one that is made again is the same to the byte.
pub fn untimed_json(document: &impl Serialize) -> Result<String, Error> {
    let mut value = serde_json::to_value(document).map_err(Error::Json)?;
    value.as_object_mut().map(|fields| fields.remove("seconds"));
    to_json(&value)
}

/// The JSON form of a document, indented.
pub fn to_json(document: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(document).map(without_controls).map_err(Error::Json)
}

/// The JSON form of a document, in one line.
pub(crate) fn to_json_line(document: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(document).map(without_controls).map_err(Error::Json)
}

/// DEL and the characters from U+0080 to U+009F as escapes: terminals take some for commands, and
/// JSON demands escapes below U+0020 only. There are none outside of strings.
fn without_controls(json: String) -> String {
    // In UTF-8 they are 7f, or c2 and another byte; nearly every answer is free of both.
    if json.as_bytes().iter().all(|&byte| byte != 0x7f && byte != 0xc2) {
        return json;
    }
    let obeyed = |character: char| matches!(character, '\u{7f}'..='\u{9f}');
    let mut safe = String::with_capacity(json.len() + 5);
    for character in json.chars() {
        match character {
            control if obeyed(control) => safe.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_in_json() {
        let every: String = (0..=0xa0u8).map(char::from).collect();
        for json in [to_json(&[&every]).unwrap(), to_json_line(&[&every]).unwrap()] {
            assert!(!json.chars().any(|c| c.is_control() && c != '\n'), "{json:?}");
            assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [every.as_str()]);
        }
        assert_eq!(to_json_line(&"\u{7f}\u{9b}é").unwrap(), r#""\u007f\u009bé""#);
    }
}
