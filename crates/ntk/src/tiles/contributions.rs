//! Contributions of the layers to a network's kernel, and the floats that an image has of each.

use collegial_nn::kernels::{ConvShape, ShapeError};
use collegial_nn::{Layout, Network};

use super::Entries;
use crate::Error;
use crate::explicit::contribution::{Block, is_product, out_pixels};
use crate::explicit::worker::Layer;

/// How a layer's part is computed between many images.
pub(crate) enum Method {
    /// One-pixel images: Grams of inputs times Grams of cotangents.
    Vectors,
    /// Grams between the positions of two images.
    Maps,
    /// Gradients of the weights, which begin at this place of an image's row.
    Gradients { blocks: Vec<Block>, at: usize },
}

/// A layer's part of the kernel.
pub(crate) struct Contribution {
    /// Its sizes for one image.
    pub shape: ConvShape,
    pub layout: Layout,
    /// What multiplies its weights.
    pub factor: f32,
    pub method: Method,
}

impl Contribution {
    /// Floats of an image's inputs.
    pub fn inputs(&self) -> usize {
        self.shape.groups * self.shape.inputs * self.shape.height * self.shape.width
    }

    /// Floats of an image's cotangents of one output.
    pub fn cotangents(&self) -> usize {
        self.shape.groups * self.shape.outputs * out_pixels(&self.shape)
    }

    /// Whether inputs and cotangents are kept, and not gradients.
    pub fn keeps_values(&self) -> bool {
        !matches!(self.method, Method::Gradients { .. })
    }

    /// Multiplications for one entry of the kernel, summed over `outputs`.
    fn work(&self, outputs: usize) -> f64 {
        let [maps, gradients] = costs(&self.shape, outputs);
        match self.method {
            Method::Vectors => {
                (self.shape.groups * (self.shape.inputs + outputs * self.shape.outputs)) as f64
            }
            Method::Maps => maps,
            Method::Gradients { .. } => gradients,
        }
    }
}

/// All contributions of a network's kernel.
pub(crate) struct Contributions {
    pub layers: Vec<Contribution>,
    /// Floats of a row: the gradients of layers that are kept as such, of biases and of norms.
    pub row: usize,
    /// Where the biases' and norms' begin.
    pub channels_at: usize,
    /// Outputs that gradients are taken of.
    pub outputs: usize,
    pub entries: Entries,
}

impl Contributions {
    /// The cheapest way for each layer. Of a diagonal, Grams would compare an image's positions
    /// with each other for one number, so gradients are taken.
    pub fn new(layers: &[Layer], network: &Network, outputs: usize, entries: Entries) -> Result<Self, Error> {
        let mut at = 0;
        let mut contribution = |layer: &Layer| -> Result<Contribution, ShapeError> {
            let shape = ConvShape { batch: 1, ..layer.shape };
            let [maps, gradients] = costs(&shape, if entries.by_output { 1 } else { outputs });
            let method = if is_product(&shape) && shape.height * shape.width == 1 {
                Method::Vectors
            } else if maps <= gradients && !entries.diagonal {
                Method::Maps
            } else {
                let blocks = Block::all(&shape)?;
                let begin = at;
                at += blocks.iter().map(|block| block.len(&shape)).sum::<usize>();
                Method::Gradients { blocks, at: begin }
            };
            Ok(Contribution { shape, layout: layer.layout, factor: layer.factor, method })
        };
        let refuse = |layer: &Layer, reason| Error::Layer { name: layer.name().to_owned(), reason };
        let contributions =
            layers.iter().map(|layer| contribution(layer).map_err(|reason| refuse(layer, reason)));
        let layers = contributions.collect::<Result<Vec<Contribution>, Error>>()?;
        let others = network.parameters().iter().filter(|parameter| !parameter.is_weight());
        let others: usize = others.map(|parameter| parameter.range.len()).sum();
        Ok(Self { layers, row: at + others, channels_at: at, outputs, entries })
    }

    /// Entries of the kernel that an image has in a row of it.
    pub fn per_image(&self) -> usize {
        if self.entries.by_output { self.outputs } else { 1 }
    }

    /// Floats that are kept of an image.
    pub fn floats(&self) -> usize {
        let values = self.layers.iter().filter(|contribution| contribution.keeps_values());
        let values =
            values.map(|contribution| contribution.inputs() + self.outputs * contribution.cotangents());
        values.sum::<usize>() + self.outputs * self.row
    }

    /// Multiplications for a pair of images.
    pub fn work(&self) -> f64 {
        let squared = (self.per_image() * self.per_image()) as f64;
        let summed = self.outputs / self.per_image();
        let layers = self.layers.iter().map(|contribution| contribution.work(summed)).sum::<f64>();
        let channels = (summed * (self.row - self.channels_at)) as f64;
        squared * (layers + channels)
    }
}

/// Multiplications for one entry by maps and by gradients.
fn costs(shape: &ConvShape, outputs: usize) -> [f64; 2] {
    let taps = (shape.kernel * shape.kernel) as f64;
    let (before, after) = ((shape.height * shape.width) as f64, out_pixels(shape) as f64);
    let [groups, inputs, channels] =
        [shape.groups, shape.inputs, outputs * shape.outputs].map(|count| count as f64);
    // Sums over patches go through memory: about four times the cost of a multiplication.
    let patches = if is_product(shape) { 0.0 } else { 4.0 * taps * after * after };
    let maps = before * before * inputs + after * after * (channels + 2.0) + patches;
    [groups * maps, groups * inputs * taps * channels]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(inputs: usize, outputs: usize, kernel: usize, side: usize) -> ConvShape {
        let (batch, groups, padding) = (1, 1, kernel / 2);
        ConvShape { batch, groups, inputs, outputs, height: side, width: side, kernel, stride: 1, padding }
    }

    #[test]
    fn few_positions_with_many_channels_are_cheaper_as_maps() {
        let cheaper_as_maps = |shape: ConvShape| {
            let [maps, gradients] = costs(&shape, 1);
            maps < gradients
        };
        assert!(cheaper_as_maps(layer(512, 512, 3, 4)) && cheaper_as_maps(layer(40, 80, 1, 2)));
        assert!(!cheaper_as_maps(layer(64, 64, 3, 32)) && !cheaper_as_maps(layer(8, 8, 1, 4)));
    }
}
