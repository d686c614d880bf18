//! `collegial score`: a table of designs with their scores, and how they rank a column of errors.

use std::path::PathBuf;

use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::terminal;
use crate::score::{self, Request};
use crate::{Answer as _, files};

#[derive(Args)]
pub struct Score {
    #[command(flatten)]
    request: Request,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the figure as SVG file, with its data as CSV, into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(verb: &Score, common: &Common) -> Result<(), Failure> {
    let request = Request { seed: common.seed, ..verb.request.clone() };
    let scored = score::run(&request)?;
    if let Some(directory) = &verb.figures {
        files::write_figures(directory, &scored)?;
        common.say(&format!("wrote figures to {}", directory.display()));
    }
    if let (Some(path), Some(page)) = (&verb.report, scored.page(terminal::provenance())) {
        files::write(path, page.to_html().as_bytes())?;
        common.say(&format!("wrote {}", path.display()));
    }
    show(&scored, common.format())
}
