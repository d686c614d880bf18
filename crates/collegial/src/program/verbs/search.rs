//! `collegial search`: the main job.

use std::path::PathBuf;

use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::program::terminal;
use crate::search::{self, Found, Request};
use crate::{Answer as _, files};

#[derive(Args)]
pub struct Search {
    #[command(flatten)]
    request: Request,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the figures as SVG files, with their data as CSV, into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(verb: &Search, common: &Common) -> Result<(), Failure> {
    let request = Request { seed: common.seed, ..verb.request.clone() };
    let found = search::run(&request, &Progress::new("drawing kernels", common))?;
    write_files(verb, &found, common)?;
    show(&found, common.format())
}

/// Writes the requested page and figures.
pub fn write_files(verb: &Search, found: &Found, common: &Common) -> Result<(), Failure> {
    if let Some(directory) = &verb.figures {
        files::write_figures(directory, found)?;
        common.say(&format!("wrote figures to {}", directory.display()));
    }
    if let (Some(path), Some(page)) = (&verb.report, found.page(terminal::provenance())) {
        files::write(path, page.to_html().as_bytes())?;
        common.say(&format!("wrote {}", path.display()));
    }
    Ok(())
}
