//! `collegial`: the command line, as a library, so that the binary and the Python wheel are the
//! same program. One file per verb; the work is done by the libraries.
//!
//! [`main`] is the program. Results go to stdout, everything else to stderr. Exit 0: done; 1: the
//! answer is "no"; 2: an error the user can fix, said in one sentence; 130: interrupted (143 by
//! SIGTERM).

mod arguments;
mod declared;
mod failure;
mod output;
mod progress;
mod python;
mod python_functions;
mod reference;
mod request_schemas;
mod signals;
mod terminal;
mod types;
mod verbs;

use std::ffi::OsString;

use arguments::{Arguments, Verb};
use clap::FromArgMatches;

use crate::backend::Backends;
use crate::runtime::Runtimes;

pub use python_functions::python_functions;
pub use reference::reference;
pub use request_schemas::request_schemas;

/// What is wrong with a command's words, its own name first; nothing is run.
///
/// # Errors
///
/// Where the program would refuse them before it begins.
pub fn understood(words: &[&str]) -> Result<(), String> {
    let parsed = arguments::command().try_get_matches_from(words);
    let arguments = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
    arguments.map(drop).map_err(|error| error.to_string())
}

/// Runs the program on its arguments, its own name first, with the backends of training and the
/// runtimes that the caller has, and gives the exit code.
pub fn main(words: &[OsString], backends: Backends, runtimes: Runtimes) -> u8 {
    signals::survive_long_files();
    terminal::remember(words);
    let parsed = arguments::command().try_get_matches_from(words);
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return failure::of_arguments(&error),
    };
    let common = &arguments.common;
    if let Err(failure) = common.prepare() {
        return failure.report();
    }
    let result = match &arguments.verb {
        Verb::Info(verb) => verbs::info::run(verb, common),
        Verb::Moments(verb) => verbs::moments::run(verb, common),
        Verb::Ntk(verb) => verbs::ntk::run(verb, common),
        Verb::Fit(verb) => verbs::fit::run(verb, common),
        Verb::Search(verb) => verbs::search::run(verb, runtimes, common),
        Verb::Score(verb) => verbs::score::run(verb, common),
        Verb::Explore(verb) => verbs::explore::run(verb, common),
        Verb::Models(verb) => verbs::models::run(*verb, common),
        Verb::Train(verb) => verbs::train::run(verb, backends, common),
        Verb::Evaluate(verb) => verbs::evaluate::run(verb, common),
        Verb::Export(verb) => verbs::export::run(verb, common),
        Verb::Reproduce(verb) => verbs::reproduce::run(verb, backends, common),
        Verb::Validate(verb) => verbs::validate::run(verb, backends, common),
        Verb::Sweep(verb) => verbs::sweep::run(verb, backends, common),
        Verb::Job(verb) => verbs::job::run(verb, backends, common),
        Verb::Gather(verb) => verbs::gather::run(verb, common),
        Verb::Status(verb) => verbs::status::run(verb, common),
        Verb::Merge(verb) => verbs::merge::run(verb, common),
        Verb::Completions(verb) => verbs::completions::run(verb),
        Verb::Man(verb) => verbs::man::run(verb),
    };
    match result {
        Ok(()) => 0,
        Err(failure::Failure::NeedsPython) => python::go_on(words),
        Err(failure) => failure.report(),
    }
}
