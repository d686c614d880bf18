//! Exact counts, per layer and in all.
//!
//! Conventions (they reproduce every count the paper prints):
//! - parameters: weights of convolutions and dense layers, biases, and two per channel of a batch
//!   norm;
//! - FLOPs: 2 per multiply-accumulate, 1 per element of a batch norm's output, 1 per element of a
//!   residual sum, 1 per addend of a member sum, 1 per element that a gate scales;
//! - activations: elements that convolutions and dense layers put out (the convention of RegNet).

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::graph::{Graph, Node, NodeId, Op};
use crate::layers::Layers;
use crate::shape::Shape;

/// The cost of a member of an ensemble: the β of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Cost {
    /// Trainable parameters (the paper's main text).
    #[default]
    Params,
    /// Floating-point operations (the paper's appendix).
    Flops,
    /// Elements put out by convolutions and dense layers.
    Activations,
    /// Measured time of a pass of the whole network.
    Time,
}

impl Cost {
    /// What is counted, in words; times are in nanoseconds.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Params => "parameters",
            Self::Flops => "FLOPs",
            Self::Activations => "activations",
            Self::Time => "time",
        }
    }
}

impl Display for Cost {
    /// As in requests and answers: `params`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Params => "params",
            Self::Flops => "flops",
            Self::Activations => "activations",
            Self::Time => "time",
        })
    }
}

/// The counts of one layer or of a whole network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Trainable parameters.
    pub parameters: u64,
    /// Multiply-accumulates of one image as fvcore counts them: 2 for an element of a batch norm, 1
    /// for one that a global average reads.
    pub macs: u64,
    /// Floating-point operations of one image.
    pub flops: u64,
    /// Elements that convolutions and dense layers put out for one image.
    pub activations: u64,
}

impl Totals {
    /// The count that `cost` charges for; time is not counted but measured.
    pub fn of(&self, cost: Cost) -> Option<u64> {
        match cost {
            Cost::Params => Some(self.parameters),
            Cost::Flops => Some(self.flops),
            Cost::Activations => Some(self.activations),
            Cost::Time => None,
        }
    }
}

/// One line of the per-layer table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerCounts {
    /// torchvision's name of the layer.
    pub name: String,
    /// What it is, for people: `conv 3x3 /2, 37 groups`.
    pub kind: String,
    /// The shape of its output, channels x height x width.
    pub output: [usize; 3],
    /// Its counts.
    #[serde(flatten)]
    pub counts: Totals,
}

/// The counts of a network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// Layers that have parameters or cost FLOPs, in order.
    pub layers: Vec<LayerCounts>,
    /// Their sum.
    pub total: Totals,
    /// Elements that a training step keeps per image for the backward pass.
    stored_per_image: u64,
}

impl Counts {
    /// Of lines, their sums and the elements that a training step keeps.
    pub(crate) fn of_lines(layers: Vec<LayerCounts>, sums: &Wide, stored: u128) -> Result<Self, Error> {
        let stored_per_image = narrow("stored activations", stored)?;
        Ok(Self { layers, total: sums.narrow()?, stored_per_image })
    }

    /// Bytes of the weights in single precision.
    pub fn weight_bytes(&self) -> u128 {
        4 * u128::from(self.total.parameters)
    }

    /// Bytes that a training step with momentum holds at least: weights, gradients and one momentum
    /// buffer, and for every image the input and the outputs of all layers that work out of place
    /// (convolutions, dense layers, norms, pools; ReLU and additions work in place).
    pub fn training_bytes(&self, batch: usize) -> u128 {
        3 * self.weight_bytes() + 4 * batch as u128 * u128::from(self.stored_per_image)
    }
}

impl Graph {
    /// Adds up every node. Fails only when a total does not fit 64 bits.
    pub fn counts(&self) -> Result<Counts, Error> {
        let mut sums = Wide::default();
        let mut layers = Vec::new();
        let mut stored = 0u128;
        for node in &self.nodes {
            let wide = Wide::of(&node.op, self.first_operand(node), node.shape);
            sums.add(&wide);
            stored += match node.op {
                Op::Activation(_) | Op::Add => 0,
                _ => node.shape.elements(),
            };
            if wide != Wide::default() {
                layers.push(LayerCounts {
                    name: node.name.clone(),
                    kind: kind(node),
                    output: [node.shape.channels, node.shape.height, node.shape.width],
                    counts: wide.narrow()?,
                });
            }
        }
        Counts::of_lines(layers, &sums, stored)
    }

    /// The shape that a node reads first; the input's own, which reads nothing.
    fn first_operand(&self, node: &Node) -> Shape {
        node.inputs.first().map_or(node.shape, |&first| self.nodes[first].shape)
    }
}

