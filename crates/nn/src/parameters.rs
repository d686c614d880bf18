//! Parameters by torchvision's names, in one flat array, and their initial values.

use crate::{Error, Parametrisation};
use collegial_arch::{Activation, Graph, Linear, NodeId, Op};
use collegial_core::Rng;
use std::ops::Range;

/// Fan-in, fan-out and gain of a layer, which decide the scale of its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fans {
    /// Inputs of a unit.
    fan_in: f64,
    /// Output channels of all groups x kernel area.
    fan_out: f64,
    /// 2 before a ReLU, 1 otherwise.
    gain: f64,
    convolution: bool,
}

impl Fans {
    /// Of a convolution or a dense layer of a graph, whose groups divide its channels; `None` for
    /// other nodes.
    pub fn of(graph: &Graph, layer: NodeId) -> Option<Self> {
        let node = &graph.nodes[layer];
        let (area, groups, convolution) = match node.op {
            Op::Conv { kernel, groups, .. } => (kernel * kernel, groups, true),
            Op::Dense { groups, .. } => (1, groups, false),
            _ => return None,
        };
        let inputs = graph.nodes[node.inputs[0]].shape.channels / groups;
        let gain = if graph.meets_relu(layer) { 2.0 } else { 1.0 };
        let (fan_in, fan_out) = ((inputs * area) as f64, (node.shape.channels * area) as f64);
        Some(Self { fan_in, fan_out, gain, convolution })
    }

    /// Of a layer of a chain, whose units read `inputs` channels and whose groups have `outputs`
    /// channels in all; both may be real-valued.
    pub fn of_linear(layer: &Linear, inputs: f64, outputs: f64) -> Self {
        let area = (layer.kernel * layer.kernel) as f64;
        let gain = if layer.activation == Activation::Relu { 2.0 } else { 1.0 };
        Self { fan_in: inputs * area, fan_out: outputs * area, gain, convolution: !layer.dense }
    }

    /// The factor by which the layer multiplies its weights.
    pub fn factor(&self, parametrisation: Parametrisation) -> f64 {
        match parametrisation {
            Parametrisation::Standard => 1.0,
            Parametrisation::Ntk => (self.gain / self.fan_in).sqrt(),
        }
    }

    /// The standard deviation of the layer's initial weights. Standard: convolutions sqrt(2 /
    /// fan-out), as torchvision initialises ResNets; dense layers sqrt(gain / fan-in). NTK: 1.
    pub fn deviation(&self, parametrisation: Parametrisation) -> f64 {
        match (parametrisation, self.convolution) {
            (Parametrisation::Ntk, _) => 1.0,
            (Parametrisation::Standard, true) => (2.0 / self.fan_out).sqrt(),
            (Parametrisation::Standard, false) => (self.gain / self.fan_in).sqrt(),
        }
    }

    /// Draws a layer's initial weights, normal with mean 0 and their
    /// [standard deviation](Self::deviation). `index` is the layer's place among the parameters:
    /// every tensor has a trial of its own, so that its numbers do not depend on the others.
    pub fn draw(&self, parametrisation: Parametrisation, seed: u64, index: usize, values: &mut [f32]) {
        Rng::new(seed, INITIAL_WEIGHTS, index as u64).fill_normal(values);
        if parametrisation == Parametrisation::Standard {
            let deviation = self.deviation(parametrisation) as f32;
            values.iter_mut().for_each(|value| *value *= deviation);
        }
    }
}

/// Role of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// Of a convolution or a dense layer.
    Weight(Fans),
    /// Of a norm.
    Scale,
    /// Of a norm or a dense layer.
    Shift,
}

/// A named piece of the flat array.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// torchvision's name: `layer1.0.conv2.weight`.
    pub name: String,
    /// As PyTorch has it: `[out, in of a group, k, k]` for convolutions, `[out, in of a group]` for
    /// dense layers.
    ///
    /// A block-diagonal dense layer of g groups keeps its blocks below each other, `[g * out, in]`
    /// row by row: row `o` of group `j` is row `j * out + o`, and its columns are the inputs of
    /// group `j` only. The zeros off the diagonal are not stored.
    pub shape: Vec<usize>,
    /// Its range in the flat arrays of values and gradients.
    pub range: Range<usize>,
    pub(crate) role: Role,
}

impl Parameter {
    /// Whether it belongs to a convolution or a dense layer and is not its bias.
    pub fn is_weight(&self) -> bool {
        matches!(self.role, Role::Weight(_))
    }

    /// The factor by which its layer multiplies it.
    pub fn factor(&self, parametrisation: Parametrisation) -> f64 {
        match self.role {
            Role::Weight(fans) => fans.factor(parametrisation),
            Role::Scale | Role::Shift => 1.0,
        }
    }
}

/// The table of a network's parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Parameter>,
}

impl Table {
    pub(crate) fn len(&self) -> usize {
        self.entries.last().map_or(0, |last| last.range.end)
    }

    pub(crate) fn add(&mut self, name: String, shape: Vec<usize>, role: Role) -> Range<usize> {
        let start = self.len();
        let range = start..start + shape.iter().product::<usize>();
        self.entries.push(Parameter { name, shape, range: range.clone(), role });
        range
    }

    pub(crate) fn find(&self, name: &str) -> Result<&Parameter, Error> {
        self.entries.iter().find(|entry| entry.name == name).ok_or_else(|| Error::UnknownTensor {
            name: name.to_owned(),
            first: self.entries.first().map_or_else(String::new, |entry| entry.name.clone()),
        })
    }

    /// Draws the weights, see [`Fans::draw`]; norms start as the identity, biases at 0.
    pub(crate) fn initialise(&self, parametrisation: Parametrisation, seed: u64, values: &mut [f32]) {
        for (index, entry) in self.entries.iter().enumerate() {
            let values = &mut values[entry.range.clone()];
            match entry.role {
                Role::Weight(fans) => fans.draw(parametrisation, seed, index, values),
                Role::Scale => values.fill(1.0),
                Role::Shift => values.fill(0.0),
            }
        }
    }
}

/// The stream of random numbers of initial weights: a kernel of seed s is that of the network
/// trained from seed s.
const INITIAL_WEIGHTS: u32 = 0x696e_6974;
