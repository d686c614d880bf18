//! A chain of convolutions and dense layers: the one form that every module of the paper reduces
//! to.
//!
//! m members of a chain are computed at once in the ResNeXt form: the first layer is m times as
//! wide, the layers in between have m groups, and the members join at the end, see [`Join`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::builder::{Conv, Dense};
use crate::error::{MAX_LAYERS, dimension, product, within};
use crate::graph::{INPUT, NodeId};
use crate::layers::Layers;
use crate::shape::Shape;
use crate::{Error, Spec};

/// A pointwise non-linearity φ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// The identity.
    #[default]
    None,
    /// max(0, x), the paper's choice.
    Relu,
    /// The error function: analytic, as Theorem 1 wants.
    Erf,
    /// Hyperbolic tangent.
    Tanh,
    /// x Φ(x) with the normal distribution function Φ.
    Gelu,
    /// 1 / (1 + exp(-x)).
    Sigmoid,
    /// x / (1 + exp(-x)).
    Silu,
    /// x min(max(x + 3, 0), 6) / 6, a SiLU of straight pieces.
    HardSwish,
    /// min(max(x, 0), 6).
    Relu6,
    /// x where that is positive, x / 100 elsewhere.
    LeakyRelu,
}

impl Activation {
    /// Every activation.
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::Relu,
        Self::Erf,
        Self::Tanh,
        Self::Gelu,
        Self::Sigmoid,
        Self::Silu,
        Self::HardSwish,
        Self::Relu6,
        Self::LeakyRelu,
    ];
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "identity",
            Self::Relu => "relu",
            Self::Erf => "erf",
            Self::Tanh => "tanh",
            Self::Gelu => "gelu",
            Self::Sigmoid => "sigmoid",
            Self::Silu => "silu",
            Self::HardSwish => "hard-swish",
            Self::Relu6 => "relu6",
            Self::LeakyRelu => "leaky-relu",
        })
    }
}

/// What normalises a layer's output before its activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// Nothing (the kernel experiments).
    #[default]
    None,
    /// Batch norm with scale and shift (the trained networks).
    Batch,
}

/// What is added to a chain's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shortcut {
    /// Nothing.
    #[default]
    None,
    /// The chain's input.
    Identity,
    /// A 1x1 convolution (or dense layer) of the chain's input.
    Projection,
}

/// How m members become one output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// The last layer reads all members at once, which sums them (the ResNeXt form).
    #[default]
    LastLayer,
    /// Each member has outputs of its own; they are summed and divided by sqrt(m) (Eq. 2).
    ScaledSum,
}

/// One layer of a chain, as users write it in TOML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Layer {
    /// A convolution with a square kernel.
    Conv {
        /// Output channels of one member.
        width: usize,
        /// Side of the kernel.
        kernel: usize,
        /// Step between positions.
        #[serde(default = "one")]
        stride: usize,
        /// Zeros on each side; half the kernel where left out, which keeps the image's size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        padding: Option<usize>,
        /// Normalisation of its output.
        #[serde(default)]
        norm: Norm,
        /// What follows.
        #[serde(default)]
        activation: Activation,
    },
    /// A dense layer without bias.
    Dense {
        /// Units of one member.
        width: usize,
        /// Normalisation of its output.
        #[serde(default)]
        norm: Norm,
        /// What follows.
        #[serde(default)]
        activation: Activation,
    },
    /// Mean over all pixels.
    GlobalAveragePool {},
}

/// A layer with weights, conv or dense alike: a dense layer is a 1x1 convolution of a one-pixel
/// image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Output channels of one member.
    pub width: usize,
    /// Side of the kernel.
    pub kernel: usize,
    /// Step between positions.
    pub stride: usize,
    /// Zeros on each side.
    pub padding: usize,
    /// Normalisation of its output.
    pub norm: Norm,
    /// What follows.
    pub activation: Activation,
    /// Whether it is dense (needs a flat input).
    pub dense: bool,
}

