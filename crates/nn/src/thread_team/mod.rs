//! A team of spinning threads for the many short parallel sections of a pass.
//!
//! A parallel section of a small network takes tens of microseconds, and waking a sleeping thread of
//! rayon's pool takes as long. So a pass recruits a team once: the pool's other threads spin between
//! sections, and return to the pool after the pass. Rayon recruits them (`join`, which allocates
//! nothing); a thread that is busy elsewhere does not come, and nobody waits for it.
//!
//! A nested section stays on its thread. With a team of its own, that thread would have to wait for
//! rayon, which meanwhile may make it a helper of a third team: threads that wait for each other's
//! teams in a ring would deadlock. So a thread inside a section never waits; every section ends,
//! therefore every pass, and with it the wait of its helpers. `tests/thread_team.rs` checks this with
//! a model checker.

mod sync;
mod team;

use team::{Pool, Section};

/// Rayon's current pool.
struct Rayon;

impl Pool for Rayon {
    fn threads(&self) -> usize {
        rayon::current_num_threads()
    }

    fn join<R: Send>(&self, first: impl FnOnce() -> R + Send, second: impl FnOnce() + Send) -> R {
        rayon::join(first, second).0
    }
}

/// Runs `pass` with a team of the pool's threads for all [sections](run_section) in it.
pub(crate) fn with_team<R: Send>(pass: impl FnOnce() -> R + Send) -> R {
    team::with_team(&Rayon, pass)
}

/// Calls `run` on this thread, and once on every other thread of its team that is free.
pub(crate) fn run_section(run: &Section) {
    team::run_section(&Rayon, run);
}

#[cfg(test)]
mod tests {
    use super::{run_section, with_team};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Barrier, Mutex};
    use std::thread::{ThreadId, current};

    fn in_pool_of<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a few threads").install(run)
    }

    /// Sections in a row; Miri is slow.
    const SECTIONS: usize = if cfg!(miri) { 3 } else { 100 };

    /// Everyone waits for all others in every section, which ends only if all came, once each.
    #[test]
    fn all_threads_take_part_in_every_section() {
        for threads in [1, 2, 5] {
            let (barrier, seen) = (Barrier::new(threads), Mutex::new(Vec::<ThreadId>::new()));
            in_pool_of(threads, || {
                with_team(|| {
                    for _ in 0..SECTIONS {
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
            let half = || (0..SECTIONS / 2).for_each(|_| add());
            rayon::join(|| with_team(half), half);
        });
        assert_eq!(total.into_inner(), 10 * (2 * (SECTIONS / 2) + 1));
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
