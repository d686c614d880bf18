//! Work shared out over rayon's current pool, and the memory that each of its threads works in.

use std::cell::Cell;
use std::ops::Range;

use rayon::prelude::*;

/// Multiply-accumulates below which handing work to other threads costs more than it saves.
const WORTH_SHARING: usize = 200_000;

/// Where tasks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// On the thread that starts them, because others work beside it.
    One,
    /// On those of the current pool.
    Pool,
}

impl Threads {
    /// Whether tasks with so many multiply-accumulates in all are shared out.
    pub(crate) fn share(self, tasks: usize, work: usize) -> bool {
        self == Self::Pool && tasks > 1 && work >= WORTH_SHARING
    }

    /// The results of all tasks in order; in parallel where `work` is worth it.
    pub(crate) fn map<T: Send>(self, tasks: usize, work: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
        if self.share(tasks, work) {
            (0..tasks).into_par_iter().with_max_len(1).map(&run).collect()
        } else {
            (0..tasks).map(run).collect()
        }
    }
}

thread_local! {
    /// What [`with_buffers`] lends.
    static BUFFERS: Cell<(Vec<f32>, Vec<f32>)> = const { Cell::new((vec![], vec![])) };
}

/// Lends `len` floats, with anything in them, and a vector for packed matrices. Both stay with the
/// thread: Grams of megabytes that are allocated anew for each layer of each draw cost as much time
/// as their sums.
pub(crate) fn with_buffers<T>(len: usize, run: impl FnOnce(&mut [f32], &mut Vec<f32>) -> T) -> T {
    // Taken, not borrowed: should `run` come by here again, it finds new ones.
    let (mut floats, mut packed) = BUFFERS.take();
    floats.resize(floats.len().max(len), 0.0);
    let result = run(&mut floats[..len], &mut packed);
    BUFFERS.set((floats, packed));
    result
}

/// Cuts `0..count` into blocks of `len`; the last may be shorter.
pub(crate) fn blocks_of(count: usize, len: usize) -> Vec<Range<usize>> {
    (0..count).step_by(len).map(|start| start..(start + len).min(count)).collect()
}

/// Cuts `0..count` into the fewest blocks of at most `most`, as even as possible.
pub(crate) fn even_blocks(count: usize, most: usize) -> Vec<Range<usize>> {
    let blocks = count.div_ceil(most);
    (0..blocks).map(|block| block * count / blocks..(block + 1) * count / blocks).collect()
}
