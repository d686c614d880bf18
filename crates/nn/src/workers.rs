//! Parallel loops over rayon's current pool, without allocation.

use crate::thread_team::{run_section, with_team};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Floats of scratch for a pass: some shared, some for each worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScratchLen {
    pub shared: usize,
    pub per_worker: usize,
}

impl ScratchLen {
    pub(crate) fn total(self, threads: usize) -> usize {
        self.shared + self.per_worker.max(1) * threads
    }
}

/// Keeps a [team](crate::thread_team) of the pool's threads for all passes of `run`.
pub(crate) fn in_team<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    if is_single_thread() { run() } else { with_team(run) }
}

thread_local! {
    /// Whether the passes that this thread starts stay on it.
    static SINGLE_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether passes stay on this thread.
pub(crate) fn is_single_thread() -> bool {
    SINGLE_THREAD.get()
}

/// Runs all passes of `run` on this thread alone: where several networks are computed side by side,
/// handing the short passes of each to other threads costs more than it saves.
pub(crate) fn on_this_thread<R>(run: impl FnOnce() -> R) -> R {
    /// Restores the previous setting, after a panic too.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            SINGLE_THREAD.set(self.0);
        }
    }
    let _restore = Restore(SINGLE_THREAD.replace(true));
    run()
}

/// Shared task counter: every task is taken once.
struct TaskCounter {
    task: AtomicUsize,
    tasks: usize,
}

impl TaskCounter {
    fn new(tasks: usize) -> Self {
        Self { task: AtomicUsize::new(0), tasks }
    }

    /// The remaining tasks, as an iterator for one of several workers.
    fn by_ref(&self) -> impl Iterator<Item = usize> {
        std::iter::from_fn(|| {
            Some(self.task.fetch_add(1, Ordering::Relaxed)).filter(|&task| task < self.tasks)
        })
    }
}

/// Calls `run(task, scratch)` for every task, each worker with its own part of `scratch` (as many
/// workers as parts fit).
///
/// The assignment of tasks to workers is not deterministic, so a task's result must not depend on it:
/// tasks write to disjoint places, and never read earlier contents of their scratch.
pub(crate) fn for_each_task(
    tasks: usize,
    per_worker: usize,
    scratch: &mut [f32],
    run: impl Fn(usize, &mut [f32]) + Sync,
) {
    let per_worker = per_worker.max(1);
    assert!(scratch.len() >= per_worker, "{} floats of scratch, {per_worker} needed", scratch.len());
    if tasks == 1 || is_single_thread() {
        let scratch = &mut scratch[..per_worker];
        return (0..tasks).for_each(|task| run(task, scratch));
    }
    let (parts, scratch) = (TaskCounter::new(scratch.len() / per_worker), Shared::new(scratch));
    let next = TaskCounter::new(tasks);
    run_section(&|| {
        if let Some(part) = parts.by_ref().next() {
            // SAFETY: every part is handed out once.
            let scratch = unsafe { scratch.piece(part * per_worker..(part + 1) * per_worker) };
            next.by_ref().for_each(|task| run(task, scratch));
        }
    });
}

/// Calls `run(task)` for every task, see [`for_each_task`].
pub(crate) fn for_each(tasks: usize, run: impl Fn(usize) + Sync) {
    if tasks == 1 || is_single_thread() {
        return (0..tasks).for_each(run);
    }
    let next = TaskCounter::new(tasks);
    run_section(&|| next.by_ref().for_each(&run));
}

/// A mutable slice that tasks may cut disjoint pieces from.
pub(crate) struct Shared<'a> {
    start: *mut f32,
    len: usize,
    lifetime: PhantomData<&'a mut [f32]>,
}

// SAFETY: only hands out pieces through `piece`, whose caller keeps them disjoint.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    pub(crate) fn new(slice: &'a mut [f32]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), lifetime: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The address of `len` floats from `start` on, for blocks of a matrix that are not slices.
    pub(crate) fn address(&self, start: usize, len: usize) -> *mut f32 {
        self.check(&(start..start + len));
        self.start.wrapping_add(start)
    }

    fn check(&self, range: &Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {} floats", self.len);
    }

    /// # Safety
    ///
    /// No piece that overlaps is alive at the same time.
    pub(crate) unsafe fn read(&self, range: Range<usize>) -> &[f32] {
        self.check(&range);
        // SAFETY: in bounds as just checked; the caller promises that it is not written.
        unsafe { std::slice::from_raw_parts(self.start.add(range.start), range.len()) }
    }

    /// # Safety
    ///
    /// No two pieces alive at the same time overlap.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn piece(&self, range: Range<usize>) -> &mut [f32] {
        self.check(&range);
        // SAFETY: in bounds as just checked; disjoint by the caller.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// Cuts `0..count` into the fewest blocks of at most `most`, as even as possible; returns (start,
/// length) of each.
pub(crate) fn even_blocks(
    count: usize,
    most: usize,
) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone {
    let blocks = count.div_ceil(most);
    (0..blocks).map(move |b| {
        let (start, end) = (b * count / blocks, (b + 1) * count / blocks);
        (start, end - start)
    })
}

/// As [`even_blocks`], but blocks begin at multiples of `width`: no panel of that width is cut.
pub(crate) fn panel_blocks(
    count: usize,
    width: usize,
    most: usize,
) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone {
    even_blocks(count.div_ceil(width), (most / width).max(1))
        .map(move |(start, panels)| (start * width, (panels * width).min(count - start * width)))
}