impl Layer {
    /// The layer's weights' view; `None` for a pool.
    pub fn linear(&self) -> Option<Linear> {
        match *self {
            Self::Conv { width, kernel, stride, padding, norm, activation } => {
                let padding = padding.unwrap_or((kernel.max(1) - 1) / 2);
                Some(Linear { width, kernel, stride, padding, norm, activation, dense: false })
            }
            Self::Dense { width, norm, activation } => {
                Some(Linear { width, kernel: 1, stride: 1, padding: 0, norm, activation, dense: true })
            }
            Self::GlobalAveragePool {} => None,
        }
    }

    fn width_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Conv { width, .. } | Self::Dense { width, .. } => Some(width),
            Self::GlobalAveragePool {} => None,
        }
    }
}

/// A chain of layers, m times side by side, with an optional shortcut around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// What the user calls it.
    #[serde(default = "unnamed")]
    pub name: String,
    /// What comes in.
    pub input: Shape,
    /// The multiplicity m.
    #[serde(default = "one")]
    pub members: usize,
    /// How the members become one.
    #[serde(default)]
    pub join: Join,
    /// What is added to the output.
    #[serde(default)]
    pub shortcut: Shortcut,
    /// The layers of one member; the width of the last is the module's output and is never scaled.
    pub layers: Vec<Layer>,
}

fn one() -> usize {
    1
}

/// The name of a module that says none.
pub(crate) fn unnamed() -> String {
    "sequence".into()
}

