//! Vectorised loops over slices: plain Rust, compiled for several instruction sets and dispatched at
//! run time.
//!
//! Sums run over 32 lanes in f32 within a chunk of at most 2048 floats and are then folded in f64,
//! in an order that the source fixes: the bits are the same on every CPU.

use collegial_core::multiversion;

/// Partial sums side by side: four vectors of eight, which hides the latency of an addition.
const LANES: usize = 32;

/// In eights and then pairs: one after the other, 32 additions would take longer than a small plane
/// of pixels.
#[inline(always)]
fn fold(lanes: &[f32; LANES]) -> f64 {
    let mut sums = [0.0_f64; 8];
    for (i, sum) in sums.iter_mut().enumerate() {
        let lane = |j: usize| f64::from(lanes[i + 8 * j]);
        *sum = (lane(0) + lane(1)) + (lane(2) + lane(3));
    }
    let pairs: [f64; 4] = std::array::from_fn(|i| sums[i] + sums[i + 4]);
    (pairs[0] + pairs[2]) + (pairs[1] + pairs[3])
}

/// max(x, floor); a NaN stays, so that divergence shows.
#[inline(always)]
fn at_least(floor: f32, x: f32) -> f32 {
    if x < floor { floor } else { x }
}

multiversion! {
    /// to = a x
    pub(crate) fn scale(to: &mut [f32], x: &[f32], a: f32) {
        for (to, x) in to.iter_mut().zip(x) {
            *to = a * x;
        }
    }
}

multiversion! {
    /// x = a x
    pub(crate) fn scale_in_place(x: &mut [f32], a: f32) {
        for x in x {
            *x *= a;
        }
    }
}

multiversion! {
    /// to = max(a x + b, floor)
    pub(super) fn affine(to: &mut [f32], x: &[f32], by: (f32, f32), floor: f32) {
        for (to, x) in to.iter_mut().zip(x) {
            *to = at_least(floor, by.0 * x + by.1);
        }
    }
}

multiversion! {
    /// to = max((a x + b) + (c y + d), floor)
    pub(super) fn affine_two(to: &mut [f32], x: &[f32], by: (f32, f32), y: &[f32], and: (f32, f32), floor: f32) {
        for ((to, x), y) in to.iter_mut().zip(x).zip(y) {
            *to = at_least(floor, (by.0 * x + by.1) + (and.0 * y + and.1));
        }
    }
}

multiversion! {
    /// to = max((a to + b) + (c y + d), floor)
    pub(crate) fn add_affine(to: &mut [f32], by: (f32, f32), y: &[f32], and: (f32, f32), floor: f32) {
        for (to, y) in to.iter_mut().zip(y) {
            *to = at_least(floor, (by.0 * *to + by.1) + (and.0 * y + and.1));
        }
    }
}

multiversion! {
    /// x = max(a x + b, floor)
    pub(crate) fn affine_in_place(x: &mut [f32], by: (f32, f32), floor: f32) {
        for x in x {
            *x = at_least(floor, by.0 * *x + by.1);
        }
    }
}

multiversion! {
    /// to += x
    pub(crate) fn add(to: &mut [f32], x: &[f32]) {
        for (to, x) in to.iter_mut().zip(x) {
            *to += x;
        }
    }
}

multiversion! {
    /// The gradient below a ReLU from its output, and its sum.
    pub(crate) fn mask_by_output(gradient: &mut [f32], output: &[f32]) -> f64 {
        let mut lanes = [0.0_f32; LANES];
        let (blocks, rest) = gradient.as_chunks_mut::<LANES>();
        let (outputs, output_rest) = output.as_chunks::<LANES>();
        for (block, output) in blocks.iter_mut().zip(outputs) {
            for lane in 0..LANES {
                block[lane] = if output[lane] > 0.0 { block[lane] } else { 0.0 };
                lanes[lane] += block[lane];
            }
        }
        for (lane, (gradient, output)) in rest.iter_mut().zip(output_rest).enumerate() {
            *gradient = if *output > 0.0 { *gradient } else { 0.0 };
            lanes[lane] += *gradient;
        }
        fold(&lanes)
    }
}

multiversion! {
    /// The gradient below a ReLU of a x + b, its sum, and the sum of its product with x - mean.
    /// Computes a x + b with the bits of the forward pass, hence has the mask of its ReLU.
    pub(crate) fn mask_by_affine(gradient: &mut [f32], x: &[f32], by: (f32, f32), mean: f32) -> (f64, f64) {
        let (mut sums, mut products) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        let (blocks, rest) = gradient.as_chunks_mut::<LANES>();
        let (x_blocks, x_rest) = x.as_chunks::<LANES>();
        for (block, x) in blocks.iter_mut().zip(x_blocks) {
            for lane in 0..LANES {
                block[lane] = if by.0 * x[lane] + by.1 > 0.0 { block[lane] } else { 0.0 };
                sums[lane] += block[lane];
                products[lane] += block[lane] * (x[lane] - mean);
            }
        }
        for (lane, (gradient, x)) in rest.iter_mut().zip(x_rest).enumerate() {
            *gradient = if by.0 * x + by.1 > 0.0 { *gradient } else { 0.0 };
            sums[lane] += *gradient;
            products[lane] += *gradient * (x - mean);
        }
        (fold(&sums), fold(&products))
    }
}

