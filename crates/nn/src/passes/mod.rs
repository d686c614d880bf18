//! Memory-bound passes: every layer that is not a matrix product.
//!
//! A network of narrow groups spends a good part of its time here, so layers are fused: a task takes a
//! few channels of all images, small enough for the second-level cache, and computes the statistics of
//! a norm, then the norm, the sum with the shortcut and the ReLU. There is no reduction across tasks,
//! therefore results do not depend on the number of threads.

pub(crate) mod activation;
pub(crate) mod channel_scale;
pub(crate) mod fused;
pub(crate) mod nontemporal;
pub(crate) mod pool;
pub(crate) mod rearrange;
pub(crate) mod vector;

use crate::workers::{Shared, for_each};
use std::ops::Range;

/// Floats of one tensor that a task visits: a quarter of a second-level cache holds four such
/// tensors.
pub(crate) const TASK_FLOATS: usize = 1 << 14;

/// Channels of a task at most.
pub(crate) const BLOCK: usize = 64;

/// Floats that stay in the first-level cache between the loops of a pass.
const CHUNK: usize = 1 << 11;

/// A tensor as planes of equal size, `[images][channels][pixels]`: a plane is one channel of one
/// image.
///
/// Behind dense layers a batch is *one* image whose pixels are the samples, `[1][units][batch]`:
/// that is how the kernels want dense layers, and everything below serves both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dims {
    pub images: usize,
    pub channels: usize,
    pub pixels: usize,
}

impl Dims {
    pub(crate) fn len(&self) -> usize {
        self.images * self.channels * self.pixels
    }

    /// Offset of a plane.
    pub(crate) fn plane(&self, image: usize, channel: usize) -> usize {
        (image * self.channels + channel) * self.pixels
    }

    /// Calls `run` with blocks of channels, in parallel.
    pub(crate) fn for_each_block(&self, run: impl Fn(Range<usize>) + Sync) {
        let per_task = (TASK_FLOATS / (self.images * self.pixels)).clamp(1, self.channels.min(BLOCK));
        for_each(self.channels.div_ceil(per_task), |task| {
            run(task * per_task..((task + 1) * per_task).min(self.channels));
        });
    }

    /// Calls `run(image, channel, plane)` with every plane of a tensor, in parallel.
    pub(crate) fn for_each_plane(&self, to: &mut [f32], run: impl Fn(usize, usize, &mut [f32]) + Sync) {
        assert_eq!(to.len(), self.len(), "the planes make up the tensor");
        let to = Shared::new(to);
        self.for_each_block(|channels| {
            for image in 0..self.images {
                for channel in channels.clone() {
                    let at = self.plane(image, channel);
                    // SAFETY: a task owns its channels.
                    run(image, channel, unsafe { to.piece(at..at + self.pixels) });
                }
            }
        });
    }

    /// Sets one number per plane, `[channels][images]` as dense layers want them, in parallel.
    pub(crate) fn set_per_plane(&self, to: &mut [f32], value: impl Fn(usize, usize) -> f32 + Sync) {
        assert_eq!(to.len(), self.channels * self.images, "one number per plane");
        let to = Shared::new(to);
        self.for_each_block(|channels| {
            for channel in channels {
                // SAFETY: a task owns its channels.
                let to = unsafe { to.piece(channel * self.images..(channel + 1) * self.images) };
                to.iter_mut().enumerate().for_each(|(image, to)| *to = value(image, channel));
            }
        });
    }

    /// The pieces of the planes of some channels, image by image: (channel, range of the tensor).
    pub(crate) fn chunks(&self, channels: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let dims = *self;
        let planes = (0..dims.images).flat_map(move |image| channels.clone().map(move |c| (image, c)));
        planes.flat_map(move |(image, channel)| {
            let start = dims.plane(image, channel);
            let end = start + dims.pixels;
            (start..end).step_by(CHUNK).map(move |at| (channel, at..(at + CHUNK).min(end)))
        })
    }
}

/// Calls `run(range)` for pieces of `0..len`, in parallel.
pub(crate) fn for_each_piece(len: usize, run: impl Fn(Range<usize>) + Sync) {
    for_each(len.div_ceil(TASK_FLOATS), |task| {
        run(task * TASK_FLOATS..((task + 1) * TASK_FLOATS).min(len));
    });
}
