//! Pages of reports: Markdown and HTML, with figures and data beside them, and the index.

use std::path::Path;

use collegial_core::files::{disk, write_inside};
use collegial_report::{Align, Download, Page, Provenance, Section, Table, capitalised};
use serde_json::Value;

use crate::reproduce::{Error, Report, Scale};

const VERSION: &str = concat!("collegial ", env!("CARGO_PKG_VERSION"));

impl Report {
    /// The comparisons, one per row.
    pub fn table(&self) -> Table {
        // Claims are sentences, which read better from the left.
        let claims = self.outcome.comparisons.iter().any(|row| row.published.chars().count() > 20);
        let align = if claims { Align::Left } else { Align::Right };
        let mut table = Table::new(&[
            ("", Align::Left),
            ("published", align),
            ("obtained", align),
            ("verdict", Align::Left),
        ]);
        for row in &self.outcome.comparisons {
            let verdict = row.verdict.to_string();
            table.push([row.what.clone(), row.published.clone(), row.obtained_with_interval(), verdict]);
        }
        table
    }

    /// How long it took is not a result: a page that is made again is the same to the byte.
    fn untimed_json(&self) -> Value {
        let mut json = self.to_json();
        json.as_object_mut().map(|fields| fields.remove("seconds"));
        json
    }

    /// The page.
    pub fn page(&self) -> Page {
        let outcome = &self.outcome;
        let mut first = Section::new("Published and obtained");
        if !outcome.figures.is_empty() {
            first = first.figures(outcome.figures.iter().cloned());
        }
        if outcome.tables.is_empty() {
            first = first.table(self.table(), "The published values, and what came out here.");
        }
        for (table, caption) in &outcome.tables {
            first = first.table(table.clone(), caption.clone());
        }
        let mut page = Page::new(&*self.title)
            .subject(self.item)
            .verdict(format!("{}. {}", capitalised(self.summary.words()), outcome.sentence))
            .section(first);
        for section in &outcome.sections {
            page = page.section(section.clone());
        }
        let mut about = Section::new("What this is").prose(&*self.about);
        if let Some(reduced) = &self.reduced {
            about = about.prose(format!("At scale `{}`: {reduced}", self.scale));
        }
        let json = self.untimed_json().to_string();
        let data = Section::new("Data").download(Download::json(format!("{}.json", self.item), json));
        let (command, seed) = (self.command.clone(), Some(self.seed));
        page.section(about).section(data).provenance(Provenance { command, seed, version: VERSION.into() })
    }
}

/// Writes an item's page: `NAME.html`, `NAME.md`, and figures and data in `NAME/`.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_report(directory: &Path, report: &Report) -> Result<(), Error> {
    write_page(directory, report.item, &report.page())
}

/// Writes the index of several reports, and of items that were left out with the reason:
/// `index.html`, `index.md` and `index.json`.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_index(
    directory: &Path,
    reports: &[Report],
    left_out: &[(&str, &str)],
    scale: Scale,
    command: &str,
) -> Result<(), Error> {
    let mut table =
        Table::new(&[("", Align::Left), ("verdict", Align::Left), ("what came out", Align::Left)]);
    for report in reports {
        let sentence = report.outcome.sentence.clone();
        table.push([report.title.clone(), report.summary.words().to_owned(), sentence]);
        table.link(report.item);
    }
    let rows = || reports.iter().flat_map(|report| &report.outcome.comparisons);
    let count = |name: &str| rows().filter(|row| row.verdict.name() == name).count();
    let verdict = format!(
        "Of {} published values and claims, {} came out, {} differ, {} are undecided, {} need a larger scale and {} were not run.",
        rows().count(),
        count("reproduced"),
        count("differs"),
        count("undecided"),
        count("not at this scale"),
        count("not run")
    );
    let seed = reports.first().map(|report| report.seed);
    let mut page = Page::new("Collegial Ensembles, reproduced")
        .verdict(verdict)
        .section(
            Section::new("Figures and tables")
                .prose(format!("Every figure and table of the paper at scale `{scale}`, one page each; then studies whose records were judged."))
                .table(table, ""),
        )
        .provenance(Provenance { command: command.to_owned(), seed, version: VERSION.into() });
    if !left_out.is_empty() {
        let mut table = Table::new(&[("", Align::Left), ("what it needs", Align::Left)]);
        for (item, reason) in left_out {
            table.push([(*item).to_owned(), (*reason).to_owned()]);
        }
        page = page.section(Section::new("Left out").table(table, ""));
    }
    write_page(directory, "index", &page)?;
    let json = Value::Array(reports.iter().map(Report::untimed_json).collect());
    write(&directory.join("index.json"), &json.to_string())
}

fn write_page(directory: &Path, name: &str, page: &Page) -> Result<(), Error> {
    make(directory)?;
    write(&directory.join(format!("{name}.html")), &page.to_html())?;
    let markdown = page.to_markdown(name);
    write(&directory.join(format!("{name}.md")), &markdown.text)?;
    if !markdown.files.is_empty() {
        let inside = directory.join(name);
        disk::create_inside(&inside).map_err(|source| Error::Directory { path: inside, source })?;
    }
    markdown.files.iter().try_for_each(|(path, content)| write(&directory.join(path), content))
}

fn make(directory: &Path) -> Result<(), Error> {
    disk::create_directories(directory).map_err(|source| Error::Directory { path: directory.into(), source })
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    Ok(write_inside(path, text.as_bytes())?)
}
