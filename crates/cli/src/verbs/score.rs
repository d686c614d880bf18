//! `collegial score`: a table of designs with their scores, and how they rank a column of errors.

use std::path::PathBuf;

use clap::Args;
use collegial_ops as ops;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::show;

/// Score a table of designs, and say how the scores rank a column of errors
///
/// TABLE is a CSV file with one network per row, in a column `model` (a name or the path of a spec), in columns `depth`, `m`, `n`, or in
/// columns `blocks`, `outputs`, `m`, `n` with one number per stage joined by hyphens (and `stem`: small, imagenet or simple, `classes`,
/// `image`). Every row gets its exact score (mean kernel variance of its blocks at initialisation, with what the blocks see and with
/// white inputs), the paper's law, parameters, FLOPs and inner width m n. With --target, rank correlations of each with that column
/// follow, within the groups of --group, with bootstrap intervals, and partial ones given parameters and FLOPs.
///
/// Example: collegial score designs.csv --target top1_error --group recipe
#[derive(Args)]
pub struct Score {
    /// A CSV file with one design per row
    #[arg(value_name = "TABLE.csv")]
    table: PathBuf,
    /// A column of errors to correlate with; may be given several times
    #[arg(long, value_name = "COLUMN")]
    target: Vec<String>,
    /// The column whose values part the rows into groups, such as a training recipe
    #[arg(long, value_name = "COLUMN")]
    group: Option<String>,
}

/// Runs the verb.
pub fn run(verb: &Score, common: &Common) -> Result<(), Failure> {
    let request = ops::score::Request {
        table: verb.table.clone(),
        target: verb.target.clone(),
        group: verb.group.clone(),
        seed: common.seed,
    };
    show(&ops::score::run(&request)?, common.format())
}
