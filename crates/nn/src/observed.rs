//! Observers of a backward pass: inputs and cotangents of every layer, for tangent kernels.

use crate::kernels::ConvShape;

/// Memory layout of an array of activations or cotangents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `[image][channel][pixel]`.
    Images,
    /// `[channel][image]`, for one-pixel images: dense layers and what follows them.
    Channels,
}

/// Sizes of an array of activations or cotangents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Images.
    pub images: usize,
    /// Channels of an image.
    pub channels: usize,
    /// Pixels of a channel; 1 in [`Layout::Channels`].
    pub pixels: usize,
    /// Their memory layout.
    pub layout: Layout,
}

/// A layer with weights, as it is planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer<'a> {
    /// Which of the network's layers with weights, in the order of computation.
    pub index: usize,
    /// The name of its weights: `layer1.0.conv2.weight`.
    pub weight: &'a str,
    /// Its sizes; the batch is the number of images, also of dense layers (1x1 convolutions of one
    /// pixel).
    pub shape: ConvShape,
    /// Memory layout of inputs and cotangents.
    pub layout: Layout,
    /// Whether it reads the network's input itself.
    pub at_input: bool,
}

/// A layer with parameters during a backward pass: the factors of its parameters' gradients, image
/// by image.
#[derive(Clone, Copy, Debug)]
pub enum Observed<'a> {
    /// A convolution or a dense layer. The gradient of its weights at image n is the sum over
    /// positions p of `cotangents(n, p) inputs(n, p)^T`, times the factor of the NTK
    /// parametrisation where that is the network's.
    Linear {
        /// Which of [`Network::layers`](crate::Network::layers).
        index: usize,
        /// Its inputs.
        inputs: &'a [f32],
        /// The gradient of its outputs.
        cotangents: &'a [f32],
    },
    /// A bias: the gradient is the sum of the cotangents over pixels.
    Bias {
        /// Sizes of the cotangents.
        extent: Extent,
        /// The gradient of its sums.
        cotangents: &'a [f32],
    },
    /// A batch norm: the gradient of its shifts is the sum of the cotangents over pixels, that of
    /// its scales the sum of `cotangents (inputs - mean) inverse_deviation`.
    Norm {
        /// Sizes of inputs and cotangents.
        extent: Extent,
        /// Its inputs.
        inputs: &'a [f32],
        /// The gradient of its results.
        cotangents: &'a [f32],
        /// Subtracted, per channel.
        mean: &'a [f32],
        /// Multiplied by, per channel.
        inverse_deviation: &'a [f32],
    },
}

/// Callback for the layers of a backward pass, last layer first. A closure is one that never stops.
pub trait Observer: Send + Sync {
    /// Called when a backward pass begins.
    fn begin(&mut self) {}

    /// Called for every layer with parameters.
    fn see(&mut self, layer: Observed<'_>);

    /// Whether the passes must end early; asked before every step.
    fn stopped(&self) -> bool {
        false
    }
}

impl<F: FnMut(Observed<'_>) + Send + Sync> Observer for F {
    fn see(&mut self, layer: Observed<'_>) {
        self(layer);
    }
}
