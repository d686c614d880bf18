//! The bottleneck residual block of ResNet and ResNeXt: 1x1 to n, 3x3, 1x1 to n_out (the paper's
//! Fig. 5).

use serde::{Deserialize, Serialize};

use crate::sequence::{Activation, Join, Layer, Norm, Sequence, Shortcut};
use crate::shape::Shape;
use crate::stage_design::StageDesign;

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
    /// The inner width n of one member: what goes into its middle convolution.
    pub width: usize,
    /// What comes out of the middle convolution, where that differs from n.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_width: Option<usize>,
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
    /// Side of the square image it works on; counts of FLOPs and activations depend on it, the
    /// optimum does not.
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
    pub fn paper(design: impl Into<StageDesign>) -> Self {
        let design = design.into();
        let block = Self {
            inputs: 256,
            outputs: 256,
            width: design.widths[0],
            second_width: None,
            members: design.multiplicity,
            kernel: 3,
            stride: 1,
            norm: Norm::Batch,
            shortcut: Shortcut::Identity,
            image: 32,
        };
        block.with_widths(design.widths)
    }

    /// A block of a network whose images have this side: a 3x3 convolution with norms, and a
    /// projection wherever the identity does not fit.
    pub(crate) fn of_network(
        design: StageDesign,
        [inputs, outputs]: [usize; 2],
        stride: usize,
        image: usize,
    ) -> Self {
        let fits = stride == 1 && inputs == outputs;
        let block = Self {
            inputs,
            outputs,
            width: design.widths[0],
            second_width: None,
            members: design.multiplicity,
            kernel: 3,
            stride,
            norm: Norm::Batch,
            shortcut: if fits { Shortcut::Identity } else { Shortcut::Projection },
            image,
        };
        block.with_widths(design.widths)
    }

    /// The widths into and out of the middle convolution.
    pub fn widths(&self) -> [usize; 2] {
        [self.width, self.second_width.unwrap_or(self.width)]
    }

    /// The same block with other inner widths.
    pub fn with_widths(&self, [width, second]: [usize; 2]) -> Self {
        Self { width, second_width: (second != width).then_some(second), ..self.clone() }
    }

    /// Its multiplicity and inner widths.
    pub fn design(&self) -> StageDesign {
        StageDesign { multiplicity: self.members, widths: self.widths() }
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
        let [width, second] = self.widths();
        Sequence {
            name: self.name(),
            input: Shape::image(self.inputs, self.image),
            members: self.members,
            join: Join::LastLayer,
            shortcut: self.shortcut,
            layers: vec![
                conv(width, 1, 1, Activation::Relu),
                conv(second, self.kernel, self.stride, Activation::Relu),
                conv(self.outputs, 1, 1, Activation::None),
            ],
        }
    }

    /// `bottleneck-128`, `bottleneck-37x10d` or, with two widths, `bottleneck-37x10_12d`.
    pub fn name(&self) -> String {
        match (self.members, self.widths()) {
            (1, [width, second]) if width == second => format!("bottleneck-{width}"),
            _ => format!("bottleneck-{}", self.design()),
        }
    }
}
