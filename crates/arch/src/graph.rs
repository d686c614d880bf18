//! A network as a list of elementary operations in the order of computation.
//!
//! Engines interpret it, exporters write it, [`counts`](crate::counts) adds it up. Every
//! [`Spec`](crate::Spec) has one, with torchvision's names (`layer1.0.conv2`), so that weights can
//! be exchanged; a network that no spec describes is built layer by layer, see [`Graph::new`].

use std::collections::HashMap;
use std::fmt::Display;

use crate::Error;
use crate::layers::Layers;
use crate::sequence::Activation;
use crate::shape::Shape;

/// Index of a node in its graph.
pub type NodeId = usize;

/// The node that every network begins with.
pub(crate) const INPUT: NodeId = 0;

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

/// Keeps every layer with its name, which must be new.
impl Layers for Graph {
    fn empty() -> Self {
        Self { nodes: Vec::new(), by_name: HashMap::new() }
    }

    fn count(&self) -> usize {
        self.nodes.len()
    }

    fn shape(&self, node: NodeId) -> Shape {
        self.nodes[node].shape
    }

    fn append(
        &mut self,
        name: impl Display,
        op: Op,
        inputs: &[NodeId],
        shape: Shape,
    ) -> Result<NodeId, Error> {
        let (name, id) = (name.to_string(), self.nodes.len());
        if name.is_empty() || self.find(&name).is_some() {
            return Err(Error::Invalid(format!(
                "a layer cannot be called {name:?}: layers of a graph need names, each another one"
            )));
        }
        self.by_name.insert(name.clone(), id);
        self.nodes.push(Node { name, op, inputs: inputs.to_vec(), shape });
        Ok(id)
    }
}

/// A graph whose layers have no names, for those who only look at its operations.
#[derive(Debug)]
pub(crate) struct Unnamed(pub Graph);

impl Layers for Unnamed {
    fn empty() -> Self {
        Self(Graph::empty())
    }

    fn count(&self) -> usize {
        self.0.nodes.len()
    }

    fn shape(&self, node: NodeId) -> Shape {
        self.0.nodes[node].shape
    }

    fn append(
        &mut self,
        _name: impl Display,
        op: Op,
        inputs: &[NodeId],
        shape: Shape,
    ) -> Result<NodeId, Error> {
        self.0.nodes.push(Node { name: String::new(), op, inputs: inputs.to_vec(), shape });
        Ok(self.0.nodes.len() - 1)
    }
}

impl Graph {
    /// The input's node.
    pub fn input(&self) -> NodeId {
        INPUT
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
}
