//! The inner loops: plain Rust over slices, compiled for several instruction sets and chosen at run time.
//!
//! Sums run over 32 lanes in f32 within a chunk of at most 2048 floats and are then folded in f64, in an order that
//! the source fixes: the bits are the same on every CPU.

use collegial_stats::multiversion;

/// Partial sums side by side: four vectors of eight, which hides the latency of an addition.
const LANES: usize = 32;

fn fold(lanes: &[f32; LANES]) -> f64 {
    lanes.iter().map(|&lane| f64::from(lane)).sum()
}

multiversion! {
    /// to = a x + b
    pub(crate) fn affine(to: &mut [f32], x: &[f32], a: f32, b: f32) {
        for (to, x) in to.iter_mut().zip(x) {
            *to = a * x + b;
        }
    }
}

multiversion! {
    /// x = a x + b
    pub(crate) fn affine_in_place(x: &mut [f32], a: f32, b: f32) {
        for x in x {
            *x = a * *x + b;
        }
    }
}

multiversion! {
    /// to += a x + b
    pub(crate) fn add_affine(to: &mut [f32], x: &[f32], a: f32, b: f32) {
        for (to, x) in to.iter_mut().zip(x) {
            *to += a * x + b;
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
    /// x = max(x, 0); a NaN stays, so that divergence shows.
    pub(crate) fn relu(x: &mut [f32]) {
        for x in x {
            *x = if *x < 0.0 { 0.0 } else { *x };
        }
    }
}

multiversion! {
    /// The gradient below a ReLU from its output.
    pub(crate) fn mask_by_output(gradient: &mut [f32], output: &[f32]) {
        for (gradient, output) in gradient.iter_mut().zip(output) {
            *gradient = if *output > 0.0 { *gradient } else { 0.0 };
        }
    }
}

multiversion! {
    /// The gradient below a ReLU of a x + b. Computes the same bits as [`affine`], hence the same mask as its ReLU.
    pub(crate) fn mask_by_affine(gradient: &mut [f32], x: &[f32], a: f32, b: f32) {
        for (gradient, x) in gradient.iter_mut().zip(x) {
            *gradient = if a * x + b > 0.0 { *gradient } else { 0.0 };
        }
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
#[derive(Clone, Copy)]
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
