//! Moments over trials in parallel, the same bits for any number of threads and shards.
//!
//! Trials are grouped into blocks `[k size, (k + 1) size)` whose boundaries depend on the trial
//! index only. Moments of blocks are merged along the binary tree over block indices: blocks 2k and
//! 2k + 1 first, then pairs of such pairs. A [`Tally`] holds the largest complete subtrees seen so
//! far, a form that depends only on which blocks it covers; so it does not matter who computed
//! them, in which order they were joined, or in how many runs.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Moments;

/// Moments of the trials done so far, in blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Tally {
    block_size: u64,
    /// Disjoint, ascending; no two are siblings.
    nodes: Vec<Node>,
}

/// A complete subtree of blocks, or a part of one block where a range of trials ended inside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Node {
    start: u64,
    end: u64,
    moments: Moments,
}

/// A tally as a file has it.
#[derive(Deserialize)]
struct Unchecked {
    block_size: u64,
    nodes: Vec<Node>,
}

impl TryFrom<Unchecked> for Tally {
    type Error = TallyError;

    fn try_from(Unchecked { block_size, nodes }: Unchecked) -> Result<Self, TallyError> {
        if block_size == 0 {
            return Err(TallyError::Inconsistent(0..0));
        }
        for &Node { start, end, moments } in &nodes {
            if start >= end || moments.count != end - start || !moments.are_possible() {
                return Err(TallyError::Inconsistent(start..end));
            }
        }
        // Joining checks the order and brings the nodes into their one form.
        Self::new(block_size).join(Self { block_size, nodes })
    }
}

/// Why two tallies cannot be joined, or one cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TallyError {
    /// Their blocks differ.
    #[error("tallies with blocks of {0} and {1} trials cannot be joined: both must use the same block size")]
    BlockSize(u64, u64),
    /// Some trial would count twice.
    #[error("both tallies contain trials {}..{}: the tallies joined must have no trial in common", .0.start, .0.end)]
    Overlap(Range<u64>),
    /// What was read cannot be the moments of any trials.
    #[error(
        "the moments of trials {}..{} contradict themselves: their number, or sums of squares, cannot be right", .0.start, .0.end
    )]
    Inconsistent(Range<u64>),
}

impl Node {
    /// Whether the two nodes are the left and right child of one node of the tree.
    fn is_left_sibling_of(&self, right: &Self, block_size: u64) -> bool {
        let size = self.end - self.start;
        let whole = size.is_multiple_of(block_size) && (size / block_size).is_power_of_two();
        // An odd left end makes it a right child; a size that overflows when doubled has no parent.
        whole
            && self.end == right.start
            && right.end - right.start == size
            && size.checked_mul(2).is_some_and(|pair| self.start.is_multiple_of(pair))
    }
}

impl Tally {
    /// No trials yet. A block size of 0 is taken as 1.
    pub fn new(block_size: u64) -> Self {
        Self { block_size: block_size.max(1), nodes: Vec::new() }
    }

    /// Appends a node behind all others, closing every pair of siblings this completes.
    fn append(&mut self, mut node: Node) {
        while let Some(last) = self.nodes.last() {
            if !last.is_left_sibling_of(&node, self.block_size) {
                break;
            }
            node = Node { start: last.start, end: node.end, moments: last.moments.merge(node.moments) };
            self.nodes.pop();
        }
        self.nodes.push(node);
    }

    /// The tally of both sets of trials, which must be disjoint; the order of the two does not
    /// matter.
    pub fn join(self, other: Self) -> Result<Self, TallyError> {
        if self.block_size != other.block_size {
            return Err(TallyError::BlockSize(self.block_size, other.block_size));
        }
        let mut nodes = self.nodes;
        nodes.extend(other.nodes);
        nodes.sort_by_key(|node| node.start);
        if let Some([a, b]) = nodes.array_windows().find(|[a, b]| a.end > b.start) {
            return Err(TallyError::Overlap(b.start..a.end.min(b.end)));
        }
        let mut joined = Self::new(self.block_size);
        nodes.into_iter().for_each(|node| joined.append(node));
        Ok(joined)
    }

    /// The moments of all trials, subtrees merged in ascending order.
    pub fn moments(&self) -> Moments {
        self.nodes.iter().fold(Moments::new(), |sum, node| sum.merge(node.moments))
    }

    /// The trials covered, as ascending ranges with gaps between them.
    pub fn trials(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for node in &self.nodes {
            match ranges.last_mut() {
                Some(last) if last.end == node.start => last.end = node.end,
                _ => ranges.push(node.start..node.end),
            }
        }
        ranges
    }
}

/// Runs `sample` over the blocks of `trials` on the current rayon pool.
///
/// `sample` gets a range of trials within one block and must depend on nothing else (draw from
/// `Rng::new(seed, stream, trial)`). Where `trials` begins or ends inside a block, that block is
/// cut; runs to be joined exactly should meet at multiples of `block_size`. A block size of 0 is
/// taken as 1.
pub fn tally_blocks<F>(trials: Range<u64>, block_size: u64, sample: F) -> Tally
where
    F: Fn(Range<u64>) -> Moments + Sync,
{
    let size = block_size.max(1);
    if trials.is_empty() {
        return Tally::new(size);
    }
    let blocks = trials.start / size..(trials.end - 1) / size + 1;
    blocks
        .into_par_iter()
        .fold(
            || Tally::new(size),
            |mut tally, block| {
                let start = (block * size).max(trials.start);
                let end = (block * size).saturating_add(size).min(trials.end);
                tally.append(Node { start, end, moments: sample(start..end) });
                tally
            },
        )
        // Rayon hands over neighbours, left before right.
        .reduce(
            || Tally::new(size),
            |mut left, right| {
                right.nodes.into_iter().for_each(|node| left.append(node));
                left
            },
        )
}

/// The moments of `trials`, sampled in parallel block by block; see [`tally_blocks`] for what
/// `sample` must do and keep the [`Tally`] itself where runs are to be extended or joined.
pub fn sample_blocks<F>(trials: Range<u64>, block_size: u64, sample: F) -> Moments
where
    F: Fn(Range<u64>) -> Moments + Sync,
{
    tally_blocks(trials, block_size, sample).moments()
}
