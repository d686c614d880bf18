//! The terminal: bold text, and the command line that the program was called by.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;

use crate::Style;
use crate::message::{Flags, quoted};
use collegial_report::{COLUMNS, Provenance};

/// What stdout can show: bold on a terminal, unless NO_COLOR is set or the terminal is dumb.
pub fn style() -> Style {
    let bold = std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    Style { bold, rendering: &Flags }
}

/// The columns for sentences on a terminal's stderr: those of COLUMNS, or 80. In a file or a pipe a
/// sentence is one line, so that programs find it. COLUMNS alone does not tell a terminal: Python's
/// readline exports it to every process that it starts.
pub fn columns() -> Option<usize> {
    let said = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let usable = |columns: &usize| *columns >= NARROWEST;
    std::io::stderr().is_terminal().then(|| said().filter(usable).unwrap_or(COLUMNS))
}

/// Narrower terminals are none that people read sentences on.
const NARROWEST: usize = 20;

/// How a page says it was made.
pub fn provenance() -> Provenance {
    let version = format!("collegial {}", env!("CARGO_PKG_VERSION"));
    Provenance { command: command_line(), seed: None, version }
}

/// The program's arguments, its own name first. (Those of the process begin with the interpreter
/// where Python runs us.)
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the arguments for [`command_line`].
pub fn remember(words: &[OsString]) {
    // There is one command line per process.
    let _ = WORDS.set(words.to_vec());
}

/// Options that say where results go or how fast; a page is the same without them.
const OUTPUT_OPTIONS: [&str; 9] = [
    "--out",
    "--plan",
    "--workers",
    "--seconds-per-step",
    "--report",
    "--figure",
    "--figures",
    "--format",
    "--threads",
];

/// Flags, which have no value, of the same kind.
const OUTPUT_FLAGS: [&str; 6] = ["--json", "--quiet", "-q", "--verbose", "-v", "--resume"];

/// The command as it could be typed again for the same page, beside the files that it names: a page
/// is shown to others, whom an absolute path tells the directories of a machine.
pub fn command_line() -> String {
    let all: Vec<String> =
        WORDS.get().into_iter().flatten().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words = relevant_words(&all).into_iter().map(|word| quoted(&without_directories(word)));
    ["collegial".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// The words that have a say in what a page shows.
fn relevant_words(words: &[String]) -> Vec<&str> {
    let mut kept = vec![];
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if OUTPUT_OPTIONS.contains(&word) {
            words.next();
        } else if !OUTPUT_FLAGS.contains(&word)
            && !OUTPUT_OPTIONS.iter().any(|flag| is_with_value(word, flag))
        {
            kept.push(word);
        }
    }
    kept
}

/// A word with the last name of an absolute path alone: `/data/mnist` and `--data=/data/mnist`.
fn without_directories(word: &str) -> String {
    let (flag, value) = match word.find('=') {
        Some(at) if word.starts_with("--") => word.split_at(at + 1),
        _ => ("", word),
    };
    let path = Path::new(value);
    match path.file_name() {
        Some(name) if path.is_absolute() => format!("{flag}{}", name.to_string_lossy()),
        _ => word.to_owned(),
    }
}

/// `--out=DIR`.
fn is_with_value(word: &str, flag: &str) -> bool {
    word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_does_not_tell_where_it_was_written() {
        let words = "search fc6-500 --report a.html --alpha 2 --threads=3 -q --out b --cost=flops --json";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(relevant_words(&words).join(" "), "search fc6-500 --alpha 2 --cost=flops");
    }

    #[test]
    #[cfg(unix)]
    fn a_page_does_not_tell_directories() {
        for (word, shown) in [
            ("/home/me/mnist", "mnist"),
            ("--data=/home/me/mnist/", "--data=mnist"),
            ("data/mnist", "data/mnist"),
            ("--set=batch=20", "--set=batch=20"),
            ("/", "/"),
            ("fc6-500", "fc6-500"),
        ] {
            assert_eq!(without_directories(word), shown);
        }
    }
}
