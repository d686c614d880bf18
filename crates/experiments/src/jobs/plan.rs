//! The list of jobs, in a file that every worker reads.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use collegial_core::checksum::{self, Checked};
use collegial_core::files::{WriteError, disk, read_regular, write_inside};
use collegial_nn::kernels::Isa;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::status::{cache_directory, failure_directory};

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

/// What the last bits of a training depend on besides its settings: the engine takes fused
/// multiply-adds where the CPU has them, and these round once instead of twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// `x86_64`, `aarch64`.
    pub architecture: String,
    /// A value of `COLLEGIAL_INSTRUCTIONS`: `avx2` for AVX2 and AVX-512, which give the same bits,
    /// `neon`, or `portable`.
    pub instructions: String,
}

impl Machine {
    /// The one that runs this process, as far as its environment admits.
    pub fn here() -> Self {
        let instructions = match Isa::detect() {
            Isa::Avx512 | Isa::Avx2 => "avx2",
            Isa::Neon => "neon",
            Isa::Portable => "portable",
        };
        Self { architecture: std::env::consts::ARCH.to_owned(), instructions: instructions.to_owned() }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.architecture, self.instructions)
    }
}

/// A request and its jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan<Request> {
    /// Of the whole file.
    checksum: String,
    format: String,
    /// What all trainings are computed with.
    pub machine: Machine,
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
    /// A directory of the plan that cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// A plan or a job that does not serve here, as a sentence with what would.
    #[error("{0}")]
    Invalid(String),
    /// A file that could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl<Request: Serialize + DeserializeOwned> Plan<Request> {
    /// A plan of these jobs, for workers that compute like this process.
    pub fn new(request: Request, jobs: Vec<Job>) -> Self {
        let (checksum, format) = (checksum::BLANK.to_owned(), FORMAT.to_owned());
        Self { checksum, format, machine: Machine::here(), request, jobs }
    }

    /// The same for workers that compute like another machine.
    #[must_use]
    pub fn on(self, machine: Machine) -> Self {
        Self { machine, ..self }
    }

    /// Reads the plan in a directory.
    ///
    /// # Errors
    ///
    /// If there is none, or it is broken. A job's part must be a plain name: it becomes a file's.
    /// Nor may the directories of these files be links: the plan may have come from somebody else,
    /// who would decide what is read, shown and removed.
    pub fn read(directory: &Path) -> Result<Self, PlanError> {
        for path in [cache_directory(directory), failure_directory(directory)] {
            disk::refuse_link(&path).map_err(|source| PlanError::Directory { path, source })?;
        }
        let path = directory.join(FILE);
        let text = read_regular(&path)
            .map_err(|source| PlanError::Missing { directory: directory.to_owned(), source })?;
        Self::parse(&path, &text)
    }

    /// The plan in the content of the file at `path`.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, PlanError> {
        let broken = |reason: String| PlanError::Broken { path: path.to_owned(), reason };
        let plan: Self = serde_json::from_slice(text).map_err(|error| broken(error.to_string()))?;
        if checksum::check(text, seal_range(text)) != Checked::Intact {
            return Err(broken("it has changed since it was written".into()));
        }
        if plan.format != FORMAT {
            return Err(broken(format!("its format is {:?}, not {FORMAT:?}", plan.format)));
        }
        // It is written into a script.
        if !is_plain(&plan.machine.instructions) {
            return Err(broken(format!(
                "its instructions are {:?}, no plain name",
                plan.machine.instructions
            )));
        }
        let mut parts = HashSet::new();
        for Job { part, seconds, .. } in &plan.jobs {
            if !is_plain(part) {
                return Err(broken(format!("the part {part:?} is no plain name")));
            }
            if !parts.insert(part) {
                return Err(broken(format!("two jobs have the part {part:?}")));
            }
            if let Some(seconds) = seconds.filter(|seconds| !(0.0..=f64::MAX).contains(seconds)) {
                return Err(broken(format!("the part {part:?} takes {seconds} seconds")));
            }
        }
        // What is compared is not kept: written again, the file gets a checksum of its own.
        Ok(Self { checksum: checksum::BLANK.to_owned(), ..plan })
    }

    /// Writes it; the directory must be there.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), PlanError> {
        let path = directory.join(FILE);
        Ok(write_inside(&path, &self.to_bytes(&path)?)?)
    }

    /// The content of its file.
    ///
    /// # Errors
    ///
    /// If the request has no JSON form.
    pub fn to_bytes(&self, path: &Path) -> Result<Vec<u8>, PlanError> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| PlanError::Broken { path: path.to_owned(), reason: error.to_string() })?;
        text.push(b'\n');
        let range = seal_range(&text);
        checksum::seal(&mut text, range);
        Ok(text)
    }

    /// Nothing, if a machine computes what the plan was made for.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn check(&self, here: &Machine) -> Result<(), PlanError> {
        if self.machine == *here {
            return Ok(());
        }
        Err(PlanError::Invalid(format!(
            "the jobs were planned for {planned}, and this process computes with {here}, whose last bits \
             differ; set COLLEGIAL_INSTRUCTIONS={}, or plan in another directory with \
             COLLEGIAL_INSTRUCTIONS=portable, which every CPU of an architecture can",
            self.machine.instructions,
            planned = self.machine
        )))
    }

    /// A job by its index.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn job(&self, index: usize) -> Result<&Job, PlanError> {
        self.jobs.get(index).ok_or_else(|| {
            PlanError::Invalid(format!(
                "there is no job {index}; the plan has {count}, numbered from 0",
                count = self.jobs.len()
            ))
        })
    }
}

