//! From a graph to a program: layouts are settled and element-wise layers fused.
//!
//! A norm, a bias or a sum is not computed where it stands in the graph but kept open, as a sum of
//! at most two affine terms, until something needs its value; a ReLU that follows closes it as one
//! [`Step::Fused`].

use crate::builder::Settings;
use crate::error::{Defect, Error};
use crate::kernels::{Conv, ConvShape, Isa, Method};
use crate::options::{NormPolicy, Parametrisation, Purpose};
use crate::parameters::{Fans, Role, Table};
use crate::passes::Dims;
use crate::passes::fused::Affine;
use crate::passes::pool::{AveragePool, MaxPool};
use crate::program::{Kind, Linear, Norm, Placement, Program, Step, Term, Value, ValueId};
use collegial_arch::{Activation, Graph, Node, NodeId, Op, Shape};

/// Where the computation of a node stands.
#[derive(Clone, Debug)]
enum Lowered {
    Computed(ValueId),
    /// A sum of terms, not yet computed.
    Deferred(Vec<Term>),
}

/// What to lower for.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    pub batch: usize,
    pub parametrisation: Parametrisation,
    pub purpose: Purpose,
    norms: NormPolicy,
    isa: Isa,
    convolutions: Method,
    /// Whether norms will take statistics of such a batch.
    statistics: bool,
}

impl Options {
    pub(crate) fn new(settings: Settings, batch: usize, training: bool) -> Self {
        Self {
            batch,
            parametrisation: settings.parametrisation,
            purpose: settings.purpose,
            norms: settings.norms,
            isa: if settings.portable { Isa::Portable } else { Isa::detect() },
            convolutions: settings.convolutions,
            statistics: training && settings.norms == NormPolicy::Batch,
        }
    }
}

/// Lowers a graph.
pub(crate) fn lower(graph: &Graph, options: Options) -> Result<Program, Error> {
    if options.batch == 0 {
        return Err(Error::EmptyBatch);
    }
    if graph.nodes.is_empty() {
        return Err(Error::EmptyGraph);
    }
    let mut lowering = Lowering {
        graph,
        options,
        readers: vec![0; graph.nodes.len()],
        lowered: Vec::with_capacity(graph.nodes.len()),
        values: Vec::new(),
        steps: Vec::new(),
        parameters: Table::default(),
        norms: Vec::new(),
    };
    for node in &graph.nodes {
        for &input in &node.inputs {
            if input >= lowering.readers.len() {
                return Err(malformed(node, Defect::NoSuchInput(input)));
            }
            lowering.readers[input] += 1;
        }
    }
    for (id, node) in graph.nodes.iter().enumerate() {
        let lowered = lowering.node(id, node)?;
        lowering.lowered.push(lowered);
    }
    lowering.finish()
}

fn malformed(node: &Node, defect: Defect) -> Error {
    Error::Malformed { name: node.name.clone(), defect }
}

struct Lowering<'a> {
    graph: &'a Graph,
    options: Options,
    /// How many nodes read each node.
    readers: Vec<usize>,
    lowered: Vec<Lowered>,
    values: Vec<Value>,
    steps: Vec<Step>,
    parameters: Table,
    norms: Vec<Norm>,
}

