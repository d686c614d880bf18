//! `job`: one training of a plan, or several after each other.

use std::path::PathBuf;

use collegial_experiments::Error as Failed;
use collegial_experiments::jobs::{Job, Machine, Plan, State, forget_failure, keep_failure};
use collegial_report::{Align, Table};
use serde::{Deserialize, Serialize};

use super::Task;
use crate::{Answer, Error, Monitor, Refusal, Style};

/// Which jobs of which plan.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The plan's directory.
    pub directory: PathBuf,
    /// Indices, from 0.
    pub jobs: Vec<usize>,
}

/// What was done.
#[derive(Clone, Debug, Serialize)]
pub struct Worked {
    /// In the order of the request.
    pub jobs: Vec<Finished>,
}

/// A job that is finished.
#[derive(Clone, Debug, Serialize)]
pub struct Finished {
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
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<Worked, Error> {
    let directory = std::path::absolute(&request.directory).map_err(Error::reading(&request.directory))?;
    let plan = Plan::<Task>::read(&directory)?;
    let task = plan.request.clone().settled(&directory)?;
    let mut worked = Worked { jobs: vec![] };
    for &index in &request.jobs {
        let job = plan.job(index)?;
        let before = is_done(job, &directory);
        // One whose result was kept by the last thing it did may have failed all the same.
        forget_failure(&directory, job);
        if !before {
            plan.check(&Machine::here())
                .map_err(Error::from)
                .and_then(|()| task.train(&job.part, monitor))
                .and_then(|()| check(job, &directory))
                .inspect_err(|error| remember(error, job, &directory, monitor))?;
        }
        worked.jobs.push(Finished { index, model: job.model.clone(), seed: job.seed, before });
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
    Err(Refusal::AnotherTraining { model: job.model.clone(), seed: job.seed }.into())
}

/// Keeps the sentence of a job that failed by itself: not one that was stopped, that another
/// process is working on, or that a process with PyTorch will do.
fn remember(error: &Error, job: &Job, directory: &std::path::Path, monitor: &dyn Monitor) {
    let elsewhere = matches!(error, Error::Interrupted) || is_busy(error) || error.needs_torch();
    if elsewhere {
        return;
    }
    if let Err(failed) = keep_failure(directory, job, &error.to_string()) {
        monitor.say(&failed.to_string());
    }
}

fn is_busy(error: &Error) -> bool {
    use collegial_experiments::reproduce::Error as Stopped;
    matches!(error, Error::Reproduce(Stopped::Trials(Failed::Train(collegial_train::Error::Busy { .. }))))
}

impl Answer for Worked {
    fn text(&self, _style: &Style) -> String {
        let line = |job: &Finished| {
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
