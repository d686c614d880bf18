//! Gates: every channel of every image times a number of its own.
//!
//! Numbers come from dense layers and lie as `[channels][images]`.

use super::{Dims, vector};
use crate::workers::Shared;

/// `to = x * gate`.
pub(crate) fn forward(dims: Dims, x: &[f32], gate: &[f32], to: &mut [f32]) {
    let to = Shared::new(to);
    dims.for_each_block(|channels| {
        for image in 0..dims.images {
            for channel in channels.clone() {
                let at = dims.plane(image, channel);
                // SAFETY: a task owns its channels.
                let to = unsafe { to.piece(at..at + dims.pixels) };
                vector::scale(to, &x[at..][..dims.pixels], gate[channel * dims.images + image]);
            }
        }
    });
}

/// `gradient *= gate`.
pub(crate) fn scale_in_place(dims: Dims, gate: &[f32], gradient: &mut [f32]) {
    let gradient = Shared::new(gradient);
    dims.for_each_block(|channels| {
        for image in 0..dims.images {
            for channel in channels.clone() {
                let at = dims.plane(image, channel);
                // SAFETY: a task owns its channels.
                let plane = unsafe { gradient.piece(at..at + dims.pixels) };
                vector::scale_in_place(plane, gate[channel * dims.images + image]);
            }
        }
    });
}

/// `to = <x, gradient>`, plane by plane, in f64.
pub(crate) fn gate_gradient(dims: Dims, x: &[f32], gradient: &[f32], to: &mut [f32]) {
    let to = Shared::new(to);
    dims.for_each_block(|channels| {
        for channel in channels {
            // SAFETY: a task owns its channels.
            let to = unsafe { to.piece(channel * dims.images..(channel + 1) * dims.images) };
            for (image, to) in to.iter_mut().enumerate() {
                let at = dims.plane(image, channel);
                let planes = x[at..][..dims.pixels].iter().zip(&gradient[at..][..dims.pixels]);
                *to = planes.map(|(x, g)| f64::from(*x) * f64::from(*g)).sum::<f64>() as f32;
            }
        }
    });
}
