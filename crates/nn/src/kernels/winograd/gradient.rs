//! Winograd's weight gradient, by the transposed F(4 x 4, 3 x 3) or F(2 x 2, 3 x 3), the latter of
//! stride 2 too.
//!
//! F(4 x 4, 3 x 3) is for sums over many pixels: errors of the direct kernel grow with their number,
//! those of the maps do not. Over few, they would be four to six times the direct kernel's.
//!
//! A task owns a block of outputs and inputs of a group and a share of the rows of tiles. It takes
//! chunks of tiles in order: inputs (`[place][panel of 16 channels][tile][16]`) and gradients
//! (`[place][tile][channel]`) are transformed, and each place's product of the two is added to a
//! matrix that stays in the second-level cache. Transformed back, the shares are added up in order.

use super::Tile;
use super::maps;
use super::pass::SKEW;
use super::tiles::{Grid, Strides, TileTransform};
use super::weights::{TAPS, WeightGradients};
use crate::kernels::input::Input;
use crate::kernels::panels::{Block, COLUMNS, Left, ROWS, multiply_block};
use crate::kernels::pointwise_weights::add_up;
use crate::kernels::shape::ConvShape;
use crate::kernels::simd::{Isa, LANES, dispatch};
use crate::workers::{ScratchLen, Shared, even_blocks, for_each_task, panel_blocks};
use std::ops::Range;

/// Pixels of all images from which gradients are summed by F(4 x 4, 3 x 3).
const MANY_PIXELS: usize = 1024;

/// Outputs and inputs of a task at most.
const CHANNELS: usize = 128;

/// Tiles of a chunk times their places: with 128 channels, 512 KB of inputs and as much of gradients.
const CHUNK: usize = 1024;

/// Tasks that keep a few cores busy evenly.
const ENOUGH_TASKS: usize = 8;

/// The algorithm.
#[derive(Clone, Copy)]
enum Tiles {
    /// F(2 x 2, 3 x 3).
    Two,
    /// F(2 x 2, 3 x 3) of stride 2.
    TwoStrided,
    /// F(4 x 4, 3 x 3).
    Four,
}

impl Tiles {
    fn of(shape: &ConvShape, tile: Tile) -> Self {
        match tile {
            _ if shape.stride == 2 => Self::TwoStrided,
            Tile::Four if shape.batch * shape.out_pixels() >= MANY_PIXELS => Self::Four,
            _ => Self::Two,
        }
    }

    /// Gradients along a side of a tile.
    fn gradients(self) -> usize {
        match self {
            Self::Two | Self::TwoStrided => 2,
            Self::Four => 4,
        }
    }

    /// Inputs along a side of a tile, as many as it has places when transformed.
    fn inputs(self) -> usize {
        match self {
            Self::Two => 4,
            Self::TwoStrided => 5,
            Self::Four => 6,
        }
    }

    /// Places of a transformed tile.
    fn places(self) -> usize {
        self.inputs() * self.inputs()
    }
}

/// The weight gradient, planned.
pub(crate) struct WeightGradient {
    isa: Isa,
    shape: ConvShape,
    tiles: Tiles,
    /// Rows of tiles of a chunk.
    rows: usize,
    /// Shares of the rows of tiles.
    shares: usize,
}

/// Block of a task.
struct Part {
    group: usize,
    outputs: Range<usize>,
    inputs: Range<usize>,
}

/// Arrays whose product over pixels the weight gradient is.
#[derive(Clone, Copy)]
struct Operands<'a> {
    input: Input<'a>,
    gradient: &'a [f32],
}

/// Tiles that a task multiplies at a time.
struct Chunk {
    /// Rows of tiles, counted over all images.
    rows: Range<usize>,
    /// Whether it is the first of its task.
    is_first: bool,
}

impl WeightGradient {
    /// Whether the shape is such a convolution.
    pub(crate) fn applies_to(shape: &ConvShape) -> bool {
        (shape.kernel, shape.padding) == (3, 1) && shape.stride <= 2
    }

    pub(crate) fn new(shape: &ConvShape, tile: Tile, isa: Isa) -> Self {
        assert!(isa.is_available(), "this CPU cannot run {isa:?}");
        assert!(Self::applies_to(shape), "a 3x3 convolution with padding 1");
        let tiles = Tiles::of(shape, tile);
        let side = tiles.gradients();
        let (rows, columns) = (shape.out_height().div_ceil(side), shape.out_width().div_ceil(side));
        let chunk = (CHUNK / (tiles.places() * columns)).clamp(1, shape.batch * rows);
        let chunks = (shape.batch * rows).div_ceil(chunk);
        let tasks = shape.groups * shape.outputs.div_ceil(CHANNELS) * shape.inputs.div_ceil(CHANNELS);
        let shares = ENOUGH_TASKS.div_ceil(tasks).min(chunks);
        Self { isa, shape: *shape, tiles, rows: chunk, shares }
    }

