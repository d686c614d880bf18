//! The status of a plan's jobs, read off their files.

use std::collections::HashSet;
use std::fs::TryLockError;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use collegial_core::files::{disk, open_regular, read_beside, read_regular_text, write_inside};
use serde::Serialize;

use super::{Job, Ledger};
use crate::cache::{Timed, read_by_stem};
use crate::{Error, Run};

/// What is said of a finished training that its request does not use.
const UNUSED: &str = "its result is of other settings or data than the plan's request has now";

/// How far all jobs are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// All jobs.
    pub jobs: usize,
    /// Finished.
    pub done: usize,
    /// Being trained now.
    pub running: usize,
    /// Begun, with a checkpoint, but nobody works on them: run them again and they go on.
    pub stopped: usize,
    /// Not begun.
    pub waiting: usize,
    /// Ended with an error.
    pub failed: Vec<Failure>,
    /// The indices of all that are not finished.
    pub missing: Vec<usize>,
    /// Core-seconds that are left: the plan's estimate, corrected by what finished jobs took.
    pub remaining_core_seconds: Option<f64>,
    /// The same over the jobs that are running now; null where none is.
    pub remaining_seconds: Option<f64>,
}

/// A job that ended with an error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// The job.
    pub index: usize,
    /// Its network.
    pub model: String,
    /// Its seed.
    pub seed: u64,
    /// What it said.
    pub sentence: String,
}

/// How far one job is.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Finished, in so many seconds.
    Done(f64),
    /// Being trained, so much of it done.
    Running(f64),
    /// Begun, so much of it done.
    Stopped(f64),
    /// It said why.
    Failed(String),
    /// Not begun.
    Waiting,
}

impl State {
    /// That of a job in a plan's directory.
    pub fn of(job: &Job, directory: &Path) -> Self {
        let parts = cache_directory(directory);
        let kept = read_by_stem::<Run>(&parts, &job.part).and_then(|kept| match kept {
            Some(Timed { result, seconds }) => result.check(job.seed, job.epochs).map(|()| Some(seconds)),
            None => Ok(None),
        });
        if let Ok(Some(seconds)) = kept {
            return Self::Done(seconds);
        }
        let run = parts.join(format!("{}.run", job.part));
        let share = || epochs(&run) as f64 / f64::from(job.epochs.max(1));
        if is_locked(&run.join("lock")) {
            return Self::Running(share());
        }
        if let Err(defect) = kept {
            return Self::Failed(format!("{}.json: {defect}", job.part));
        }
        match read_beside(&failure_file(directory, job)) {
            Ok(sentence) => Self::Failed(String::from_utf8_lossy(&sentence).trim().to_owned()),
            // A link is nothing that a job has left.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                Self::Failed(format!("failed/{}.txt: {error}", job.part))
            }
            Err(_) if run.is_dir() => Self::Stopped(share()),
            Err(_) => Self::Waiting,
        }
    }
}

impl Status {
    /// That of a plan's jobs. Where the plan's request was answered, a job that is not among the
    /// finished ones of its ledger has failed: data or request are no longer those of the plan.
    pub fn of(jobs: &[Job], directory: &Path, answered: Option<&Ledger>) -> Self {
        let used: Option<HashSet<String>> = answered.map(|ledger| {
            let finished = ledger.entries().into_iter().filter(|known| known.finished);
            finished.map(|known| known.job.part).collect()
        });
        let is_used = |job: &Job| used.as_ref().is_none_or(|used| used.contains(&job.part));
        let mut status = Self {
            jobs: jobs.len(),
            done: 0,
            running: 0,
            stopped: 0,
            waiting: 0,
            failed: vec![],
            missing: vec![],
            remaining_core_seconds: None,
            remaining_seconds: None,
        };
        let (mut took, mut expected, mut left) = (0.0, 0.0, Some(0.0));
        for (index, job) in jobs.iter().enumerate() {
            let mut share = 0.0;
            let state = match State::of(job, directory) {
                State::Done(_) if !is_used(job) => State::Failed(UNUSED.into()),
                state => state,
            };
            let is_done = matches!(state, State::Done(_));
            match state {
                State::Done(seconds) => {
                    status.done += 1;
                    // One that was read from elsewhere took no time.
                    if let Some(estimate) = job.seconds.filter(|_| seconds > 0.0) {
                        took += seconds;
                        expected += estimate;
                    }
                }
                State::Running(done) => (status.running, share) = (status.running + 1, done),
                State::Stopped(done) => (status.stopped, share) = (status.stopped + 1, done),
                State::Waiting => status.waiting += 1,
                State::Failed(sentence) => {
                    let Job { model, seed, .. } = job.clone();
                    status.failed.push(Failure { index, model, seed, sentence });
                }
            }
            if !is_done {
                status.missing.push(index);
                left = left.zip(job.seconds).map(|(left, seconds)| left + seconds * (1.0 - share));
            }
        }
        let pace = if expected > 0.0 { took / expected } else { 1.0 };
        status.remaining_core_seconds = left.map(|left| left * pace);
        status.remaining_seconds = status
            .remaining_core_seconds
            .filter(|_| status.running > 0)
            .map(|seconds| seconds / status.running as f64);
        status
    }

    /// Whether every job is finished.
    pub fn is_complete(&self) -> bool {
        self.done == self.jobs
    }
}

/// Where a plan's finished trainings are.
pub fn cache_directory(directory: &Path) -> PathBuf {
    directory.join("parts")
}

