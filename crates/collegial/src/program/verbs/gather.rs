//! `collegial gather`: of what a plan's jobs have finished, what one process would have made.

use crate::jobs::gather::{self, Request};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::program::terminal;

/// Runs the verb.
pub fn run(request: &Request, common: &Common) -> Result<(), Failure> {
    let gathered = gather::run(request, terminal::provenance(), &Progress::new("gathering", common))?;
    show(&gathered, common.format())?;
    common.say(&format!("written: {}", gathered.page.display()));
    let status = &gathered.status;
    if status.is_complete() {
        return Ok(());
    }
    Err(Failure::No(format!("{} of {} jobs are missing", status.missing.len(), status.jobs)))
}
