//! Lowering of layers with parameters, activations and residual sums.

use super::{Lowered, Lowering, malformed};
use crate::error::Error;
use crate::kernels::{Conv, ConvShape};
use crate::options::{Mode, NormPolicy, Purpose};
use crate::parameters::{Fans, Role};
use crate::passes::fused::{Affine, FusedActivation};
use crate::program::{Kind, Linear, Norm, Step, Term, Value, ValueId};
use collegial_arch::{Activation, Node, NodeId, Op};

/// A layer before its weights are known.
struct NewLayer {
    shape: ConvShape,
    /// Shape of the weights.
    weights: Vec<usize>,
    kind: Kind,
    from: ValueId,
    to: ValueId,
}

impl Lowering<'_> {
    /// A convolution or a dense layer, with its bias deferred.
    pub(super) fn layer(&mut self, node: &Node) -> Result<Lowered, Error> {
        let (layer, bias) = match node.op {
            Op::Conv { kernel: 1, stride: 1, padding: 0, groups, bias }
                if self.operand_shape(node).pixels() == 1 =>
            {
                // A dense layer by another name, as squeeze-and-excitation has them.
                let inputs = self.operand_shape(node).channels / groups;
                (self.dense(node, groups, vec![node.shape.channels, inputs, 1, 1]), bias)
            }
            Op::Conv { kernel, stride, padding, groups, bias } => {
                let input = self.operand_shape(node);
                let shape = ConvShape {
                    batch: self.options.batch,
                    groups,
                    inputs: input.channels / groups,
                    outputs: node.shape.channels / groups,
                    height: input.height,
                    width: input.width,
                    kernel,
                    stride,
                    padding,
                };
                (self.conv(node, shape), bias)
            }
            Op::Dense { groups, bias } => {
                let inputs = self.operand_shape(node).channels / groups;
                (self.dense(node, groups, vec![node.shape.channels, inputs]), bias)
            }
            _ => return Err(malformed(node, "has no weights")),
        };
        let to = layer.to;
        let lowered = self.linear(node, layer)?;
        Ok(if bias { self.bias(node, to) } else { lowered })
    }

    fn conv(&mut self, node: &Node, shape: ConvShape) -> NewLayer {
        let kind = match (shape.groups, shape.kernel) {
            (1, 1) => Kind::Pointwise,
            (1, _) => Kind::Convolution,
            _ => Kind::Grouped,
        };
        let weights = vec![node.shape.channels, shape.inputs, shape.kernel, shape.kernel];
        let from = self.image(node.inputs[0]);
        let to = self.image_value(node.shape);
        NewLayer { shape, weights, kind, from, to }
    }

    /// A dense layer is a 1x1 convolution of one image whose pixels are the samples.
    fn dense(&mut self, node: &Node, groups: usize, weights: Vec<usize>) -> NewLayer {
        let units = node.shape.channels;
        let shape = ConvShape {
            batch: 1,
            groups,
            inputs: self.operand_shape(node).channels / groups,
            outputs: units / groups,
            height: 1,
            width: self.options.batch,
            kernel: 1,
            stride: 1,
            padding: 0,
        };
        let from = self.flat(node.inputs[0]);
        NewLayer { shape, weights, kind: Kind::Dense, from, to: self.flat_value(units) }
    }

    /// The bias of a layer's result, deferred.
    fn bias(&mut self, node: &Node, from: ValueId) -> Lowered {
        let shape = vec![node.shape.channels];
        let bias = self.parameters.add(format!("{}.bias", node.name), shape, Role::Shift);
        Lowered::Deferred(vec![Term { from, affine: Affine::Bias(bias) }])
    }

    fn linear(&mut self, node: &Node, layer: NewLayer) -> Result<Lowered, Error> {
        let NewLayer { shape, weights, kind, from, to } = layer;
        let conv = Conv::with_method(shape, self.options.isa, self.options.convolutions)
            .map_err(|reason| Error::Layer { name: node.name.clone(), reason })?;
        // Nodes are lowered in order: this one is next.
        let Some(fans) = Fans::of(self.graph, self.lowered.len()) else {
            return Err(malformed(node, "has no weights"));
        };
        let weight = self.parameters.add(format!("{}.weight", node.name), weights, Role::Weight(fans));
        Ok(self.push(Step::Linear(Box::new(Linear {
            index: self.steps.iter().filter(|step| matches!(step, Step::Linear(_))).count(),
            from,
            to,
            conv,
            weight,
            factor: fans.factor(self.options.parametrisation) as f32,
            kind,
            bias: None,
            input_norm: None,
            output_norm: None,
        }))))
    }

    pub(super) fn batch_norm(&mut self, node: &Node) -> Result<Lowered, Error> {
        if self.options.norm == NormPolicy::None {
            return Ok(self.identity(node.inputs[0]));
        }
        let from = self.value_of(node.inputs[0]);
        let channels = node.shape.channels;
        if self.options.purpose == Purpose::FoldedInference
            && self.is_linear(from)
            && self.consumers[node.inputs[0]] == 1
        {
            let layer = &self.graph.nodes[node.inputs[0]].name;
            let bias = self.parameters.add(format!("{layer}.bias"), vec![channels], Role::Shift);
            return Ok(Lowered::Deferred(vec![Term { from, affine: Affine::Bias(bias) }]));
        }
        let Value { dims, .. } = self.values[from];
        if self.options.mode == Mode::Train && dims.images * dims.pixels == 1 {
            return Err(Error::Invalid(format!(
                "{name} cannot be trained on a batch of {batch}: a norm needs at least two values per \
                 channel, and there is one",
                name = node.name,
                batch = self.options.batch
            )));
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

    pub(super) fn activation(&mut self, node: &Node, activation: Activation) -> Lowered {
        let input = node.inputs[0];
        match activation {
            Activation::None => self.identity(input),
            Activation::Relu => {
                let terms = self.terms_of(input);
                Lowered::Computed(self.push_fused(terms, FusedActivation::Relu))
            }
            _ => {
                let from = self.value_of(input);
                let to = self.value_like(from);
                self.push(Step::Activation { activation, from, to })
            }
        }
    }

    /// The identity: consumers of this node read its operand.
    fn identity(&mut self, operand: NodeId) -> Lowered {
        self.consumers[operand] = self.consumers[operand] - 1 + self.consumers[self.lowered.len()];
        self.lowered[operand].clone()
    }

    /// A residual sum, deferred.
    pub(super) fn add(&mut self, node: &Node) -> Lowered {
        let mut terms = Vec::with_capacity(2);
        for &input in &node.inputs {
            let operand = self.terms_of(input);
            if operand.len() == 1 {
                terms.extend(operand);
            } else {
                let from = self.push_fused(operand, FusedActivation::Identity);
                self.lowered[input] = Lowered::Computed(from);
                terms.push(Term { from, affine: Affine::Plain });
            }
        }
        // Operands of different layouts, which only one-pixel images can have.
        let layout = self.values[terms[0].from].layout;
        for (term, &input) in terms.iter_mut().zip(&node.inputs) {
            if self.values[term.from].layout != layout {
                let from = self.value_of(input);
                *term = Term { from: self.transpose(from), affine: Affine::Plain };
            }
        }
        Lowered::Deferred(terms)
    }
}
