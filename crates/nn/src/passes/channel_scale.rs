//! Channel-wise scaling (squeeze-and-excitation): every channel of every image times its factor.
//!
//! Factors come from dense layers, as `[channels][images]`.

use super::{Dims, vector};

/// `to = x * factors`.
pub(crate) fn forward(dims: Dims, x: &[f32], factors: &[f32], to: &mut [f32]) {
    dims.for_each_plane(to, |image, channel, to| {
        let x = &x[dims.plane(image, channel)..][..dims.pixels];
        vector::scale(to, x, factors[channel * dims.images + image]);
    });
}

/// `gradient *= factors`.
pub(crate) fn scale_in_place(dims: Dims, factors: &[f32], gradient: &mut [f32]) {
    dims.for_each_plane(gradient, |image, channel, gradient| {
        vector::scale_in_place(gradient, factors[channel * dims.images + image]);
    });
}

/// Gradient of the factors: `to = <x, gradient>`, plane by plane, in f64.
pub(crate) fn factor_gradient(dims: Dims, x: &[f32], gradient: &[f32], to: &mut [f32]) {
    dims.set_per_plane(to, |image, channel| {
        let at = dims.plane(image, channel);
        let planes = x[at..][..dims.pixels].iter().zip(&gradient[at..][..dims.pixels]);
        planes.map(|(x, g)| f64::from(*x) * f64::from(*g)).sum::<f64>() as f32
    });
}
