//! ResNet and ResNeXt: stages of bottleneck blocks, the design `m x n d` doubling its width at
//! every stage.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::block::Block;
use crate::bottleneck::Bottleneck;
use crate::builder::{Conv, Dense, MaxPool};
use crate::design::Design;
use crate::error::product;
use crate::graph::{INPUT, NodeId};
use crate::layers::Layers;
use crate::sequence::{Activation, Sequence, Shortcut};
use crate::shape::Shape;
use crate::squeeze_excitation;
use crate::stage_design::{Designs, StageDesign};

/// How an image enters the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stem {
    /// A 3x3 convolution: 32x32 and 64x64 images.
    Small,
    /// A 7x7 convolution of stride 2 and a max pool of stride 2: ImageNet.
    Imagenet,
    /// Three 3x3 convolutions, the first of stride 2 and the first two of half the channels, in
    /// place of the 7x7 one: ResNet-C.
    C,
    /// The same, and shortcuts of stride 2 average over 2x2 pixels before they project: ResNet-D.
    D,
}

impl Stem {
    /// Every stem.
    pub const ALL: [Self; 4] = [Self::Small, Self::Imagenet, Self::C, Self::D];

    /// Whether it brings an image down to a quarter of its side.
    pub fn quarters(self) -> bool {
        self != Self::Small
    }

    /// What names have behind the depth: timm's `resnet50d` is a ResNet-50-D.
    fn letter(self) -> &'static str {
        match self {
            Self::Small | Self::Imagenet => "",
            Self::C => "c",
            Self::D => "d",
        }
    }
}

/// What the gates of published networks squeeze by: `seresnet50` has this one.
pub(crate) const SQUEEZE: usize = 16;

/// A ResNeXt `m x n d`; m = 1 is a ResNet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resnext {
    /// How an image enters.
    pub stem: Stem,
    /// Blocks per stage.
    pub blocks: Vec<usize>,
    /// Members and their widths: one design, of the first stage, whose width doubles at every
    /// stage, or a list of one design per stage.
    pub design: Designs,
    /// Number of classes.
    pub classes: usize,
    /// Side of the square colour images.
    pub image: usize,
    /// Channels behind the stem.
    #[serde(default = "sixty_four")]
    pub stem_channels: usize,
    /// Output channels of the first stage's blocks; stage s has 2^s times as many.
    #[serde(default = "two_hundred_fifty_six")]
    pub outputs: usize,
    /// Squeeze-and-excitation behind a block's last norm: the hidden layer of the gate has as many
    /// channels as the block puts out, divided by this and rounded to a multiple of 8. A plain
    /// network has none, an SE-ResNet has 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squeeze: Option<usize>,
}

fn sixty_four() -> usize {
    64
}
fn two_hundred_fifty_six() -> usize {
    256
}

/// Depths that have names, with their stem, blocks, classes and image side.
const NAMED: &[(usize, Stem, &[usize], usize, usize)] = &[
    (29, Stem::Small, &[3, 3, 3], 10, 32),
    (38, Stem::Small, &[3, 3, 3, 3], 1000, 64),
    (26, Stem::Imagenet, &[2, 2, 2, 2], 1000, 224),
    (50, Stem::Imagenet, &[3, 4, 6, 3], 1000, 224),
    (101, Stem::Imagenet, &[3, 4, 23, 3], 1000, 224),
    (152, Stem::Imagenet, &[3, 8, 36, 3], 1000, 224),
];

impl Resnext {
    /// The network of a depth: 29 and all others of the form 9k + 2 (32x32 images, 10 classes), but
    /// for 38 (64x64, 1000) and 101, which like 26, 50 and 152 is ImageNet's; for those two see
    /// [`cifar`](Self::cifar).
    pub fn of_depth(depth: usize, design: impl Into<Designs>) -> Option<Self> {
        let design = design.into();
        match NAMED.iter().find(|named| named.0 == depth) {
            Some(&(_, stem, blocks, classes, image)) => {
                let (stem_channels, outputs) = (sixty_four(), two_hundred_fifty_six());
                let (blocks, squeeze) = (blocks.to_vec(), None);
                Some(Self { stem, blocks, design, classes, image, stem_channels, outputs, squeeze })
            }
            None => Self::cifar(depth, design),
        }
    }

