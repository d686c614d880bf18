//! Failures of verbs, with their exit codes.

use std::error::Error;
use std::io::{self, Write};
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue};

use crate::message::Flags;

use crate::program::arguments::eprint;
use crate::program::signals;

/// Why a verb stopped.
pub enum Failure {
    /// Something the user can fix: one sentence, exit 2.
    User(String),
    /// The answer is "no": one sentence, exit 1.
    No(String),
    /// Ctrl-C or SIGTERM, after what was computed has been printed or saved: exit 130 or 143.
    Interrupted,
    /// What was asked for is computed by PyTorch: the same command goes on in Python.
    NeedsPython,
    /// Whoever read our output went away (`| head`): exit 141, as a shell tells of a program that
    /// SIGPIPE ended.
    ReaderLeft,
}

impl Failure {
    /// Says it, and gives the exit code.
    pub fn report(self) -> u8 {
        match self {
            Self::User(sentence) => {
                eprint(&format!("error: {sentence}"));
                2
            }
            Self::No(sentence) => {
                eprint(&sentence);
                1
            }
            Self::Interrupted => signals::exit_code(),
            Self::NeedsPython => unreachable!("the program goes on in Python"),
            Self::ReaderLeft => 141,
        }
    }

    /// A failed write to stdout.
    pub fn of_output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderLeft,
            _ => Self::User(format!("cannot write the result: {error}")),
        }
    }
}

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        match error {
            crate::Error::Interrupted => Self::Interrupted,
            error if error.needs_python() => Self::NeedsPython,
            error => Self::User(error.message().render(&Flags)),
        }
    }
}

/// Help and version as asked for; a wrong argument as one sentence, like every other error.
pub fn of_arguments(error: &clap::Error) -> u8 {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed = error.print().and_then(|()| io::stdout().flush());
            printed.map_or_else(|error| Failure::of_output(&error).report(), |()| 0)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprint(error.render().to_string().trim_end());
            2
        }
        _ => {
            eprint(&sentence(error));
            2
        }
    }
}

/// What is wrong with the arguments, without the usage: `error: ...`.
pub fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !["Usage:", "tip:", "For more"].iter().any(|end| line.starts_with(end)))
        .collect();
    let mut sentence = lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((what, reason)) = error.source().and_then(in_words).and_then(|reason| {
        let (what, _) = sentence.rsplit_once(": ")?;
        Some((what.to_owned(), reason))
    }) {
        sentence = format!("{what}: {reason}");
    }
    if let Some(meant) = meant(error) {
        return format!("{sentence}; did you mean '{meant}'?");
    }
    sentence + "."
}

/// What a number must be, in place of the words of Rust's parsers.
fn in_words(reason: &(dyn Error + 'static)) -> Option<&'static str> {
    if reason.is::<ParseFloatError>() {
        return Some("it must be a number");
    }
    Some(match reason.downcast_ref::<ParseIntError>()?.kind() {
        IntErrorKind::Zero => "it must be 1 or more",
        IntErrorKind::PosOverflow => "it is too large",
        _ => "it must be a whole number, without a sign",
    })
}

/// The name that was probably meant. (clap's other tip, to pass a word behind `--`, is of no use:
/// no verb takes such words.)
fn meant(error: &clap::Error) -> Option<&str> {
    let suggested =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    suggested.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(name.as_str()),
        ContextValue::Strings(names) => names.first().map(String::as_str),
        _ => None,
    })
}
