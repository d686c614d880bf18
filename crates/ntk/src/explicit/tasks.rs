//! Work shared out over rayon's current pool.

use std::ops::Range;

use rayon::prelude::*;

/// Multiply-accumulates below which handing work to other threads costs more than it saves.
const WORTH_SHARING: usize = 200_000;

/// The results of all tasks in order; in parallel where `work` multiply-accumulates in all are
/// worth it.
pub(crate) fn map_tasks<T: Send>(tasks: usize, work: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if tasks < 2 || work < WORTH_SHARING {
        (0..tasks).map(run).collect()
    } else {
        (0..tasks).into_par_iter().with_max_len(1).map(&run).collect()
    }
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
