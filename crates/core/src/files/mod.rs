//! Atomic file writes, with fault injection for tests.
//!
//! Checkpoints, shards, finished parts and pages are written through the operations of [`disk`],
//! and single files by [`write_atomic`] on top of them. What must not be lost passes through here
//! and nowhere else, so that tests can make every operation fail in turn (feature `faults`).

mod atomic;
pub mod disk;
#[cfg(feature = "faults")]
pub mod faults;
mod pipe;
#[cfg(feature = "faults")]
pub mod power_loss;
mod read;

pub use atomic::{TEMPORARY, WriteError, remove_stale_temporaries, write_atomic, write_inside, write_new};
pub use pipe::{Stopped, open_pipe};
pub use read::{open_regular, read_beside, read_regular, read_regular_text};
