//! RegNet: stages of bottleneck blocks whose inner width is their output's, in groups of one width.
//!
//! Widths follow a quantised linear rule, see [`LinearRule`]. Layers have torchvision's names.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::block::Block;
use crate::bottleneck::Bottleneck;
use crate::builder::{Conv, Dense};
use crate::design::Design;
use crate::error::{dimension, product, within};
use crate::graph::{INPUT, NodeId};
use crate::layers::Layers;
use crate::regnet_models;
use crate::sequence::{Activation, Shortcut};
use crate::shape::Shape;
use crate::squeeze_excitation;
use crate::stage_design::{Designs, StageDesign};

/// A RegNet, or one whose groups have been changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regnet {
    /// Blocks per stage.
    pub blocks: Vec<usize>,
    /// Output channels per stage.
    pub outputs: Vec<usize>,
    /// Members and their widths: a list of one design per stage. In a published RegNet, m n are the
    /// outputs.
    pub design: Designs,
    /// Squeeze-and-excitation: the hidden layer of a block's gate has as many channels as come into
    /// the block, divided by this and rounded. A RegNetX has none, a RegNetY has 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squeeze: Option<usize>,
    /// Number of classes.
    pub classes: usize,
    /// Side of the square colour images.
    pub image: usize,
    /// Channels behind the stem.
    #[serde(default = "thirty_two")]
    pub stem_channels: usize,
}

fn thirty_two() -> usize {
    32
}

/// The quantised linear rule: block j of d should have w_0 + w_a j channels, which is rounded to a
/// power of w_m times w_0, and to a multiple of 8. Blocks of equal width are a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearRule {
    /// The number of blocks d.
    pub depth: usize,
    /// The width w_0 of the first block.
    pub initial_width: usize,
    /// What the width grows by, w_a.
    pub slope: f64,
    /// The ratio w_m between the widths of neighbouring stages.
    pub step: f64,
    /// The width of a group, which must divide the widths.
    pub group_width: usize,
}

/// How a width becomes a multiple of the group width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest one, halves to the even one: the published networks (pycls, timm).
    Nearest,
    /// To the nearest one, halves up, but never down by more than a tenth (torchvision).
    Torchvision,
}

impl Rounding {
    fn multiple(self, width: usize, of: usize) -> usize {
        let nearest = match self {
            Self::Nearest => (width as f64 / of as f64).round_ties_even() as usize * of,
            Self::Torchvision => (width + of / 2) / of * of,
        };
        let nearest = nearest.max(of);
        match self {
            Self::Torchvision if 10 * nearest < 9 * width => nearest + of,
            _ => nearest,
        }
    }
}

impl LinearRule {
    /// The network: 224x224 images, 1000 classes.
    pub fn network(&self, rounding: Rounding) -> Result<Regnet, Error> {
        within("the depth of a RegNet", self.depth, 1, 1000)?;
        dimension("the first width of a RegNet", self.initial_width)?;
        dimension("the group width of a RegNet", self.group_width)?;
        if !(self.slope >= 0.0 && self.step > 1.0 && self.slope.is_finite() && self.step.is_finite()) {
            let (slope, step) = (self.slope, self.step);
            return Err(Error::Invalid(format!(
                "the widths of a RegNet grow by a slope of at least 0 in steps above 1, not by {slope} and {step}"
            )));
        }
        let mut stages: Vec<(usize, usize)> = Vec::new();
        for block in 0..self.depth {
            let width = self.width(block);
            match stages.last_mut() {
                Some((last, count)) if *last == width => *count += 1,
                _ => stages.push((width, 1)),
            }
        }
        let mut network = Regnet {
            blocks: stages.iter().map(|stage| stage.1).collect(),
            outputs: Vec::new(),
            design: Designs::PerStage(Vec::new()),
            squeeze: None,
            classes: 1000,
            image: 224,
            stem_channels: thirty_two(),
        };
        let mut designs = Vec::new();
        for (width, _) in stages {
            let group = self.group_width.min(width);
            let width = rounding.multiple(width, group);
            network.outputs.push(width);
            designs.push(StageDesign::new(width / group, [group; 2])?);
        }
        network.design = Designs::PerStage(designs);
        network.check()?;
        Ok(network)
    }

    /// The width of a block, a multiple of 8.
    fn width(&self, block: usize) -> usize {
        let first = self.initial_width as f64;
        let wanted = first + self.slope * block as f64;
        let stage = ((wanted / first).ln() / self.step.ln()).round_ties_even();
        ((first * self.step.powf(stage) / 8.0).round_ties_even() * 8.0) as usize
    }
}

impl Regnet {
    /// `regnet_x_400mf`; with other designs `regnet_x_400mf-4x8d-8x8d-20x8d-48x8d`.
    pub fn name(&self) -> String {
        let depth: usize = self.blocks.iter().sum();
        match regnet_models::like(self) {
            Some((name, published)) if published.design == self.design => name,
            Some((name, _)) => format!("{name}-{}", self.design),
            None => {
                let family = if self.squeeze.is_some() { "regnety" } else { "regnetx" };
                format!("{family}{depth}-{}", self.design)
            }
        }
    }

    /// How many stages.
    pub fn stages(&self) -> usize {
        self.blocks.len()
    }

    /// The same network with groups of width n in all stages, see
    /// [`stage_designs`](Self::stage_designs).
    pub fn with_design(&self, design: Design) -> Result<Self, Error> {
        self.with_stage_designs(&self.stage_designs(design)?)
    }