    /// Rows of tiles of an image, and tiles of a row.
    fn grid(&self) -> (usize, usize) {
        let side = self.tiles.gradients();
        (self.shape.out_height().div_ceil(side), self.shape.out_width().div_ceil(side))
    }

    fn input_grid(&self) -> Grid {
        let (s, (rows, columns)) = (&self.shape, self.grid());
        let (channels, step) = (s.groups * s.inputs, self.tiles.gradients() * s.stride);
        Grid { channels, height: s.height, width: s.width, rows, columns, step, frame: 1 }
    }

    fn gradient_grid(&self) -> Grid {
        let (s, (rows, columns)) = (&self.shape, self.grid());
        let (height, width) = (s.out_height(), s.out_width());
        let step = self.tiles.gradients();
        Grid { channels: s.groups * s.outputs, height, width, rows, columns, step, frame: 0 }
    }

    fn outputs(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone + use<> {
        panel_blocks(self.shape.outputs, COLUMNS, CHANNELS)
    }

    fn inputs(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + Clone + use<> {
        panel_blocks(self.shape.inputs, COLUMNS, CHANNELS)
    }

    /// Outputs and inputs of a task at most, and tiles of a chunk.
    fn sizes(&self) -> (usize, usize, usize) {
        let most = |channels: usize| channels.min(CHANNELS).next_multiple_of(COLUMNS);
        let tiles = self.rows * self.grid().1;
        (most(self.shape.outputs), most(self.shape.inputs), tiles)
    }

    fn input_strides(&self) -> Strides {
        let (_, inputs, tiles) = self.sizes();
        Strides { matrix: inputs * tiles + SKEW, tile: COLUMNS, half: LANES }
    }

    /// The last tile's row of panels may reach beyond its outputs.
    fn gradient_strides(&self) -> Strides {
        let (outputs, _, tiles) = self.sizes();
        Strides { matrix: outputs * tiles + SKEW, tile: outputs, half: LANES }
    }

    /// Floats of one place's sums, and of a row.
    fn sum_strides(&self) -> (usize, usize) {
        let (outputs, inputs, _) = self.sizes();
        (outputs.next_multiple_of(ROWS) * inputs + SKEW, inputs)
    }

    /// Floats of scratch: all shares but the first, and for each worker transformed inputs and
    /// gradients, sums and a stage.
    pub(crate) fn scratch_len(&self) -> ScratchLen {
        let matrices = self.input_strides().matrix + self.gradient_strides().matrix + self.sum_strides().0;
        ScratchLen {
            shared: (self.shares - 1) * self.shape.weight_len(),
            per_worker: self.tiles.places() * matrices
                + self.input_grid().stage_len(self.rows, self.tiles.inputs(), self.tiles.inputs()),
        }
    }

    /// Computes the gradient of the weights from the input and the gradient of the output.
    pub(crate) fn run(&self, input: Input, gradient: &[f32], weights: &mut [f32], scratch: &mut [f32]) {
        let len = self.scratch_len();
        let (others, scratch) = scratch.split_at_mut(len.shared);
        let (first, rest) = (Shared::new(weights), Shared::new(others));
        let (output_blocks, input_blocks) = (self.outputs(), self.inputs());
        let operands = Operands { input, gradient };
        let all_rows = self.shape.batch * self.grid().0;
        let chunks = even_blocks(all_rows, self.rows);
        let shares = even_blocks(chunks.len(), chunks.len().div_ceil(self.shares));
        let tasks = shares.len() * self.shape.groups * output_blocks.len() * input_blocks.len();
        for_each_task(tasks, len.per_worker, scratch, |task, scratch| {
            let (rest_of_task, column) = (task / input_blocks.len(), task % input_blocks.len());
            let (rest_of_task, row) =
                (rest_of_task / output_blocks.len(), rest_of_task % output_blocks.len());
            let (share, group) = (rest_of_task / self.shape.groups, rest_of_task % self.shape.groups);
            let Some((row, column)) = output_blocks.clone().nth(row).zip(input_blocks.clone().nth(column))
            else {
                return;
            };
            let Some((start, count)) = shares.clone().nth(share) else { return };
            let part = Part { group, outputs: row.0..row.0 + row.1, inputs: column.0..column.0 + column.1 };
            let (sums, scratch) = scratch.split_at_mut(self.tiles.places() * self.sum_strides().0);
            let (inputs, scratch) = scratch.split_at_mut(self.tiles.places() * self.input_strides().matrix);
            let (gradients, stage) =
                scratch.split_at_mut(self.tiles.places() * self.gradient_strides().matrix);
            for (index, (first, rows)) in chunks.clone().skip(start).take(count).enumerate() {
                let chunk = Chunk { rows: first..first + rows, is_first: index == 0 };
                self.transform(operands, &part, chunk.rows.clone(), inputs, gradients, stage);
                self.add_products(&part, &chunk, inputs, gradients, sums);
            }
            let (target, at) =
                if share == 0 { (&first, 0) } else { (&rest, (share - 1) * self.shape.weight_len()) };
            self.inverse_transform(sums, &part, target, at);
        });
        if shares.len() > 1 {
            add_up(weights, &others[..(shares.len() - 1) * self.shape.weight_len()]);
        }
    }

    /// Transforms the inputs and gradients of some rows of tiles.
    fn transform(
        &self,
        operands: Operands,
        part: &Part,
        rows: Range<usize>,
        inputs: &mut [f32],
        gradients: &mut [f32],
        stage: &mut [f32],
    ) {
        let tiles = rows.len() * self.grid().1;
        for first in part.inputs.clone().step_by(COLUMNS) {
            self.transform_inputs(TileTransform {
                grid: self.input_grid(),
                images: operands.input,
                first_channel: part.group * self.shape.inputs + first,
                channels: (part.inputs.end - first).min(COLUMNS),
                rows: rows.clone(),
                stage: &mut *stage,
                to: &mut inputs[(first - part.inputs.start) * tiles..],
                strides: self.input_strides(),
            });
        }
        for first in part.outputs.clone().step_by(COLUMNS) {
            self.transform_gradients(TileTransform {
                grid: self.gradient_grid(),
                images: Input::plain(operands.gradient),
                first_channel: part.group * self.shape.outputs + first,
                channels: (part.outputs.end - first).min(COLUMNS),
                rows: rows.clone(),
                stage: &mut *stage,
                to: &mut gradients[first - part.outputs.start..],
                strides: self.gradient_strides(),
            });
        }
    }

    /// Adds the products of some tiles to the sums, or overwrites these with the first chunk's.
    fn add_products(&self, part: &Part, chunk: &Chunk, inputs: &[f32], gradients: &[f32], sums: &mut [f32]) {
        let (from_inputs, from_gradients) = (self.input_strides(), self.gradient_strides());
        let (matrix, row_stride) = self.sum_strides();
        let rows = part.outputs.len().next_multiple_of(ROWS);
        let sums = Shared::new(sums);
        for place in 0..self.tiles.places() {
            let block = Block {
                left: Left::columns(&gradients[place * from_gradients.matrix..], from_gradients.tile),
                right: &inputs[place * from_inputs.matrix..],
                depth: chunk.rows.len() * self.grid().1,
                rows,
                columns: part.inputs.len().next_multiple_of(COLUMNS),
                first_column: 0,
                plane: row_stride,
                plane_stride: 0,
                row_stride,
                target: sums.address(place * matrix, rows * row_stride),
                accumulate: !chunk.is_first,
                bias: None,
            };
            // SAFETY: the address checks the last row; the sums are this task's.
            unsafe { multiply_block(self.isa, &block) };
        }
    }

    fn transform_inputs(&self, transform: TileTransform) {
        // SAFETY: plans are only made for instructions that the CPU has.
        unsafe {
            match self.tiles {
                Tiles::Two => transform.by::<maps::Input, 4, 4>(self.isa),
                Tiles::TwoStrided => transform.by::<maps::Input, 5, 5>(self.isa),
                Tiles::Four => transform.by::<maps::Input, 6, 6>(self.isa),
            }
        }
    }

    fn transform_gradients(&self, transform: TileTransform) {
        // SAFETY: as above.
        unsafe {
            match self.tiles {
                Tiles::Two => transform.by::<maps::Gradient, 2, 4>(self.isa),
                Tiles::TwoStrided => transform.by::<maps::Gradient, 2, 5>(self.isa),
                Tiles::Four => transform.by::<maps::Gradient, 4, 6>(self.isa),
            }
        }
    }

    fn inverse_transform(&self, sums: &[f32], part: &Part, target: &Shared, at: usize) {
        let s = &self.shape;
        let (matrix, row_stride) = self.sum_strides();
        for (row, output) in part.outputs.clone().enumerate() {
            let start = ((part.group * s.outputs + output) * s.inputs + part.inputs.start) * TAPS + at;
            // SAFETY: a task has its own outputs, inputs and share.
            let to = unsafe { target.piece(start..start + part.inputs.len() * TAPS) };
            let from = &sums[row * row_stride..];
            // SAFETY: plans are only made for instructions that the CPU has.
            unsafe {
                match self.tiles {
                    Tiles::Two => dispatch(self.isa, WeightGradients::<4> { from, matrix, to }),
                    Tiles::TwoStrided => dispatch(self.isa, WeightGradients::<5> { from, matrix, to }),
                    Tiles::Four => dispatch(self.isa, WeightGradients::<6> { from, matrix, to }),
                }
            }
        }
    }
}
