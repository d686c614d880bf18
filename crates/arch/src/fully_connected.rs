//! Fully connected networks and ensembles of them (Eqs. 1 and 2): bias-free, 1/sqrt(m) at the
//! output.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::sequence::{Activation, Join, Layer, Norm, Sequence, Shortcut};
use crate::shape::Shape;

/// m fully connected networks on the same input, summed and divided by sqrt(m).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullyConnected {
    /// Inputs n_0.
    pub inputs: usize,
    /// Outputs.
    pub outputs: usize,
    /// The multiplicity m.
    #[serde(default = "one")]
    pub members: usize,
    /// What follows every hidden layer.
    #[serde(default = "relu")]
    pub activation: Activation,
    /// Hidden widths n_1, n_2, ... of one member.
    pub widths: Vec<usize>,
}

fn one() -> usize {
    1
}

fn relu() -> Activation {
    Activation::Relu
}

impl FullyConnected {
    /// A ReLU network on MNIST (784 inputs, 10 outputs), which the names `fc6-500` stand for.
    pub fn mnist(members: usize, widths: Vec<usize>) -> Self {
        Self { inputs: 784, outputs: 10, members, activation: Activation::Relu, widths }
    }

    /// The number of weight matrices L.
    pub fn depth(&self) -> usize {
        self.widths.len() + 1
    }

    /// The sum over the L layers of 1/n_l as the paper counts it for these networks: L/n at
    /// constant width (its Fig. 3 has S = 6/n for six matrices, although only five widths are
    /// hidden and n_0 is not among them). For a width vector: L times the mean of the inverse
    /// hidden widths.
    pub fn inverse_width_sum(&self) -> f64 {
        let hidden = self.widths.len();
        let sum: f64 = self.widths.iter().map(|&width| 1.0 / width as f64).sum();
        if hidden == 0 { 0.0 } else { sum * self.depth() as f64 / hidden as f64 }
    }

    /// The same as a chain of dense layers.
    pub fn sequence(&self) -> Sequence {
        let hidden = self.widths.iter().map(|&width| Layer::Dense {
            width,
            norm: Norm::None,
            activation: self.activation,
        });
        let last = Layer::Dense { width: self.outputs, norm: Norm::None, activation: Activation::None };
        Sequence {
            name: self.name(),
            input: Shape::vector(self.inputs),
            members: self.members,
            join: Join::ScaledSum,
            shortcut: Shortcut::None,
            layers: hidden.chain([last]).collect(),
        }
    }

    /// `fc6-500`, `fc6-30x48`, or `fc3-4x100,50` for a width vector.
    pub fn name(&self) -> String {
        let constant = self.widths.windows(2).all(|pair| pair[0] == pair[1]);
        let widths = match self.widths.first() {
            Some(width) if constant => width.to_string(),
            _ => self.widths.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        };
        match (self.members, widths.is_empty()) {
            (1, true) => format!("fc{}", self.depth()),
            (1, false) => format!("fc{}-{widths}", self.depth()),
            (members, _) => format!("fc{}-{members}x{widths}", self.depth()),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.sequence().check()
    }
}
