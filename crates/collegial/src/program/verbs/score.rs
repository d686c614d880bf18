//! `collegial score`: a table of designs with their scores, and how they rank a column of errors.

use std::path::PathBuf;

use crate::{self as ops, Answer as _, files};
use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::terminal;

/// Score a table of designs, and say how the scores rank a column of errors
///
/// TABLE is a CSV file with one network per row, in a column `model` (what MODEL is elsewhere: a
/// name, a spec, a run, a checkpoint, a safetensors or ONNX file), in columns `depth`, `m`, `n`, or
/// in columns `blocks`, `outputs`, `m`, `n` with one number per stage joined by hyphens (and
/// `stem`: small, imagenet, c, d or simple, `classes`, `image`); or a file of sampled models of "On
/// Network Design Spaces", whose name ends in .json (with `_in` in it: of ImageNet). A row whose
/// column `left_out` gives a reason is listed, not scored. Every row gets its exact score (mean
/// kernel variance of its blocks at initialisation, with what the blocks see and with white
/// inputs), the paper's law, parameters, FLOPs and inner width m n. With --target, rank
/// correlations of each with that column follow, within the groups of --group, with bootstrap
/// intervals, and partial ones given parameters and FLOPs.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial score designs.csv --target top1_error --group recipe")]
pub struct Score {
    /// A CSV file with one design per row, or a JSON file of sampled models
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// A column of errors to correlate with; may be given several times
    #[arg(long, value_name = "COLUMN")]
    target: Vec<String>,
    /// A column whose values part the rows into groups, such as a training recipe; may be given
    /// several times
    #[arg(long, value_name = "COLUMN")]
    group: Vec<String>,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the figure as SVG file, with its data as CSV, into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(verb: &Score, common: &Common) -> Result<(), Failure> {
    let request = ops::score::Request {
        table: verb.table.clone(),
        target: verb.target.clone(),
        group: verb.group.clone(),
        seed: common.seed,
    };
    let scored = ops::score::run(&request)?;
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
