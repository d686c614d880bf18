//! `collegial status`: how far the jobs of a plan are.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::jobs::status;
use clap::Args;

use crate::program::arguments::{Common, Format};
use crate::program::failure::Failure;
use crate::program::output::{print, show, text};
use crate::program::signals;

/// Between looks on a terminal at least.
const EVERY: Duration = Duration::from_secs(2);

/// How much longer the pauses between looks are than the looks, which open a file per job.
const PAUSE: u32 = 20;

/// Say how far the jobs of a plan are, which failed and why, and how long the rest takes
///
/// On a terminal it looks again every two seconds, less often where a look takes long, until all jobs
/// are done, or Ctrl-C.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial status plan --json")]
pub struct Status {
    /// The plan's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Look once, on a terminal too
    #[arg(long)]
    once: bool,
}

/// Runs the verb.
pub fn run(verb: &Status, common: &Common) -> Result<(), Failure> {
    let request = status::Request { directory: verb.directory.clone() };
    let live = common.format() == Format::Table && std::io::stdout().is_terminal() && !verb.once;
    if !live {
        return show(&status::run(&request)?, common.format());
    }
    signals::watch();
    let mut lines = 0;
    loop {
        let start = Instant::now();
        let status = status::run(&request)?;
        let took = start.elapsed();
        let text = text(&status);
        // Up to where the last look began, and clear from there.
        let back = if lines > 0 { format!("\x1b[{lines}F\x1b[J") } else { String::new() };
        print(&format!("{back}{text}"))?;
        lines = text.lines().count();
        if status.is_complete() || signals::received() {
            return Ok(());
        }
        signals::sleep(EVERY.max(PAUSE * took));
    }
}
