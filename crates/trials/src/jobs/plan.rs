//! The list of jobs, in a file that every worker reads.

use std::path::{Path, PathBuf};

use collegial_files::{WriteError, write_whole};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The file in a plan's directory.
const FILE: &str = "plan.json";

/// What the first field of the file says.
const FORMAT: &str = "collegial plan 1";

/// One training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The name of its result's file, without extension.
    pub part: String,
    /// The network.
    pub model: String,
    /// Of weights, order and augmentation.
    pub seed: u64,
    /// Epochs.
    pub epochs: u32,
    /// Training steps of all of them.
    pub steps: u64,
    /// Images a step.
    pub batch: usize,
    /// Test images after all epochs together.
    pub tested: u64,
    /// Multiply-adds of the network for one image.
    pub flops: u64,
    /// What it is expected to take on one worker.
    pub seconds: Option<f64>,
}

/// A request and its jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan<Request> {
    format: String,
    /// What is to be done.
    pub request: Request,
    /// Its trainings; a job's index is its place here.
    pub jobs: Vec<Job>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No file.
    #[error("{} holds no plan ({FILE}): {source}", directory.display())]
    Missing {
        /// Where it was looked for.
        directory: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// A file that is no plan.
    #[error("{} is no plan of this version: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A job that the plan has not.
    #[error("there is no job {index}; the plan has {count}, numbered from 0")]
    NoSuchJob {
        /// The one that was named.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A plan of something else in the same directory.
    #[error("{} holds the plan of another request; take another directory, or remove {FILE} there", directory.display())]
    Another {
        /// Where.
        directory: PathBuf,
    },
    /// A file that could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl<Request: Serialize + DeserializeOwned> Plan<Request> {
    /// A plan of these jobs.
    pub fn new(request: Request, jobs: Vec<Job>) -> Self {
        Self { format: FORMAT.to_owned(), request, jobs }
    }

    /// Reads the plan in a directory.
    ///
    /// # Errors
    ///
    /// If there is none, or it is broken. A job's part must be a plain name: it becomes a file's.
    pub fn read(directory: &Path) -> Result<Self, PlanError> {
        let path = directory.join(FILE);
        let text = std::fs::read(&path)
            .map_err(|source| PlanError::Missing { directory: directory.to_owned(), source })?;
        let broken = |reason: String| PlanError::Broken { path: path.clone(), reason };
        let plan: Self = serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
        if plan.format != FORMAT {
            return Err(broken(format!("its format is {:?}, not {FORMAT:?}", plan.format)));
        }
        match plan.jobs.iter().find(|job| !is_plain(&job.part)) {
            Some(job) => Err(broken(format!("the part {:?} is no plain name", job.part))),
            None => Ok(plan),
        }
    }

    /// Writes it; the directory must be there.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), PlanError> {
        let path = directory.join(FILE);
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| PlanError::Broken { path: path.clone(), reason: error.to_string() })?;
        text.push(b'\n');
        Ok(write_whole(&path, &text)?)
    }

    /// A job by its index.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn job(&self, index: usize) -> Result<&Job, PlanError> {
        self.jobs.get(index).ok_or(PlanError::NoSuchJob { index, count: self.jobs.len() })
    }
}

/// Letters, digits, dots, dashes and underscores, and not all dots.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().all(plain) && name.chars().any(|c| c != '.')
}

#[cfg(test)]
impl Job {
    /// An epoch of a small network; its seconds have no short decimal form.
    pub(super) fn example(part: &str) -> Self {
        Self {
            part: part.into(),
            model: "fc3-8".into(),
            seed: 3,
            epochs: 1,
            steps: 10,
            batch: 20,
            tested: 60,
            flops: 1000,
            seconds: Some(0.1 + 0.2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_as_written() {
        let directory = tempfile::tempdir().unwrap();
        let plan = Plan::new("what".to_owned(), vec![Job::example("a-1"), Job::example("a-2")]);
        plan.write(directory.path()).unwrap();
        let read = Plan::<String>::read(directory.path()).unwrap();
        assert_eq!((read.request.as_str(), &read.jobs), ("what", &plan.jobs));
        assert!(read.job(1).is_ok());
        let sentence = read.job(2).unwrap_err().to_string();
        assert_eq!(sentence, "there is no job 2; the plan has 2, numbered from 0");
    }

    #[test]
    fn a_plan_does_not_decide_where_files_go() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["../victim", "a/b", "/etc/passwd", "..", "", "a\\b", "a\n"] {
            Plan::new(0, vec![Job::example(name)]).write(directory.path()).unwrap();
            assert!(matches!(Plan::<u8>::read(directory.path()), Err(PlanError::Broken { .. })), "{name:?}");
        }
    }

    #[test]
    fn no_plan_is_said() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(Plan::<u8>::read(directory.path()), Err(PlanError::Missing { .. })));
        std::fs::write(directory.path().join(FILE), "{\"format\": 1}").unwrap();
        assert!(matches!(Plan::<u8>::read(directory.path()), Err(PlanError::Broken { .. })));
    }
}
