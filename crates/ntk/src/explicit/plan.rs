//! A graph prepared for the kernel: which values are computed, which are kept, where gradients go.

use std::ops::Range;

use collegial_arch::{Activation, Graph, Node, NodeId, Op, Shape};
use collegial_nn::Fans;
use collegial_nn::kernels::ConvShape;

use super::linear::Linear;
use super::weights::Weights;
use super::{Norms, Options, Readout};
use crate::Error;

/// What a step does.
pub(crate) enum Kind {
    Input,
    Linear(Box<Linear>),
    /// A frozen batch norm.
    Norm(Norm),
    Activation(Activation),
    Add,
    MaxPool(MaxPool),
    MeanPool,
    MemberSum(usize),
    /// Reads as its operand.
    Nothing,
}

/// Places of a norm's tensors among the weights.
pub(crate) struct Norm {
    pub scale: Range<usize>,
    pub shift: Range<usize>,
    pub mean: Range<usize>,
    pub variance: Range<usize>,
}

/// A pool's window.
#[derive(Clone, Copy)]
pub(crate) struct MaxPool {
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
}

/// A node of the graph, prepared.
pub(crate) struct Step {
    pub kind: Kind,
    /// Operands; none of them is a [`Kind::Nothing`].
    pub inputs: Vec<NodeId>,
    pub shape: Shape,
    /// Whether the backward pass depends on its value.
    pub computed: bool,
    /// Whether the result takes the memory of the first operand.
    pub in_place: bool,
    /// Whether parameters lie at or below it.
    pub has_parameters: bool,
    /// Values that nobody needs once this step is done.
    pub releases: Vec<NodeId>,
}

/// The whole graph, prepared for a number of images.
pub(crate) struct Plan {
    pub steps: Vec<Step>,
    pub output: NodeId,
    pub count: usize,
}

impl Plan {
    pub(crate) fn new(
        graph: &Graph,
        options: &Options,
        count: usize,
        weights: &Weights,
    ) -> Result<Self, Error> {
        let mut meant: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
        let mut steps: Vec<Step> = Vec::with_capacity(graph.nodes.len());
        for (id, node) in graph.nodes.iter().enumerate() {
            let inputs: Vec<NodeId> = node.inputs.iter().map(|&input| meant[input]).collect();
            let kind = kind(graph, id, options, count, weights)?;
            meant.push(if matches!(kind, Kind::Nothing) { inputs[0] } else { id });
            let has_parameters = matches!(kind, Kind::Linear(_) | Kind::Norm(_))
                || inputs.iter().any(|&input| steps[input].has_parameters);
            let channels = match &kind {
                Kind::Linear(linear) => linear.shape.groups * linear.shape.outputs,
                _ => node.shape.channels,
            };
            steps.push(Step {
                kind,
                inputs,
                shape: Shape { channels, ..node.shape },
                computed: false,
                in_place: false,
                has_parameters,
                releases: vec![],
            });
        }
        let output = meant[graph.nodes.len() - 1];
        let mut plan = Self { steps, output, count };
        plan.settle_memory();
        Ok(plan)
    }

    /// Where the weights lie that the kernel depends on.
    pub(crate) fn weights(&self) -> impl Iterator<Item = &Range<usize>> {
        self.steps.iter().filter_map(|step| match &step.kind {
            Kind::Linear(linear) => Some(&linear.weight),
            _ => None,
        })
    }

    /// Floats of a node's value.
    pub(crate) fn len(&self, node: NodeId) -> usize {
        self.count * self.steps[node].shape.channels * self.steps[node].shape.pixels()
    }

    /// Only what the backward pass reads is computed and kept: the outputs themselves are not.
    fn settle_memory(&mut self) {
        let mut kept = vec![false; self.steps.len()];
        for (id, step) in self.steps.iter().enumerate() {
            match step.kind {
                Kind::Linear(_) | Kind::Norm(_) | Kind::MaxPool(_) => kept[step.inputs[0]] = true,
                Kind::Activation(Activation::Relu) => kept[id] = true,
                Kind::Activation(_) => {
                    kept[step.inputs[0]] = true;
                    kept[id] = true;
                }
                _ => {}
            }
        }
        let mut last_reader = vec![None; self.steps.len()];
        let mut readers = vec![0; self.steps.len()];
        for id in (0..self.steps.len()).rev() {
            let needed = kept[id] || readers[id] > 0;
            self.steps[id].computed = needed && !matches!(self.steps[id].kind, Kind::Nothing);
            if self.steps[id].computed {
                for input in self.steps[id].inputs.clone() {
                    readers[input] += 1;
                    last_reader[input] = last_reader[input].or(Some(id));
                }
            }
        }
        for (id, reader) in last_reader.into_iter().enumerate() {
            let Some(reader) = reader.filter(|_| !kept[id] && id > 0) else { continue };
            let step = &self.steps[reader];
            let takes = matches!(step.kind, Kind::Add | Kind::Activation(Activation::Relu));
            if takes && readers[id] == 1 && step.inputs[0] == id {
                self.steps[reader].in_place = true;
            } else {
                self.steps[reader].releases.push(id);
            }
        }
    }
}

