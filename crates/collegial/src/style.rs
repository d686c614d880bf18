//! Text styles: bold and line breaks of an answer.

use collegial_report::{COLUMNS, grouped, visible};

use crate::message::{Plain, Rendering};

/// What terminals take for the beginning of bold text, and for its end.
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// What the place that shows a text can show. By default neither bold nor anything beyond ASCII.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether escape sequences for bold are understood.
    pub bold: bool,
    /// The syntax of options and commands.
    pub rendering: &'static dyn Rendering,
}

impl Default for Style {
    fn default() -> Self {
        Self { bold: false, rendering: &Plain }
    }
}

impl Style {
    /// The text in bold, where that can be shown.
    pub fn strong(&self, text: &str) -> String {
        if self.bold { format!("{BOLD}{text}{PLAIN}") } else { text.to_owned() }
    }

    /// A whole text made safe for where it is shown: control characters of names, paths and
    /// sentences that came from files are [made visible](visible); bold stays where it is understood.
    pub fn safe(&self, text: &str) -> String {
        if !self.bold {
            return visible(text);
        }
        let between = |text: &str| text.split(PLAIN).map(visible).collect::<Vec<_>>().join(PLAIN);
        text.split(BOLD).map(between).collect::<Vec<_>>().join(BOLD)
    }
}

/// A number of things: "1 run", "20 runs".
pub(crate) fn counted(count: impl Into<u64>, noun: &str) -> String {
    let count = count.into();
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// The text in lines of at most 80 columns, where its words allow it.
pub(crate) fn wrapped(text: &str) -> Vec<String> {
    collegial_report::wrapped(text, COLUMNS, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_bold_reaches_a_terminal() {
        let bold = Style { bold: true, ..Style::default() };
        let text = format!("{} of \x1b]0;title\x07\x1b[2J", bold.strong("two"));
        assert_eq!(bold.safe(&text), "\x1b[1mtwo\x1b[0m of \\u{1b}]0;title\\u{7}\\u{1b}[2J");
        assert_eq!(
            Style::default().safe(&text),
            "\\u{1b}[1mtwo\\u{1b}[0m of \\u{1b}]0;title\\u{7}\\u{1b}[2J"
        );
    }
}
