//! Input and output transforms: between images and transformed tiles.
//!
//! Vectors run over eight channels of one pixel, so that tiles of any image lie at any place:
//! images are transposed on the way in and out, eight channels by eight pixels at a time, and every
//! map of `maps` is a few instructions on whole vectors. A transformed tile is spread over T x T
//! matrices, one for each of its places.

use super::maps::{Map, Output};
use crate::kernels::epilogue::Bias;
use crate::kernels::input;
use crate::kernels::simd::{Isa, Kernel, LANES, Vector, dispatch};
use crate::workers::Shared;
use std::array::from_fn;
use std::marker::PhantomData;
use std::ops::Range;

/// Images, and the tiles that they are cut in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Channels of an image, all groups together.
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    /// Rows of tiles of an image, and tiles of a row.
    pub rows: usize,
    pub columns: usize,
    /// Pixels from one tile to the next, and pixels that the first begins before the image.
    pub step: usize,
    pub frame: usize,
}

impl Grid {
    /// Where a row of pixels of a channel begins.
    fn at(&self, image: usize, channel: usize, row: usize) -> usize {
        ((image * self.channels + channel) * self.height + row) * self.width
    }

    /// Cuts a range of rows of tiles, counted over all images, at the images' ends.
    fn images(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let (start, end, per_image) = (rows.start, rows.end, self.rows);
        (start / per_image..end.div_ceil(per_image)).map(move |image| {
            let first = image * per_image;
            (image, start.max(first) - first..end.min(first + per_image) - first)
        })
    }

    /// Pixels along an axis that so many tiles of `side` pixels cover.
    fn extent(&self, tiles: usize, side: usize) -> usize {
        self.step * tiles.saturating_sub(1) + side
    }

    /// Floats of scratch of [`TileTransform`] for so many rows of tiles of `side` pixels, transformed to
    /// `places` each; [`InverseTransform`] needs less.
    pub(super) fn stage_len(&self, rows: usize, side: usize, places: usize) -> usize {
        let width = self.extent(self.columns, side);
        2 * ((self.extent(rows, side) + places) * width * LANES + SLACK)
    }
}

/// Floats that a transposed piece of eight pixels may write beyond its row.
const SLACK: usize = LANES * LANES;

/// Strides of transformed tiles: place p of tile t, channels from 8 h on, is at `p * matrix + t *
/// tile + h * half`.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub matrix: usize,
    pub tile: usize,
    pub half: usize,
}

/// Up to 16 channels of some rows of tiles, and where they go when transformed.
pub(super) struct TileTransform<'a> {
    pub grid: Grid,
    pub images: input::Input<'a>,
    pub first_channel: usize,
    pub channels: usize,
    pub rows: Range<usize>,
    pub stage: &'a mut [f32],
    pub to: &'a mut [f32],
    pub strides: Strides,
}

impl TileTransform<'_> {
    /// Transforms tiles of I x I pixels to T x T places, inputs or gradients of outputs (I = m).
    ///
    /// # Safety
    ///
    /// The CPU has the instructions.
    pub(super) unsafe fn by<M: Map<I, T>, const I: usize, const T: usize>(self, isa: Isa) {
        // SAFETY: the caller's.
        unsafe { dispatch(isa, TileTransformBy { transform: self, map: PhantomData::<M> }) };
    }
}

/// [`TileTransform`] with its map.
struct TileTransformBy<'a, M: Map<I, T>, const I: usize, const T: usize> {
    transform: TileTransform<'a>,
    map: PhantomData<M>,
}

impl<M: Map<I, T>, const I: usize, const T: usize> Kernel for TileTransformBy<'_, M, I, T> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let TileTransform { grid, images, first_channel, channels, rows, stage, to, strides } =
            self.transform;
        let Grid { columns, step, frame, .. } = grid;
        let halves = channels.div_ceil(LANES);
        let width = grid.extent(columns, I);
        let stage_len = grid.extent(rows.len(), I) * width * LANES + SLACK;
        let (stage, mapped) = stage.split_at_mut(2 * stage_len);
        let mapped_len = T * width * LANES;
        assert!(mapped.len() >= 2 * mapped_len, "the stage holds the rows");
        let tiles = rows.len() * columns;
        let last = (T * T - 1) * strides.matrix
            + (halves - 1) * strides.half
            + tiles.saturating_sub(1) * strides.tile;
        assert!(last + LANES <= to.len(), "the matrices hold the tiles");
        let mut tile = 0;
        for (image, rows) in grid.images(rows.clone()) {
            for half in 0..halves {
                let channels = LANES.min(channels - half * LANES);
                let source = Source { grid, images, image, channel: first_channel + half * LANES, channels };
                let stage = &mut stage[half * stage_len..][..stage_len];
                for row in 0..grid.extent(rows.len(), I) {
                    let from = (step * rows.start + row).wrapping_sub(frame);
                    let to = &mut stage[row * width * LANES..][..width * LANES + SLACK];
                    // SAFETY: the caller's.
                    unsafe { source.transpose::<V>(from, width, to) };
                }
            }
            for row in 0..rows.len() {
                for half in 0..halves {
                    let from = &stage[half * stage_len + step * row * width * LANES..][..I * width * LANES];
                    let to = &mut mapped[half * mapped_len..][..mapped_len];
                    // SAFETY: `width` pixels of I rows, and of T.
                    unsafe { map_columns::<V, M, I, T>(from, width, to) };
                }
                for column in 0..columns {
                    for half in 0..halves {
                        let from = mapped[half * mapped_len + step * column * LANES..].as_ptr();
                        let at = tile * strides.tile + half * strides.half;
                        // SAFETY: I pixels of T rows from the tile's first on; the places of the
                        // last tile were checked above.
                        unsafe { map_rows::<V, M, I, T>(from, width, to.as_mut_ptr().add(at), strides) };
                    }
                    tile += 1;
                }
            }
        }
    }
}

