//! The threads of rayon's pool, kept together for the many short sections of a pass.
//!
//! A section of a small network takes tens of microseconds, and waking a thread of the pool for each
//! takes as long. So a pass enlists the pool once: its other threads wait for the next section
//! without going to sleep, and leave when the pass is over. Rayon hands them over (`join`, which
//! allocates nothing); a thread that is busy elsewhere does not come, and nobody waits for it.
//!
//! A section inside another stays on its thread. With a team of its own, that thread would have to
//! wait for rayon, which meanwhile may lend it to a third team as a helper: threads that wait for
//! each other's teams in a ring would never end. So whoever is at a section waits for nobody, every
//! pass comes to its end, and with it the wait of its helpers.

use std::cell::{Cell, UnsafeCell};
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::yield_now;

/// Looks at the state before a waiting thread lets others of its core run: some microseconds.
const SPIN_LIMIT: u32 = 1 << 10;

/// What everyone of a team calls once.
type Section<'a> = dyn Fn() + Sync + 'a;

/// One that leads and those that help.
#[derive(Default)]
struct Team {
    /// The number of the section, whether it is [open](OPEN), and how many helpers are at it.
    state: AtomicU64,
    /// Written while no section is open and nobody helps.
    section: UnsafeCell<Option<*const Section<'static>>>,
    finished: AtomicBool,
}

// SAFETY: the section is shared with helpers between the release of `state` that opens it and their
// own that leave it, and is `Sync` itself.
unsafe impl Sync for Team {}

/// One helper, in [`Team::state`].
const HELPER: u64 = 1;
/// All helpers.
const HELPERS: u64 = OPEN - 1;
/// Whether helpers may join.
const OPEN: u64 = 1 << 31;
/// One section.
const NUMBER: u64 = 1 << 32;

/// What a thread is to the teams.
#[derive(Clone, Copy)]
enum Role {
    /// Nothing.
    None,
    /// It leads one, between two sections.
    Leader(*const Team),
    /// It is at a section.
    InSection,
}

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::None) };
}

/// Runs `pass` with a team of the pool's threads for all [sections](run_section) in it.
pub(crate) fn with_team<R: Send>(pass: impl FnOnce() -> R + Send) -> R {
    let threads = rayon::current_num_threads();
    if threads == 1 || !matches!(ROLE.get(), Role::None) {
        return pass();
    }
    let team = Team::default();
    let lead = || {
        let _finish = FinishOnDrop(&team);
        let _role = RoleGuard::replace(Role::Leader(&raw const team));
        pass()
    };
    rayon::join(lead, || team.help_with(threads - 1)).0
}

/// Calls `run` on this thread and at the same time on the others of its team that have time, once on
/// each.
pub(crate) fn run_section(run: &Section) {
    with_team(|| match ROLE.get() {
        // SAFETY: whoever set it keeps the team alive until it is reset.
        Role::Leader(team) => unsafe { (*team).lead(run) },
        // A pool of one, or a section inside another.
        Role::None | Role::InSection => run(),
    });
}

impl Team {
    /// Opens a section, takes part in it, and waits for those who help.
    fn lead(&self, run: &Section) {
        /// Closes the section, after a panic too: nobody may have a hold of it afterwards.
        struct CloseOnDrop<'a>(&'a Team);
        impl Drop for CloseOnDrop<'_> {
            fn drop(&mut self) {
                self.0.state.fetch_and(!OPEN, Ordering::Relaxed);
                wait_until(|| self.0.state.load(Ordering::Acquire) & HELPERS == 0);
            }
        }
        // SAFETY: only the lifetime changes; the section is closed and left before `run` ends.
        let erased = unsafe { std::mem::transmute::<&Section, &Section<'static>>(run) };
        // SAFETY: no section is open, and all have left the last.
        unsafe { *self.section.get() = Some(ptr::from_ref(erased)) };
        let number = self.state.load(Ordering::Relaxed) / NUMBER + 1;
        self.state.store(number * NUMBER + OPEN, Ordering::Release);
        let _role = RoleGuard::replace(Role::InSection);
        let _close = CloseOnDrop(self);
        run();
    }

    /// As many helpers as the pool has threads to spare.
    fn help_with(&self, count: usize) {
        if count > 0 && !self.finished.load(Ordering::Relaxed) {
            rayon::join(|| self.help(), || self.help_with(count - 1));
        }
    }

    /// Takes part in every section until the pass is over.
    fn help(&self) {
        /// Leaves a section, after a panic too.
        struct LeaveOnDrop<'a>(&'a Team);
        impl Drop for LeaveOnDrop<'_> {
            fn drop(&mut self) {
                self.0.state.fetch_sub(HELPER, Ordering::Release);
            }
        }
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
                // SAFETY: the section was written before it was opened, and lasts until all have left.
                if let Some(run) = unsafe { (*self.section.get()).map(|run| &*run) } {
                    run();
                }
            }
        }
    }
}

/// Lets helpers go, after a panic too.
struct FinishOnDrop<'a>(&'a Team);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.0.finished.store(true, Ordering::Relaxed);
    }
}

/// Restores the role that the thread had before.
struct RoleGuard(Role);

impl RoleGuard {
    fn replace(by: Role) -> Self {
        Self(ROLE.replace(by))
    }
}

impl Drop for RoleGuard {
    fn drop(&mut self) {
        ROLE.set(self.0);
    }
}

/// Waits for something that takes no time as a rule.
fn wait_until(mut holds: impl FnMut() -> bool) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Barrier, Mutex};
    use std::thread::{ThreadId, current};

    fn in_pool_of<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a few threads").install(run)
    }

    /// Everyone waits for all others in every section, which ends only if all came, once each.
    #[test]
    fn all_threads_take_part_in_every_section() {
        for threads in [1, 2, 5] {
            let (barrier, seen) = (Barrier::new(threads), Mutex::new(Vec::<ThreadId>::new()));
            in_pool_of(threads, || {
                with_team(|| {
                    for _ in 0..100 {
                        run_section(&|| {
                            seen.lock().expect("no panic").push(current().id());
                            barrier.wait();
                        });
                        let mut seen = seen.lock().expect("no panic");
                        assert_eq!(seen.len(), threads);
                        assert!(seen.iter().all(|id| seen.iter().filter(|other| id == *other).count() == 1));
                        seen.clear();
                    }
                });
            });
        }
    }

    #[test]
    fn sections_without_a_pass_inside_others_and_side_by_side() {
        let total = AtomicUsize::new(0);
        let add = || {
            let left = AtomicUsize::new(10);
            run_section(&|| {
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok() {
                    let once = AtomicBool::new(false);
                    run_section(&|| {
                        let first = !once.swap(true, Ordering::Relaxed);
                        total.fetch_add(usize::from(first), Ordering::Relaxed);
                    });
                }
            });
        };
        in_pool_of(3, || {
            add();
            rayon::join(|| with_team(|| (0..50).for_each(|_| add())), || (0..50).for_each(|_| add()));
        });
        assert_eq!(total.into_inner(), 10 * 101);
    }

    /// A panic of the leader's or of a helper's arrives, and the pool is as good as before.
    #[test]
    fn panics_arrive() {
        in_pool_of(2, || {
            for culprit in [true, false] {
                let barrier = Barrier::new(2);
                let leader = current().id();
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    run_section(&|| {
                        barrier.wait();
                        assert!((current().id() == leader) != culprit, "meant to happen");
                    });
                }));
                assert!(panicked.is_err());
            }
            let count = AtomicUsize::new(0);
            let barrier = Barrier::new(2);
            run_section(&|| {
                barrier.wait();
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), 2);
        });
    }
}