impl Lowering<'_> {
    fn node(&mut self, id: NodeId, node: &Node) -> Result<Lowered, Error> {
        let operands = match node.op {
            Op::Input => 0,
            Op::Add | Op::Scale => 2,
            _ => 1,
        };
        if node.inputs.len() != operands || node.inputs.iter().any(|&input| input >= id) {
            return Err(malformed(node, Defect::Inputs { needed: operands, given: node.inputs.clone() }));
        }
        if let Op::Conv { groups, .. } | Op::Dense { groups, .. } | Op::MemberSum { members: groups } =
            node.op
        {
            let channels = [self.graph.nodes[node.inputs[0]].shape.channels, node.shape.channels];
            let divided =
                if matches!(node.op, Op::MemberSum { .. }) { &channels[..1] } else { &channels[..] };
            if groups == 0 || divided.iter().any(|channels| !channels.is_multiple_of(groups)) {
                return Err(malformed(node, Defect::Groups { groups, channels: divided.to_vec() }));
            }
        }
        match node.op {
            Op::Input if id > 0 => Err(malformed(node, Defect::SecondInput)),
            Op::Input => Ok(Lowered::Computed(self.image_value(node.shape))),
            Op::Conv { kernel, stride, padding, groups, bias } => {
                let pixels = self.graph.nodes[node.inputs[0]].shape.pixels();
                if [kernel, stride, padding, pixels] == [1, 1, 0, 1] {
                    // A dense layer by another name: the small layers of gates.
                    let inputs = self.graph.nodes[node.inputs[0]].shape.channels / groups;
                    return self.dense(node, groups, bias, vec![node.shape.channels, inputs, 1, 1]);
                }
                self.conv(node, [kernel, stride, padding, groups], bias)
            }
            Op::Dense { groups, bias } => {
                let inputs = self.graph.nodes[node.inputs[0]].shape.channels / groups;
                self.dense(node, groups, bias, vec![node.shape.channels, inputs])
            }
            Op::BatchNorm => self.batch_norm(node),
            Op::Activation(activation) => self.activation(node, activation),
            Op::Add => self.add(node),
            Op::Scale => {
                let (from, gate) = (self.image(node.inputs[0]), self.flat(node.inputs[1]));
                let to = self.image_value(node.shape);
                self.push(Step::Scale { from, gate, to })
            }
            Op::MaxPool { kernel, stride, padding } => {
                let from = self.image(node.inputs[0]);
                let side = |shape: Shape| (shape.height, shape.width);
                let (input, output) = (side(self.graph.nodes[node.inputs[0]].shape), side(node.shape));
                let pool = MaxPool { kernel, stride, padding, input, output };
                let to = self.image_value(node.shape);
                self.push(Step::MaxPool { pool, from, to })
            }
            Op::AveragePool { side } => {
                let from = self.image(node.inputs[0]);
                let input = self.graph.nodes[node.inputs[0]].shape;
                let pool = AveragePool { side, input: (input.height, input.width) };
                let to = self.image_value(node.shape);
                self.push(Step::AveragePool { pool, from, to })
            }
            Op::GlobalAveragePool => {
                let from = self.value_of(node.inputs[0]);
                if self.values[from].flat {
                    return Ok(Lowered::Computed(from));
                }
                let to = self.flat_value(node.shape.channels);
                self.push(Step::MeanPool { from, to })
            }
            Op::MemberSum { members } => {
                let from = self.value_of(node.inputs[0]);
                let Value { dims, flat } = self.values[from];
                let to = self.new_value(Dims { channels: node.shape.channels, ..dims }, flat);
                self.push(Step::MemberSum { members, from, to })
            }
        }
    }

    fn conv(
        &mut self,
        node: &Node,
        [kernel, stride, padding, groups]: [usize; 4],
        bias: bool,
    ) -> Result<Lowered, Error> {
        let input = self.graph.nodes[node.inputs[0]].shape;
        let channels = node.shape.channels;
        let shape = ConvShape::of(self.options.batch, input, channels, [kernel, stride, padding, groups]);
        let kind = match (groups, kernel) {
            (1, 1) => Kind::Pointwise,
            (1, _) => Kind::Convolution,
            _ => Kind::Grouped,
        };
        let weights = vec![node.shape.channels, shape.inputs, kernel, kernel];
        let from = self.image(node.inputs[0]);
        let to = self.image_value(node.shape);
        let lowered = self.linear(node, shape, weights, kind, (from, to))?;
        Ok(if bias { self.bias(node, to) } else { lowered })
    }

    /// A dense layer is a 1x1 convolution of one image whose pixels are the samples.
    fn dense(
        &mut self,
        node: &Node,
        groups: usize,
        bias: bool,
        weights: Vec<usize>,
    ) -> Result<Lowered, Error> {
        let inputs = self.graph.nodes[node.inputs[0]].shape.channels / groups;
        let units = node.shape.channels;
        let shape = ConvShape {
            batch: 1,
            groups,
            inputs,
            outputs: units / groups,
            height: 1,
            width: self.options.batch,
            kernel: 1,
            stride: 1,
            padding: 0,
        };
        let from = self.flat(node.inputs[0]);
        let to = self.flat_value(units);
        let lowered = self.linear(node, shape, weights, Kind::Dense, (from, to))?;
        Ok(if bias { self.bias(node, to) } else { lowered })
    }

    /// What a layer has put out, plus its bias.
    fn bias(&mut self, node: &Node, from: ValueId) -> Lowered {
        let shape = vec![node.shape.channels];
        let bias = self.parameters.add(format!("{}.bias", node.name), shape, Role::Shift);
        Lowered::Deferred(vec![Term { from, affine: Affine::Bias(bias) }])
    }

    fn linear(
        &mut self,
        node: &Node,
        shape: ConvShape,
        weights: Vec<usize>,
        kind: Kind,
        (from, to): (ValueId, ValueId),
    ) -> Result<Lowered, Error> {
        let conv = Conv::with_method(shape, self.options.isa, self.options.convolutions)
            .map_err(|reason| Error::Layer { name: node.name.clone(), reason })?;
        // Nodes are lowered in order: this one is next.
        let Some(fans) = Fans::of(self.graph, self.lowered.len()) else {
            return Err(malformed(node, Defect::NoWeights));
        };
        let weight = self.parameters.add(format!("{}.weight", node.name), weights, Role::Weight(fans));
        let factor = fans.factor(self.options.parametrisation) as f32;
        let index = self.steps.iter().filter(|step| matches!(step, Step::Linear(_))).count();
        let linear =
            Linear { index, from, to, conv, weight, factor, kind, bias: None, norm: None, output_norm: None };
        self.push(Step::Linear(Box::new(linear)))
    }

    fn batch_norm(&mut self, node: &Node) -> Result<Lowered, Error> {
        if self.options.norms == NormPolicy::None {
            return Ok(self.identity(node.inputs[0]));
        }
        let from = self.value_of(node.inputs[0]);
        let channels = node.shape.channels;
        if self.options.purpose == Purpose::FoldedInference
            && self.is_linear(from)
            && self.readers[node.inputs[0]] == 1
        {
            let layer = &self.graph.nodes[node.inputs[0]].name;
            let bias = self.parameters.add(format!("{layer}.bias"), vec![channels], Role::Shift);
            return Ok(Lowered::Deferred(vec![Term { from, affine: Affine::Bias(bias) }]));
        }
        let Value { dims, .. } = self.values[from];
        if self.options.statistics && dims.images * dims.pixels == 1 {
            return Err(Error::OneValuePerChannel { name: node.name.clone(), batch: self.options.batch });
        }
        let scale = self.parameters.add(format!("{}.weight", node.name), vec![channels], Role::Scale);
        let shift = self.parameters.add(format!("{}.bias", node.name), vec![channels], Role::Shift);
        let state = self.norms.len();
        self.norms.push(Norm { name: node.name.clone(), channels });
        Ok(Lowered::Deferred(vec![Term { from, affine: Affine::Norm { state, scale, shift } }]))
    }

    fn is_linear(&self, value: ValueId) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Linear(linear) if linear.to == value))
    }

    fn activation(&mut self, node: &Node, activation: Activation) -> Result<Lowered, Error> {
        let input = node.inputs[0];
        match activation {
            Activation::None => Ok(self.identity(input)),
            Activation::Relu => {
                let terms = self.terms_of(input);
                let to = self.value_like(terms[0].from);
                self.push(Step::Fused { terms, relu: true, to, placement: Placement::OwnBuffer })
            }
            _ => {
                let from = self.value_of(input);
                let to = self.value_like(from);
                self.push(Step::Activation { activation, from, to })
            }
        }
    }

    /// Whoever reads this node reads its operand.
    fn identity(&mut self, operand: NodeId) -> Lowered {
        self.readers[operand] = self.readers[operand] - 1 + self.readers[self.lowered.len()];
        self.lowered[operand].clone()
    }

    fn add(&mut self, node: &Node) -> Result<Lowered, Error> {
        let mut terms = Vec::with_capacity(2);
        for &input in &node.inputs {
            let operand = self.terms_of(input);
            if operand.len() == 1 {
                terms.extend(operand);
            } else {
                let from = self.push_fused(operand, false);
                self.lowered[input] = Lowered::Computed(from);
                terms.push(Term { from, affine: Affine::Plain });
            }
        }
        // Operands that lie differently, which only one-pixel images can.
        let flat = self.values[terms[0].from].flat;
        for (term, &input) in terms.iter_mut().zip(&node.inputs) {
            if self.values[term.from].flat != flat {
                let from = self.value_of(input);
                *term = Term { from: self.transpose(from), affine: Affine::Plain };
            }
        }
        Ok(Lowered::Deferred(terms))
    }

    /// The node as open terms: its own if no other node reads them, else its value.
    fn terms_of(&mut self, node: NodeId) -> Vec<Term> {
        match &self.lowered[node] {
            Lowered::Deferred(terms) if self.readers[node] == 1 => terms.clone(),
            _ => vec![Term { from: self.value_of(node), affine: Affine::Plain }],
        }
    }

    /// The node's value, computed now if it was open.
    fn value_of(&mut self, node: NodeId) -> ValueId {
        match self.lowered[node].clone() {
            Lowered::Computed(value) => value,
            Lowered::Deferred(terms) => {
                let value = self.push_fused(terms, false);
                self.lowered[node] = Lowered::Computed(value);
                value
            }
        }
    }

    fn push_fused(&mut self, terms: Vec<Term>, relu: bool) -> ValueId {
        let to = self.value_like(terms[0].from);
        self.steps.push(Step::Fused { terms, relu, to, placement: Placement::OwnBuffer });
        to
    }

    /// The node's value as `[units][batch]`.
    fn flat(&mut self, node: NodeId) -> ValueId {
        let value = self.value_of(node);
        if self.values[value].flat { value } else { self.transpose(value) }
    }

    /// The node's value as `[batch][channels][pixels]`.
    fn image(&mut self, node: NodeId) -> ValueId {
        let value = self.value_of(node);
        if self.values[value].flat { self.transpose(value) } else { value }
    }

    /// Turns a one-pixel value from one layout into the other.
    fn transpose(&mut self, from: ValueId) -> ValueId {
        let Value { dims: Dims { channels, .. }, flat } = self.values[from];
        let to = if flat { self.image_value(Shape::vector(channels)) } else { self.flat_value(channels) };
        self.steps.push(Step::Transpose { from, to });
        to
    }

    fn push(&mut self, step: Step) -> Result<Lowered, Error> {
        let to = step.to();
        self.steps.push(step);
        Ok(Lowered::Computed(to))
    }

    fn new_value(&mut self, dims: Dims, flat: bool) -> ValueId {
        self.values.push(Value { dims, flat });
        self.values.len() - 1
    }

    fn value_like(&mut self, value: ValueId) -> ValueId {
        let Value { dims, flat } = self.values[value];
        self.new_value(dims, flat)
    }

    fn image_value(&mut self, shape: Shape) -> ValueId {
        let dims = Dims { images: self.options.batch, channels: shape.channels, pixels: shape.pixels() };
        self.new_value(dims, false)
    }

    fn flat_value(&mut self, channels: usize) -> ValueId {
        self.new_value(Dims { images: 1, channels, pixels: self.options.batch }, true)
    }

    fn finish(mut self) -> Result<Program, Error> {
        let last = self.graph.nodes.len() - 1;
        let output = self.image(last);
        let Self { values, steps, parameters, norms, options, .. } = self;
        let mut program = Program { values, steps, input: 0, output, parameters, norms };
        program.reuse_operand_buffers(options.purpose);
        // Results that are scaled behind a layer cannot have their bias yet.
        if options.purpose != Purpose::Observation {
            program.fuse_biases_into_producers();
        }
        // Who observes sees what layers read, and inference keeps nothing anyway.
        if options.purpose == Purpose::Training {
            program.fuse_norms_into_consumers();
        }
        Ok(program)
    }
}