/// A checksum is the first field of its file.
fn seal_range(file: &[u8]) -> std::ops::Range<usize> {
    0..file.len().min(64)
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
    fn impossible_jobs_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let job = Job::example("a-1");
        let taking = |seconds| Job { seconds: Some(seconds), ..job.clone() };
        for (jobs, expected) in [
            (vec![job.clone(), job.clone()], "two jobs have the part \"a-1\""),
            (vec![taking(-5.0)], "the part \"a-1\" takes -5 seconds"),
        ] {
            Plan::new(0, jobs).write(directory.path()).unwrap();
            let sentence = Plan::<u8>::read(directory.path()).unwrap_err().to_string();
            assert!(sentence.ends_with(expected), "{sentence}");
        }
    }

    #[test]
    fn a_plan_does_not_decide_what_a_script_runs() {
        let directory = tempfile::tempdir().unwrap();
        for instructions in ["$(touch victim)", "avx2; touch victim", "a\nb", "`x`", ""] {
            let machine = Machine { instructions: instructions.into(), ..Machine::here() };
            Plan::new(0, vec![]).on(machine).write(directory.path()).unwrap();
            let read = Plan::<u8>::read(directory.path());
            assert!(matches!(read, Err(PlanError::Broken { .. })), "{instructions:?}");
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_of_a_plan_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let plan = Plan::new(0u8, vec![Job::example("a-1")]);
        plan.write(directory.path()).unwrap();
        let path = directory.path().join(FILE);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(Plan::<u8>::parse(&path, &whole).unwrap().jobs, plan.jobs);
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Plan::<u8>::parse(&path, &flipped).is_err(), "bit {bit}");
        }
        for length in 0..whole.len() {
            assert!(Plan::<u8>::parse(&path, &whole[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_plan_written_again_has_the_same_bytes() {
        let path = Path::new(FILE);
        let bytes = Plan::new(0u8, vec![Job::example("a-1")]).to_bytes(path).unwrap();
        assert_eq!(Plan::<u8>::parse(path, &bytes).unwrap().to_bytes(path).unwrap(), bytes);
    }

    #[test]
    fn another_machine_is_told_what_to_set() {
        let plan = Plan::new(0u8, vec![]);
        plan.check(&Machine::here()).unwrap();
        let here = Machine { instructions: "other".into(), ..Machine::here() };
        let sentence = plan.check(&here).unwrap_err().to_string();
        assert!(
            sentence.contains(&format!("COLLEGIAL_INSTRUCTIONS={}", plan.machine.instructions)),
            "{sentence}"
        );
    }

    #[test]
    fn no_plan_is_said() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(Plan::<u8>::read(directory.path()), Err(PlanError::Missing { .. })));
        std::fs::write(directory.path().join(FILE), "{\"format\": 1}").unwrap();
        assert!(matches!(Plan::<u8>::read(directory.path()), Err(PlanError::Broken { .. })));
    }
}
