//! Winograd's forward pass and data gradient.
//!
//! Weights are transformed once, by all threads, into T x T matrices of panels. A task owns some
//! rows of tiles of a group: it transforms their inputs (`[place][tile][channel]`), multiplies each
//! place's matrix with that of the weights for a block of outputs, and transforms the products
//! back. What it works on stays in the second-level cache.

use super::tiles::{Grid, InverseTransform, Strides, TileTransform};
use super::weights::{FilterTransform, TAPS};
use super::{Tile, maps};
use crate::kernels::epilogue::Bias;
use crate::kernels::input::Input;
use crate::kernels::pack::pack_along;
use crate::kernels::panels::{Block, COLUMNS, DEPTH, Left, ROWS, multiply_block};
use crate::kernels::shape::ConvShape;
use crate::kernels::simd::{Isa, LANES, dispatch};
use crate::kernels::weights::Operands;
use crate::workers::{ScratchLen, Shared, even_blocks, for_each_task, is_single_thread, panel_blocks};
use std::ops::Range;

/// Floats of a task's transformed inputs.
const INPUTS: usize = 1 << 18;

/// Floats of its products before they are transformed back.
const PRODUCTS: usize = 1 << 15;

/// Fewest and most tiles of a task: below, weights are read too often for what is multiplied.
const TILES: Range<usize> = 32..128;

/// Tasks that keep a few cores busy evenly.
const ENOUGH_TASKS: usize = 16;

/// Floats between matrices beside their own: matrices that are a power of two apart would share
/// the same few lines of the first-level cache.
pub(super) const SKEW: usize = 16;

/// The two passes. The data gradient is a forward pass with transposed weights, rotated by 180
/// degrees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    DataGradient,
}

/// Forward pass or data gradient, planned.
pub(crate) struct Pass {
    isa: Isa,
    tile: Tile,
    batch: usize,
    groups: usize,
    inputs: usize,
    outputs: usize,
    /// Tiles of the result, which has as many pixels as what is read.
    height: usize,
    width: usize,
    direction: Direction,
    /// Rows of tiles of a task.
    rows: usize,
    /// Outputs that are multiplied before they are transformed back.
    block: usize,
    /// Parts that the outputs are split in, each a task.
    parts: usize,
}

impl Pass {
    pub(crate) fn forward(shape: &ConvShape, tile: Tile, isa: Isa) -> Self {
        Self::new(shape, tile, isa, Direction::Forward)
    }

    pub(crate) fn data_gradient(shape: &ConvShape, tile: Tile, isa: Isa) -> Self {
        Self::new(shape, tile, isa, Direction::DataGradient)
    }

    fn new(shape: &ConvShape, tile: Tile, isa: Isa, direction: Direction) -> Self {
        let (inputs, outputs) = match direction {
            Direction::Forward => (shape.inputs, shape.outputs),
            Direction::DataGradient => (shape.outputs, shape.inputs),
        };
        assert!(isa.is_available(), "this CPU cannot run {isa:?}");
        assert!(Tile::applies_to(shape), "a 3x3 convolution with padding 1");
        let (columns, rows) = (shape.width.div_ceil(tile.side()), shape.height.div_ceil(tile.side()));
        let tiles = (INPUTS / (tile.places() * inputs)).clamp(TILES.start, TILES.end);
        let rows = (tiles / columns).clamp(1, shape.batch * rows);
        let tiles = (rows * columns).next_multiple_of(ROWS);
        let block = (PRODUCTS / (tile.places() * tiles)).next_multiple_of(2 * COLUMNS);
        let block = block.min(outputs.next_multiple_of(COLUMNS));
        let mut pass = Self {
            isa,
            tile,
            batch: shape.batch,
            groups: shape.groups,
            inputs,
            outputs,
            height: shape.height,
            width: shape.width,
            direction,
            rows,
            block,
            parts: 1,
        };
        let tasks = shape.groups * pass.row_blocks().len();
        pass.parts = ENOUGH_TASKS.div_ceil(tasks).min(outputs.div_ceil(2 * COLUMNS));
        pass
    }

    /// The images that are read (`frame` 1) or written (0).
    fn grid(&self, channels: usize, frame: usize) -> Grid {
        let (height, width, step) = (self.height, self.width, self.tile.side());
        Grid {
            channels: self.groups * channels,
            height,
            width,
            rows: height.div_ceil(step),
            columns: width.div_ceil(step),
            step,
            frame,
        }
    }

