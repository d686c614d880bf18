//! `collegial reproduce`: every figure and table of the paper.

use std::path::PathBuf;

use clap::Args;
use collegial_reproduce::{
    Context, Error, ITEMS, Item, Parts, Report, Scale, item, reproduce, write_index, write_report,
};
use collegial_stats::Monitor;
use serde_json::json;

use crate::arguments::{Common, Format};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::terminal;

/// Compute a figure or table of the paper again and set it beside the published one
///
/// Writes a page (HTML and Markdown) with figure, data, published and obtained values and a verdict for every item. Designs, counts
/// and efficiencies are exact at every scale; what is drawn or trained depends on it. A run that was interrupted goes on where it
/// was. Exit 1: something that involves no chance came out differently, and not for a known reason.
#[derive(Args)]
pub struct Reproduce {
    /// fig2, fig3, ..., table5, or all
    #[arg(value_name = "FIGURE|TABLE|all", required = true)]
    items: Vec<String>,
    /// How much to compute: smoke (seconds), laptop (minutes on two cores) or paper (the recipe as printed)
    #[arg(long, default_value_t = Scale::Laptop)]
    scale: Scale,
    /// Directory under which the data sets are (MNIST, CIFAR-10, ...)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where pages, figures, data and finished parts go
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
}

/// Runs the verb.
pub fn run(verb: &Reproduce, common: &Common) -> Result<(), Failure> {
    let items = choose(&verb.items)?;
    if let Some(root) = verb.data.as_ref().filter(|root| !root.is_dir()) {
        return Err(Failure::User(format!("the data directory {} does not exist", root.display())));
    }
    let parts = Parts::open(verb.out.join("parts"))?;
    let watch = Watch::new(common);
    let context = Context {
        scale: verb.scale,
        seed: common.seed,
        data: verb.data.clone(),
        parts: &parts,
        monitor: &watch,
    };
    let mut reports = vec![];
    for item in &items {
        let report = reproduce(*item, &context)?;
        write_report(&verb.out, &report)?;
        watch.say(&format!("{}: {}", report.item, report.summary.words()));
        reports.push(report);
    }
    if items.len() > 1 {
        write_index(&verb.out, &reports, verb.scale, &terminal::command_line())?;
    }
    drop(watch);
    show(verb, &reports, common)
}

/// The items that were named, once each; `all` stands for every one.
fn choose(names: &[String]) -> Result<Vec<&'static dyn Item>, Failure> {
    if names.iter().any(|name| name == "all") {
        return Ok(ITEMS.to_vec());
    }
    let mut items: Vec<&'static dyn Item> = vec![];
    for name in names {
        let item = item(name)?;
        if !items.iter().any(|known| known.name() == item.name()) {
            items.push(item);
        }
    }
    Ok(items)
}

fn show(verb: &Reproduce, reports: &[Report], common: &Common) -> Result<(), Failure> {
    let fails = reports.iter().any(Report::fails);
    match common.format() {
        Format::Json => {
            let items: Vec<_> = reports.iter().map(Report::to_json).collect();
            print_json(
                &json!({"scale": verb.scale.name(), "seed": common.seed, "fails": fails, "items": items}),
            )?;
        }
        Format::Csv => {
            for report in reports {
                print(&report.table().to_csv())?;
            }
        }
        Format::Table => {
            for report in reports {
                print(&text(report))?;
            }
        }
    }
    let first = if reports.len() > 1 { "index" } else { reports.first().map_or("", |report| report.item) };
    common.say(&format!("pages: {}", verb.out.join(format!("{first}.html")).display()));
    let differing = reports.iter().flat_map(|report| report.differs().filter(|row| row.fails()));
    match differing.map(|row| row.what.as_str()).next() {
        Some(what) => Err(Failure::No(format!("what involves no chance came out differently: {what}"))),
        None => Ok(()),
    }
}

fn text(report: &Report) -> String {
    let (title, verdict) = (terminal::bold(&report.title), report.summary.words());
    let tables: String = match report.outcome.tables.as_slice() {
        [] => report.table().to_text(),
        tables => {
            tables.iter().map(|(table, caption)| format!("{caption}\n\n{}\n", table.to_text())).collect()
        }
    };
    format!("{title}\n{verdict}: {}\n\n{tables}\n", report.outcome.sentence)
}

/// Progress on stderr.
pub struct Watch<'a> {
    progress: Progress,
    common: &'a Common,
}

impl<'a> Watch<'a> {
    /// Starts watching.
    pub fn new(common: &'a Common) -> Self {
        Self { progress: Progress::new("starting", common), common }
    }
}

impl Monitor for Watch<'_> {
    fn progress(&self, share: f64, state: Option<&str>) {
        self.progress.progress(share, state);
    }
    fn say(&self, sentence: &str) {
        self.progress.suspend(|| self.common.say(sentence));
    }
    fn stopped(&self) -> bool {
        self.progress.stopped()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Trials(error) => error.into(),
            _ => Self::User(error.to_string()),
        }
    }
}

impl From<collegial_trials::Error> for Failure {
    fn from(error: collegial_trials::Error) -> Self {
        match error {
            collegial_trials::Error::Interrupted => {
                crate::arguments::complain(&error.to_string());
                Self::Interrupted
            }
            _ => Self::User(error.to_string()),
        }
    }
}
