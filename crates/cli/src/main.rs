//! `collegial`: the command line. One file per verb; the work is done by the libraries.
//!
//! Results go to stdout, everything else to stderr. Exit 0: done; 1: the answer is "no"; 2: an error the user
//! can fix, said in one sentence; 130: interrupted.

mod arguments;
mod failure;
mod output;
mod progress;
mod terminal;
mod verbs;
mod widths;

use std::process::ExitCode;

use arguments::{Arguments, Verb};
use clap::Parser;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
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
        Verb::Search(verb) => verbs::search::run(verb, common),
        Verb::Train(verb) => verbs::train::run(verb, common),
        Verb::Evaluate(verb) => verbs::evaluate::run(verb, common),
        Verb::Export(verb) => verbs::export::run(verb, common),
        Verb::Merge(verb) => verbs::merge::run(verb, common),
        Verb::Completions(verb) => verbs::completions::run(verb),
        Verb::Man(verb) => verbs::man::run(verb),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