/// Keeps what a failed job said.
///
/// # Errors
///
/// If it cannot be written.
pub fn keep_failure(directory: &Path, job: &Job, sentence: &str) -> Result<(), Error> {
    let path = failure_file(directory, job);
    let folder = failure_directory(directory);
    disk::create_inside(&folder).map_err(|source| Error::Directory { path: folder.clone(), source })?;
    Ok(write_inside(&path, format!("{sentence}\n").as_bytes())?)
}

/// Forgets that a job failed before: it is being run again.
///
/// # Errors
///
/// If the sentence cannot be removed.
pub fn forget_failure(directory: &Path, job: &Job) -> Result<(), Error> {
    let path = failure_file(directory, job);
    disk::remove(&path).map_err(|source| Error::Directory { path, source })
}

/// Where the sentences of failed jobs are.
pub(super) fn failure_directory(directory: &Path) -> PathBuf {
    directory.join("failed")
}

fn failure_file(directory: &Path, job: &Job) -> PathBuf {
    failure_directory(directory).join(format!("{}.txt", job.part))
}

/// Epochs that a run has finished.
fn epochs(run: &Path) -> usize {
    read_regular_text(&run.join("epochs.jsonl")).map_or(0, |text| text.lines().count())
}

/// Whether a process holds this lock. Looking takes the lock for an instant; whoever wants it then
/// tries again.
fn is_locked(path: &Path) -> bool {
    let Ok(file) = open_regular(path) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, ResultCache};
    use collegial_core::Silent;

    fn job(part: &str) -> Job {
        Job { epochs: 4, seconds: Some(10.0), ..Job::example(part) }
    }

    #[test]
    fn every_state_is_told_apart() {
        let root = tempfile::tempdir().unwrap();
        let path = cache_directory(root.path());
        let cache = ResultCache::open(&path).unwrap();
        let context = Context::new(0, &cache, &Silent);
        let run = Run { seed: 3, test_errors: vec![0.5; 4], loss: Some(0.1) };
        context.cached("done", &1, || Ok::<_, Error>(run.clone())).unwrap();
        let done = std::fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
        let done = done.file_stem().unwrap().to_str().unwrap().to_owned();
        for (name, epochs) in [("running", 1), ("stopped", 2)] {
            let run = path.join(name).with_extension("run");
            std::fs::create_dir(&run).unwrap();
            std::fs::write(run.join("epochs.jsonl"), "{}\n".repeat(epochs)).unwrap();
            std::fs::write(run.join("lock"), "").unwrap();
        }
        let lock = std::fs::File::open(path.join("running.run/lock")).unwrap();
        lock.lock().unwrap();
        let jobs = [done.as_str(), "running", "stopped", "failed", "waiting"].map(job);
        keep_failure(root.path(), &jobs[3], "the disk is full").unwrap();
        let status = Status::of(&jobs, root.path(), None);
        assert_eq!((status.done, status.running, status.stopped, status.waiting), (1, 1, 1, 1));
        assert_eq!(status.failed.len(), 1);
        assert_eq!((status.failed[0].index, status.failed[0].sentence.as_str()), (3, "the disk is full"));
        assert_eq!(status.missing, [1, 2, 3, 4]);
        assert!(!status.is_complete());
        // 7.5 + 5 + 10 + 10 expected seconds are left, at the pace of the one that is done.
        let pace = read_by_stem::<Run>(&path, &done).unwrap().unwrap().seconds / 10.0;
        let left = status.remaining_core_seconds.unwrap();
        assert!((left - 32.5 * if pace > 0.0 { pace } else { 1.0 }).abs() < 1e-9, "{left} {pace}");
        forget_failure(root.path(), &jobs[3]).unwrap();
        assert_eq!(State::of(&jobs[3], root.path()), State::Waiting);
    }

    /// An error below 0, a foreign seed, epochs that are missing: the checksum is intact, and the
    /// result is of no training.
    #[test]
    fn impossible_results_are_not_done() {
        let root = tempfile::tempdir().unwrap();
        let cache = ResultCache::open(cache_directory(root.path())).unwrap();
        let good = Run { seed: 3, test_errors: vec![0.5; 4], loss: Some(0.7) };
        let with = |test_errors: Vec<f64>| Run { test_errors, ..good.clone() };
        for (at, (run, expected)) in [
            (good.clone(), ""),
            (Run { loss: None, ..with(vec![]) }, ""),
            (Run { loss: None, ..good.clone() }, "it has test errors, but no loss"),
            (with(vec![0.5, 0.5, 0.5, -0.1]), "a test error is -0.1, not a share between 0 and 1"),
            (with(vec![0.5, 0.5, 0.5, 1.5]), "a test error is 1.5"),
            (with(vec![0.5; 3]), "it has 3 epochs, not 4"),
            (Run { seed: 4, ..good.clone() }, "its seed is 4, not 3"),
            (Run { loss: Some(-1.0), ..good.clone() }, "its loss is -1"),
        ]
        .into_iter()
        .enumerate()
        {
            cache.keep("run", &at, &run, 1.0).unwrap();
            let job = job(&cache.stem("run", &at).unwrap());
            match State::of(&job, root.path()) {
                State::Done(_) => assert!(expected.is_empty(), "{run:?}"),
                State::Failed(said) => assert!(!expected.is_empty() && said.contains(expected), "{said}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