fn kind(
    graph: &Graph,
    id: NodeId,
    options: &Options,
    count: usize,
    weights: &Weights,
) -> Result<Kind, Error> {
    let node = &graph.nodes[id];
    Ok(match node.op {
        Op::Input => Kind::Input,
        Op::Conv { .. } | Op::Dense { .. } => {
            Kind::Linear(Box::new(linear(graph, id, options, count, weights)?))
        }
        Op::BatchNorm => match options.norms {
            Norms::None => Kind::Nothing,
            Norms::Frozen => {
                let range = |what: &str| weights.range(&format!("{}.{what}", node.name));
                Kind::Norm(Norm {
                    scale: range("weight"),
                    shift: range("bias"),
                    mean: range("running_mean"),
                    variance: range("running_var"),
                })
            }
        },
        Op::Activation(Activation::None) => Kind::Nothing,
        Op::Activation(activation) => Kind::Activation(activation),
        Op::Add => Kind::Add,
        Op::MaxPool { kernel, stride, padding } => Kind::MaxPool(MaxPool { kernel, stride, padding }),
        Op::GlobalAveragePool if graph.nodes[node.inputs[0]].shape.pixels() == 1 => Kind::Nothing,
        Op::GlobalAveragePool => Kind::MeanPool,
        Op::MemberSum { members } => Kind::MemberSum(members),
    })
}

fn linear(
    graph: &Graph,
    id: NodeId,
    options: &Options,
    count: usize,
    weights: &Weights,
) -> Result<Linear, Error> {
    let node: &Node = &graph.nodes[id];
    let input = graph.nodes[node.inputs[0]].shape;
    let (kernel, stride, padding, groups, bias) = match node.op {
        Op::Conv { kernel, stride, padding, groups } => (kernel, stride, padding, groups, false),
        Op::Dense { groups, bias } => (1, 1, 0, groups, bias),
        _ => return Err(Error::NoParameters { module: node.name.clone() }),
    };
    if groups == 0 || !input.channels.is_multiple_of(groups) || !node.shape.channels.is_multiple_of(groups) {
        return Err(Error::Layer {
            name: node.name.clone(),
            reason: format!(
                "{groups} groups do not divide its {} inputs and {} outputs",
                input.channels, node.shape.channels
            ),
        });
    }
    let shape = ConvShape::of(count, input, node.shape.channels, [kernel, stride, padding, groups]);
    let refuse = |reason: collegial_nn::kernels::ShapeError| Error::Layer {
        name: node.name.clone(),
        reason: reason.to_string(),
    };
    shape.validate().map_err(refuse)?;
    let factor = Fans::of(graph, id).map_or(1.0, |fans| fans.factor(options.parametrisation)) as f32;
    let weight = weights.range(&format!("{}.weight", node.name));
    let bias = bias.then(|| weights.range(&format!("{}.bias", node.name)));
    let Some(unit) = only_unit(graph, id, options).filter(|&unit| unit < shape.outputs) else {
        return Linear::new(shape, factor, weight, bias).map_err(refuse);
    };
    let row = |range: Range<usize>| {
        let len = range.len() / shape.outputs;
        range.start + unit * len..range.start + (unit + 1) * len
    };
    Linear::new(ConvShape { outputs: 1, ..shape }, factor, row(weight), bias.map(row)).map_err(refuse)
}

/// The one output unit of the last layer that the kernel depends on, where the layer is not grouped: its other outputs are
/// left out.
pub(crate) fn only_unit(graph: &Graph, id: NodeId, options: &Options) -> Option<usize> {
    let ungrouped = matches!(graph.nodes[id].op, Op::Conv { groups: 1, .. } | Op::Dense { groups: 1, .. });
    match options.readout {
        Readout::Unit(unit) | Readout::PooledUnit(unit) if ungrouped && id + 1 == graph.nodes.len() => {
            Some(unit)
        }
        _ => None,
    }
}
