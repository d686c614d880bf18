//! Intermediate representation of a network: steps over values, with element-wise layers fused.

use crate::kernels::{Conv, ConvShape};
use crate::observed::{Extent, Layer, Layout};
use crate::parameters::Table;
use crate::passes::Dims;
use crate::passes::fused::{Affine, FusedActivation};
use crate::passes::pool::{AveragePool, MaxPool};
use collegial_arch::Activation;
use std::ops::Range;

/// Index of a value.
pub(crate) type ValueId = usize;

/// A tensor that a step computes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub dims: Dims,
    pub layout: Layout,
}

impl Value {
    /// Its sizes as an observer sees them.
    pub(crate) fn extent(&self) -> Extent {
        let Dims { images, channels, pixels } = self.dims;
        match self.layout {
            Layout::Images => Extent { images, channels, pixels, layout: Layout::Images },
            Layout::Channels => Extent { images: pixels, channels, pixels: 1, layout: Layout::Channels },
        }
    }

    /// Shape as a matrix, for one-pixel images.
    pub(crate) fn rows_and_columns(&self) -> (usize, usize) {
        match self.layout {
            Layout::Images => (self.dims.images, self.dims.channels),
            Layout::Channels => (self.dims.channels, self.dims.pixels),
        }
    }
}

/// An operand of a [`Fused`] step.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub from: ValueId,
    pub affine: Affine,
}

/// A layer with weights: a convolution or a dense layer.
pub(crate) struct Linear {
    /// Which of the layers with weights.
    pub index: usize,
    pub from: ValueId,
    pub to: ValueId,
    pub conv: Conv,
    pub weight: Range<usize>,
    /// The factor of the NTK parametrisation.
    pub factor: f32,
    pub kind: Kind,
    /// The bias that is fused into the layer's epilogue.
    pub bias: Option<FusedBias>,
    /// The norm that the layer applies to its input as it reads it.
    pub input_norm: Option<InputNorm>,
    /// The norm of its result, if the layer's epilogue computes the norm's statistics.
    pub output_norm: Option<Affine>,
}

impl Linear {
    /// Channels times blocks of the partial sums that the layer's epilogue computes.
    pub(crate) fn partial_sums_len(&self) -> usize {
        let shape = self.conv.shape();
        let blocks = self.output_norm.as_ref().and_then(|_| self.conv.blocks());
        blocks.unwrap_or(0) * shape.groups * shape.outputs
    }
}

/// A bias and an activation behind it, which a layer's epilogue applies.
#[derive(Clone, Debug)]
pub(crate) struct FusedBias {
    /// Range of the bias among the parameters.
    pub bias: Range<usize>,
    pub activation: FusedActivation,
}

/// A norm and an activation behind it, through which a layer reads its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputNorm {
    /// Index of the norm's state.
    pub state: usize,
    pub activation: FusedActivation,
}

/// An element-wise step: `activation(sum of terms)`, with one or two terms.
pub(crate) struct Fused {
    pub terms: Vec<Term>,
    pub activation: FusedActivation,
    pub to: ValueId,
    pub placement: Placement,
}

impl Fused {
    /// Whether the backward pass reads the ReLU's mask off the output. A lone norm recomputes it from
    /// its operand, which is saved anyway.
    pub(crate) fn masks_by_output(&self) -> bool {
        self.activation.is_relu()
            && !matches!(self.terms.as_slice(), [Term { affine: Affine::Norm { .. }, .. }])
    }
}

/// Buffer placement and operator fusion: where a fused step's result is computed and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// In a buffer of its own.
    OwnBuffer,
    /// In place, over its first operand.
    InPlace,
    /// In place, by the epilogue of the layer that computes its operand.
    FusedIntoProducer,
    /// Not stored: the only consumer, a layer, normalises the only operand as it reads it. The value
    /// has the operand's buffer.
    FusedIntoConsumer,
    /// As `FusedIntoConsumer`, and the producer's epilogue computes the norm's statistics.
    FusedIntoBoth,
}

/// An instruction of a program.
pub(crate) enum Step {
    Linear(Box<Linear>),
    Fused(Fused),
    Activation {
        activation: Activation,
        from: ValueId,
        to: ValueId,
    },
    /// Channel-wise scaling: every channel of every image times its factor.
    Scale {
        from: ValueId,
        factors: ValueId,
        to: ValueId,
    },
    MaxPool {
        pool: MaxPool,
        from: ValueId,
        to: ValueId,
    },
    AveragePool {
        pool: AveragePool,
        from: ValueId,
        to: ValueId,
    },
    MeanPool {
        from: ValueId,
        to: ValueId,
    },
    MemberSum {
        members: usize,
        from: ValueId,
        to: ValueId,
    },
    Transpose {
        from: ValueId,
        to: ValueId,
    },
}

