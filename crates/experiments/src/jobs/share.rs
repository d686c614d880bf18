//! The share of the trainings of a sweep that this process does.

use std::sync::{Mutex, PoisonError};

use super::Job;

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
    entries: Mutex<Vec<Listed>>,
    unfinished: Mutex<bool>,
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
        if entries.iter().all(|known| known.job.part != listed.job.part) {
            entries.push(listed);
        }
    }

    /// Notes that a sweep has no repetition that all its designs have finished.
    pub(crate) fn note_nothing_finished(&self) {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// All trainings so far.
    pub fn entries(&self) -> Vec<Listed> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether some sweep has no repetition that all its designs have finished: then nothing can be
    /// concluded from it.
    pub fn is_inconclusive(&self) -> bool {
        *self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
