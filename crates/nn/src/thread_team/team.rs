//! The team itself: hand-over of parallel sections from the leader to its helpers.
//!
//! It uses the atomics of [`sync`](super::sync) and any [`Pool`], so that `tests/thread_team.rs`
//! can compile this file a second time for the model checker.

use super::sync::{AtomicBool, AtomicU64, Ordering, UnsafeCell, thread_local_cell, wait_until};
use std::cell::Cell;
use std::ptr;

/// Work-stealing thread pool, as far as a team uses it.
pub(crate) trait Pool: Sync {
    /// Threads of the pool.
    fn threads(&self) -> usize;

    /// Runs both closures, the second one on another thread if one steals it. A thread that waits
    /// for a stolen closure may run any other job of the pool meanwhile.
    fn join<R: Send>(&self, first: impl FnOnce() -> R + Send, second: impl FnOnce() + Send) -> R;
}

/// Body of a parallel section: every thread that takes part calls it once.
pub(crate) type Section<'a> = dyn Fn() + Sync + 'a;

/// One leader and its helpers, during one pass.
struct Team {
    /// Number of the section (upper half), whether it is [open](OPEN), and its helpers.
    state: AtomicU64,
    /// The section's body. Written while no section is open and no helper is in one.
    section: UnsafeCell<Option<*const Section<'static>>>,
    /// Set after the pass: helpers return to the pool.
    finished: AtomicBool,
}

// SAFETY: helpers read the section after the release store of `state` that opens it and before
// their own release that leaves it, and the section is `Sync` itself.
unsafe impl Sync for Team {}

/// Unit of the helper count in [`Team::state`].
const HELPER: u64 = 1;
/// Mask of the helper count.
const HELPERS: u64 = OPEN - 1;
/// Flag: helpers may join the section.
const OPEN: u64 = 1 << 31;
/// Unit of the section number.
const NUMBER: u64 = 1 << 32;

/// Role of a thread.
#[derive(Clone, Copy)]
enum Role {
    /// In no team, or a helper between two sections.
    None,
    /// Leader of a team, between two sections.
    Leader(*const Team),
    /// Inside a section, as leader or helper.
    InSection,
}

thread_local_cell!(ROLE: Role = Role::None);

/// Runs `pass` with a team of the pool's threads for all [sections](run_section) in it. The pass
/// must not wait for other jobs of the pool between two sections: the pool could let the leader
/// help its own team, which would never end.
pub(crate) fn with_team<P: Pool, R: Send>(pool: &P, pass: impl FnOnce() -> R + Send) -> R {
    let threads = pool.threads();
    if threads == 1 || !matches!(ROLE.with(Cell::get), Role::None) {
        return pass();
    }
    let team = Team::new();
    let lead = || {
        let _finish = FinishOnDrop(&team);
        let _role = RoleGuard::replace(Role::Leader(&raw const team));
        pass()
    };
    pool.join(lead, || team.help_with(pool, threads - 1))
}

/// Calls `run` on this thread, and once on every other thread of its team that is free.
pub(crate) fn run_section<P: Pool>(pool: &P, run: &Section) {
    with_team(pool, || match ROLE.with(Cell::get) {
        // SAFETY: `with_team` keeps the team alive for as long as the thread has this role.
        Role::Leader(team) => unsafe { (*team).lead(run) },
        // A pool of one thread, or a nested section.
        Role::None | Role::InSection => run(),
    });
}

impl Team {
    fn new() -> Self {
        Self { state: AtomicU64::new(0), section: UnsafeCell::new(None), finished: AtomicBool::new(false) }
    }

    /// Opens a section, takes part in it, closes it and waits for its helpers.
    fn lead(&self, run: &Section) {
        // SAFETY: only the lifetime changes; the section is closed and left before `run` ends.
        let erased = unsafe { std::mem::transmute::<&Section, &Section<'static>>(run) };
        // SAFETY: no section is open, and all helpers have left the last one.
        self.section.with_mut(|section| unsafe { *section = Some(ptr::from_ref(erased)) });
        let number = self.state.load(Ordering::Relaxed) / NUMBER + 1;
        self.state.store(number * NUMBER + OPEN, Ordering::Release);
        let _role = RoleGuard::replace(Role::InSection);
        let _close = CloseOnDrop(self);
        run();
    }

    /// Recruits up to `count` helpers: this thread, and those that steal the rest.
    fn help_with<P: Pool>(&self, pool: &P, count: usize) {
        if count > 0 && !self.finished.load(Ordering::Relaxed) {
            pool.join(|| self.help(), || self.help_with(pool, count - 1));
        }
    }

    /// Takes part in every section until the pass has finished.
    fn help(&self) {
        let mut last = 0;
        loop {
            let mut state = 0;
            wait_until(|| {
                state = self.state.load(Ordering::Relaxed);
                state & OPEN > 0 && state / NUMBER > last || self.finished.load(Ordering::Relaxed)
            });
            if self.finished.load(Ordering::Relaxed) {
                return;
            }
            let joined =
                self.state.compare_exchange(state, state + HELPER, Ordering::Acquire, Ordering::Relaxed);
            if joined.is_ok() {
                last = state / NUMBER;
                let _role = RoleGuard::replace(Role::InSection);
                let _leave = LeaveOnDrop(self);
                // SAFETY: written before the section was opened; it lasts until all have left.
                if let Some(run) = self.section.with(|section| unsafe { (*section).map(|run| &*run) }) {
                    run();
                }
            }
        }
    }
}

/// Closes a section, after a panic too, and waits until no helper is in it.
struct CloseOnDrop<'a>(&'a Team);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!OPEN, Ordering::Relaxed);
        wait_until(|| self.0.state.load(Ordering::Acquire) & HELPERS == 0);
    }
}

/// Leaves a section, after a panic too.
struct LeaveOnDrop<'a>(&'a Team);

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_sub(HELPER, Ordering::Release);
    }
}

/// Releases the helpers, after a panic too.
struct FinishOnDrop<'a>(&'a Team);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.0.finished.store(true, Ordering::Relaxed);
    }
}

/// Sets the thread's role, and restores the previous one.
struct RoleGuard(Role);

impl RoleGuard {
    fn replace(by: Role) -> Self {
        Self(ROLE.with(|role| role.replace(by)))
    }
}

impl Drop for RoleGuard {
    fn drop(&mut self) {
        ROLE.with(|role| role.set(self.0));
    }
}
