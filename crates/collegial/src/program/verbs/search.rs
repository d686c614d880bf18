//! `collegial search`: the main job.

use std::path::PathBuf;

use crate::ntk::NormPolicy;
use crate::search::{self, BlockInputs, Cost, Found, Request, Rule, VarianceSource};
use crate::{Answer as _, Budget, Widths, files};
use clap::Args;

use crate::program::arguments::{Common, Model};
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::program::terminal;

/// Find the best number m and width n of members for a baseline, without training
///
/// Same cost (primal): the design with the least mean kernel variance of its blocks at
/// initialisation whose network costs no more than the baseline. Same variance (dual): the cheapest
/// design whose variance is not above the baseline's. Every integer design m x n of the whole
/// network is looked at, with exact variances. --check draws the kernels of the whole networks.
/// --paper is Algorithm 2 as printed, on one block with a fitted law; --alpha, --trials, --variance
/// law and measured imply it.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial search resnext50-1x64d --cost flops --multiple-of 8")]
pub struct Search {
    #[command(flatten)]
    model: Model,
    /// Algorithm 2 as printed
    #[arg(long)]
    paper: bool,
    /// Alpha of the variance law [default: fitted on the spot]
    #[arg(long, allow_negative_numbers = true, conflicts_with = "trials")]
    alpha: Option<f64>,
    /// What a member is charged for
    #[arg(long, value_enum, default_value_t = Cost::Params)]
    cost: Cost,
    /// Where the variance comes from [default: exact where it has a closed form, else measured]
    #[arg(long, value_enum)]
    variance: Option<VarianceSource>,
    /// What the blocks of a network see
    #[arg(long, value_enum, default_value_t = BlockInputs::Network)]
    block_inputs: BlockInputs,
    /// A data set whose images come in [default: natural images, by two constants]; class count and
    /// image size are the data set's
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How the primal meets the budget [default: under; nearest with --paper]
    #[arg(long, value_enum)]
    rule: Option<Rule>,
    /// What the whole network may cost: 13775178, 25.6M, 1.2G [default: what the baseline costs]
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    budget: Option<Budget>,
    /// Times measured elsewhere, for --cost time: a CSV file with columns model (the baseline and
    /// other designs) and seconds
    #[arg(long, value_name = "FILE.csv")]
    timings: Option<PathBuf>,
    /// Widths to look at: 4,10,16 or 1..64 or 8..128:8 [default: all up to the baseline's]
    #[arg(long, value_name = "LIST")]
    widths: Option<Widths>,
    /// Only widths that are a multiple of this, such as 8 for hardware
    #[arg(long, value_name = "N", default_value_t = 1)]
    multiple_of: usize,
    /// At most this many members
    #[arg(long, value_name = "M")]
    max_multiplicity: Option<usize>,
    /// Also look at members with two widths, into and out of their middle convolution
    #[arg(long, conflicts_with = "widths")]
    free_widths: bool,
    /// Also look at one design per stage, each stage keeping its cost, and with cost moved between
    /// stages
    #[arg(long, conflicts_with = "widths")]
    per_stage: bool,
    /// Draw the whole network's kernel for the baseline and both optima, beside what the score says
    #[arg(long, conflicts_with = "paper")]
    check: bool,
    /// Initialisations of every network in --check [default: 100]
    #[arg(long, value_name = "T", requires = "check")]
    draws: Option<u64>,
    /// What becomes of batch norms in --check [default: none]
    #[arg(long, alias = "norms", value_enum, requires = "check")]
    norm: Option<NormPolicy>,
    /// Draws per width when alpha is fitted [default: 2000]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    trials: Option<u64>,
    /// Standard error of every measured variance, as a share of it [default: 0.01]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    precision: Option<f64>,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the figures as SVG files, with their data as CSV, into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

impl Search {
    /// The question in the words of the library.
    pub fn request(&self, common: &Common) -> Request {
        Request {
            model: self.model.request(),
            paper: self.paper,
            alpha: self.alpha,
            cost: self.cost,
            variance: self.variance,
            block_inputs: self.block_inputs,
            data: self.data.clone(),
            rule: self.rule,
            budget: self.budget,
            timings: self.timings.clone(),
            widths: self.widths.clone(),
            multiple_of: self.multiple_of,
            max_multiplicity: self.max_multiplicity,
            free_widths: self.free_widths,
            per_stage: self.per_stage,
            check: self.check,
            draws: self.draws,
            norm: self.norm,
            trials: self.trials,
            precision: self.precision,
            seed: common.seed,
        }
    }
}

/// Runs the verb.
pub fn run(verb: &Search, common: &Common) -> Result<(), Failure> {
    let found = search::run(&verb.request(common), &Progress::new("drawing kernels", common))?;
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
