//! Parameters by torchvision's names, in one flat array, and their initial values.

use crate::Error;
use collegial_stats::Rng;
use std::ops::Range;

/// How weights are scaled (Eq. 1 of the paper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parametrisation {
    /// Weights are used as they are, and drawn small: what is trained in practice.
    #[default]
    Standard,
    /// The tangent kernel's: weights are N(0, 1), and the layer multiplies by sqrt(gain / fan-in) on the way, with a gain
    /// of 2 before a ReLU and 1 otherwise.
    Ntk,
}

/// What a parameter is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// Of a convolution or a dense layer.
    Weight { fan_in: usize, fan_out: usize, gain: f64, convolution: bool },
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
    /// As PyTorch has it: `[out, in of a group, k, k]` for convolutions, `[out, in of a group]` for dense layers.
    ///
    /// A block-diagonal dense layer of g groups keeps its blocks below each other, `[g * out, in]` row by row: row
    /// `o` of group `j` is row `j * out + o`, and its columns are the inputs of group `j` only. The zeros off the diagonal
    /// are not stored.
    pub shape: Vec<usize>,
    /// Where it lies in the flat arrays of values and gradients.
    pub range: Range<usize>,
    pub(crate) role: Role,
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

    /// Draws initial values; every tensor has a trial of its own, so that its numbers do not depend on the others.
    ///
    /// Standard: convolutions N(0, 2 / fan-out) with fan-out = output channels of all groups x kernel area, as torchvision
    /// initialises ResNets; dense layers N(0, gain / fan-in). NTK: N(0, 1). Norms start as the identity, biases at 0.
    pub(crate) fn initialise(&self, parametrisation: Parametrisation, seed: u64, values: &mut [f32]) {
        for (index, entry) in self.entries.iter().enumerate() {
            let values = &mut values[entry.range.clone()];
            match entry.role {
                Role::Weight { fan_in, fan_out, gain, convolution } => {
                    Rng::new(seed, INITIAL_WEIGHTS, index as u64).fill_normal(values);
                    let deviation = match (parametrisation, convolution) {
                        (Parametrisation::Ntk, _) => continue,
                        (Parametrisation::Standard, true) => (2.0 / fan_out as f64).sqrt(),
                        (Parametrisation::Standard, false) => (gain / fan_in as f64).sqrt(),
                    };
                    values.iter_mut().for_each(|value| *value *= deviation as f32);
                }
                Role::Scale => values.fill(1.0),
                Role::Shift => values.fill(0.0),
            }
        }
    }
}

/// The stream of random numbers that initial weights use.
const INITIAL_WEIGHTS: u32 = 0x696e_6974;
