//! A disk that fails when a test says so, and one that remembers what was done to it.
//!
//! Both are of the current thread, so that tests beside each other do not meet.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::disk::Operation;

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

#[derive(Default)]
struct State {
    plan: Option<Plan>,
    failed: bool,
    journal: Option<Vec<Step>>,
}

/// Which operations fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The one after so many.
    Once(u64),
    /// That one and all that follow, as on a disk that is full or gone.
    FromThenOn(u64),
}

/// An operation that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// See [`Operation::CreateDirectory`].
    CreateDirectory(PathBuf),
    /// See [`Operation::CreateFile`].
    CreateFile(PathBuf),
    /// See [`Operation::Resize`].
    Resize(PathBuf, u64),
    /// See [`Operation::Write`].
    Write(PathBuf, Vec<u8>),
    /// See [`Operation::WriteAt`].
    WriteAt(PathBuf, u64, Vec<u8>),
    /// See [`Operation::Sync`].
    Sync(PathBuf),
    /// See [`Operation::SyncDirectory`].
    SyncDirectory(PathBuf),
    /// See [`Operation::Rename`].
    Rename(PathBuf, PathBuf),
    /// See [`Operation::Remove`].
    Remove(PathBuf),
}

impl From<&Operation<'_>> for Step {
    fn from(operation: &Operation<'_>) -> Self {
        let own = Path::to_owned;
        match *operation {
            Operation::CreateDirectory(path) => Self::CreateDirectory(own(path)),
            Operation::CreateFile(path) => Self::CreateFile(own(path)),
            Operation::Resize(path, length) => Self::Resize(own(path), length),
            Operation::Write(path, content) => Self::Write(own(path), content.to_vec()),
            Operation::WriteAt(path, place, content) => Self::WriteAt(own(path), place, content.to_vec()),
            Operation::Sync(path) => Self::Sync(own(path)),
            Operation::SyncDirectory(path) => Self::SyncDirectory(own(path)),
            Operation::Rename(from, to) => Self::Rename(own(from), own(to)),
            Operation::Remove(path) => Self::Remove(own(path)),
        }
    }
}

/// Runs something on a disk that fails by a plan; the flag says whether it came to that.
pub fn with_failures<T>(plan: Plan, work: impl FnOnce() -> T) -> (T, bool) {
    STATE.with_borrow_mut(|state| (state.plan, state.failed) = (Some(plan), false));
    let result = work();
    STATE.with_borrow_mut(|state| state.plan = None);
    (result, STATE.with_borrow(|state| state.failed))
}

/// Runs something and tells which operations it did, in order.
pub fn recorded<T>(work: impl FnOnce() -> T) -> (T, Vec<Step>) {
    STATE.with_borrow_mut(|state| state.journal = Some(vec![]));
    let result = work();
    (result, STATE.with_borrow_mut(|state| state.journal.take()).unwrap_or_default())
}

pub(crate) fn attempt(operation: &Operation<'_>) -> io::Result<()> {
    STATE.with_borrow_mut(|state| {
        match &mut state.plan {
            Some(Plan::Once(0)) => {
                (state.plan, state.failed) = (None, true);
                return Err(io::Error::other("a failure that a test asked for"));
            }
            Some(Plan::FromThenOn(0)) => {
                state.failed = true;
                return Err(io::Error::other("a disk that a test took away"));
            }
            Some(Plan::Once(left) | Plan::FromThenOn(left)) => *left -= 1,
            None => {}
        }
        if let Some(journal) = &mut state.journal {
            journal.push(operation.into());
        }
        Ok(())
    })
}