    /// The network of depth 26, 50, 101 or 152 for ImageNet.
    pub fn imagenet(depth: usize, design: impl Into<Designs>) -> Option<Self> {
        Self::of_depth(depth, design).filter(|network| network.stem == Stem::Imagenet)
    }

    /// ResNeXt-(9k + 2) for CIFAR: three stages of k blocks, 32x32 images, 10 classes.
    pub fn cifar(depth: usize, design: impl Into<Designs>) -> Option<Self> {
        let nine = depth.checked_sub(2).filter(|rest| *rest > 0 && rest.is_multiple_of(9))?;
        Some(Self {
            stem: Stem::Small,
            blocks: vec![nine / 9; 3],
            design: design.into(),
            classes: 10,
            image: 32,
            stem_channels: sixty_four(),
            outputs: two_hundred_fifty_six(),
            squeeze: None,
        })
    }

    /// Layers with weights on the longest path: three per block, the stem and the classifier.
    pub fn depth(&self) -> usize {
        3 * self.blocks.iter().sum::<usize>() + 2
    }

    /// `resnext29-37x10d`, or with one design per stage `resnext29-37x10d-19x20d-9x40d`;
    /// `resnext38cifar-1x64d` where the depth alone would name another network,
    /// `seresnext50d-1x64d` with gates and the stem of ResNet-D.
    pub fn name(&self) -> String {
        let depth = self.depth();
        let other =
            |named: &&(usize, Stem, &[usize], usize, usize)| named.0 == depth && named.2 != self.blocks;
        let for_cifar = self.stages() == 3 && self.blocks.iter().all(|count| *count == self.blocks[0]);
        let suffix = if for_cifar && NAMED.iter().any(|named| other(&named)) { "cifar" } else { "" };
        let gates = if self.squeeze.is_some() { "se" } else { "" };
        format!("{gates}resnext{depth}{}{suffix}-{}", self.stem.letter(), self.design)
    }

    /// The same network with one design for all stages.
    pub fn with_design(&self, design: Design) -> Self {
        Self { design: design.into(), ..self.clone() }
    }

    /// The same network with one design per stage.
    pub fn with_stage_designs(&self, designs: &[StageDesign]) -> Result<Self, Error> {
        Designs::PerStage(designs.to_vec()).check(self.stages())?;
        Ok(Self { design: Designs::per_stage(designs), ..self.clone() })
    }

    /// Its blocks in order, equal ones in a row together.
    pub fn blocks(&self) -> Result<Vec<Block>, Error> {
        self.check()?;
        let mut inputs = self.stem_channels;
        let mut all = Vec::new();
        for (stage, &count) in self.blocks.iter().enumerate() {
            let outputs = self.stage_outputs(stage)?;
            // Every stage's first block projects, also where the channel counts happen to agree.
            let (stride, image) =
                if stage > 0 { (2, self.stage_image(stage - 1)) } else { (1, self.stage_image(0)) };
            let mut first = self.bottleneck(stage, inputs, outputs, stride, image)?;
            first.shortcut = Shortcut::Projection;
            all.push(Block { stage, count: 1, bottleneck: first });
            if count > 1 {
                all.push(Block { stage, count: count - 1, bottleneck: self.block(stage)? });
            }
            inputs = outputs;
        }
        Ok(all)
    }

    /// The block that a stage repeats (identity shortcut, n_in = n_out): the one the paper
    /// analyses. Stage 0 of the CIFAR networks has n_in = n_out = 256.
    pub fn block(&self, stage: usize) -> Result<Bottleneck, Error> {
        let outputs = self.stage_outputs(stage)?;
        let image = self.stage_image(stage);
        self.bottleneck(stage, outputs, outputs, 1, image)
    }

    /// How many stages.
    pub fn stages(&self) -> usize {
        self.blocks.len()
    }

    fn stage_outputs(&self, stage: usize) -> Result<usize, Error> {
        product(format_args!("the number of channels of stage {}", stage + 1), &[self.outputs, 1 << stage])
    }

    /// Side of the image inside a stage (each stage after the first halves it, rounding up).
    fn stage_image(&self, stage: usize) -> usize {
        let entry = if self.stem.quarters() { self.image.div_ceil(4) } else { self.image };
        (0..stage).fold(entry, |side, _| side.div_ceil(2))
    }

