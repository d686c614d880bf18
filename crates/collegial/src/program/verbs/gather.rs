//! `collegial gather`: of what a plan's jobs have finished, what one process would have made.

use std::path::PathBuf;

use crate::jobs::gather;
use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::program::terminal;

/// Make pages and tables of what the jobs of a plan have finished
///
/// With every job finished, the results are those of one process, to the last bit. Before that, as
/// many repetitions count as all designs have, pages say so, and what is missing is listed. Exit 1:
/// jobs are missing.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial gather plan")]
pub struct Gather {
    /// The plan's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs the verb.
pub fn run(verb: &Gather, common: &Common) -> Result<(), Failure> {
    let request = gather::Request { directory: verb.directory.clone() };
    let gathered = gather::run(&request, terminal::provenance(), &Progress::new("gathering", common))?;
    show(&gathered, common.format())?;
    common.say(&format!("written: {}", gathered.page.display()));
    let status = &gathered.status;
    if status.is_complete() {
        return Ok(());
    }
    Err(Failure::No(format!("{} of {} jobs are missing", status.missing.len(), status.jobs)))
}