multiversion! {
    /// The sums of x - shift and of its square.
    pub(crate) fn sums(x: &[f32], shift: f32) -> (f64, f64) {
        let (mut first, mut second) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        let (blocks, rest) = x.as_chunks::<LANES>();
        for block in blocks {
            for lane in 0..LANES {
                let x = block[lane] - shift;
                first[lane] += x;
                second[lane] += x * x;
            }
        }
        for (lane, x) in rest.iter().enumerate() {
            let x = x - shift;
            first[lane] += x;
            second[lane] += x * x;
        }
        (fold(&first), fold(&second))
    }
}

multiversion! {
    /// The sum of x.
    pub(crate) fn sum(x: &[f32]) -> f64 {
        let mut lanes = [0.0_f32; LANES];
        let (blocks, rest) = x.as_chunks::<LANES>();
        for block in blocks {
            for lane in 0..LANES {
                lanes[lane] += block[lane];
            }
        }
        for (lane, x) in rest.iter().enumerate() {
            lanes[lane] += x;
        }
        fold(&lanes)
    }
}

multiversion! {
    /// The sum of gradient (x - mean).
    pub(crate) fn centred_product(gradient: &[f32], x: &[f32], mean: f32) -> f64 {
        let mut lanes = [0.0_f32; LANES];
        let (blocks, rest) = gradient.as_chunks::<LANES>();
        let (x_blocks, x_rest) = x.as_chunks::<LANES>();
        for (block, x) in blocks.iter().zip(x_blocks) {
            for lane in 0..LANES {
                lanes[lane] += block[lane] * (x[lane] - mean);
            }
        }
        for (lane, (gradient, x)) in rest.iter().zip(x_rest).enumerate() {
            lanes[lane] += gradient * (x - mean);
        }
        fold(&lanes)
    }
}

/// Coefficients of a norm's gradient, see [`norm_gradient`].
#[derive(Clone, Copy, Default)]
pub(crate) struct NormGradient {
    pub slope: f32,
    pub centred: f32,
    pub mean: f32,
    pub constant: f32,
}

multiversion! {
    /// to = slope g + centred (x - mean) + constant: what a batch norm sends down.
    pub(crate) fn norm_gradient(to: &mut [f32], gradient: &[f32], x: &[f32], by: NormGradient) {
        for ((to, gradient), x) in to.iter_mut().zip(gradient).zip(x) {
            *to = by.slope * gradient + (by.centred * (x - by.mean) + by.constant);
        }
    }
}

multiversion! {
    /// [`norm_gradient`] over the gradient itself.
    pub(crate) fn norm_gradient_in_place(gradient: &mut [f32], x: &[f32], by: NormGradient) {
        for (gradient, x) in gradient.iter_mut().zip(x) {
            *gradient = by.slope * *gradient + (by.centred * (x - by.mean) + by.constant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(len: usize, seed: f32) -> Vec<f32> {
        (0..len).map(|i| ((i as f32 + seed) * 0.71).sin() * 3.0).collect()
    }

    #[test]
    fn masks_and_their_sums() {
        for len in [0, 1, 31, 32, 33, 500, 2048] {
            let (x, g) = (values(len, 3.0), values(len, 4.0));
            let (by, mean) = ((0.5, -0.1), 0.25);
            let masked = |keeps: &dyn Fn(f32) -> bool| -> Vec<f32> {
                g.iter().zip(&x).map(|(&g, &x)| if keeps(x) { g } else { 0.0 }).collect()
            };
            let mut by_output = g.clone();
            let total = mask_by_output(&mut by_output, &x);
            assert_eq!(by_output, masked(&|x| x > 0.0));
            assert_eq!(total, sum(&by_output));
            let mut by_affine = g.clone();
            let totals = mask_by_affine(&mut by_affine, &x, by, mean);
            assert_eq!(by_affine, masked(&|x| by.0 * x + by.1 > 0.0));
            assert_eq!(totals, (sum(&by_affine), centred_product(&by_affine, &x, mean)));
        }
    }

    #[test]
    fn sums_of_odd_lengths() {
        for len in [0, 1, 31, 32, 33, 500, 2048] {
            let (x, g) = (values(len, 3.0), values(len, 4.0));
            let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
            let (wx, wg) = (wide(&x), wide(&g));
            // 64 additions per lane of numbers below 9 at 6e-8 each.
            let close =
                |got: f64, expected: f64| assert!((got - expected).abs() <= 1e-4 * (1.0 + len as f64).sqrt());
            close(sum(&x), wx.iter().sum());
            close(sums(&x, 0.5).0, wx.iter().map(|x| x - 0.5).sum());
            close(sums(&x, 0.5).1, wx.iter().map(|x| (x - 0.5).powi(2)).sum());
            close(centred_product(&g, &x, 0.25), wg.iter().zip(&wx).map(|(g, x)| g * (x - 0.25)).sum());
        }
    }
}
