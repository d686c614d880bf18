//! The bottleneck residual block of ResNet and ResNeXt: 1x1 to n, 3x3, 1x1 to n_out (the paper's Fig. 5).

use serde::{Deserialize, Serialize};

use crate::design::Design;
use crate::sequence::{Activation, Join, Layer, Norm, Sequence, Shortcut};
use crate::shape::Shape;

/// m members, each reducing n_in channels to n, convolving, and expanding to n_out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// Channels n_in that come in.
    #[serde(default = "two_hundred_fifty_six")]
    pub inputs: usize,
    /// Channels n_out that go out.
    #[serde(default = "two_hundred_fifty_six")]
    pub outputs: usize,
    /// The inner width n of one member.
    pub width: usize,
    /// The multiplicity m.
    #[serde(default = "one")]
    pub members: usize,
    /// Side of the middle kernel.
    #[serde(default = "three")]
    pub kernel: usize,
    /// Step of the middle convolution.
    #[serde(default = "one")]
    pub stride: usize,
    /// Norm after every convolution.
    #[serde(default = "batch")]
    pub norm: Norm,
    /// What is added to the output.
    #[serde(default = "identity")]
    pub shortcut: Shortcut,
    /// Side of the square image it works on; counts of FLOPs and activations depend on it, the optimum does not.
    #[serde(default = "thirty_two")]
    pub image: usize,
}

fn one() -> usize {
    1
}
fn three() -> usize {
    3
}
fn thirty_two() -> usize {
    32
}
fn two_hundred_fifty_six() -> usize {
    256
}
fn batch() -> Norm {
    Norm::Batch
}
fn identity() -> Shortcut {
    Shortcut::Identity
}

impl Bottleneck {
    /// The paper's block: 256 channels in and out, batch norm, identity shortcut, 32x32 images.
    pub fn paper(design: Design) -> Self {
        Self {
            inputs: 256,
            outputs: 256,
            width: design.width,
            members: design.multiplicity,
            kernel: 3,
            stride: 1,
            norm: Norm::Batch,
            shortcut: Shortcut::Identity,
            image: 32,
        }
    }

    /// The same as a chain of three convolutions.
    pub fn sequence(&self) -> Sequence {
        let conv = |width, kernel, stride, activation| Layer::Conv {
            width,
            kernel,
            stride,
            padding: None,
            norm: self.norm,
            activation,
        };
        Sequence {
            name: self.name(),
            input: Shape::image(self.inputs, self.image),
            members: self.members,
            join: Join::LastLayer,
            shortcut: self.shortcut,
            layers: vec![
                conv(self.width, 1, 1, Activation::Relu),
                conv(self.width, self.kernel, self.stride, Activation::Relu),
                conv(self.outputs, 1, 1, Activation::None),
            ],
        }
    }

    /// `bottleneck-128` or `bottleneck-37x10d`.
    pub fn name(&self) -> String {
        match self.members {
            1 => format!("bottleneck-{}", self.width),
            multiplicity => format!("bottleneck-{}", Design { multiplicity, width: self.width }),
        }
    }
}