impl Sequence {
    /// The layers with weights, in order.
    pub fn linear_layers(&self) -> impl DoubleEndedIterator<Item = Linear> + '_ {
        self.layers.iter().filter_map(Layer::linear)
    }

    /// The width vector **n**: what Algorithm 1 scales. The last layer's width is the output and
    /// not in it.
    pub fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.linear_layers().map(|layer| layer.width).collect();
        widths.pop();
        widths
    }

    /// The same chain with another width vector of the same length.
    pub fn with_widths(&self, widths: &[usize]) -> Self {
        let mut chain = self.clone();
        let slots = chain.layers.iter_mut().filter_map(Layer::width_mut);
        for (slot, &width) in slots.zip(widths) {
            *slot = width;
        }
        chain
    }

    /// Sum over layers of 1/fan-in, the kernel's area counted: the S(**n**) of the variance law.
    pub fn inverse_fan_in_sum(&self) -> f64 {
        let mut channels = self.input.channels;
        let mut sum = 0.0;
        for layer in self.linear_layers() {
            sum += 1.0 / (channels as f64 * (layer.kernel * layer.kernel) as f64);
            channels = layer.width;
        }
        sum
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.input.check("the input")?;
        dimension("the number of members", self.members)?;
        within("the number of layers", self.layers.len(), 0, MAX_LAYERS)?;
        let linear = self.linear_layers().count();
        if linear == 0 {
            return Err(Error::Invalid(format!(
                "the module {:?} has no layer with parameters; give it at least one conv or dense layer",
                self.name
            )));
        }
        if linear == 1 && self.members > 1 && self.join == Join::LastLayer {
            return Err(Error::Invalid(format!(
                "the {} members of {:?} have one layer each and would collapse into one; add a layer or set join = \"scaled-sum\"",
                self.members, self.name
            )));
        }
        for (index, layer) in self.linear_layers().enumerate() {
            dimension(format_args!("the width of layer {}", index + 1), layer.width)?;
            let joined = index + 1 == linear && self.join == Join::LastLayer;
            let copies = if joined { 1 } else { self.members };
            product(
                format_args!("the width of layer {} over all members", index + 1),
                &[layer.width, copies],
            )?;
        }
        Ok(())
    }

    /// Appends the whole module to a graph; layer names start with `prefix`.
    fn lower<L: Layers>(
        &self,
        graph: &mut L,
        from: NodeId,
        prefix: fmt::Arguments<'_>,
    ) -> Result<NodeId, Error> {
        self.check()?;
        let branch = self.lower_members(graph, from, prefix)?;
        match self.shortcut {
            Shortcut::None => Ok(branch),
            Shortcut::Identity => graph.add(format_args!("{prefix}add"), branch, from),
            Shortcut::Projection => {
                let projection = self.lower_projection(graph, from, branch, prefix)?;
                graph.add(format_args!("{prefix}add"), branch, projection)
            }
        }
    }

    /// Appends the m chains without the shortcut.
    pub(crate) fn lower_members<L: Layers>(
        &self,
        graph: &mut L,
        from: NodeId,
        prefix: fmt::Arguments<'_>,
    ) -> Result<NodeId, Error> {
        let count = self.linear_layers().count();
        let (mut node, mut index, mut pools) = (from, 0, 0);
        for layer in &self.layers {
            let Some(linear) = layer.linear() else {
                pools += 1;
                node = match pools {
                    1 => graph.global_average_pool(format_args!("{prefix}pool"), node)?,
                    _ => graph.global_average_pool(format_args!("{prefix}pool{pools}"), node)?,
                };
                continue;
            };
            index += 1;
            let joins_here = index == count && self.join == Join::LastLayer;
            let groups = if index == 1 || joins_here { 1 } else { self.members };
            let copies = if joins_here { 1 } else { self.members };
            node = lower_linear(graph, node, prefix, index, linear, copies, groups)?;
        }
        if self.join == Join::ScaledSum && self.members > 1 {
            node = graph.member_sum(format_args!("{prefix}members"), node, self.members)?;
        }
        Ok(node)
    }

    pub(crate) fn lower_projection<L: Layers>(
        &self,
        graph: &mut L,
        from: NodeId,
        branch: NodeId,
        prefix: fmt::Arguments<'_>,
    ) -> Result<NodeId, Error> {
        let channels = graph.shape(branch).channels;
        let last = self.linear_layers().next_back();
        let projection = if last.is_some_and(|layer| layer.dense) {
            graph.dense(format_args!("{prefix}downsample.0"), from, Dense::new(channels))?
        } else {
            let stride = self.linear_layers().map(|layer| layer.stride).product();
            graph.conv(format_args!("{prefix}downsample.0"), from, Conv::new(channels, 1).stride(stride))?
        };
        let normed = last.is_some_and(|layer| layer.norm == Norm::Batch);
        if normed {
            graph.batch_norm(format_args!("{prefix}downsample.1"), projection)
        } else {
            Ok(projection)
        }
    }

    /// The layers of the module by itself.
    pub(crate) fn build<L: Layers>(&self) -> Result<L, Error> {
        let mut graph = L::new(self.input)?;
        self.lower(&mut graph, INPUT, format_args!(""))?;
        Ok(graph)
    }
}

/// One layer for `copies` members at once, with its norm and activation.
fn lower_linear<L: Layers>(
    graph: &mut L,
    from: NodeId,
    prefix: fmt::Arguments<'_>,
    index: usize,
    layer: Linear,
    copies: usize,
    groups: usize,
) -> Result<NodeId, Error> {
    let channels = layer.width * copies;
    let mut node = if layer.dense {
        graph.dense(format_args!("{prefix}fc{index}"), from, Dense::new(channels).groups(groups))?
    } else {
        let Linear { kernel, stride, padding, .. } = layer;
        let conv = Conv::new(channels, kernel).stride(stride).padding(padding).groups(groups);
        graph.conv(format_args!("{prefix}conv{index}"), from, conv)?
    };
    if layer.norm == Norm::Batch {
        node = graph.batch_norm(format_args!("{prefix}bn{index}"), node)?;
    }
    if layer.activation != Activation::None {
        let activation = layer.activation;
        node = graph.activation(format_args!("{prefix}{activation}{index}"), node, activation)?;
    }
    Ok(node)
}

impl From<Sequence> for Spec {
    fn from(sequence: Sequence) -> Self {
        Self::Sequence(sequence)
    }
}
