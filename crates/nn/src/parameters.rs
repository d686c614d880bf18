//! Parameters by torchvision's names, in one flat array, and their initial values.

use crate::{Error, Parametrisation};
use collegial_arch::{Graph, NodeId, Op};
use collegial_core::Rng;
use std::ops::Range;

/// Fan-in, fan-out and gain of a layer, which decide the scale of its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fans {
    /// Inputs of a unit.
    fan_in: usize,
    /// Output channels of all groups x kernel area.
    fan_out: usize,
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
        Some(Self { fan_in: inputs * area, fan_out: node.shape.channels * area, gain, convolution })
    }

    /// The factor by which the layer multiplies its weights.
    pub fn factor(&self, parametrisation: Parametrisation) -> f64 {
        match parametrisation {
            Parametrisation::Standard => 1.0,
            Parametrisation::Ntk => (self.gain / self.fan_in as f64).sqrt(),
        }
    }

    /// Draws a layer's initial weights. Standard: convolutions N(0, 2 / fan-out), as torchvision
    /// initialises ResNets; dense layers N(0, gain / fan-in). NTK: N(0, 1). `index` is the layer's
    /// place among the parameters: every tensor has a trial of its own, so that its numbers do not
    /// depend on the others.
    pub fn draw(&self, parametrisation: Parametrisation, seed: u64, index: usize, values: &mut [f32]) {
        Rng::new(seed, INITIAL_WEIGHTS, index as u64).fill_normal(values);
        let deviation = match (parametrisation, self.convolution) {
            (Parametrisation::Ntk, _) => return,
            (Parametrisation::Standard, true) => (2.0 / self.fan_out as f64).sqrt(),
            (Parametrisation::Standard, false) => (self.gain / self.fan_in as f64).sqrt(),
        };
        values.iter_mut().for_each(|value| *value *= deviation as f32);
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
