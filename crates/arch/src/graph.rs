//! A network as a list of elementary operations in the order of computation.
//!
//! Engines interpret it, exporters write it, [`counts`](crate::counts) adds it up. Names are torchvision's
//! (`layer1.0.conv2`), so that weights can be exchanged.

use serde::Serialize;

use crate::Error;
use crate::error::{MAX_IMAGE_SIDE, MAX_KERNEL, dimension, within};
use crate::sequence::Activation;

/// What one image looks like at some point: channels x height x width (1 x 1 behind dense layers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Channels, or units of a dense layer.
    pub channels: usize,
    /// Rows of pixels.
    #[serde(default = "one")]
    pub height: usize,
    /// Columns of pixels.
    #[serde(default = "one")]
    pub width: usize,
}

fn one() -> usize {
    1
}

impl Shape {
    /// A flat vector.
    pub fn vector(channels: usize) -> Self {
        Self { channels, height: 1, width: 1 }
    }

    /// A square image.
    pub fn image(channels: usize, side: usize) -> Self {
        Self { channels, height: side, width: side }
    }

    /// Number of pixels.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Number of values.
    pub fn elements(&self) -> u128 {
        self.channels as u128 * self.pixels() as u128
    }

    pub(crate) fn check(&self, what: &str) -> Result<(), Error> {
        dimension(format!("the number of channels of {what}"), self.channels)?;
        within(format!("the height of {what}"), self.height, 1, MAX_IMAGE_SIDE)?;
        within(format!("the width of {what}"), self.width, 1, MAX_IMAGE_SIDE)?;
        Ok(())
    }
}

/// Index of a node in its graph.
pub type NodeId = usize;

/// One elementary operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The image or vector that comes in.
    Input,
    /// Grouped convolution without bias; `groups` is the multiplicity m in the ResNeXt form.
    Conv {
        /// Side of the square kernel.
        kernel: usize,
        /// Step between positions.
        stride: usize,
        /// Zeros added on each side.
        padding: usize,
        /// Number of groups.
        groups: usize,
    },
    /// Dense layer, block-diagonal if `groups` > 1.
    Dense {
        /// Number of diagonal blocks.
        groups: usize,
        /// Whether a bias is added.
        bias: bool,
    },
    /// Batch norm over every channel, with scale and shift.
    BatchNorm,
    /// A pointwise non-linearity.
    Activation(Activation),
    /// Sum of two branches.
    Add,
    /// Maximum over square windows.
    MaxPool {
        /// Side of the window.
        kernel: usize,
        /// Step between windows.
        stride: usize,
        /// Border that never wins.
        padding: usize,
    },
    /// Mean over all pixels of a channel.
    GlobalAveragePool,
    /// Sum over m members of equal output, divided by sqrt(m) (Eq. 2 of the paper).
    MemberSum {
        /// How many members.
        members: usize,
    },
}

/// An operation with its name, its operands and the shape of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// torchvision's name of the layer.
    pub name: String,
    /// What it does.
    pub op: Op,
    /// Its operands, earlier in the graph.
    pub inputs: Vec<NodeId>,
    /// The shape of its result for one image.
    pub shape: Shape,
}

/// The whole computation; the last node is the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Nodes in an order in which they can be computed.
    pub nodes: Vec<Node>,
}

impl Graph {
    /// A graph that holds only its input so far.
    pub(crate) fn with_input(shape: Shape) -> Result<Self, Error> {
        shape.check("the input")?;
        Ok(Self { nodes: vec![Node { name: "input".into(), op: Op::Input, inputs: vec![], shape }] })
    }

    /// The shape of what comes in.
    pub fn input_shape(&self) -> Shape {
        self.nodes[0].shape
    }

    /// The shape of the result.
    pub fn output_shape(&self) -> Shape {
        self.nodes[self.last()].shape
    }

