//! Zero-padded images in scratch, and the vectors of eight pixels that the kernels take from them.
//!
//! A convolution of stride s reads each padded image as s x s phases (its polyphase components),
//! phase (a, b) holding rows a, a + s, ... and columns b, b + s, ...: every kernel position then
//! reads neighbouring pixels of one phase, and loads stay contiguous.

use super::input::ChannelMap;
use super::shape::ConvShape;
use super::simd::LANES;
use collegial_core::multiversion;

/// The layout of one channel of one image with its zeros, phase after phase.
#[derive(Clone, Debug)]
pub(crate) struct Padded {
    /// Size of the image without padding.
    pub height: usize,
    pub width: usize,
    /// Phases per axis: the stride of the convolution.
    pub stride: usize,
    /// Zeros above and left of the image, before splitting.
    pub padding: usize,
    /// Rows of a phase.
    pub rows: usize,
    /// Distance of its rows.
    pub row_stride: usize,
    /// Floats of a phase.
    pub phase_len: usize,
}

impl Padded {
    /// The layout of an image of height x width behind `padding` zeros, of whose phases rows x
    /// columns are read. With one phase, zeros at the end of a row double as those before the next.
    pub(crate) fn new(
        (height, width): (usize, usize),
        stride: usize,
        padding: usize,
        (rows, columns): (usize, usize),
    ) -> Self {
        let zeros_after = columns.saturating_sub(padding + width);
        let shared = if stride == 1 { padding.min(zeros_after) } else { 0 };
        let row_stride = columns - shared;
        Self { height, width, stride, padding, rows, row_stride, phase_len: rows * row_stride + shared }
    }

    /// Floats of one channel of one image.
    pub(crate) fn len(&self) -> usize {
        self.stride * self.stride * self.phase_len
    }

    /// Copies a channel, or its image under a map, into its phases, zeros included.
    pub(crate) fn fill(&self, channel: &[f32], map: Option<ChannelMap>, phases: &mut [f32]) {
        match map {
            None => self.fill_with(channel, phases, |x| x),
            Some(map) => fill_mapped(self, channel, phases, map),
        }
    }

    /// One fill of the whole and one copy per row: rows are short, and a call per piece of a row
    /// costs as much as a row.
    #[inline(always)]
    fn fill_with(&self, channel: &[f32], phases: &mut [f32], map: impl Fn(f32) -> f32 + Copy) {
        let phases = &mut phases[..self.len()];
        phases.fill(0.0);
        for (y, row) in channel.chunks_exact(self.width).enumerate() {
            let (i, a) = ((y + self.padding) / self.stride, (y + self.padding) % self.stride);
            if i >= self.rows {
                break;
            }
            let row_of_phases =
                &mut phases[a * self.stride * self.phase_len..][..self.stride * self.phase_len];
            self.split_row(row, i * self.row_stride, row_of_phases, map);
        }
    }

    /// Distributes a row of the image over its phases; in each, its row starts at `start`.
    #[inline(always)]
    fn split_row(&self, row: &[f32], start: usize, phases: &mut [f32], map: impl Fn(f32) -> f32 + Copy) {
        // Column x of the image is column (x + padding) / s of phase (x + padding) mod s.
        let place = |x: usize| ((x + self.padding) % self.stride, (x + self.padding) / self.stride);
        if self.stride == 2 {
            let (first, second) = phases.split_at_mut(self.phase_len);
            let phases = if self.padding.is_multiple_of(2) { [first, second] } else { [second, first] };
            let [evens, odds] = phases.map(|phase| &mut phase[start..start + self.row_stride]);
            unzip(row, &mut evens[place(0).1..], &mut odds[place(1).1..], map);
            return;
        }
        for x in 0..self.stride.min(row.len()) {
            let (b, j) = place(x);
            let to = &mut phases[b * self.phase_len + start..][..self.row_stride];
            let to = &mut to[j.min(self.row_stride)..];
            let count = (row.len() - x).div_ceil(self.stride).min(to.len());
            copy_every_with(self.stride, &row[x..], &mut to[..count], map);
        }
    }
}

multiversion! {
    /// [`Padded::fill`] with a map.
    fn fill_mapped(padded: &Padded, channel: &[f32], phases: &mut [f32], map: ChannelMap) {
        padded.fill_with(channel, phases, |x| map.of(x));
    }
}

/// `evens[j] = row[2 j]`, `odds[j] = row[2 j + 1]`, mapped, as far as each goes.
#[inline(always)]
fn unzip(row: &[f32], evens: &mut [f32], odds: &mut [f32], map: impl Fn(f32) -> f32) {
    let (pairs, last) = row.as_chunks::<2>();
    let both = pairs.len().min(evens.len()).min(odds.len());
    let (evens, more_evens) = evens.split_at_mut(both);
    let (odds, more_odds) = odds.split_at_mut(both);
    for ((even, odd), pair) in evens.iter_mut().zip(odds).zip(pairs) {
        (*even, *odd) = (map(pair[0]), map(pair[1]));
    }
    let rest = &pairs[both..];
    for (even, from) in more_evens.iter_mut().zip(rest.iter().map(|pair| &pair[0]).chain(last)) {
        *even = map(*from);
    }
    for (odd, from) in more_odds.iter_mut().zip(rest.iter().map(|pair| &pair[1])) {
        *odd = map(*from);
    }
}

/// `to[j] = from[stride * j]`.
pub(crate) fn copy_every(stride: usize, from: &[f32], to: &mut [f32]) {
    copy_every_with(stride, from, to, |x| x);
}