impl Program {
    /// Lets fused steps overwrite an operand that no other step reads, now or in the backward pass.
    fn reuse_operand_buffers(&mut self, purpose: Purpose) {
        let mut readers = vec![0; self.values.len()];
        let mut kept = vec![false; self.values.len()];
        for step in &self.steps {
            step.inputs().for_each(|value| readers[value] += 1);
            if purpose.has_backward() {
                step.saved_for_backward().for_each(|value| kept[value] = true);
            }
        }
        let free = |value: ValueId| readers[value] == 1 && !kept[value] && value != self.input;
        for step in &mut self.steps {
            let Step::Fused { terms, placement, .. } = step else { continue };
            if let Some(index) = terms.iter().position(|term| free(term.from)) {
                terms.swap(0, index);
                *placement = Placement::InPlace;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_arch::Spec;

    /// Where the norms of a bottleneck network come to lie: (left to a reader, stored).
    fn norms(purpose: Purpose) -> (usize, usize) {
        let spec: Spec = "resnext29-2x4d".parse().expect("a known network");
        let settings = Settings { purpose, ..Settings::default() };
        let graph = spec.graph().expect("a valid network");
        let program = lower(&graph, Options::new(settings, 2, true)).expect("a valid network");
        let places = program.steps.iter().filter_map(|step| match step {
            Step::Fused { placement, .. } => {
                Some(matches!(placement, Placement::FusedIntoConsumer | Placement::FusedIntoBoth))
            }
            _ => None,
        });
        places.fold((0, 0), |(left, stored), to_reader| {
            (left + usize::from(to_reader), stored + usize::from(!to_reader))
        })
    }

    /// Nine blocks of three layers: two norms of each have one reader, a layer. The third is part of
    /// the block's sum, which the next block reads twice, as it reads the stem's. One more step is
    /// the classifier's bias.
    #[test]
    fn training_stores_no_norm_that_one_layer_reads() {
        assert_eq!(norms(Purpose::Training), (18, 11));
        assert_eq!(norms(Purpose::Observation), (0, 29));
        assert_eq!(norms(Purpose::Inference), (0, 29));
    }
}