    /// Whether a layer's output reaches a ReLU before any other layer with weights. Half of what comes in is lost there,
    /// so that such a layer has a gain of 2, and every other one a gain of 1: weights have the variance gain / fan-in.
    pub fn meets_relu(&self, layer: NodeId) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        reached[layer] = true;
        for (id, node) in self.nodes.iter().enumerate().skip(layer + 1) {
            if !node.inputs.iter().any(|&input| reached[input]) {
                continue;
            }
            match node.op {
                Op::Activation(Activation::Relu) => return true,
                Op::Activation(Activation::None) | Op::BatchNorm | Op::Add | Op::MemberSum { .. } => {
                    reached[id] = true;
                }
                _ => {}
            }
        }
        false
    }

    pub(crate) fn last(&self) -> NodeId {
        self.nodes.len() - 1
    }

    pub(crate) fn shape(&self, node: NodeId) -> Shape {
        self.nodes[node].shape
    }

    fn push(&mut self, name: String, op: Op, inputs: Vec<NodeId>, shape: Shape) -> NodeId {
        self.nodes.push(Node { name, op, inputs, shape });
        self.last()
    }

    /// Appends a convolution with the given number of output channels.
    pub(crate) fn conv(&mut self, name: String, from: NodeId, op: Conv) -> Result<NodeId, Error> {
        let input = self.shape(from);
        let Conv { channels, kernel, stride, padding, groups } = op;
        dimension(format!("the number of output channels of {name}"), channels)?;
        within(format!("the stride of {name}"), stride, 1, MAX_KERNEL)?;
        within(format!("the padding of {name}"), padding, 0, MAX_KERNEL)?;
        if !input.channels.is_multiple_of(groups) || !channels.is_multiple_of(groups) {
            return Err(Error::Inconsistent(format!(
                "{name} has {} input and {channels} output channels, which {groups} groups do not divide",
                input.channels
            )));
        }
        let height = window_count(&name, input.height, kernel, stride, padding)?;
        let width = window_count(&name, input.width, kernel, stride, padding)?;
        let op = Op::Conv { kernel, stride, padding, groups };
        Ok(self.push(name, op, vec![from], Shape { channels, height, width }))
    }

    /// Appends a dense layer on a flat vector.
    pub(crate) fn dense(
        &mut self,
        name: String,
        from: NodeId,
        units: usize,
        groups: usize,
        bias: bool,
    ) -> Result<NodeId, Error> {
        let input = self.shape(from);
        if input.pixels() != 1 {
            return Err(Error::Inconsistent(format!(
                "the dense layer {name} needs a flat input but gets {} x {} pixels; put a pool before it",
                input.height, input.width
            )));
        }
        dimension(format!("the number of units of {name}"), units)?;
        Ok(self.push(name, Op::Dense { groups, bias }, vec![from], Shape::vector(units)))
    }

    pub(crate) fn batch_norm(&mut self, name: String, from: NodeId) -> NodeId {
        self.push(name, Op::BatchNorm, vec![from], self.shape(from))
    }

    pub(crate) fn activation(&mut self, name: String, from: NodeId, activation: Activation) -> NodeId {
        self.push(name, Op::Activation(activation), vec![from], self.shape(from))
    }

    pub(crate) fn add(&mut self, name: String, left: NodeId, right: NodeId) -> Result<NodeId, Error> {
        let (a, b) = (self.shape(left), self.shape(right));
        if a != b {
            return Err(Error::Inconsistent(format!(
                "{name} cannot add {}x{}x{} to {}x{}x{}; use a projection shortcut",
                a.channels, a.height, a.width, b.channels, b.height, b.width
            )));
        }
        Ok(self.push(name, Op::Add, vec![left, right], a))
    }

    pub(crate) fn max_pool(
        &mut self,
        name: String,
        from: NodeId,
        kernel: usize,
        stride: usize,
        padding: usize,
    ) -> Result<NodeId, Error> {
        let input = self.shape(from);
        let height = window_count(&name, input.height, kernel, stride, padding)?;
        let width = window_count(&name, input.width, kernel, stride, padding)?;
        let op = Op::MaxPool { kernel, stride, padding };
        Ok(self.push(name, op, vec![from], Shape { height, width, ..input }))
    }

    pub(crate) fn global_average_pool(&mut self, name: String, from: NodeId) -> NodeId {
        self.push(name, Op::GlobalAveragePool, vec![from], Shape::vector(self.shape(from).channels))
    }

    pub(crate) fn member_sum(&mut self, name: String, from: NodeId, members: usize) -> NodeId {
        let input = self.shape(from);
        let shape = Shape { channels: input.channels / members, ..input };
        self.push(name, Op::MemberSum { members }, vec![from], shape)
    }
}

/// What [`Graph::conv`] needs to know of a convolution.
#[derive(Clone, Copy)]
pub(crate) struct Conv {
    pub channels: usize,
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
    pub groups: usize,
}

/// How many windows fit along one side.
fn window_count(
    name: &str,
    side: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
) -> Result<usize, Error> {
    within(format!("the kernel size of {name}"), kernel, 1, MAX_KERNEL)?;
    let padded = side + 2 * padding;
    if padded < kernel {
        return Err(Error::Inconsistent(format!(
            "the {kernel}x{kernel} window of {name} does not fit its input of side {side} with padding {padding}"
        )));
    }
    Ok((padded - kernel) / stride + 1)
}
