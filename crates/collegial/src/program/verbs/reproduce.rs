//! `collegial reproduce`: every figure and table of the paper.

use std::path::PathBuf;

use crate::engine::Engine;
use crate::jobs::Task;
use crate::reproduce::{self, Request, Scale};
use clap::Args;

use crate::program::arguments::{Common, Format};
use crate::program::failure::Failure;
use crate::program::output::{print, show};
use crate::program::progress::Progress;
use crate::program::terminal;
use crate::program::verbs::job::Planning;

/// Compute a figure or table of the paper again and set it beside the published one
///
/// Writes a page (HTML and Markdown) with figure, data, published and obtained values and a verdict
/// for every item. Designs, counts and efficiencies are exact at every scale; what is drawn or
/// trained depends on it. A run that was interrupted goes on where it was. Exit 1: something that
/// involves no chance came out differently, and not for a known reason.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial reproduce table1")]
pub struct Reproduce {
    /// fig2, fig3, ..., table5, network, evidence, evidence-paper, ..., or all
    #[arg(value_name = "FIGURE|TABLE|all", required = true)]
    items: Vec<String>,
    /// How much to compute: smoke (seconds), laptop (minutes on two cores) or paper (the recipe as
    /// printed)
    #[arg(long, default_value_t = Scale::Laptop)]
    scale: Scale,
    /// Directory under which the data sets are (MNIST, CIFAR-10, ...)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where pages, figures, data and finished parts go
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Who computes the trainings
    #[arg(long, value_enum, default_value_t = Engine::Native)]
    engine: Engine,
    #[command(flatten)]
    planning: Planning,
}

/// Runs the verb.
pub fn run(verb: &Reproduce, common: &Common) -> Result<(), Failure> {
    let request = Request {
        items: verb.items.clone(),
        scale: verb.scale,
        data: verb.data.clone(),
        out: verb.out.clone(),
        seed: common.seed,
        engine: verb.engine,
        command: terminal::command_line(),
    };
    if let Some(planned) = verb.planning.run(|| Task::Reproduce(request.clone()), common) {
        return planned;
    }
    let reproduced = reproduce::run(&request, &Progress::new("starting", common))?;
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
