//! Wide ResNet d-k, the paper's other baseline: pre-activation blocks of two 3x3 convolutions.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::builder::{Conv, Dense};
use crate::error::{dimension, product, within};
use crate::graph::{INPUT, NodeId};
use crate::layers::Layers;
use crate::sequence::Activation;
use crate::shape::Shape;

/// A Wide ResNet of depth d and widening factor k.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WideResnet {
    /// Depth d; every stage has (d - 4) / (2 stages) blocks.
    pub depth: usize,
    /// Widening factor k; stage s has 16 k 2^s channels.
    pub factor: usize,
    /// Number of stages: three for 32x32 images, four for 64x64.
    pub stages: usize,
    /// Number of classes.
    pub classes: usize,
    /// Side of the square colour images.
    pub image: usize,
}

/// Channels behind the stem.
const STEM_CHANNELS: usize = 16;

impl WideResnet {
    /// The network a name stands for: three stages where the depth allows it (32x32 images, 10
    /// classes), else four (64x64 images, 1000 classes), as in the paper's Wide ResNet 36-5.
    pub fn of_depth(depth: usize, factor: usize) -> Result<Self, Error> {
        let divides = |stages: usize| depth > 4 && (depth - 4).is_multiple_of(2 * stages);
        let (stages, classes, image) = if !divides(3) && divides(4) { (4, 1000, 64) } else { (3, 10, 32) };
        let network = Self { depth, factor, stages, classes, image };
        network.check()?;
        Ok(network)
    }

    /// `wrn28-10`.
    pub fn name(&self) -> String {
        format!("wrn{}-{}", self.depth, self.factor)
    }

    fn blocks_per_stage(&self) -> usize {
        (self.depth - 4) / (2 * self.stages)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        within("the number of stages", self.stages, 1, 8)?;
        within("the depth of a Wide ResNet", self.depth, 4 + 2 * self.stages, 10_000)?;
        dimension("the widening factor", self.factor)?;
        dimension("the number of classes", self.classes)?;
        if !(self.depth - 4).is_multiple_of(2 * self.stages) {
            let step = 2 * self.stages;
            let below = 4 + (self.depth - 4) / step * step;
            let (stages, depth) = (self.stages, self.depth);
            let above = below + step;
            return Err(Error::Invalid(format!(
                "a Wide ResNet of {stages} stages cannot have depth {depth}; the nearest depths are {below} and {above}"
            )));
        }
        Ok(())
    }

    pub(crate) fn build<L: Layers>(&self) -> Result<L, Error> {
        self.check()?;
        let mut graph = L::new(Shape::image(3, self.image))?;
        let mut node = graph.conv("conv1", INPUT, Conv::new(STEM_CHANNELS, 3))?;
        for stage in 0..self.stages {
            let channels = product(
                format_args!("the number of channels of stage {}", stage + 1),
                &[STEM_CHANNELS, self.factor, 1 << stage],
            )?;
            for index in 0..self.blocks_per_stage() {
                let stride = if stage > 0 && index == 0 { 2 } else { 1 };
                let prefix = format_args!("layer{}.{index}.", stage + 1);
                node = lower_block(&mut graph, node, channels, stride, prefix)?;
            }
        }
        let normed = graph.batch_norm("bn1", node)?;
        let active = graph.activation("relu", normed, Activation::Relu)?;
        let pooled = graph.global_average_pool("avgpool", active)?;
        graph.dense("fc", pooled, Dense::new(self.classes).bias(true))?;
        Ok(graph)
    }
}

/// norm, ReLU, 3x3, norm, ReLU, 3x3, plus the input; where the channels change, a 1x1 projection of
/// the normed and rectified input takes the shortcut's place.
fn lower_block<L: Layers>(
    graph: &mut L,
    from: NodeId,
    channels: usize,
    stride: usize,
    prefix: fmt::Arguments<'_>,
) -> Result<NodeId, Error> {
    let conv = |kernel, stride| Conv::new(channels, kernel).stride(stride);
    let normed = graph.batch_norm(format_args!("{prefix}bn1"), from)?;
    let active = graph.activation(format_args!("{prefix}relu1"), normed, Activation::Relu)?;
    let first = graph.conv(format_args!("{prefix}conv1"), active, conv(3, stride))?;
    let normed = graph.batch_norm(format_args!("{prefix}bn2"), first)?;
    let middle = graph.activation(format_args!("{prefix}relu2"), normed, Activation::Relu)?;
    let second = graph.conv(format_args!("{prefix}conv2"), middle, conv(3, 1))?;
    let shortcut = if graph.shape(from).channels == channels && stride == 1 {
        from
    } else {
        graph.conv(format_args!("{prefix}downsample.0"), active, conv(1, stride))?
    };
    graph.add(format_args!("{prefix}add"), second, shortcut)
}
