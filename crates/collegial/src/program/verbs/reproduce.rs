//! `collegial reproduce`: every figure and table of the paper.

use clap::Args;

use crate::backend::Backends;
use crate::jobs::Task;
use crate::program::arguments::{Common, Format};
use crate::program::failure::Failure;
use crate::program::output::{print, show};
use crate::program::progress::Progress;
use crate::program::terminal;
use crate::program::verbs::job::Planning;
use crate::reproduce::{self, Request};

#[derive(Args)]
pub struct Reproduce {
    // Before the request, whose doc comment is then the verb's help.
    #[command(flatten)]
    planning: Planning,
    #[command(flatten)]
    request: Request,
}

/// Runs the verb.
pub fn run(verb: &Reproduce, backends: Backends, common: &Common) -> Result<(), Failure> {
    let command = terminal::command_line();
    let request = Request { seed: common.seed, command, ..verb.request.clone() };
    if let Some(planned) = verb.planning.run(|| Task::Reproduce(request.clone()), backends, common) {
        return planned;
    }
    let reproduced = reproduce::run(&request, backends, &Progress::new("starting", common))?;
    match common.format() {
        Format::Csv => {
            for report in &reproduced.reports {
                print(&report.table().to_csv())?;
            }
        }
        format => show(&reproduced, format)?,
    }
    common.say(&format!("pages: {}", reproduced.first_page.display()));
    match reproduced.failure() {
        Some(what) => Err(Failure::No(format!("what involves no chance came out differently: {what}"))),
        None => Ok(()),
    }
}