/// Maps every column of I rows of pixels to one of T rows.
///
/// # Safety
///
/// `from` holds I rows of the width, and `to` T.
#[inline(always)]
unsafe fn map_columns<V: Vector, M: Map<I, T>, const I: usize, const T: usize>(
    from: &[f32],
    width: usize,
    to: &mut [f32],
) {
    for x in 0..width {
        // SAFETY: the caller's.
        unsafe {
            let column = from_fn(|i| V::load(from.as_ptr().add((i * width + x) * LANES)));
            for (t, vector) in M::map::<V>(column).into_iter().enumerate() {
                vector.store(to.as_mut_ptr().add((t * width + x) * LANES));
            }
        }
    }
}

/// Maps I pixels of each of T rows to a tile's T x T places.
///
/// # Safety
///
/// There are so many pixels from `from` on, and `to` has the places of a tile.
#[inline(always)]
unsafe fn map_rows<V: Vector, M: Map<I, T>, const I: usize, const T: usize>(
    from: *const f32,
    width: usize,
    to: *mut f32,
    strides: Strides,
) {
    for t in 0..T {
        // SAFETY: the caller's.
        unsafe {
            let row = from_fn(|i| V::load(from.add((t * width + i) * LANES)));
            for (u, vector) in M::map::<V>(row).into_iter().enumerate() {
                vector.store(to.add((t * T + u) * strides.matrix));
            }
        }
    }
}

/// Up to eight channels of an image.
struct Source<'a> {
    grid: Grid,
    images: input::Input<'a>,
    image: usize,
    channel: usize,
    channels: usize,
}

impl Source<'_> {
    /// Writes a row of pixels, eight channels each, behind the frame's zeros and before zeros up to a
    /// width; a row outside the image is zeros.
    #[inline(always)]
    unsafe fn transpose<V: Vector>(&self, row: usize, width: usize, to: &mut [f32]) {
        let frame = self.grid.frame;
        if row >= self.grid.height {
            to[..width * LANES].fill(0.0);
            return;
        }
        to[..frame * LANES].fill(0.0);
        let from: [usize; LANES] =
            from_fn(|i| self.grid.at(self.image, self.channel + i.min(self.channels - 1), row));
        for x in (0..self.grid.width).step_by(LANES) {
            let to = &mut to[(frame + x) * LANES..][..LANES * LANES];
            if self.channels == LANES && from[LANES - 1] + x + LANES <= self.images.values.len() {
                // SAFETY: the last channel lies behind the others; eight vectors fit.
                unsafe {
                    let mut rows = from_fn(|i| V::load(self.images.values.as_ptr().add(from[i] + x)));
                    if let Some(through) = self.images.through {
                        for (i, row) in rows.iter_mut().enumerate() {
                            *row = through.channel(self.channel + i).of_vector(*row);
                        }
                    }
                    for (pixel, vector) in V::transpose(rows).into_iter().enumerate() {
                        vector.store(to.as_mut_ptr().add(pixel * LANES));
                    }
                }
            } else {
                let pixels = LANES.min(self.grid.width - x);
                for (pixel, to) in to.chunks_exact_mut(LANES).take(pixels).enumerate() {
                    for (lane, to) in to.iter_mut().enumerate().take(self.channels) {
                        let value = self.images.values[from[lane] + x + pixel];
                        *to = self.images.channel(self.channel + lane).map_or(value, |map| map.of(value));
                    }
                    to[self.channels..].fill(0.0);
                }
            }
        }
        to[(frame + self.grid.width) * LANES..width * LANES].fill(0.0);
    }
}

