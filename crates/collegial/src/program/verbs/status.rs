//! `collegial status`: how far the jobs of a plan are.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use clap::Args;

use crate::jobs::status::{self, Request};
use crate::program::arguments::{Common, Format};
use crate::program::failure::Failure;
use crate::program::output::{print, show, text};
use crate::program::signals;

/// Between looks on a terminal at least.
const EVERY: Duration = Duration::from_secs(2);

/// How much longer the pauses between looks are than the looks, which open a file per job.
const PAUSE: u32 = 20;

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    request: Request,
    /// Look once, on a terminal too
    #[arg(long)]
    once: bool,
}

/// Runs the verb.
pub fn run(verb: &Status, common: &Common) -> Result<(), Failure> {
    let live = common.format() == Format::Table && std::io::stdout().is_terminal() && !verb.once;
    if !live {
        return show(&status::run(&verb.request)?, common.format());
    }
    signals::watch();
    let mut lines = 0;
    loop {
        let start = Instant::now();
        let status = status::run(&verb.request)?;
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
