//! How an answer's text is set.

use collegial_report::TextFormat;

/// What the place that shows a text can show. By default neither bold nor anything beyond ASCII.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether escape sequences for bold are understood.
    pub bold: bool,
    /// Size and characters of sketched figures.
    pub sketch: TextFormat,
}

impl Style {
    /// The text in bold, where that can be shown.
    pub fn strong(&self, text: &str) -> String {
        if self.bold { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The text in lines of at most 80 columns, where its words allow it.
pub(crate) fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 80 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
