//! A network as a list of elementary operations in the order of computation.
//!
//! Engines interpret it, exporters write it, [`counts`](crate::counts) adds it up. Every
//! [`Spec`](crate::Spec) has one, with torchvision's names (`layer1.0.conv2`), so that weights can
//! be exchanged; a network that no spec describes is built layer by layer, see [`Graph::new`].

use std::collections::HashMap;

use crate::Error;
use crate::sequence::Activation;
use crate::shape::Shape;

/// Index of a node in its graph.
pub type NodeId = usize;

/// One elementary operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The image or vector that comes in.
    Input,
    /// Grouped convolution; `groups` is the multiplicity m in the ResNeXt form.
    Conv {
        /// Side of the square kernel.
        kernel: usize,
        /// Step between positions.
        stride: usize,
        /// Zeros added on each side.
        padding: usize,
        /// Number of groups.
        groups: usize,
        /// Whether a bias is added.
        bias: bool,
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
    /// Every channel of an image times a number of its own, which comes from a second operand: the
    /// gate of squeeze-and-excitation.
    Scale,
    /// Maximum over square windows.
    MaxPool {
        /// Side of the window.
        kernel: usize,
        /// Step between windows.
        stride: usize,
        /// Border that never wins.
        padding: usize,
    },
    /// Mean over square windows that lie side by side; those at the right and the lower edge are
    /// cut to what lies in the image.
    AveragePool {
        /// Side of the window, and the step between windows.
        side: usize,
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
    /// The layer's name, unlike all others of its graph.
    pub name: String,
    /// What it does.
    pub op: Op,
    /// Its operands, earlier in the graph.
    pub inputs: Vec<NodeId>,
    /// The shape of its result for one image.
    pub shape: Shape,
}

/// The whole computation; the last node is the output.
///
/// Layers are added by the methods of [the builder](Graph::new), which check shapes as they go.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Nodes in an order in which they can be computed.
    pub nodes: Vec<Node>,
    by_name: HashMap<String, NodeId>,
}

impl Graph {
    /// A graph of one node, its input.
    pub(crate) fn of_input(shape: Shape) -> Self {
        let mut graph = Self { nodes: Vec::new(), by_name: HashMap::new() };
        graph.append(Node { name: "input".into(), op: Op::Input, inputs: vec![], shape });
        graph
    }

    /// Appends a node whose name is new and whose operands exist.
    pub(crate) fn append(&mut self, node: Node) -> NodeId {
        let id = self.nodes.len();
        self.by_name.insert(node.name.clone(), id);
        self.nodes.push(node);
        id
    }

    /// The input's node.
    pub fn input(&self) -> NodeId {
        0
    }

    /// The output's node: the last one.
    pub fn output(&self) -> NodeId {
        self.nodes.len() - 1
    }

    /// The shape of what comes in.
    pub fn input_shape(&self) -> Shape {
        self.nodes[self.input()].shape
    }

    /// The shape of the result.
    pub fn output_shape(&self) -> Shape {
        self.nodes[self.output()].shape
    }

    /// The node of a name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// Whether a layer's output reaches a ReLU before any other layer with weights. Half of what
    /// comes in is lost there, so that such a layer has a gain of 2, and every other one a gain of
    /// 1: weights have the variance gain / fan-in.
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

    /// The shape of a node that the caller got from this graph.
    pub(crate) fn shape(&self, node: NodeId) -> Shape {
        self.nodes[node].shape
    }

    /// The shape of a node that may not exist, which `layer` wants to read.
    pub(crate) fn operand(&self, layer: &str, node: NodeId) -> Result<Shape, Error> {
        let nodes = self.nodes.len();
        let found = self.nodes.get(node).map(|node| node.shape);
        found.ok_or_else(|| Error::UnknownNode { layer: layer.to_owned(), node, nodes })
    }
}