/// `to[j] = map(from[stride * j])`; the two common strides are written so that the compiler
/// vectorises them.
#[inline(always)]
fn copy_every_with(stride: usize, from: &[f32], to: &mut [f32], map: impl Fn(f32) -> f32) {
    match stride {
        1 => {
            let from = &from[..to.len()];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = map(*from));
        }
        2 => {
            let (pairs, rest) = from.as_chunks::<2>();
            for (to, pair) in to.iter_mut().zip(pairs) {
                *to = map(pair[0]);
            }
            if let (Some(to), Some(from)) = (to.get_mut(pairs.len()), rest.first()) {
                *to = map(*from);
            }
        }
        _ => {
            for (to, from) in to.iter_mut().zip(from.iter().step_by(stride)) {
                *to = map(*from);
            }
        }
    }
}

/// The layout of the padded input, as the forward pass and the weight gradient read them.
pub(crate) fn padded_input(shape: &ConvShape) -> Padded {
    let beyond = (shape.kernel - 1) / shape.stride;
    let read = (shape.out_height() + beyond, shape.out_width() + beyond);
    Padded::new((shape.height, shape.width), shape.stride, shape.padding, read)
}

/// Kernel positions and their offsets in [`padded_input`].
pub(crate) fn kernel_taps(shape: &ConvShape, padded: &Padded) -> Vec<(usize, usize)> {
    let (s, k) = (shape.stride, shape.kernel);
    let offset = |kh: usize, kw: usize| {
        ((kh % s) * s + kw % s) * padded.phase_len + (kh / s) * padded.row_stride + kw / s
    };
    (0..k * k).map(|position| (position, offset(position / k, position % k))).collect()
}

/// The output pixels of a channel, or of one of its phases, as vectors.
///
/// Where rows are whole vectors, vectors follow the rows, and packed pixels are the pixels.
/// Elsewhere vectors run on through the gaps between rows, which wastes fewer lanes than a
/// part-filled vector per row.
#[derive(Clone, Debug)]
pub(crate) struct Pixels {
    pub rows: usize,
    pub columns: usize,
    /// Distance of packed rows.
    pub packed_stride: usize,
    /// Offset of each vector's first pixel in the padded image that it is computed from.
    pub vectors: Vec<u32>,
}

impl Pixels {
    pub(crate) fn new(rows: usize, columns: usize, row_stride: usize) -> Self {
        if rows == 0 || columns == 0 {
            return Self { rows: 0, columns: 0, packed_stride: 1, vectors: Vec::new() };
        }
        if columns.is_multiple_of(LANES) {
            let starts = |i: usize| (0..columns).step_by(LANES).map(move |j| (i * row_stride + j) as u32);
            return Self {
                rows,
                columns,
                packed_stride: columns,
                vectors: (0..rows).flat_map(starts).collect(),
            };
        }
        let span = (rows - 1) * row_stride + columns;
        let vectors = (0..span).step_by(LANES).map(|start| start as u32).collect();
        Self { rows, columns, packed_stride: row_stride, vectors }
    }

    /// Floats of the packed pixels.
    pub(crate) fn packed_len(&self) -> usize {
        self.vectors.len() * LANES
    }

    /// Whether packed pixels are the pixels themselves.
    pub(crate) fn is_plain(&self) -> bool {
        self.packed_stride == self.columns && self.packed_len() == self.rows * self.columns
    }

    /// The packed rows, without the gaps.
    pub(crate) fn rows_of<'a>(&'a self, packed: &'a [f32]) -> impl Iterator<Item = &'a [f32]> {
        (0..self.rows).map(move |i| &packed[i * self.packed_stride..][..self.columns])
    }

    /// Packs channel `row` of `rows` as `[vectors][rows][8]`, zeros in the gaps.
    pub(crate) fn interleave(&self, channel: &[f32], row: usize, rows: usize, packed: &mut [f32]) {
        let vectors = packed.chunks_exact_mut(LANES).skip(row).step_by(rows);
        if self.is_plain() {
            for (to, from) in vectors.zip(channel.chunks_exact(LANES)) {
                to.copy_from_slice(from);
            }
            return;
        }
        vectors.take(self.vectors.len()).for_each(|to| to.fill(0.0));
        for (i, from) in channel.chunks_exact(self.columns).enumerate() {
            let (mut at, mut from) = (i * self.packed_stride, from);
            while !from.is_empty() {
                let (piece, rest) = from.split_at(from.len().min(LANES - at % LANES));
                let to = &mut packed[(at / LANES * rows + row) * LANES + at % LANES..];
                match piece.first_chunk::<LANES>() {
                    Some(vector) => to[..LANES].copy_from_slice(vector),
                    None => to.iter_mut().zip(piece).for_each(|(to, from)| *to = *from),
                }
                (at, from) = (at + piece.len(), rest);
            }
        }
    }
}

/// `to[2 j] = even[j]`, `to[2 j + 1] = odd[j]`; there may be one more even value than odd ones.
pub(crate) fn zip_rows(even: &[f32], odd: &[f32], to: &mut [f32]) {
    let (pairs, rest) = to.as_chunks_mut::<2>();
    for ((to, even), odd) in pairs.iter_mut().zip(even).zip(odd) {
        *to = [*even, *odd];
    }
    if let (Some(to), Some(even)) = (rest.first_mut(), even.last()) {
        *to = *even;
    }
}