/// Kind of a step, for the [`Profile`](crate::Profile).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 1x1 convolutions without groups.
    Pointwise,
    /// Convolutions with groups.
    Grouped,
    /// All other convolutions.
    Convolution,
    /// Dense layers, block-diagonal or not.
    Dense,
    /// Norms, biases, residual sums and ReLU.
    Fused,
    /// Pools, smooth activations, transpositions, member sums.
    Other,
}

impl Step {
    pub(crate) fn to(&self) -> ValueId {
        match self {
            Self::Linear(linear) => linear.to,
            Self::Fused(fused) => fused.to,
            Self::Activation { to, .. }
            | Self::Scale { to, .. }
            | Self::MaxPool { to, .. }
            | Self::AveragePool { to, .. }
            | Self::MeanPool { to, .. }
            | Self::MemberSum { to, .. }
            | Self::Transpose { to, .. } => *to,
        }
    }

    /// The values it reads.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        let (single, terms): ([Option<ValueId>; 2], &[Term]) = match self {
            Self::Linear(linear) => ([Some(linear.from), None], &[]),
            Self::Fused(fused) => ([None; 2], &fused.terms),
            Self::Scale { from, factors, .. } => ([Some(*from), Some(*factors)], &[]),
            Self::Activation { from, .. }
            | Self::MaxPool { from, .. }
            | Self::AveragePool { from, .. }
            | Self::MeanPool { from, .. }
            | Self::MemberSum { from, .. }
            | Self::Transpose { from, .. } => ([Some(*from), None], &[]),
        };
        single.into_iter().flatten().chain(terms.iter().map(|term| term.from))
    }

    /// The values its backward pass reads.
    pub(crate) fn saved_for_backward(&self) -> impl Iterator<Item = ValueId> + '_ {
        let (single, terms): ([Option<ValueId>; 2], &[Term]) = match self {
            Self::Linear(linear) => ([Some(linear.from), None], &[]),
            Self::Fused(fused) => ([fused.masks_by_output().then_some(fused.to), None], &fused.terms),
            Self::Scale { from, factors, .. } => ([Some(*from), Some(*factors)], &[]),
            Self::Activation { from, .. } | Self::MaxPool { from, .. } => ([Some(*from), None], &[]),
            Self::AveragePool { .. }
            | Self::MeanPool { .. }
            | Self::MemberSum { .. }
            | Self::Transpose { .. } => ([None; 2], &[]),
        };
        let norms = terms.iter().filter(|term| matches!(term.affine, Affine::Norm { .. }));
        single.into_iter().flatten().chain(norms.map(|term| term.from))
    }

    /// Whether it has parameters.
    pub(crate) fn has_parameters(&self) -> bool {
        match self {
            Self::Linear(_) => true,
            Self::Fused(fused) => fused.terms.iter().any(|term| term.affine != Affine::Plain),
            _ => false,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Linear(linear) => linear.kind,
            Self::Fused(_) => Kind::Fused,
            _ => Kind::Other,
        }
    }
}

/// A norm of the program.
#[derive(Clone, Debug)]
pub(crate) struct Norm {
    pub name: String,
    pub channels: usize,
}

/// A graph, lowered for one batch size.
pub(crate) struct Program {
    pub values: Vec<Value>,
    pub steps: Vec<Step>,
    pub input: ValueId,
    pub output: ValueId,
    pub parameters: Table,
    pub norms: Vec<Norm>,
}

impl Program {
    /// Its layers with weights.
    pub(crate) fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        let weights = self.parameters.entries.iter().filter(|parameter| parameter.is_weight());
        let linear = self.steps.iter().filter_map(|step| match step {
            Step::Linear(linear) => Some(linear),
            _ => None,
        });
        linear.zip(weights).map(|(linear, parameter)| {
            let shape = *linear.conv.shape();
            let layout = self.values[linear.from].layout;
            Layer {
                index: linear.index,
                weight: &parameter.name,
                shape: match layout {
                    Layout::Images => shape,
                    Layout::Channels => ConvShape { batch: shape.width, width: 1, ..shape },
                },
                layout,
                at_input: self.is_input(linear.from),
            }
        })
    }

    /// Whether a value is the input, in either layout.
    fn is_input(&self, value: ValueId) -> bool {
        let turned =
            |step: &Step| matches!(step, Step::Transpose { from, to } if (*from, *to) == (self.input, value));
        value == self.input || self.steps.iter().any(turned)
    }

    /// Whether each value's gradient leads to a parameter.
    pub(crate) fn needs_gradient(&self) -> Vec<bool> {
        let mut needs = vec![false; self.values.len()];
        for step in &self.steps {
            needs[step.to()] = step.has_parameters() || step.inputs().any(|input| needs[input]);
        }
        needs
    }
}
