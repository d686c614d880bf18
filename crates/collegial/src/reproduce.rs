//! `reproduce`: every figure and table of the paper.

use std::path::{Path, PathBuf};

use collegial_experiments::reproduce::{
    Backends, Context, Engine, Error as Failed, ITEMS, Item, Share, item, reproduce, write_index,
    write_report,
};
pub use collegial_experiments::reproduce::{Report, Scale};
use collegial_experiments::{Context as Sweep, ResultCache};
use collegial_report::{Align, Table};
use serde::Serialize;
use serde_json::json;

use crate::message::{invalid, option};
use crate::options::options;
use crate::style::wrapped;
use crate::{Answer, Document, Error, Monitor, Style, files, to_json};

options! {
    /// Compute a figure or table of the paper again and set it beside the published one
    ///
    /// Writes a page (HTML and Markdown) with figure, data, published and obtained values and a
    /// verdict for every item. Designs, counts and efficiencies are exact at every scale; what is
    /// drawn or trained depends on it. A run that was interrupted goes on where it was.
    ///
    /// Exit 1: something that involves no chance came out differently, and not for a known reason.
    #[command(after_help = "Example:\n  collegial reproduce table1")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// fig2, fig3, ..., table5, network, group-widths, fig4-recorded, prediction, evidence, or all
        #[arg(value_name = "FIGURE|TABLE|all", required = true)]
        pub items: Vec<String>,
        /// How much to compute: smoke (seconds), laptop (minutes on two cores) or paper (the recipe
        /// as printed)
        #[arg(long)]
        pub scale: Scale = Scale::Laptop,
        /// Directory under which the data sets are (MNIST, CIFAR-10, ...)
        #[arg(long, value_name = "DIR")]
        #[serde(with = "crate::paths::exact_option")]
        pub data: Option<PathBuf>,
        /// Directory of studies for fig4-recorded, prediction and evidence, which judge kept records:
        /// research in the repository
        #[arg(long, value_name = "DIR")]
        #[serde(with = "crate::paths::exact_option", skip_serializing_if = "Option::is_none")]
        pub records: Option<PathBuf>,
        /// Where pages, figures, data and finished parts go [default: reproduction]
        #[arg(long, value_name = "DIR")]
        #[serde(with = "crate::paths::exact_option")]
        pub out: Option<PathBuf>,
        /// Seed of everything random
        #[arg(skip)]
        pub seed: u64,
        /// How the request was made, for the pages
        #[arg(skip)]
        pub command: String,
        /// Who computes the trainings
        #[arg(long, value_enum)]
        #[serde(skip_serializing_if = "Engine::is_native")]
        pub engine: Engine = Engine::Native,
    }
}

impl Request {
    /// Where everything goes.
    pub(crate) fn directory(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new("reproduction"))
    }
}

/// An item of `all` that could not be had.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub item: &'static str,
    /// What it needs.
    pub reason: String,
}

/// A report per item.
#[derive(Debug)]
pub struct ReproduceAnswer {
    /// In the requested order.
    pub reports: Vec<Report>,
    /// Items of `all` for which data or records are missing.
    pub left_out: Vec<LeftOut>,
    /// How much was computed.
    pub scale: Scale,
    /// From which seed.
    pub seed: u64,
    /// The page to look at first.
    pub first_page: PathBuf,
}

/// Computes, and writes a page per item. What is finished when it is interrupted is kept.
///
/// # Errors
///
/// Where there is no such item or no such data, or the monitor stopped it.
pub fn run(request: &Request, backends: Backends, monitor: &dyn Monitor) -> Result<ReproduceAnswer, Error> {
    backends.check(request.engine)?;
    files::check_directory("out", request.out.as_deref())?;
    let mut reports = vec![];
    let take = |report: Report| {
        write_report(request.directory(), &report)?;
        monitor.say(&format!("{}: {}", report.item, report.summary.words()));
        reports.push(report);
        Ok(())
    };
    let left_out = compute(request, Share::All, backends, monitor, |_| true, take)?;
    for LeftOut { item, reason } in &left_out {
        monitor.say(&format!("{item}: left out; {reason}"));
    }
    finish(request, reports, left_out)
}

