//! Model checking of the thread team with loom.
//!
//! `src/thread_team/team.rs` is compiled here a second time, with loom's atomics and a model of
//! rayon's pool. Loom runs every interleaving of their operations up to a number of preemptions, with
//! every value that a relaxed load may return. A data race, a deadlock or a livelock in any of them
//! fails the test.

#[path = "../src/thread_team/team.rs"]
mod team;

use loom::cell::UnsafeCell;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::{spawn, yield_now};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use team::{Pool, run_section, with_team};

/// The names of `src/thread_team/sync.rs`, with loom's types.
mod sync {
    pub(super) use loom::cell::UnsafeCell;
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    pub(super) fn wait_until(mut holds: impl FnMut() -> bool) {
        let mut polls = 0;
        while !holds() {
            super::poll_again(&mut polls);
        }
    }

    macro_rules! thread_local_cell {
        ($name:ident: $type:ty = $initial:expr) => {
            loom::thread_local! { static $name: std::cell::Cell<$type> = std::cell::Cell::new($initial); }
        };
    }
    pub(super) use thread_local_cell;
}

/// Polls of a waiting thread after which loom stops to branch.
const POLLS: usize = 1;

/// Lets the other threads run.
///
/// Loom would also try schedules in which two waiting threads take turns for ever and a third one
/// never runs. After [`POLLS`] polls it follows its own fair schedule alone, in which every wait has
/// to end.
fn poll_again(polls: &mut usize) {
    *polls += 1;
    if *polls > POLLS {
        loom::skip_branch();
    }
    yield_now();
}

loom::thread_local! {
    /// Index of the worker that a thread is.
    static WORKER: Cell<usize> = Cell::new(0);
}

/// Model of rayon's work-stealing pool: one deque of jobs per worker. A worker takes its own newest
/// job first, then the oldest of another, also while it waits for a stolen job.
#[derive(Clone)]
struct ModelPool {
    threads: usize,
    jobs: Arc<Mutex<Jobs>>,
}

#[derive(Default)]
struct Jobs {
    deques: Vec<VecDeque<Job>>,
    /// Whether each job so far has ended.
    done: Vec<bool>,
    shut_down: bool,
}

struct Job {
    id: usize,
    run: Box<dyn FnOnce() + Send>,
}

impl ModelPool {
    /// Runs `first` on worker 0 of a pool of so many threads, then shuts the pool down.
    fn run(threads: usize, first: impl FnOnce(&Self)) {
        let deques = (0..threads).map(|_| VecDeque::new()).collect();
        let pool = Self { threads, jobs: Arc::new(Mutex::new(Jobs { deques, ..Jobs::default() })) };
        let worker = |index: usize| {
            let pool = pool.clone();
            spawn(move || {
                WORKER.with(|worker| worker.set(index));
                pool.work_until(|jobs| jobs.shut_down);
            })
        };
        let others: Vec<_> = (1..threads).map(worker).collect();
        first(&pool);
        pool.jobs.lock().expect("no panic").shut_down = true;
        others.into_iter().for_each(|other| other.join().expect("no panic"));
    }

    /// Runs jobs of the pool until a condition holds.
    fn work_until(&self, holds: impl Fn(&Jobs) -> bool) {
        let worker = WORKER.with(Cell::get);
        let mut polls = 0;
        loop {
            let mut jobs = self.jobs.lock().expect("no panic");
            if holds(&jobs) {
                return;
            }
            let mut others = (1..self.threads).map(|distance| (worker + distance) % self.threads);
            let own = jobs.deques[worker].pop_back();
            let job = own.or_else(|| others.find_map(|other| jobs.deques[other].pop_front()));
            drop(jobs);
            match job {
                Some(Job { id, run }) => {
                    run();
                    self.jobs.lock().expect("no panic").done[id] = true;
                }
                None => poll_again(&mut polls),
            }
        }
    }
}