/// Transforms results back: some channels of some rows of tiles.
pub(super) struct InverseTransform<'a, const T: usize, const M: usize> {
    pub grid: Grid,
    pub from: &'a [f32],
    pub strides: Strides,
    pub first_channel: usize,
    pub channels: usize,
    pub rows: Range<usize>,
    pub stage: &'a mut [f32],
    pub images: &'a Shared<'a>,
    /// Its biases are those of the layer's channels.
    pub bias: Option<Bias<'a>>,
}

impl<const T: usize, const M: usize> Kernel for InverseTransform<'_, T, M>
where
    Output: Map<T, M>,
{
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let columns = self.grid.columns;
        let width = M * columns;
        let halves = self.channels.div_ceil(LANES);
        let tiles = self.rows.len() * columns;
        let last = (T * T - 1) * self.strides.matrix
            + (halves - 1) * self.strides.half
            + tiles.saturating_sub(1) * self.strides.tile;
        assert!(last + LANES <= self.from.len(), "the matrices hold the tiles");
        let stage = &mut self.stage[..M * width * LANES + SLACK];
        let mut first_tile = 0;
        for (image, rows) in self.grid.images(self.rows.clone()) {
            for row in rows {
                for half in 0..halves {
                    for column in 0..columns {
                        let at = (first_tile + column) * self.strides.tile + half * self.strides.half;
                        let to = M * column * LANES;
                        // SAFETY: the places of the last tile were checked above; the stage holds M
                        // rows of tiles.
                        unsafe {
                            let (from, to) = (self.from.as_ptr().add(at), stage.as_mut_ptr().add(to));
                            inverse_tile::<V, T, M>(from, self.strides.matrix, to, width * LANES);
                        }
                    }
                    let channel = self.first_channel + half * LANES;
                    let channels = LANES.min(self.channels - half * LANES);
                    for a in 0..M.min(self.grid.height - M * row) {
                        let to = self.grid.at(image, channel, M * row + a);
                        let from = &stage[a * width * LANES..][..width * LANES + SLACK];
                        let bias = self.bias.map(|bias| bias.from(channel));
                        // SAFETY: the caller's.
                        unsafe { store_row::<V>(self.grid, from, to, channels, bias, self.images) };
                    }
                }
                first_tile += columns;
            }
        }
    }
}

/// Transforms the products of one tile, eight channels of T x T places that are `matrix` floats
/// apart, to M x M pixels in rows of `row` floats.
///
/// # Safety
///
/// As for [`Vector`]; all places and pixels lie in their arrays.
#[inline(always)]
unsafe fn inverse_tile<V: Vector, const T: usize, const M: usize>(
    from: *const f32,
    matrix: usize,
    to: *mut f32,
    row: usize,
) where
    Output: Map<T, M>,
{
    // SAFETY: the caller's.
    unsafe {
        let mut mapped = [[V::splat(0.0); M]; T];
        for (u, mapped) in mapped.iter_mut().enumerate() {
            *mapped = Output::map::<V>(from_fn(|t| V::load(from.add((t * T + u) * matrix))));
        }
        for a in 0..M {
            let pixels = Output::map::<V>(mapped.each_ref().map(|column| column[a]));
            for (b, vector) in pixels.into_iter().enumerate() {
                vector.store(to.add(a * row + b * LANES));
            }
        }
    }
}

/// Transposes a row of pixels of up to eight channels into the images.
#[inline(always)]
unsafe fn store_row<V: Vector>(
    grid: Grid,
    from: &[f32],
    to: usize,
    channels: usize,
    bias: Option<Bias>,
    images: &Shared,
) {
    let plane = grid.height * grid.width;
    let to = images.address(to, (channels - 1) * plane + grid.width);
    for x in (0..grid.width).step_by(LANES) {
        let from = &from[x * LANES..][..LANES * LANES];
        let pixels = LANES.min(grid.width - x);
        // SAFETY: eight vectors of the stage; the address of the last channel's row was checked,
        // and a task has its own rows of its own channels.
        unsafe {
            let mut rows = V::transpose(from_fn(|pixel| V::load(from.as_ptr().add(pixel * LANES))));
            if let Some(Bias { values, floor }) = bias {
                for (row, bias) in rows.iter_mut().zip(values) {
                    *row = V::splat(floor).max(row.add(V::splat(*bias)));
                }
            }
            for (channel, row) in rows.into_iter().enumerate().take(channels) {
                let to = to.add(channel * plane + x);
                if pixels == LANES {
                    row.store(to);
                } else {
                    let mut values = [0.0; LANES];
                    row.store(values.as_mut_ptr());
                    to.copy_from_nonoverlapping(values.as_ptr(), pixels);
                }
            }
        }
    }
}
