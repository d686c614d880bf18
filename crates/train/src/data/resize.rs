//! Bilinear resizing with antialiasing, as the Python imaging library does it up to one step of
//! 255: the triangle filter is widened by the factor of reduction.
//!
//! By hand, because the crate for it compiles its code for every instruction set and precision anew
//! in the crate that calls it, three tenths of what LLVM was given here (by lines). A
//! row is filtered along its columns as it comes and then added to the rows of the result that see
//! it, so that the photograph is read once and no copy of it is made. Sums are taken in the order
//! of the pixels, in f32 without fused multiplications: every CPU gives the same bytes.

use std::ops::Range;

use super::Rgb;
use super::image::Window;

/// Red, green, blue and nothing, which makes a vector of it.
type Pixel = [f32; 4];

/// Buffers that are worth keeping from one photograph to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    columns: Filter,
    rows: Filter,
    /// A row of the source.
    source: Vec<Pixel>,
    /// The same row after its columns were filtered.
    filtered: Vec<Pixel>,
    sums: Vec<Pixel>,
    pixels: Vec<u8>,
}

impl Scratch {
    /// Cuts out the window, then resizes it to `side` x `side`: pixels outside have no influence.
    pub(crate) fn crop_then_resize(&mut self, image: &Rgb, window: Window, side: usize) -> &[u8] {
        let Window { left, top, width, height } = window;
        self.columns.set(width, 0.0..width as f64, side);
        self.rows.set(height, 0.0..height as f64, side);
        self.resize(image, (left, top), side)
    }

    /// Resizes the whole to `full` = (width, height), then cuts out the square of `side` at (left,
    /// top) of that; but computes no more than this square, which also keeps a very long photograph
    /// from filling the memory.
    pub(crate) fn resize_then_crop(
        &mut self,
        image: &Rgb,
        full: (usize, usize),
        (left, top): (usize, usize),
        side: usize,
    ) -> &[u8] {
        let seen = |length: usize, full: usize, start: usize| {
            let scale = length as f64 / full as f64;
            start as f64 * scale..(start + side) as f64 * scale
        };
        self.columns.set(image.width(), seen(image.width(), full.0, left), side);
        self.rows.set(image.height(), seen(image.height(), full.1, top), side);
        self.resize(image, (0, 0), side)
    }

    /// Applies both filters to the part of the image that starts at (left, top).
    fn resize(&mut self, image: &Rgb, (left, top): (usize, usize), side: usize) -> &[u8] {
        let (columns, rows) = (self.columns.reach(), self.rows.reach());
        self.sums.clear();
        self.sums.resize(side * side, Pixel::default());
        // The rows of the result that end before this row of the source.
        let mut passed = 0;
        for row in rows {
            let start = ((top + row) * image.width() + left + columns.start) * 3;
            let bytes = image.pixels()[start..start + 3 * columns.len()].as_chunks::<3>().0;
            self.source.clear();
            self.source.extend(bytes.iter().map(|&[r, g, b]| [r, g, b, 0].map(f32::from)));
            self.columns.along(&self.source, columns.start, &mut self.filtered);
            passed += self.rows.taps[passed..].iter().take_while(|taps| taps.pixels.end <= row).count();
            let seeing = self.rows.taps[passed..].iter().take_while(|taps| taps.pixels.start <= row);
            for (taps, sums) in seeing.zip(self.sums.chunks_exact_mut(side).skip(passed)) {
                let weight = self.rows.weights[taps.weights + row - taps.pixels.start];
                add(sums.as_flattened_mut(), weight, self.filtered.as_flattened());
            }
        }
        self.pixels.clear();
        self.pixels.extend(self.sums.iter().flat_map(|&[r, g, b, _]| [r, g, b].map(to_byte)));
        &self.pixels
    }
}

/// The triangle filter of every pixel of the result, along one axis.
#[derive(Debug, Default)]
struct Filter {
    taps: Vec<Taps>,
    weights: Vec<f32>,
}

/// The pixels that one pixel of the result sees; their weights start at `weights`. Both ends rise
/// from one pixel of the result to the next.
#[derive(Debug)]
struct Taps {
    pixels: Range<usize>,
    weights: usize,
}

impl Filter {
    /// Sets the filters of `side` pixels that divide the interval `seen` of an axis of `length`
    /// pixels; what reaches beyond the axis is left out, and the weights of each sum to one.
    fn set(&mut self, length: usize, seen: Range<f64>, side: usize) {
        self.taps.clear();
        self.weights.clear();
        let scale = (seen.end - seen.start) / side as f64;
        let support = scale.max(1.0);
        for place in 0..side {
            let middle = seen.start + (place as f64 + 0.5) * scale;
            // Pixel i is centred at i + 1/2.
            let weight = |i: usize| (1.0 - ((i as f64 + 0.5 - middle) / support).abs()).max(0.0);
            let first = ((middle - support).max(0.0) as usize).min(length - 1);
            let end = ((middle + support).ceil() as usize).clamp(first + 1, length);
            let total: f64 = (first..end).map(weight).sum();
            self.taps.push(Taps { pixels: first..end, weights: self.weights.len() });
            self.weights.extend((first..end).map(|i| (weight(i) / total) as f32));
        }
    }

    /// All pixels that any of them sees.
    fn reach(&self) -> Range<usize> {
        match (self.taps.first(), self.taps.last()) {
            (Some(first), Some(last)) => first.pixels.start..last.pixels.end,
            _ => 0..0,
        }
    }

    /// Filters a row of pixels, of which the first is pixel `start` of the axis.
    fn along(&self, row: &[Pixel], start: usize, out: &mut Vec<Pixel>) {
        out.clear();
        out.extend(self.taps.iter().map(|Taps { pixels, weights }| {
            let seen = &row[pixels.start - start..pixels.end - start];
            let mut sum = Pixel::default();
            seen.iter()
                .zip(&self.weights[*weights..])
                .for_each(|(value, weight)| add(&mut sum, *weight, value));
            sum
        }));
    }
}

fn add(sums: &mut [f32], weight: f32, values: &[f32]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
}

/// The nearest byte of a number of 0 to 255: 2^23 leaves no bits for a fraction, and the last eight
/// are the byte. Unlike a cast it needs no comparisons.
fn to_byte(value: f32) -> u8 {
    (value + 8_388_608.0).to_bits() as u8
}
