//! The cut of a kernel into tiles, and the memory it takes.

use std::ops::Range;

use super::Entries;
use crate::Error;
use crate::explicit::tasks::even_blocks;

/// Inputs of a block at most: enough for products to run at full speed, few enough for a tile to be
/// done within seconds.
const MOST_INPUTS: usize = 512;

/// Rows of a tile at most, where every input has several.
const MOST_ROWS: usize = 2048;

/// Blocks that should fit into memory where not all do. Features of all but one stay while the last
/// one's change, so that with c of them inputs go through the network about N / (c - 1) s times, s
/// the side of a block.
const BLOCKS: u64 = 8;

/// Bytes for what is not counted one by one: the program, and each thread's products and packed
/// matrices.
const ALLOWANCE: u64 = 64 << 20;

/// How the inputs are cut into blocks and passes. Both leave traces in the last bits of a kernel,
/// so that tiles of one kernel have to share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Inputs of a block at most: the side of a tile.
    pub side: usize,
    /// Inputs that go through the network at a time.
    pub pass: usize,
}

/// A piece of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Its number.
    pub index: usize,
    /// Rows of the kernel.
    pub rows: Range<usize>,
    /// Columns of the kernel.
    pub columns: Range<usize>,
    /// Whether it also lies, transposed, at (columns, rows).
    pub mirrored: bool,
    pub(crate) blocks: (usize, usize),
}

/// What is known before the memory is shared out.
pub(crate) struct Needs {
    /// Inputs in all, and how many of them, the first, have columns.
    pub inputs: usize,
    pub columns: usize,
    pub entries: Entries,
    /// Rows of the kernel that an input has.
    pub per_input: usize,
    /// Bytes of an input's features.
    pub features: u64,
    /// Bytes of inputs, weights and of a network without inputs, and of a network's arrays per
    /// input.
    pub fixed: u64,
    pub activations: u64,
}

/// Blocks, tiles and bytes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cut.
    pub cut: Cut,
    /// Ranges of inputs, those with columns first.
    pub(crate) blocks: Vec<Range<usize>>,
    /// How many blocks have columns.
    pub(crate) column_blocks: usize,
    per_input: usize,
    entries: Entries,
    /// Blocks whose features are kept at a time.
    pub kept: usize,
    /// Bytes that it takes.
    pub bytes: u64,
}

impl Plan {
    /// A cut that fits the memory, or the given one.
    pub(crate) fn new(needs: &Needs, memory: u64, cut: Option<Cut>) -> Result<Self, Error> {
        let cut = cut.unwrap_or_else(|| needs.cut(memory));
        let side = cut.side.max(1);
        let mut blocks = even_blocks(needs.columns, side);
        let column_blocks = blocks.len();
        let rest = even_blocks(needs.inputs - needs.columns, side);
        blocks.extend(rest.into_iter().map(|block| block.start + needs.columns..block.end + needs.columns));
        let largest = blocks.iter().map(ExactSizeIterator::len).max().unwrap_or(1);
        let block = needs.features * largest as u64;
        let spare = memory.saturating_sub(needs.apart(largest, cut.pass));
        let least = if needs.entries.diagonal { 1 } else { blocks.len().min(2) };
        let kept = usize::try_from(spare / block.max(1)).unwrap_or(usize::MAX).min(blocks.len());
        let bytes = |kept: usize| needs.apart(largest, cut.pass) + block * kept as u64;
        if kept < least {
            return Err(Error::TileMemory { needed: bytes(least), allowed: memory, side: largest });
        }
        let kept = if needs.entries.diagonal { 1 } else { kept };
        Ok(Self {
            cut,
            blocks,
            column_blocks,
            per_input: needs.per_input,
            entries: needs.entries,
            kept,
            bytes: bytes(kept),
        })
    }

    /// All tiles, column by column of blocks: the lower triangle, and the rows without columns of
    /// their own; of a diagonal one per block.
    pub fn tiles(&self) -> Vec<Tile> {
        let scaled = |block: usize| {
            let Range { start, end } = self.blocks[block].clone();
            start * self.per_input..end * self.per_input
        };
        let pairs: Vec<(usize, usize)> = if self.entries.diagonal {
            (0..self.blocks.len()).map(|block| (block, block)).collect()
        } else {
            let rows = |column: usize| (column..self.blocks.len()).map(move |row| (row, column));
            (0..self.column_blocks).flat_map(rows).collect()
        };
        let tile = |(index, (row, column)): (usize, (usize, usize))| Tile {
            index,
            rows: scaled(row),
            columns: if self.entries.diagonal { 0..1 } else { scaled(column) },
            mirrored: row != column && row < self.column_blocks,
            blocks: (row, column),
        };
        pairs.into_iter().enumerate().map(tile).collect()
    }

    /// Rows and columns of the kernel.
    pub fn shape(&self) -> (usize, usize) {
        let end = |blocks: usize| self.blocks[..blocks].last().map_or(0, |block| block.end * self.per_input);
        let columns = if self.entries.diagonal { 1 } else { end(self.column_blocks) };
        (end(self.blocks.len()), columns)
    }

    /// Tiles in the order in which features are used best: a group of columns' features stay while
    /// all rows pass by.
    pub(crate) fn in_order(&self, mut tiles: Vec<Tile>) -> Vec<Tile> {
        let group = self.kept.saturating_sub(1).max(1);
        let first = tiles.iter().map(|tile| tile.blocks.1).min().unwrap_or(0);
        tiles.sort_by_key(|tile| {
            let (row, column) = tile.blocks;
            ((column - first) / group, row, column)
        });
        tiles
    }
}

impl Needs {
    /// The largest cut of which enough blocks fit.
    fn cut(&self, memory: u64) -> Cut {
        let most = MOST_INPUTS.min(MOST_ROWS / self.per_input).min(self.inputs).max(1);
        // Activations may take an eighth; more images at a time than these are not faster.
        let pass = (memory / 8 / self.activations.max(1)).clamp(1, 64.min(most as u64)) as usize;
        let fits = |side: usize| {
            let blocks = BLOCKS.min(self.inputs.div_ceil(side) as u64);
            self.apart(side, pass.min(side)) + blocks * side as u64 * self.features <= memory
        };
        let side = std::iter::successors(Some(most), |side| Some(side * 7 / 8))
            .find(|&side| side <= 1 || fits(side));
        let side = side.unwrap_or(1).max(1);
        Cut { side, pass: pass.min(side) }
    }

    /// Bytes of everything but features: a tile is there as such, in the pieces that threads
    /// compute, and on its way to a file.
    fn apart(&self, side: usize, pass: usize) -> u64 {
        let rows = (side * self.per_input) as u64;
        let columns = if self.entries.diagonal { 1 } else { rows };
        ALLOWANCE + self.fixed + self.activations * pass as u64 + 4 * rows * columns * size_of::<f64>() as u64
    }
}
