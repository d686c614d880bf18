//! Lowering: from a graph to a program, with tensor layouts chosen and element-wise layers fused.
//!
//! A norm, a bias or a residual sum is not computed at its place in the graph but deferred, as a sum
//! of at most two affine terms, until a consumer needs its value; a ReLU behind it becomes part of the
//! same [`Fused`](crate::program::Fused) step.

mod fuse;
mod layers;
mod values;

use std::fmt;

use crate::builder::Settings;
use crate::error::Error;
use crate::kernels::{Isa, Method};
use crate::observed::Layout;
use crate::options::{Mode, NormPolicy, Parametrisation, Purpose};
use crate::parameters::Table;
use crate::passes::Dims;
use crate::passes::pool::{AveragePool, MaxPool};
use crate::program::{Norm, Program, Step, Term, Value, ValueId};
use collegial_arch::{Graph, Node, NodeId, Op, Shape};

/// Result of lowering a node.
#[derive(Clone, Debug)]
enum Lowered {
    Computed(ValueId),
    /// A sum of terms, not yet computed.
    Deferred(Vec<Term>),
}

/// Options of a lowering.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    pub batch: usize,
    pub parametrisation: Parametrisation,
    pub purpose: Purpose,
    norm: NormPolicy,
    isa: Isa,
    convolutions: Method,
    /// The statistics that norms will use.
    mode: Mode,
}

impl Options {
    pub(crate) fn new(settings: Settings, batch: usize, mode: Mode) -> Self {
        Self {
            batch,
            parametrisation: settings.parametrisation,
            purpose: settings.purpose,
            norm: settings.norm,
            isa: settings.isa(),
            convolutions: settings.convolutions,
            mode: if settings.norm == NormPolicy::Batch { mode } else { Mode::Evaluate },
        }
    }
}

/// Lowers a graph.
pub(crate) fn lower(graph: &Graph, options: Options) -> Result<Program, Error> {
    if options.batch == 0 {
        return Err(Error::EmptyBatch);
    }
    if graph.nodes.is_empty() {
        return Err(Error::Invalid("the graph has no nodes".into()));
    }
    let mut lowering = Lowering {
        graph,
        options,
        consumers: vec![0; graph.nodes.len()],
        lowered: Vec::with_capacity(graph.nodes.len()),
        values: Vec::new(),
        steps: Vec::new(),
        parameters: Table::default(),
        norms: Vec::new(),
    };
    for node in &graph.nodes {
        for &input in &node.inputs {
            if input >= lowering.consumers.len() {
                return Err(malformed(node, format!("reads node {input}, which does not exist")));
            }
            lowering.consumers[input] += 1;
        }
    }
    for (id, node) in graph.nodes.iter().enumerate() {
        lowering.check(id, node)?;
        let lowered = lowering.node(node)?;
        lowering.lowered.push(lowered);
    }
    Ok(lowering.finish())
}

fn malformed(node: &Node, defect: impl fmt::Display) -> Error {
    Error::Invalid(format!("the graph is not well formed at {}: it {defect}", node.name))
}

struct Lowering<'a> {
    graph: &'a Graph,
    options: Options,
    /// How many nodes read each node.
    consumers: Vec<usize>,
    lowered: Vec<Lowered>,
    values: Vec<Value>,
    steps: Vec<Step>,
    parameters: Table,
    norms: Vec<Norm>,
}

impl Lowering<'_> {
    /// Checks that a node has the right number of earlier inputs, and groups that divide its channels.
    fn check(&self, id: NodeId, node: &Node) -> Result<(), Error> {
        let operands = match node.op {
            Op::Input => 0,
            Op::Add | Op::Scale => 2,
            _ => 1,
        };
        if node.inputs.len() != operands || node.inputs.iter().any(|&input| input >= id) {
            let defect = format!("needs {operands} earlier nodes, not {:?}", node.inputs);
            return Err(malformed(node, defect));
        }
        if node.op == Op::Input && id > 0 {
            return Err(malformed(node, "is an input, which only the first node can be"));
        }
        let (groups, divided) = match node.op {
            Op::Conv { groups, .. } | Op::Dense { groups, .. } => {
                (groups, vec![self.operand_shape(node).channels, node.shape.channels])
            }
            Op::MemberSum { members } => (members, vec![self.operand_shape(node).channels]),
            _ => return Ok(()),
        };
        if groups == 0 || divided.iter().any(|channels| !channels.is_multiple_of(groups)) {
            let defect = format!("has {groups} groups, which do not divide {divided:?} channels");
            return Err(malformed(node, defect));
        }
        Ok(())
    }

    /// Shape of a node's first operand.
    fn operand_shape(&self, node: &Node) -> Shape {
        self.graph.nodes[node.inputs[0]].shape
    }

    fn node(&mut self, node: &Node) -> Result<Lowered, Error> {
        let side = |shape: Shape| (shape.height, shape.width);
        Ok(match node.op {
            Op::Input => Lowered::Computed(self.image_value(node.shape)),
            Op::Conv { .. } | Op::Dense { .. } => self.layer(node)?,
            Op::BatchNorm => self.batch_norm(node)?,
            Op::Activation(activation) => self.activation(node, activation),
            Op::Add => self.add(node),
            Op::Scale => {
                let (from, factors) = (self.image(node.inputs[0]), self.flat(node.inputs[1]));
                let to = self.image_value(node.shape);
                self.push(Step::Scale { from, factors, to })
            }
            Op::MaxPool { kernel, stride, padding } => {
                let (from, input) = (self.image(node.inputs[0]), side(self.operand_shape(node)));
                let pool = MaxPool { kernel, stride, padding, input, output: side(node.shape) };
                let to = self.image_value(node.shape);
                self.push(Step::MaxPool { pool, from, to })
            }
            Op::AveragePool { side: window } => {
                let (from, input) = (self.image(node.inputs[0]), side(self.operand_shape(node)));
                let to = self.image_value(node.shape);
                self.push(Step::AveragePool { pool: AveragePool { side: window, input }, from, to })
            }
            Op::GlobalAveragePool => self.global_average_pool(node),
            Op::MemberSum { members } => {
                let from = self.value_of(node.inputs[0]);
                let Value { dims, layout } = self.values[from];
                let to = self.new_value(Dims { channels: node.shape.channels, ..dims }, layout);
                self.push(Step::MemberSum { members, from, to })
            }
        })
    }

    fn global_average_pool(&mut self, node: &Node) -> Lowered {
        let from = self.value_of(node.inputs[0]);
        if self.values[from].layout == Layout::Channels {
            return Lowered::Computed(from);
        }
        let to = self.flat_value(node.shape.channels);
        self.push(Step::MeanPool { from, to })
    }

    fn finish(mut self) -> Program {
        let last = self.graph.nodes.len() - 1;
        let output = self.image(last);
        let Self { values, steps, parameters, norms, options, .. } = self;
        let mut program = Program { values, steps, input: 0, output, parameters, norms };
        program.reuse_operand_buffers(options.purpose);
        // An observed layer's result is scaled behind it, before a bias can be added.
        if options.purpose != Purpose::Observation {
            program.fuse_biases_into_producers();
        }
        // An observer sees the inputs of layers, and inference stores nothing for later anyway.
        if options.purpose == Purpose::Training {
            program.fuse_norms_into_consumers();
        }
        program
    }
}