    /// Groups of width n in all stages: m of them in the first, and elsewhere as many more as the
    /// stage has more outputs, which keeps the shape of the family.
    pub fn stage_designs(&self, design: Design) -> Result<Vec<StageDesign>, Error> {
        let stage = |share: f64| {
            let members = (design.multiplicity as f64 * share).round() as usize;
            StageDesign::new(members.max(1), [design.width; 2])
        };
        self.stage_shares().into_iter().map(stage).collect()
    }

    /// How many times as many outputs as the first every stage has.
    pub(crate) fn stage_shares(&self) -> Vec<f64> {
        let first = self.outputs.first().copied().unwrap_or(1) as f64;
        self.outputs.iter().map(|&outputs| outputs as f64 / first).collect()
    }

    /// The same network with one design per stage.
    pub fn with_stage_designs(&self, designs: &[StageDesign]) -> Result<Self, Error> {
        let network = Self { design: Designs::PerStage(designs.to_vec()), ..self.clone() };
        network.check()?;
        Ok(network)
    }

    /// Its blocks in order, equal ones in a row together.
    pub fn blocks(&self) -> Result<Vec<Block>, Error> {
        self.check()?;
        let (mut inputs, mut image) = (self.stem_channels, self.image.div_ceil(2));
        let mut all = Vec::new();
        for (stage, (&count, &outputs)) in self.blocks.iter().zip(&self.outputs).enumerate() {
            let first = self.bottleneck(stage, inputs, 2, image)?;
            all.push(Block { stage, count: 1, bottleneck: first });
            (inputs, image) = (outputs, image.div_ceil(2));
            if count > 1 {
                let bottleneck = self.bottleneck(stage, inputs, 1, image)?;
                all.push(Block { stage, count: count - 1, bottleneck });
            }
        }
        Ok(all)
    }

    fn bottleneck(
        &self,
        stage: usize,
        inputs: usize,
        stride: usize,
        image: usize,
    ) -> Result<Bottleneck, Error> {
        Ok(Bottleneck::of_network(self.design.stage(stage)?, [inputs, self.outputs[stage]], stride, image))
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.outputs.len() != self.stages() {
            return Err(Error::Invalid(format!(
                "the network has {} stages but {} numbers of outputs; give one per stage",
                self.stages(),
                self.outputs.len()
            )));
        }
        self.design.check_network(&self.blocks, self.classes, self.squeeze)
    }

    pub(crate) fn build<L: Layers>(&self) -> Result<L, Error> {
        let mut graph = L::new(Shape::image(3, self.image))?;
        let stem = Conv::new(self.stem_channels, 3).stride(2);
        let mut node = conv_norm(&mut graph, INPUT, format_args!("stem."), stem)?;
        node = graph.activation("stem.2", node, Activation::Relu)?;
        let (mut stage, mut index) = (0, 0);
        for Block { stage: of, count, bottleneck } in self.blocks()? {
            if of != stage {
                (stage, index) = (of, 0);
            }
            for _ in 0..count {
                let prefix = format_args!("trunk_output.block{0}.block{0}-{index}.", stage + 1);
                node = lower(&bottleneck, self.squeeze, &mut graph, node, prefix)?;
                index += 1;
            }
        }
        let pooled = graph.global_average_pool("avgpool", node)?;
        graph.dense("fc", pooled, Dense::new(self.classes).bias(true))?;
        Ok(graph)
    }
}

/// Appends a block under torchvision's names: the three convolutions are `f.a`, `f.b` and `f.c`,
/// the gate `f.se`.
fn lower<L: Layers>(
    block: &Bottleneck,
    squeeze: Option<usize>,
    graph: &mut L,
    from: NodeId,
    prefix: fmt::Arguments<'_>,
) -> Result<NodeId, Error> {
    let Bottleneck { outputs, members, kernel, stride, .. } = *block;
    let inner = |width| product(format_args!("the inner width of {prefix}f"), &[members, width]);
    let [first, second] = block.widths();
    let a = conv_norm(graph, from, format_args!("{prefix}f.a."), Conv::new(inner(first)?, 1))?;
    let a = graph.activation(format_args!("{prefix}f.a.2"), a, Activation::Relu)?;
    let middle = Conv::new(inner(second)?, kernel).stride(stride).groups(members);
    let b = conv_norm(graph, a, format_args!("{prefix}f.b."), middle)?;
    let mut b = graph.activation(format_args!("{prefix}f.b.2"), b, Activation::Relu)?;
    if let Some(squeeze) = squeeze {
        let hidden = (block.inputs as f64 / squeeze as f64).round_ties_even().max(1.0) as usize;
        b = squeeze_excitation::append(graph, b, hidden, format_args!("{prefix}f.se."))?;
    }
    let c = conv_norm(graph, b, format_args!("{prefix}f.c."), Conv::new(outputs, 1))?;
    let shortcut = match block.shortcut {
        Shortcut::Projection => {
            let projection = Conv::new(outputs, 1).stride(stride);
            conv_norm(graph, from, format_args!("{prefix}proj."), projection)?
        }
        _ => from,
    };
    let sum = graph.add(format_args!("{prefix}add"), c, shortcut)?;
    graph.activation(format_args!("{prefix}activation"), sum, Activation::Relu)
}

/// A convolution and its norm, called 0 and 1 as in torchvision's sequences of layers.
fn conv_norm<L: Layers>(
    graph: &mut L,
    from: NodeId,
    prefix: fmt::Arguments<'_>,
    conv: Conv,
) -> Result<NodeId, Error> {
    let node = graph.conv(format_args!("{prefix}0"), from, conv)?;
    graph.batch_norm(format_args!("{prefix}1"), node)
}
