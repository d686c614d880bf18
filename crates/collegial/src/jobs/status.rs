//! `status`: how far the jobs of a plan are.

use std::path::PathBuf;

use collegial_experiments::jobs::{Plan, Status};
use collegial_report::{Align, Section, Table, duration};
use serde_json::Value;

use super::gather::ranges;
use crate::options::options;
use crate::{Answer, Error, Style};

/// Sentences of failed jobs that are shown to people.
const SHOWN: usize = 10;

options! {
    /// Say how far the jobs of a plan are, which failed and why, and how long the rest takes
    ///
    /// On a terminal it looks again every two seconds, less often where a look takes long, until all
    /// jobs are done, or Ctrl-C.
    #[command(after_help = "Example:\n  collegial status plan --json")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The plan's directory
        #[arg(value_name = "DIR")]
        pub directory: PathBuf,
    }
}

/// Looks.
///
/// # Errors
///
/// Where there is no plan.
pub fn run(request: &Request) -> Result<Status, Error> {
    let directory = std::path::absolute(&request.directory).map_err(Error::reading(&request.directory))?;
    let plan = Plan::<Value>::read(&directory)?;
    Ok(Status::of(&plan.jobs, &directory, None))
}

fn counts(status: &Status) -> String {
    format!(
        "{} of {} jobs are done, {} running, {} stopped on the way, {} failed, {} waiting.",
        status.done,
        status.jobs,
        status.running,
        status.stopped,
        status.failed.len(),
        status.waiting
    )
}

/// The same for a page, with every failure and what is missing; without durations, which would make
/// each page another.
pub(super) fn section(status: &Status) -> Section {
    let section = Section::new("Jobs")
        .prose(format!("{} Missing: {}.", counts(status), ranges(&status.missing)))
        .table(status.table(), "How far the jobs of the plan are.");
    if status.failed.is_empty() {
        return section;
    }
    let mut failed = Table::new(&[
        ("job", Align::Right),
        ("model", Align::Left),
        ("seed", Align::Right),
        ("what it said", Align::Left),
    ]);
    for failure in &status.failed {
        let (index, seed) = (failure.index.to_string(), failure.seed.to_string());
        failed.push([index, failure.model.clone(), seed, failure.sentence.clone()]);
    }
    section.table(failed, "Jobs that failed; run them again when what was wrong is mended.")
}

impl Answer for Status {
    fn text(&self, _style: &Style) -> String {
        let (sentences, _) = self.summary();
        sentences.join("\n") + "\n"
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[("state", Align::Left), ("jobs", Align::Right)]);
        for (state, jobs) in [
            ("done", self.done),
            ("running", self.running),
            ("stopped", self.stopped),
            ("failed", self.failed.len()),
            ("waiting", self.waiting),
        ] {
            table.push([state.to_owned(), jobs.to_string()]);
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let mut sentences = vec![counts(self)];
        if let Some(seconds) = self.remaining_core_seconds.filter(|_| !self.is_complete()) {
            let end = self.remaining_seconds.map_or(String::new(), |seconds| {
                format!(", {} with the {} that are running", duration(seconds), self.running)
            });
            sentences.push(format!("About {} of one core are left{end}.", duration(seconds)));
        }
        for failure in self.failed.iter().take(SHOWN) {
            let (index, model, seed) = (failure.index, &failure.model, failure.seed);
            // One line per job, whatever the file of a failure says.
            let sentence = failure.sentence.replace('\n', " ");
            sentences.push(format!("job {index} ({model}, seed {seed}) failed: {sentence}"));
        }
        if self.failed.len() > SHOWN {
            sentences.push(format!("... and {} more", self.failed.len() - SHOWN));
        }
        (sentences, self.table())
    }
}