/// The sums of a network's counts without its graph: no layer and no name is kept.
#[derive(Default)]
pub(crate) struct Tally {
    shapes: Vec<Shape>,
    sums: Wide,
}

impl Tally {
    /// What has been added up. Fails only when a total does not fit 64 bits.
    pub fn totals(&self) -> Result<Totals, Error> {
        self.sums.narrow()
    }
}

impl Layers for Tally {
    fn empty() -> Self {
        Self::default()
    }

    fn count(&self) -> usize {
        self.shapes.len()
    }

    fn shape(&self, node: NodeId) -> Shape {
        self.shapes[node]
    }

    fn append(&mut self, _: impl Display, op: Op, inputs: &[NodeId], shape: Shape) -> Result<NodeId, Error> {
        let input = inputs.first().map_or(shape, |&first| self.shapes[first]);
        self.sums.add(&Wide::of(&op, input, shape));
        self.shapes.push(shape);
        Ok(self.shapes.len() - 1)
    }
}

/// Counts in 128 bits, which no accepted spec can overflow (see [`crate::MAX_DIMENSION`]).
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Wide {
    pub parameters: u128,
    pub macs: u128,
    pub flops: u128,
    pub activations: u128,
}

impl Wide {
    /// The counts of a layer with this first operand and this output.
    fn of(op: &Op, input: Shape, output: Shape) -> Self {
        let out = output.elements();
        match *op {
            Op::Conv { kernel, groups, bias, .. } => {
                let fan_in = fan_in(input, kernel, groups);
                let parameters = output.channels as u128 * (fan_in + u128::from(bias));
                let macs = out * fan_in;
                Self { parameters, macs, flops: 2 * macs, activations: out }
            }
            Op::Dense { groups, bias } => {
                let macs = out * fan_in(input, 1, groups);
                let biases = if bias { out } else { 0 };
                Self { parameters: macs + biases, macs, flops: 2 * macs, activations: out }
            }
            Op::BatchNorm => {
                let parameters = 2 * output.channels as u128;
                Self { parameters, macs: 2 * out, flops: out, activations: 0 }
            }
            Op::Add | Op::Scale => Self { flops: out, ..Self::default() },
            Op::MemberSum { members } => Self { flops: members as u128 * out, ..Self::default() },
            Op::Input | Op::Activation(_) | Op::MaxPool { .. } | Op::AveragePool { .. } => Self::default(),
            Op::GlobalAveragePool => Self { macs: input.elements(), ..Self::default() },
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.parameters += other.parameters;
        self.macs += other.macs;
        self.flops += other.flops;
        self.activations += other.activations;
    }

    pub fn narrow(&self) -> Result<Totals, Error> {
        Ok(Totals {
            parameters: narrow("parameter count", self.parameters)?,
            macs: narrow("multiply-accumulate count", self.macs)?,
            flops: narrow("FLOP count", self.flops)?,
            activations: narrow("activation count", self.activations)?,
        })
    }
}

fn fan_in(input: Shape, kernel: usize, groups: usize) -> u128 {
    let channels = input.channels / groups;
    channels as u128 * (kernel * kernel) as u128
}

fn narrow(quantity: &'static str, value: u128) -> Result<u64, Error> {
    u64::try_from(value).map_err(|_| {
        Error::Invalid(format!(
            "the {quantity} of this network is {value}, more than this program counts (2^64 - 1)"
        ))
    })
}

/// What a node is, in the words of the per-layer table.
fn kind(node: &Node) -> String {
    let grouped = |groups: usize| if groups > 1 { format!(", {groups} groups") } else { String::new() };
    let strided = |stride: usize| if stride > 1 { format!(" /{stride}") } else { String::new() };
    match node.op {
        Op::Input => "input".into(),
        Op::Conv { kernel, stride, groups, .. } => {
            format!("conv {kernel}x{kernel}{}{}", strided(stride), grouped(groups))
        }
        Op::Dense { groups, .. } => format!("dense{}", grouped(groups)),
        Op::BatchNorm => "batch norm".into(),
        Op::Activation(activation) => activation.to_string(),
        Op::Add => "residual sum".into(),
        Op::Scale => "gate".into(),
        Op::MaxPool { kernel, stride, .. } => format!("max pool {kernel}x{kernel}{}", strided(stride)),
        Op::AveragePool { side } => format!("average pool {side}x{side}{}", strided(side)),
        Op::GlobalAveragePool => "global average pool".into(),
        Op::MemberSum { members } => format!("sum of {members} members / sqrt({members})"),
    }
}
