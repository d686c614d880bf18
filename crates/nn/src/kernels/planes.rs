//! Zero-padded images in scratch, and the vectors of eight pixels that the kernels take from them.
//!
//! A convolution of stride s reads each padded image as s x s planes, plane (a, b) holding rows a, a + s, ... and columns
//! b, b + s, ...: every kernel position then reads neighbouring pixels of one plane, and loads stay contiguous.

use super::simd::LANES;

/// The layout of one channel of one image.
#[derive(Clone, Debug)]
pub(crate) struct Planes {
    /// Size of the image without padding.
    pub height: usize,
    pub width: usize,
    /// Planes per axis.
    pub stride: usize,
    /// Zeros above and left of the image, before splitting.
    pub padding: usize,
    pub rows: usize,
    pub row_stride: usize,
    pub plane_len: usize,
}

impl Planes {
    /// Planes of which rows x columns are read. With one plane, zeros at the end of a row double as those before the next.
    pub(crate) fn new(
        (height, width): (usize, usize),
        stride: usize,
        padding: usize,
        (rows, columns): (usize, usize),
    ) -> Self {
        let zeros_after = columns.saturating_sub(padding + width);
        let shared = if stride == 1 { padding.min(zeros_after) } else { 0 };
        let row_stride = columns - shared;
        Self { height, width, stride, padding, rows, row_stride, plane_len: rows * row_stride + shared }
    }

    /// Floats of one channel of one image.
    pub(crate) fn len(&self) -> usize {
        self.stride * self.stride * self.plane_len
    }

    /// Copies a channel into its planes, zeros included.
    pub(crate) fn fill(&self, channel: &[f32], planes: &mut [f32]) {
        for (index, plane) in planes[..self.len()].chunks_exact_mut(self.plane_len).enumerate() {
            let (a, b) = (index / self.stride, index % self.stride);
            // Column j of the plane is column s j + b - padding of the image.
            let column = |image: usize| (image + self.padding).saturating_sub(b).div_ceil(self.stride);
            let (start, end) = (column(0).min(self.row_stride), column(self.width).min(self.row_stride));
            let skipped = (self.stride * start + b).saturating_sub(self.padding);
            for (i, row) in plane.chunks_mut(self.row_stride).enumerate() {
                let y = (self.stride * i + a).wrapping_sub(self.padding);
                if i >= self.rows || y >= self.height || start == end {
                    row.fill(0.0);
                    continue;
                }
                let from = &channel[y * self.width + skipped..(y + 1) * self.width];
                row[..start].fill(0.0);
                row[end..].fill(0.0);
                copy_every(self.stride, from, &mut row[start..end]);
            }
        }
    }
}

/// `to[j] = from[stride * j]`; the two common strides are written so that the compiler vectorises them.
pub(crate) fn copy_every(stride: usize, from: &[f32], to: &mut [f32]) {
    match stride {
        1 => to.copy_from_slice(&from[..to.len()]),
        2 => {
            let (pairs, rest) = from.as_chunks::<2>();
            for (to, pair) in to.iter_mut().zip(pairs) {
                *to = pair[0];
            }
            if let (Some(to), Some(from)) = (to.get_mut(pairs.len()), rest.first()) {
                *to = *from;
            }
        }
        _ => {
            for (to, from) in to.iter_mut().zip(from.iter().step_by(stride)) {
                *to = *from;
            }
        }
    }
}

/// The output pixels of a plane as vectors.
///
/// Where rows are whole vectors, vectors follow the rows, and the packed plane is the plane. Elsewhere vectors run on
/// through the gaps between rows, which wastes fewer lanes than a part-filled vector per row.
#[derive(Clone, Debug)]
pub(crate) struct Pixels {
    pub rows: usize,
    pub columns: usize,
    /// Distance of rows in the packed plane.
    pub packed_stride: usize,
    /// Offset of each vector's first pixel in the planes that it is computed from.
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

    /// Floats of a packed plane.
    pub(crate) fn packed_len(&self) -> usize {
        self.vectors.len() * LANES
    }

    /// Whether a packed plane is the plane itself.
    pub(crate) fn is_plain(&self) -> bool {
        self.packed_stride == self.columns && self.packed_len() == self.rows * self.columns
    }

    /// The rows of a packed plane, without the gaps.
    pub(crate) fn rows_of<'a>(&'a self, packed: &'a [f32]) -> impl Iterator<Item = &'a [f32]> {
        (0..self.rows).map(move |i| &packed[i * self.packed_stride..][..self.columns])
    }

    /// Packs channel `row` of `rows` as `[vectors][rows][8]`, zeros in the gaps.
    pub(crate) fn interleave(&self, plane: &[f32], row: usize, rows: usize, packed: &mut [f32]) {
        let vectors = packed.chunks_exact_mut(LANES).skip(row).step_by(rows);
        if self.is_plain() {
            for (to, from) in vectors.zip(plane.chunks_exact(LANES)) {
                to.copy_from_slice(from);
            }
            return;
        }
        let (mut i, mut j) = (0, 0);
        for to in vectors.take(self.vectors.len()) {
            for to in to {
                *to = if i < self.rows && j < self.columns { plane[i * self.columns + j] } else { 0.0 };
                j += 1;
                if j == self.packed_stride {
                    (i, j) = (i + 1, 0);
                }
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
