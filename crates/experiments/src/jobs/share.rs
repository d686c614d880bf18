//! The share of the trainings of a sweep that this process does.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::{Job, PlanError};

/// Which trainings of a sweep are done here. What is finished is read in every case.
#[derive(Clone, Copy, Debug, Default)]
pub enum Share<'a> {
    /// All of them.
    #[default]
    All,
    /// The one whose result has this name; every other that is not finished stands for one that
    /// diverged, so that what is concluded from all of them means nothing.
    One(&'a str),
    /// None of them. Every training is entered in the ledger, and a sweep has as many repetitions
    /// as all its designs have finished.
    Nothing(&'a Ledger),
}

/// The trainings that a request has come across, each once, in order.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: Mutex<Entries>,
    unfinished: Mutex<bool>,
}

#[derive(Debug, Default)]
struct Entries {
    listed: Vec<Listed>,
    parts: HashSet<String>,
}

/// One training of a ledger.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What it is.
    pub job: Job,
    /// What is trained, and by whom.
    pub training: collegial_train::Job,
    /// Whether its result is there.
    pub finished: bool,
}

impl Ledger {
    /// Enters a training, unless it is there.
    pub(crate) fn enter(&self, listed: Listed) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.parts.insert(listed.job.part.clone()) {
            entries.listed.push(listed);
        }
    }

    /// Notes that a sweep has no repetition that all its designs have finished.
    pub(crate) fn note_nothing_finished(&self) {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// All trainings so far.
    pub fn entries(&self) -> Vec<Listed> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).listed.clone()
    }

    /// Refuses a plan's jobs that leave out what is not finished: without it, another mean would
    /// seem to be that of the whole. Where a job is none of the ledger's, data or program are no
    /// longer those of the plan, which the [status](super::Status) tells.
    ///
    /// # Errors
    ///
    /// If one is left out.
    pub fn check_listed(&self, jobs: &[Job]) -> Result<(), PlanError> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if !jobs.iter().all(|job| entries.parts.contains(&job.part)) {
            return Ok(());
        }
        let parts: HashSet<&str> = jobs.iter().map(|job| job.part.as_str()).collect();
        let left_out = |listed: &&Listed| !listed.finished && !parts.contains(listed.job.part.as_str());
        match entries.listed.iter().find(left_out) {
            Some(Listed { job, .. }) => Err(PlanError::Invalid(format!(
                "the plan does not list the training of {} with seed {}, which its request has: plan again",
                job.model, job.seed
            ))),
            None => Ok(()),
        }
    }

    /// Whether some sweep has no repetition that all its designs have finished: then nothing can be
    /// concluded from it.
    pub fn is_inconclusive(&self) -> bool {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
