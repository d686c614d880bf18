//! Atomics and cells of the standard library, in the shape that the model checker's have.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std::hint::spin_loop;
use std::thread::yield_now;

/// Polls of a spinning thread before it yields its core: some microseconds.
const SPIN_LIMIT: u32 = 1 << 10;

/// Spins until a condition holds, which as a rule takes no time.
pub(super) fn wait_until(mut holds: impl FnMut() -> bool) {
    let mut polls = 0;
    while !holds() {
        if polls < SPIN_LIMIT {
            polls += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

/// `UnsafeCell` whose accesses are closures, so that the model checker sees where they end.
pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// A thread-local `Cell`.
macro_rules! thread_local_cell {
    ($name:ident: $type:ty = $initial:expr) => {
        std::thread_local! {
            static $name: std::cell::Cell<$type> = const { std::cell::Cell::new($initial) };
        }
    };
}
pub(super) use thread_local_cell;
