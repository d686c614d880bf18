//! Features of a block of images, kept between passes and products.

use std::ops::Range;

use collegial_core::Monitor;
use collegial_nn::{Layout, Observed, Observer};
use rayon::prelude::*;

use super::contributions::{Contribution, Contributions, Method};
use crate::explicit::contribution::per_channel;
use crate::explicit::worker::scale_gradient;

/// Inputs, cotangents and gradients of some images.
///
/// Of a layer with groups of `k` cotangents per image and output, they lie as `[image][output]
/// [group][k]` where every output has its own entries, and as `[image][group][output][k]` where the
/// kernel is summed over outputs: then the sum is an inner product of longer vectors.
pub(crate) struct Features {
    pub images: usize,
    /// Per layer, `[image][group][inputs]`; empty where gradients are kept.
    pub inputs: Vec<Vec<f32>>,
    /// Per layer; empty where gradients are kept.
    pub cotangents: Vec<Vec<f32>>,
    /// `[image][output][row]`: gradients by weights, biases and norms.
    pub rows: Vec<f32>,
}

impl Features {
    pub fn new(contributions: &Contributions, images: usize) -> Self {
        let of = |floats: fn(&Contribution) -> usize, times: usize| {
            let floats = move |contribution: &Contribution| {
                if contribution.keeps_values() { times * floats(contribution) } else { 0 }
            };
            contributions
                .layers
                .iter()
                .map(move |contribution| vec![0.0; images * floats(contribution)])
                .collect()
        };
        Self {
            images,
            inputs: of(Contribution::inputs, 1),
            cotangents: of(Contribution::cotangents, contributions.outputs),
            rows: vec![0.0; images * contributions.outputs * contributions.row],
        }
    }
}

/// Fills the features of some images of a block from the backward passes over them.
pub(crate) struct Collector<'a> {
    contributions: &'a Contributions,
    features: &'a mut Features,
    /// Which images of the block the passes are of.
    images: Range<usize>,
    /// The current output; outputs have one pass each.
    output: Option<usize>,
    /// Where in a row the next bias or norm begins.
    channels_at: usize,
    monitor: &'a dyn Monitor,
}

impl<'a> Collector<'a> {
    pub fn new(
        contributions: &'a Contributions,
        features: &'a mut Features,
        images: Range<usize>,
        monitor: &'a dyn Monitor,
    ) -> Self {
        Self { contributions, features, images, output: None, channels_at: 0, monitor }
    }

    fn output(&self) -> usize {
        self.output.unwrap_or_default()
    }

    /// Keeps a layer's inputs and cotangents.
    fn keep(&mut self, index: usize, inputs: &[f32], cotangents: &[f32]) {
        let (contributions, output, images) = (self.contributions, self.output(), self.images.clone());
        let contribution = &contributions.layers[index];
        if output == 0 {
            let len = contribution.inputs();
            let to = &mut self.features.inputs[index][images.start * len..images.end * len];
            by_images(contribution.layout, inputs, images.len(), to.chunks_exact_mut(len));
        }
        let (groups, len, outputs) =
            (contribution.shape.groups, contribution.cotangents(), contributions.outputs);
        let all = &mut self.features.cotangents[index][images.start * outputs * len..];
        let image = all.chunks_exact_mut(outputs * len).take(images.len());
        if contributions.entries.by_output {
            let to = image.map(|image| &mut image[output * len..][..len]);
            return by_images(contribution.layout, cotangents, images.len(), to);
        }
        let k = len / groups;
        let of_group = |group: usize, n: usize, at: usize| match contribution.layout {
            Layout::Images => cotangents[n * len + group * k + at],
            Layout::Channels => cotangents[(group * k + at) * images.len() + n],
        };
        for (n, image) in image.enumerate() {
            for (group, to) in image.chunks_exact_mut(outputs * k).enumerate() {
                let to = &mut to[output * k..][..k];
                to.iter_mut().enumerate().for_each(|(at, to)| *to = of_group(group, n, at));
            }
        }
    }

    /// Keeps the gradients of a layer's weights.
    fn keep_gradients(&mut self, index: usize, inputs: &[f32], cotangents: &[f32]) {
        let contribution = &self.contributions.layers[index];
        let Method::Gradients { blocks, at } = &contribution.method else { return };
        let (x, d) = (contribution.inputs(), contribution.cotangents());
        let first = *at;
        self.rows().enumerate().for_each_init(Vec::new, |scratch, (n, row)| {
            let mut at = first;
            for block in blocks {
                let to = &mut row[at..][..block.len(&contribution.shape)];
                let (x, d) = (&inputs[n * x..][..x], &cotangents[n * d..][..d]);
                block.gradient(&contribution.shape, x, d, to, scratch);
                to.iter_mut().for_each(|value| *value *= contribution.factor);
                at += to.len();
            }
        });
    }

    /// Keeps one number per image and channel.
    fn keep_channels(&mut self, channels: usize, numbers: impl Iterator<Item = f32>) {
        let at = self.channels_at;
        let (outputs, len, output) = (self.contributions.outputs, self.contributions.row, self.output());
        let mut numbers = numbers;
        let images = self.features.rows[self.images.start * outputs * len..].chunks_exact_mut(outputs * len);
        for image in images.take(self.images.len()) {
            let row = &mut image[output * len + at..][..channels];
            row.iter_mut().zip(&mut numbers).for_each(|(to, number)| *to = number);
        }
        self.channels_at += channels;
    }

    /// The images' rows of the current output.
    fn rows(&mut self) -> impl IndexedParallelIterator<Item = &mut [f32]> {
        let (outputs, len, output) = (self.contributions.outputs, self.contributions.row, self.output());
        let range = self.images.start * outputs * len..self.images.end * outputs * len;
        let images = self.features.rows[range].par_chunks_exact_mut(outputs * len);
        images.map(move |image| &mut image[output * len..][..len])
    }
}

impl Observer for Collector<'_> {
    fn begin(&mut self) {
        self.output = Some(self.output.map_or(0, |output| output + 1));
        self.channels_at = self.contributions.channels_at;
    }

    fn stopped(&self) -> bool {
        self.monitor.stopped()
    }

    fn see(&mut self, observed: Observed<'_>) {
        match observed {
            Observed::Linear { index, inputs, cotangents } => {
                if self.contributions.layers[index].keeps_values() {
                    self.keep(index, inputs, cotangents);
                } else {
                    self.keep_gradients(index, inputs, cotangents);
                }
            }
            Observed::Bias { extent, cotangents } => {
                let sums = per_channel(extent, |_, at| cotangents[at].iter().sum());
                self.keep_channels(extent.channels, sums);
            }
            Observed::Norm { extent, inputs, cotangents, mean, inverse_deviation } => {
                let scales = per_channel(extent, |channel, at| {
                    let (x, d) = (&inputs[at.clone()], &cotangents[at]);
                    scale_gradient(x, d, mean[channel], inverse_deviation[channel])
                });
                self.keep_channels(extent.channels, scales);
                let shifts = per_channel(extent, |_, at| cotangents[at].iter().sum());
                self.keep_channels(extent.channels, shifts);
            }
        }
    }
}

/// Copies every image's values to its place.
fn by_images<'a>(layout: Layout, values: &[f32], images: usize, places: impl Iterator<Item = &'a mut [f32]>) {
    for (n, to) in places.enumerate() {
        match layout {
            Layout::Images => to.copy_from_slice(&values[n * to.len()..][..to.len()]),
            Layout::Channels => {
                to.iter_mut().enumerate().for_each(|(channel, to)| *to = values[channel * images + n]);
            }
        }
    }
}