/// Computes the items that are `wanted`, with a share of their trainings, and hands over the report
/// of each. Of `all`, those whose data or records are missing are left out.
pub(crate) fn compute(
    request: &Request,
    share: Share<'_>,
    backends: Backends,
    monitor: &dyn Monitor,
    wanted: impl Fn(&Item) -> bool,
    mut done: impl FnMut(Report) -> Result<(), Failed>,
) -> Result<Vec<LeftOut>, Error> {
    let items = choose(&request.items)?;
    let is_all = request.items.iter().any(|name| name == ALL);
    if let Some(root) = request.data.as_ref().filter(|root| !root.is_dir()) {
        return Err(invalid![format!("the data directory {} does not exist", root.display())].into());
    }
    let directory = files::directory_or(request.out.as_deref(), || request.directory().to_owned())?;
    let cache = ResultCache::open(directory.join("parts"))?;
    let engine = request.engine;
    let context = Context {
        scale: request.scale,
        data: request.data.clone(),
        records: request.records.clone(),
        command: &request.command,
        sweep: Sweep { share, engine, backends, ..Sweep::new(request.seed, &cache, monitor) },
    };
    let mut left_out = vec![];
    for item in items.into_iter().filter(|item| wanted(item)) {
        match reproduce(item, &context).and_then(&mut done) {
            Err(error) if is_all && error.is_missing_input() => {
                left_out.push(LeftOut { item: item.name(), reason: error.to_string() });
            }
            done => done.map_err(|error| told(error, monitor))?,
        }
    }
    Ok(left_out)
}

/// The answer of reports that are written; several get an index.
pub(crate) fn finish(
    request: &Request,
    reports: Vec<Report>,
    left_out: Vec<LeftOut>,
) -> Result<ReproduceAnswer, Error> {
    let first = match reports.as_slice() {
        [report] => report.item,
        _ => "index",
    };
    let first_page = request.directory().join(format!("{first}.html"));
    if reports.len() > 1 {
        let missing: Vec<(&str, &str)> = left_out.iter().map(|left| (left.item, &*left.reason)).collect();
        write_index(request.directory(), &reports, &missing, request.scale, &request.command)?;
    }
    Ok(ReproduceAnswer { reports, left_out, scale: request.scale, seed: request.seed, first_page })
}

/// What was interrupted says how it goes on.
pub(crate) fn told(error: Failed, monitor: &dyn Monitor) -> Error {
    if error.is_interruption() {
        monitor.say(&error.to_string());
    }
    error.into()
}

/// Stands for every item.
const ALL: &str = "all";

/// The items that were named, once each; `all` stands for every one.
fn choose(names: &[String]) -> Result<Vec<&'static Item>, Error> {
    if names.iter().any(|name| name == ALL) {
        return Ok(ITEMS.iter().collect());
    }
    if names.is_empty() {
        return Err(invalid![option("items"), " is empty; name figures or tables, or all"].into());
    }
    let mut items: Vec<&'static Item> = vec![];
    for name in names {
        let item = item(name)?;
        if !items.iter().any(|known| known.name() == item.name()) {
            items.push(item);
        }
    }
    Ok(items)
}

impl ReproduceAnswer {
    /// The first deterministic value that differs from the published one without a known reason.
    pub fn failure(&self) -> Option<&str> {
        let differing = self.reports.iter().flat_map(|report| report.differs().filter(|row| row.fails()));
        differing.map(|row| row.what.as_str()).next()
    }

    fn fails(&self) -> bool {
        self.reports.iter().any(Report::fails)
    }
}

impl Document for ReproduceAnswer {
    fn document(&self) -> Result<String, Error> {
        let items: Vec<_> = self.reports.iter().map(Report::to_json).collect();
        to_json(&json!({
            "scale": self.scale.name(), "seed": self.seed, "fails": self.fails(), "items": items,
            "left_out": self.left_out,
        }))
    }
}

impl Answer for ReproduceAnswer {
    fn text(&self, style: &Style) -> String {
        self.reports.iter().map(|report| text(report, style)).collect()
    }

    /// All comparisons, the item of each in the first column.
    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("item", Align::Left),
            ("what", Align::Left),
            ("published", Align::Right),
            ("obtained", Align::Right),
            ("verdict", Align::Left),
        ]);
        for report in &self.reports {
            for row in &report.outcome.comparisons {
                table.push([
                    report.item.to_owned(),
                    row.what.clone(),
                    row.published.clone(),
                    row.obtained_with_interval(),
                    row.verdict.to_string(),
                ]);
            }
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let sentence = |report: &Report| {
            format!("{}: {}. {}", report.title, report.summary.words(), report.outcome.sentence)
        };
        (self.reports.iter().map(sentence).collect(), self.table())
    }
}

fn text(report: &Report, style: &Style) -> String {
    let title: Vec<String> = wrapped(&report.title).iter().map(|line| style.strong(line)).collect();
    let sentence = wrapped(&format!("{}: {}", report.summary.words(), report.outcome.sentence));
    let tables: String = match report.outcome.tables.as_slice() {
        [] => report.table().to_text(),
        tables => {
            let captioned = |(table, caption): &(Table, String)| {
                format!("{}\n\n{}\n", wrapped(caption).join("\n"), table.to_text())
            };
            tables.iter().map(captioned).collect()
        }
    };
    format!("{}\n{}\n\n{tables}\n", title.join("\n"), sentence.join("\n"))
}
