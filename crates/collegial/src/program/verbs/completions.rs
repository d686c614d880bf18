//! `collegial completions`: what a shell needs to complete our verbs and flags.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::program::arguments::Arguments;
use crate::program::failure::Failure;
use crate::program::output::print;

/// Print the completion script of a shell
#[derive(Args)]
#[command(after_help = "Example:\n  collegial completions bash > collegial.bash")]
pub struct Completions {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the verb.
pub fn run(verb: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut Arguments::command(), "collegial", &mut script);
    print(&String::from_utf8_lossy(&script))
}