    fn bottleneck(
        &self,
        stage: usize,
        inputs: usize,
        outputs: usize,
        stride: usize,
        image: usize,
    ) -> Result<Bottleneck, Error> {
        Ok(Bottleneck::of_network(self.design.stage(stage)?, [inputs, outputs], stride, image))
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.design.check_network(&self.blocks, self.classes, self.squeeze)
    }

    pub(crate) fn build<L: Layers>(&self) -> Result<L, Error> {
        self.check()?;
        let mut graph = L::new(Shape::image(3, self.image))?;
        let mut node = self.lower_stem(&mut graph)?;
        let (mut stage, mut index) = (0, 0);
        for Block { stage: of, count, bottleneck } in self.blocks()? {
            if of != stage {
                (stage, index) = (of, 0);
            }
            let chain = bottleneck.sequence();
            chain.check()?;
            for _ in 0..count {
                let prefix = format_args!("layer{}.{index}.", stage + 1);
                let sum = self.lower_block(&mut graph, node, (&bottleneck, &chain), prefix)?;
                node = graph.activation(format_args!("{prefix}relu"), sum, Activation::Relu)?;
                index += 1;
            }
        }
        let pooled = graph.global_average_pool("avgpool", node)?;
        graph.dense("fc", pooled, Dense::new(self.classes).bias(true))?;
        Ok(graph)
    }

    fn lower_stem<L: Layers>(&self, graph: &mut L) -> Result<NodeId, Error> {
        let node = match self.stem {
            Stem::Small => graph.conv("conv1", INPUT, Conv::new(self.stem_channels, 3))?,
            Stem::Imagenet => graph.conv("conv1", INPUT, Conv::new(self.stem_channels, 7).stride(2))?,
            Stem::C | Stem::D => self.lower_deep_stem(graph)?,
        };
        let node = graph.batch_norm("bn1", node)?;
        let node = graph.activation("relu", node, Activation::Relu)?;
        if !self.stem.quarters() {
            return Ok(node);
        }
        graph.max_pool("maxpool", node, MaxPool::new(3).stride(2).padding(1))
    }

    /// Three convolutions, called by their places in timm's sequence of layers.
    fn lower_deep_stem<L: Layers>(&self, graph: &mut L) -> Result<NodeId, Error> {
        let half = (self.stem_channels / 2).max(1);
        let mut node = INPUT;
        for (at, stride) in [(0, 2), (3, 1)] {
            node = graph.conv(format_args!("conv1.{at}"), node, Conv::new(half, 3).stride(stride))?;
            node = graph.batch_norm(format_args!("conv1.{}", at + 1), node)?;
            node = graph.activation(format_args!("conv1.{}", at + 2), node, Activation::Relu)?;
        }
        graph.conv("conv1.6", node, Conv::new(self.stem_channels, 3))
    }

    /// A block, which is also given as its chain, with its gate and shortcut, without the last ReLU.
    fn lower_block<L: Layers>(
        &self,
        graph: &mut L,
        from: NodeId,
        (block, chain): (&Bottleneck, &Sequence),
        prefix: fmt::Arguments<'_>,
    ) -> Result<NodeId, Error> {
        let mut branch = chain.lower_members(graph, from, prefix)?;
        if let Some(squeeze) = self.squeeze {
            let hidden = (block.outputs / squeeze + 4) / 8 * 8;
            branch = squeeze_excitation::append(graph, branch, hidden.max(8), format_args!("{prefix}se."))?;
        }
        let shortcut = match (block.shortcut, self.stem) {
            (Shortcut::Projection, Stem::D) => lower_averaged(graph, from, block, prefix)?,
            (Shortcut::Projection, _) => chain.lower_projection(graph, from, branch, prefix)?,
            (Shortcut::Identity | Shortcut::None, _) => from,
        };
        graph.add(format_args!("{prefix}add"), branch, shortcut)
    }
}

/// The shortcut of a ResNet-D: means over as many pixels as the block steps over, then a
/// projection.
fn lower_averaged<L: Layers>(
    graph: &mut L,
    from: NodeId,
    block: &Bottleneck,
    prefix: fmt::Arguments<'_>,
) -> Result<NodeId, Error> {
    let pooled = match block.stride {
        1 => from,
        stride => graph.average_pool(format_args!("{prefix}downsample.0"), from, stride)?,
    };
    let conv = graph.conv(format_args!("{prefix}downsample.1"), pooled, Conv::new(block.outputs, 1))?;
    graph.batch_norm(format_args!("{prefix}downsample.2"), conv)
}
