//! Inner products of patches from those of pixels.
//!
//! A row of the pixels' Gram, one for each p, is an image over q. It is copied into a frame of
//! zeros as wide as the padding, so that a kernel position moves all q by the same distance: a row
//! of the patches' Gram is then the sum of long pieces of rows.

use collegial_core::multiversion;
use collegial_nn::kernels::ConvShape;

/// Sums that are taken in registers at a time.
const LANES: usize = 16;

/// Adds up inner products of patches: `sums[p, q]` is the sum over kernel positions t of `pixels[p
/// at t, q at t]`, where positions outside the image count as 0. `scratch` grows as needed.
pub(crate) fn patch_gram(shape: &ConvShape, pixels: &[f32], sums: &mut [f32], scratch: &mut Vec<f32>) {
    let ConvShape { height, width, kernel, stride, padding, .. } = *shape;
    let (out_height, out_width) = (shape.out_height(), shape.out_width());
    let framed_width = width + 2 * padding;
    let framed = framed_width * (height + 2 * padding);
    let piece = (framed - (kernel - 1) * (framed_width + 1)).next_multiple_of(LANES);
    // A piece is filled up to whole registers, the last one from behind the last row.
    let rows_len = height * width * framed + LANES;
    scratch.resize(scratch.len().max(rows_len + piece), 0.0);
    let (rows, sum) = scratch[..rows_len + piece].split_at_mut(rows_len);
    frame(shape, pixels, rows);
    let mut begins = Vec::with_capacity(kernel * kernel);
    for (p, sums) in sums.chunks_exact_mut(out_height * out_width).enumerate() {
        let (top, left) = (p / out_width * stride, p % out_width * stride);
        begins.clear();
        for (down, right) in (0..kernel * kernel).map(|tap| (tap / kernel, tap % kernel)) {
            let (y, x) = ((top + down).wrapping_sub(padding), (left + right).wrapping_sub(padding));
            if y < height && x < width {
                begins.push((y * width + x) * framed + down * framed_width + right);
            }
        }
        add_pieces(rows, &begins, sum);
        for (sums, from) in sums.chunks_exact_mut(out_width).zip(sum.chunks(stride * framed_width)) {
            sums.iter_mut().zip(from.iter().step_by(stride)).for_each(|(to, from)| *to = *from);
        }
    }
}

/// Copies images into frames of zeros.
fn frame(shape: &ConvShape, images: &[f32], framed: &mut [f32]) {
    let ConvShape { height, width, padding, .. } = *shape;
    let framed_width = width + 2 * padding;
    framed.fill(0.0);
    let framed = framed.chunks_exact_mut(framed_width * (height + 2 * padding));
    for (to, image) in framed.zip(images.chunks_exact(height * width)) {
        let lines = to[padding * framed_width..].chunks_exact_mut(framed_width);
        for (to, line) in lines.zip(image.chunks_exact(width)) {
            to[padding..][..width].copy_from_slice(line);
        }
    }
}

multiversion! {
    /// Adds up the pieces of an array that begin at given places and are as long as `sum`, a
    /// multiple of [`LANES`].
    fn add_pieces(values: &[f32], begins: &[usize], sum: &mut [f32]) {
        for (block, sum) in sum.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sums = [0.0; LANES];
            for &begin in begins {
                if let Some(values) = values[begin + block * LANES..].first_chunk::<LANES>() {
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
            *sum = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_match_the_definition(
            (height, width) in (1_usize..8, 1_usize..8),
            (kernel, stride, padding) in (1_usize..6, 1_usize..4, 0_usize..4),
        ) {
            let shape = ConvShape { height, width, kernel, padding, ..ConvShape::pointwise(1, 1, 1, 1, stride) };
            prop_assume!(shape.validate().is_ok());
            let (before, after) = (height * width, shape.out_height() * shape.out_width());
            // Whole numbers, of no symmetry: sums are exact.
            let pixels: Vec<f32> = (0..before * before).map(|at| (at * at % 1009) as f32).collect();
            // Neither sums nor scratch may be read before they are written.
            let (mut sums, mut scratch) = (vec![f32::NAN; after * after], vec![f32::NAN; 50]);
            patch_gram(&shape, &pixels, &mut sums, &mut scratch);
            let place = |p: usize, tap: usize| {
                let y = (p / shape.out_width() * stride + tap / kernel) as isize - padding as isize;
                let x = (p % shape.out_width() * stride + tap % kernel) as isize - padding as isize;
                let inside = (0..height as isize).contains(&y) && (0..width as isize).contains(&x);
                inside.then(|| y as usize * width + x as usize)
            };
            for (at, sum) in sums.iter().enumerate() {
                let term = |tap: usize| Some(pixels[place(at / after, tap)? * before + place(at % after, tap)?]);
                prop_assert_eq!(*sum, (0..kernel * kernel).filter_map(term).sum::<f32>());
            }
        }
    }
}
