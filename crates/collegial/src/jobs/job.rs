//! `job`: one training of a plan, or several after each other.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use collegial_experiments::Error as Failed;
use collegial_experiments::jobs::{Job, Machine, Plan, State, forget_failure, keep_failure};
use collegial_report::{Align, Table};
use collegial_train::Backends;
use serde::{Deserialize, Serialize};

use super::Task;
use crate::message::invalid;
use crate::options::options;
use crate::{Answer, Error, Monitor, Style};

options! {
    /// Run a training of a plan that --plan of reproduce, validate or sweep made
    ///
    /// A job depends on its settings alone, and its result is a file in DIR. Run again, it goes on
    /// from its checkpoint, or does nothing if it is done. So any scheduler will do, and a job that
    /// was killed is just run again.
    #[command(after_help = "Example:\n  collegial job plan 0-9")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The plan's directory
        #[arg(value_name = "DIR")]
        pub directory: PathBuf,
        /// Which jobs, from 0: 7, or 0-9 one after the other
        #[arg(value_name = "INDEX", required = true)]
        pub jobs: Vec<Indices>,
    }
}

/// A job's number, or several in a row: `7`, `0-9`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Indices(pub RangeInclusive<usize>);

/// The forms that indices take in a request.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a job is a number such as 7, or text such as \"0-9\"")]
enum Written {
    Number(usize),
    Text(String),
}

impl TryFrom<Written> for Indices {
    type Error = NotIndices;

    fn try_from(written: Written) -> Result<Self, NotIndices> {
        match written {
            Written::Number(index) => Ok(Self(index..=index)),
            Written::Text(text) => text.parse(),
        }
    }
}

impl FromStr for Indices {
    type Err = NotIndices;

    fn from_str(text: &str) -> Result<Self, NotIndices> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self(first..=last)),
            _ => Err(NotIndices),
        }
    }
}

impl From<Indices> for String {
    fn from(Indices(range): Indices) -> Self {
        format!("{}-{}", range.start(), range.end())
    }
}

/// Text that names no jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it must be a job's number, or two with a dash between them: 7, or 0-9")]
pub struct NotIndices;

/// What was done.
#[derive(Clone, Debug, Serialize)]
pub struct JobAnswer {
    /// In the order of the request.
    pub jobs: Vec<FinishedJob>,
}

/// A job that is finished.
#[derive(Clone, Debug, Serialize)]
pub struct FinishedJob {
    /// Its index.
    pub index: usize,
    /// The network.
    pub model: String,
    /// The seed.
    pub seed: u64,
    /// Whether it was finished before.
    pub before: bool,
}

/// Trains; a job that was begun goes on with its checkpoint, one that is finished is left alone.
///
/// # Errors
///
/// Where there is no such job, its training fails (which `status` then tells), or the monitor
/// stopped it.
pub fn run(request: &Request, backends: Backends, monitor: &dyn Monitor) -> Result<JobAnswer, Error> {
    let directory = std::path::absolute(&request.directory).map_err(Error::reading(&request.directory))?;
    let plan = Plan::<Task>::read(&directory)?;
    let task = plan.request.clone().settled(&directory)?;
    let mut worked = JobAnswer { jobs: vec![] };
    for index in request.jobs.iter().flat_map(|indices| indices.0.clone()) {
        let job = plan.job(index)?;
        let before = is_done(job, &directory);
        // One whose result was kept by the last thing it did may have failed all the same.
        forget_failure(&directory, job)?;
        if !before {
            plan.check(&Machine::here())
                .map_err(Error::from)
                .and_then(|()| task.train(&job.part, backends, monitor))
                .and_then(|()| check(job, &directory))
                .inspect_err(|error| remember(error, job, &directory, monitor))?;
        }
        worked.jobs.push(FinishedJob { index, model: job.model.clone(), seed: job.seed, before });
    }
    Ok(worked)
}

fn is_done(job: &Job, directory: &std::path::Path) -> bool {
    matches!(State::of(job, directory), State::Done(_))
}

/// A plan of another version, or of data that changed, may list trainings that its request no
/// longer has.
fn check(job: &Job, directory: &std::path::Path) -> Result<(), Error> {
    if is_done(job, directory) {
        return Ok(());
    }
    Err(invalid![format!("the training of {} with seed {} is not what it was when the jobs were planned: the data or the program has changed; plan again", job.model, job.seed)].into())
}

/// Keeps the sentence of a job that failed by itself: not one that was stopped, that another
/// process is working on, or that a process with PyTorch will do.
fn remember(error: &Error, job: &Job, directory: &std::path::Path, monitor: &dyn Monitor) {
    let elsewhere = matches!(error, Error::Interrupted) || is_busy(error) || error.needs_python();
    if elsewhere {
        return;
    }
    if let Err(failed) = keep_failure(directory, job, &error.to_string()) {
        monitor.say(&failed.to_string());
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(error, Error::Experiment(Failed::Train(collegial_train::Error::Busy { .. })))
}

impl Answer for JobAnswer {
    fn text(&self, _style: &Style) -> String {
        let line = |job: &FinishedJob| {
            let when = if job.before { "was finished before" } else { "is finished" };
            format!("job {}: {} with seed {} {when}\n", job.index, job.model, job.seed)
        };
        self.jobs.iter().map(line).collect()
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("job", Align::Right),
            ("model", Align::Left),
            ("seed", Align::Right),
            ("finished before", Align::Left),
        ]);
        for job in &self.jobs {
            table.push([
                job.index.to_string(),
                job.model.clone(),
                job.seed.to_string(),
                job.before.to_string(),
            ]);
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (vec![format!("{} jobs are finished.", self.jobs.len())], self.table())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_numbers_or_ranges() {
        let of = |text: &str| text.parse().map(|Indices(range)| range);
        assert_eq!((of("7"), of("0-9")), (Ok(7..=7), Ok(0..=9)));
        for wrong in ["", "-", "9-0", "a", "1-2-3", "-3"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        let request: Request = serde_json::from_str(r#"{"jobs": [3, "5-6"]}"#).unwrap();
        assert_eq!(request.jobs, [Indices(3..=3), Indices(5..=6)]);
    }
}
