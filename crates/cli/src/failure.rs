//! How a verb ends when it does not end well, and the exit code for it.

use std::io;

use crate::arguments::complain;
use crate::signals;

/// Why a verb stopped.
pub enum Failure {
    /// Something the user can fix: one sentence, exit 2.
    User(String),
    /// The answer is "no": one sentence, exit 1.
    No(String),
    /// Ctrl-C or SIGTERM, after what was computed has been printed or saved: exit 130 or 143.
    Interrupted,
    /// Whoever read our output went away (`| head`): nothing is wrong, nobody is left to tell.
    ReaderLeft,
}

impl Failure {
    /// Says it, and gives the exit code.
    pub fn report(self) -> u8 {
        match self {
            Self::User(sentence) => {
                complain(&format!("error: {sentence}"));
                2
            }
            Self::No(sentence) => {
                complain(&sentence);
                1
            }
            Self::Interrupted => signals::exit_code(),
            Self::ReaderLeft => 0,
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

impl From<collegial_arch::Error> for Failure {
    fn from(error: collegial_arch::Error) -> Self {
        Self::User(error.to_string())
    }
}

impl From<collegial_export::Error> for Failure {
    fn from(error: collegial_export::Error) -> Self {
        Self::User(error.to_string())
    }
}

impl From<collegial_search::Error> for Failure {
    fn from(error: collegial_search::Error) -> Self {
        Self::User(error.to_string())
    }
}

impl From<collegial_ntk::Error> for Failure {
    fn from(error: collegial_ntk::Error) -> Self {
        Self::User(error.to_string())
    }
}

impl From<collegial_train::Error> for Failure {
    fn from(error: collegial_train::Error) -> Self {
        Self::User(error.to_string())
    }
}

/// Help and version as asked for; a wrong argument as one sentence, like every other error.
pub fn of_arguments(error: &clap::Error) -> u8 {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that has left needs no help.
            let _ = error.print();
            0
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            complain(error.render().to_string().trim_end());
            2
        }
        _ => {
            complain(&sentence(error));
            2
        }
    }
}

/// What is wrong with the arguments, without the usage: `error: ...`.
pub fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines: Vec<&str> =
        text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:")).collect();
    let sentence = lines.join(" ");
    let hint = "For more information, try '--help'.";
    let sentence = sentence.trim_end().trim_end_matches(hint);
    sentence.split_whitespace().collect::<Vec<_>>().join(" ")
}