impl Pool for ModelPool {
    fn threads(&self) -> usize {
        self.threads
    }

    fn join<R: Send>(&self, first: impl FnOnce() -> R + Send, second: impl FnOnce() + Send) -> R {
        type Run<'a> = Box<dyn FnOnce() + Send + 'a>;
        // SAFETY: only the lifetime changes; the job has ended when this call returns.
        let run = unsafe { std::mem::transmute::<Run<'_>, Run<'static>>(Box::new(second)) };
        let mut jobs = self.jobs.lock().expect("no panic");
        let id = jobs.done.len();
        jobs.done.push(false);
        jobs.deques[WORKER.with(Cell::get)].push_back(Job { id, run });
        drop(jobs);
        let result = first();
        self.work_until(|jobs| jobs.done[id]);
        result
    }
}

/// Runs a model in every interleaving with at most so many preemptions.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    // Executions that end have a few hundred.
    builder.max_branches = 3_000;
    builder.check(model);
}

/// The tasks of a section: one result each, written by the thread that takes the task.
struct Tasks {
    next: AtomicUsize,
    results: Vec<UnsafeCell<usize>>,
    /// Whether each worker has taken part.
    took_part: Vec<UnsafeCell<bool>>,
}

// SAFETY: every cell has one writer, and is read after the section; loom checks it.
unsafe impl Sync for Tasks {}

impl Tasks {
    fn new(tasks: usize, threads: usize) -> Self {
        Self {
            next: AtomicUsize::new(0),
            results: (0..tasks).map(|_| UnsafeCell::new(0)).collect(),
            took_part: (0..threads).map(|_| UnsafeCell::new(false)).collect(),
        }
    }

    /// The body of the section.
    fn work(&self) {
        self.took_part[WORKER.with(Cell::get)].with_mut(|took_part| {
            // SAFETY: a worker's own cell.
            let again = unsafe { std::mem::replace(&mut *took_part, true) };
            assert!(!again, "a thread takes part in a section once");
        });
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = self.results.get(task) else { return };
            // SAFETY: the counter hands out every task once.
            result.with_mut(|result| unsafe { *result += task + 1 });
        }
    }

    /// Asserts that every task was done once, and that this thread sees it.
    fn assert_done(&self) {
        for (task, result) in self.results.iter().enumerate() {
            // SAFETY: the section has ended.
            result.with(|result| assert_eq!(unsafe { *result }, task + 1));
        }
    }
}

/// Two sections of one pass: the helper comes in time, late, between the two, or not at all.
#[test]
fn sections_hand_over_closures_and_results() {
    check(3, || {
        ModelPool::run(2, |pool| {
            with_team(pool, || {
                for _ in 0..2 {
                    let tasks = Tasks::new(2, 2);
                    run_section(pool, &|| tasks.work());
                    tasks.assert_done();
                }
            });
        });
    });
}

/// Two passes side by side: either thread may become the helper of the other's team.
#[test]
fn teams_side_by_side_end() {
    check(3, || {
        ModelPool::run(2, |pool| {
            let pass = || {
                let tasks = Tasks::new(1, 2);
                run_section(pool, &|| tasks.work());
                tasks.assert_done();
            };
            pool.join(pass, pass);
        });
    });
}

/// Nested sections on three threads. If they recruited teams of their own, a thread inside the outer
/// section could become the outer team's helper a second time and wait for its end, for which the
/// leader waits.
#[test]
fn nested_sections_stay_on_their_thread_and_end() {
    check(2, || {
        ModelPool::run(3, |pool| {
            run_section(pool, &|| {
                let outer = WORKER.with(Cell::get);
                let tasks = Tasks::new(1, 3);
                run_section(pool, &|| {
                    assert_eq!(WORKER.with(Cell::get), outer, "a nested section stays on its thread");
                    tasks.work();
                });
                tasks.assert_done();
            });
        });
    });
}