    /// Rows of tiles of all images, in blocks.
    fn row_blocks(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone + use<> {
        even_blocks(self.batch * self.height.div_ceil(self.tile.side()), self.rows)
    }

    /// Tiles of a task at most, filled up to whole panels.
    fn tiles(&self) -> usize {
        (self.rows * self.width.div_ceil(self.tile.side())).next_multiple_of(ROWS)
    }

    /// Floats of one place's weights.
    fn weights_stride(&self) -> usize {
        self.outputs.next_multiple_of(COLUMNS) * self.inputs + SKEW
    }

    /// Strides of transformed inputs.
    fn input_strides(&self) -> Strides {
        let tile = self.inputs.next_multiple_of(LANES);
        Strides { matrix: self.tiles() * tile + SKEW, tile, half: LANES }
    }

    /// Strides of products.
    fn product_strides(&self) -> Strides {
        Strides { matrix: self.tiles() * self.block + SKEW, tile: self.block, half: LANES }
    }

    /// Floats of scratch: transformed weights, and for each worker inputs, products and a stage.
    pub(crate) fn scratch_len(&self) -> ScratchLen {
        let (places, side) = (self.tile.places(), self.tile.side() + 2);
        let taps = self.inputs * TAPS * COLUMNS;
        let work = places * (self.input_strides().matrix + self.product_strides().matrix)
            + self.grid(self.inputs, 1).stage_len(self.rows, side, side);
        ScratchLen { shared: self.groups * places * self.weights_stride(), per_worker: work.max(taps) }
    }

    /// Computes `output` from `input` and the layer's weights.
    pub(crate) fn run(&self, operands: Operands, output: &mut [f32], scratch: &mut [f32]) {
        let Operands { input, weights, bias, epilogue } = operands;
        assert!(epilogue.is_none(), "tiles are not shown");
        let len = self.scratch_len();
        let (transformed, scratch) = scratch.split_at_mut(len.shared);
        let transformed =
            weights.or_prepare(transformed, |weights, to| self.transform_weights(weights, to, scratch));
        let output = Shared::new(output);
        let blocks = self.row_blocks();
        // Every part transforms the inputs anew: on one thread, a single part does it once.
        let parts = if is_single_thread() { 1 } else { self.parts };
        let parts = panel_blocks(self.outputs, 2 * COLUMNS, self.outputs.div_ceil(parts));
        let tasks = self.groups * blocks.len() * parts.len();
        for_each_task(tasks, len.per_worker, scratch, |task, scratch| {
            let (rest, part) = (task / parts.len(), task % parts.len());
            let (group, block) = (rest / blocks.len(), rest % blocks.len());
            let Some(((first, count), part)) = blocks.clone().nth(block).zip(parts.clone().nth(part)) else {
                return;
            };
            let rows = first..first + count;
            let strides = self.input_strides();
            let (inputs, scratch) = scratch.split_at_mut(self.tile.places() * strides.matrix);
            let (products, stage) = scratch.split_at_mut(self.tile.places() * self.product_strides().matrix);
            self.transform_inputs(input, group, rows.clone(), inputs, stage);
            for (first, outputs) in panel_blocks(part.1, COLUMNS, self.block) {
                let outputs = part.0 + first..part.0 + first + outputs;
                self.multiply(inputs, transformed, (group, outputs.clone()), count, products);
                self.inverse_transform(products, (group, outputs), rows.clone(), bias, &output, stage);
            }
        });
    }

    /// Floats of all transformed weights.
    pub(crate) fn prepared_len(&self) -> usize {
        self.scratch_len().shared
    }

    /// Transforms all weights, `[group][place][block of the depth][panel][depth][16]`.
    pub(crate) fn transform_weights(&self, weights: &[f32], to: &mut [f32], scratch: &mut [f32]) {
        let to = &Shared::new(to);
        let panels = self.outputs.div_ceil(COLUMNS);
        let len = self.scratch_len().per_worker;
        for_each_task(self.groups * panels, len, scratch, |task, scratch| {
            let (group, panel) = (task / panels, task % panels);
            let output = panel * COLUMNS;
            let taps = &mut scratch[..self.inputs * TAPS * COLUMNS];
            self.pack_taps(weights, group, output, taps);
            for (start, depth) in even_blocks(self.inputs, DEPTH) {
                let at = group * self.tile.places() * self.weights_stride()
                    + start * self.outputs.next_multiple_of(COLUMNS)
                    + output * depth;
                let taps = &taps[start * TAPS * COLUMNS..][..depth * TAPS * COLUMNS];
                let (rotated, matrix) = (self.direction == Direction::DataGradient, self.weights_stride());
                // SAFETY: plans are only made for instructions that the CPU has.
                unsafe {
                    match self.tile {
                        Tile::Two => {
                            dispatch(self.isa, FilterTransform::<4> { taps, rotated, to, at, matrix });
                        }
                        Tile::Four => {
                            dispatch(self.isa, FilterTransform::<6> { taps, rotated, to, at, matrix });
                        }
                    }
                }
            }
        });
    }

    /// Packs the taps of a panel of outputs, `[input][tap][16]`.
    fn pack_taps(&self, weights: &[f32], group: usize, output: usize, taps: &mut [f32]) {
        let len = self.outputs * self.inputs * TAPS;
        let weights = &weights[group * len..][..len];
        let rows = COLUMNS.min(self.outputs - output);
        if self.direction == Direction::DataGradient {
            for input in 0..self.inputs {
                let from = &weights[(input * self.outputs + output) * TAPS..];
                pack_along::<COLUMNS>(self.isa, from, TAPS, (rows, TAPS), input * TAPS, taps);
            }
        } else {
            let stride = self.inputs * TAPS;
            pack_along::<COLUMNS>(self.isa, &weights[output * stride..], stride, (rows, stride), 0, taps);
        }
    }

    fn transform_inputs(
        &self,
        images: Input,
        group: usize,
        rows: Range<usize>,
        to: &mut [f32],
        stage: &mut [f32],
    ) {
        let (grid, strides) = (self.grid(self.inputs, 1), self.input_strides());
        for first in (0..self.inputs).step_by(2 * LANES) {
            let channels = (self.inputs - first).min(2 * LANES);
            let first_channel = group * self.inputs + first;
            let (to, rows, stage) = (&mut to[first..], rows.clone(), &mut *stage);
            let transform = TileTransform { grid, images, first_channel, channels, rows, stage, to, strides };
            // SAFETY: plans are only made for instructions that the CPU has.
            unsafe {
                match self.tile {
                    Tile::Two => transform.by::<maps::Input, 4, 4>(self.isa),
                    Tile::Four => transform.by::<maps::Input, 6, 6>(self.isa),
                }
            }
        }
    }

    /// Multiplies the inputs of every place with its weights of some outputs.
    fn multiply(
        &self,
        inputs: &[f32],
        weights: &[f32],
        (group, outputs): (usize, Range<usize>),
        rows: usize,
        products: &mut [f32],
    ) {
        let (from, to) = (self.input_strides(), self.product_strides());
        let tiles = rows * self.width.div_ceil(self.tile.side());
        // AVX-512 computes any number of rows; the others store whole panels faster than parts.
        let tiles = if self.isa == Isa::Avx512 { tiles } else { tiles.next_multiple_of(ROWS) };
        let columns = outputs.len().next_multiple_of(COLUMNS);
        let products = Shared::new(products);
        for place in 0..self.tile.places() {
            let weights = &weights[(group * self.tile.places() + place) * self.weights_stride()..];
            for (start, depth) in even_blocks(self.inputs, DEPTH) {
                let at = start * self.outputs.next_multiple_of(COLUMNS) + outputs.start * depth;
                let block = Block {
                    left: Left::rows(&inputs[place * from.matrix + start..], from.tile),
                    right: &weights[at..],
                    depth,
                    rows: tiles,
                    columns,
                    first_column: 0,
                    plane: columns,
                    plane_stride: 0,
                    row_stride: to.tile,
                    target: products.address(place * to.matrix, tiles * to.tile),
                    accumulate: start > 0,
                    bias: None,
                };
                // SAFETY: the address checks the last row; the products are this task's.
                unsafe { multiply_block(self.isa, &block) };
            }
        }
    }

    fn inverse_transform(
        &self,
        from: &[f32],
        (group, outputs): (usize, Range<usize>),
        rows: Range<usize>,
        bias: Option<Bias>,
        images: &Shared,
        stage: &mut [f32],
    ) {
        let (grid, strides) = (self.grid(self.outputs, 0), self.product_strides());
        let (first_channel, channels) = (group * self.outputs + outputs.start, outputs.len());
        // SAFETY: plans are only made for instructions that the CPU has; a task has its own rows of
        // its own channels.
        unsafe {
            match self.tile {
                Tile::Two => dispatch(
                    self.isa,
                    InverseTransform::<4, 2> {
                        grid,
                        from,
                        strides,
                        first_channel,
                        channels,
                        rows,
                        stage,
                        images,
                        bias,
                    },
                ),
                Tile::Four => dispatch(
                    self.isa,
                    InverseTransform::<6, 4> {
                        grid,
                        from,
                        strides,
                        first_channel,
                        channels,
                        rows,
                        stage,
                        images,
                        bias,
                    },
                ),
            }
        }
    }
}
