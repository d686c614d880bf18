//! `collegial job`: one training of a plan; and `--plan`, which makes one.

use std::path::PathBuf;

use crate::jobs::{Task, job, plan};
use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;

/// Run a training of a plan that --plan of reproduce, validate or sweep made
///
/// A job is a pure function of its settings, and its result is a file in DIR: run again it goes on
/// with its checkpoint, or does nothing. So any scheduler will do, and a job that was killed is
/// just run again.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial job plan 0-9")]
pub struct Job {
    /// The plan's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Which jobs, from 0: 7, or 0-9 one after the other
    #[arg(value_name = "INDEX", required = true, value_parser = range)]
    indices: Vec<Range>,
}

/// Some indices in a row.
#[derive(Clone)]
struct Range {
    first: usize,
    last: usize,
}

fn range(text: &str) -> Result<Range, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(Range { first, last }),
        _ => Err("it must be a job's number, or two with a dash between them: 7, or 0-9".into()),
    }
}

/// Runs the verb.
pub fn run(verb: &Job, common: &Common) -> Result<(), Failure> {
    let jobs = verb.indices.iter().flat_map(|range| range.first..=range.last).collect();
    let request = job::Request { directory: verb.directory.clone(), jobs };
    let worked = job::run(&request, &Progress::new("starting", common))?;
    show(&worked, common.format())
}

/// Jobs instead of trainings.
#[derive(Args)]
#[command(next_help_heading = "Jobs")]
pub struct Planning {
    /// Train nothing: write the trainings as jobs into DIR, with a Slurm array and what they take
    #[arg(long, value_name = "DIR")]
    plan: Option<PathBuf>,
    /// Jobs at once, for the finishing time [default: the cores of this machine]
    #[arg(long, value_name = "COUNT", requires = "plan")]
    workers: Option<usize>,
    /// Seconds of a training step of the first network on the machine that is meant; without it
    /// first steps are timed here
    #[arg(long, value_name = "SECONDS", requires = "plan")]
    seconds_per_step: Option<f64>,
}

impl Planning {
    /// Makes the plan and prints it, where one is wanted.
    pub fn run(&self, task: impl FnOnce() -> Task, common: &Common) -> Option<Result<(), Failure>> {
        let directory = self.plan.clone()?;
        let request = plan::Request {
            task: task(),
            directory,
            workers: self.workers,
            seconds_per_step: self.seconds_per_step,
        };
        let planned = plan::run(&request, &Progress::new("planning", common));
        Some(planned.map_err(Failure::from).and_then(|planned| show(&planned, common.format())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_numbers_or_ranges() {
        let of = |text: &str| range(text).map(|range| (range.first, range.last));
        assert_eq!((of("7"), of("0-9")), (Ok((7, 7)), Ok((0, 9))));
        for wrong in ["", "-", "9-0", "a", "1-2-3", "-3"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
