//! The lowered form of a graph: steps over values, element-wise layers fused.

use crate::kernels::{Conv, ConvShape};
use crate::observed::{Extent, Layer, Layout};
use crate::parameters::Table;
use crate::passes::Dims;
use crate::passes::fused::Affine;
use crate::passes::pool::{AveragePool, MaxPool};
use collegial_arch::Activation;
use std::ops::Range;

/// Index of a value.
pub(crate) type ValueId = usize;

/// A tensor that a step computes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub dims: Dims,
    /// Whether it lies as `[units][batch]`, see [`Dims`].
    pub flat: bool,
}

impl Value {
    /// Its sizes as an observer sees them.
    pub(crate) fn extent(&self) -> Extent {
        let Dims { images, channels, pixels } = self.dims;
        if self.flat {
            Extent { images: pixels, channels, pixels: 1, layout: Layout::Channels }
        } else {
            Extent { images, channels, pixels, layout: Layout::Images }
        }
    }
}

/// An operand of a [`Step::Fused`].
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub from: ValueId,
    pub affine: Affine,
}

/// What multiplies weights with activations.
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
    /// A bias, and whether a ReLU follows it, that the layer's forward pass takes care of.
    pub bias: Option<(Range<usize>, bool)>,
    /// A norm, and whether a ReLU follows it, that the layer reads its input through.
    pub norm: Option<(usize, bool)>,
    /// The norm of its result, if the layer's epilogue computes the norm's statistics.
    pub output_norm: Option<Affine>,
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

/// One thing to compute.
pub(crate) enum Step {
    Linear(Box<Linear>),
    /// `relu(sum of terms)`; one or two terms.
    Fused {
        terms: Vec<Term>,
        relu: bool,
        to: ValueId,
        placement: Placement,
    },
    Activation {
        activation: Activation,
        from: ValueId,
        to: ValueId,
    },
    /// Every channel of every image times the gate's number for it.
    Scale {
        from: ValueId,
        gate: ValueId,
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

/// What time is spent on, see [`Profile`](crate::Profile).
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
            Self::Fused { to, .. }
            | Self::Activation { to, .. }
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
            Self::Fused { terms, .. } => ([None; 2], terms),
            Self::Scale { from, gate, .. } => ([Some(*from), Some(*gate)], &[]),
            Self::Activation { from, .. }
            | Self::MaxPool { from, .. }
            | Self::AveragePool { from, .. }
            | Self::MeanPool { from, .. }
            | Self::MemberSum { from, .. }
            | Self::Transpose { from, .. } => ([Some(*from), None], &[]),
        };
        single.into_iter().flatten().chain(terms.iter().map(|term| term.from))
    }

    /// The layer that computes a value and can gather statistics as it does so.
    fn gathering(&mut self, value: ValueId) -> Option<&mut Linear> {
        match self {
            Self::Linear(linear) if linear.to == value && linear.conv.blocks().is_some() => Some(linear),
            _ => None,
        }
    }

    /// The value that it reads through a norm.
    fn normed_input(&self) -> Option<ValueId> {
        match self {
            Self::Linear(linear) => linear.norm.map(|_| linear.from),
            _ => None,
        }
    }

    /// The values its backward pass reads.
    pub(crate) fn saved_for_backward(&self) -> impl Iterator<Item = ValueId> + '_ {
        let (single, terms): ([Option<ValueId>; 2], &[Term]) = match self {
            Self::Linear(linear) => ([Some(linear.from), None], &[]),
            Self::Fused { terms, to, .. } => ([self.masks_by_output().then_some(*to), None], terms),
            Self::Scale { from, gate, .. } => ([Some(*from), Some(*gate)], &[]),
            Self::Activation { from, .. } | Self::MaxPool { from, .. } => ([Some(*from), None], &[]),
            Self::AveragePool { .. }
            | Self::MeanPool { .. }
            | Self::MemberSum { .. }
            | Self::Transpose { .. } => ([None; 2], &[]),
        };
        let norms = terms.iter().filter(|term| matches!(term.affine, Affine::Norm { .. }));
        single.into_iter().flatten().chain(norms.map(|term| term.from))
    }

    /// Whether a ReLU's mask is read off its output; a lone norm finds it again from its operand.
    pub(crate) fn masks_by_output(&self) -> bool {
        match self {
            Self::Fused { terms, relu, .. } => {
                *relu && !matches!(terms.as_slice(), [Term { affine: Affine::Norm { .. }, .. }])
            }
            _ => false,
        }
    }

    /// Whether it has parameters.
    pub(crate) fn has_parameters(&self) -> bool {
        match self {
            Self::Linear(_) => true,
            Self::Fused { terms, .. } => terms.iter().any(|term| term.affine != Affine::Plain),
            _ => false,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Linear(linear) => linear.kind,
            Self::Fused { .. } => Kind::Fused,
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
            let flat = self.values[linear.from].flat;
            Layer {
                index: linear.index,
                weight: &parameter.name,
                shape: if flat { ConvShape { batch: shape.width, width: 1, ..shape } } else { shape },
                layout: self.values[linear.from].extent().layout,
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

    /// Lets layers add the bias that follows them, where a fused step does nothing else.
    pub(crate) fn fuse_biases_into_producers(&mut self) {
        for index in 1..self.steps.len() {
            let (before, after) = self.steps.split_at_mut(index);
            if let (Some(Step::Linear(linear)), Some(Step::Fused { terms, relu, placement, .. })) =
                (before.last_mut(), after.first_mut())
                && let ([Term { from, affine: Affine::Bias(bias) }], Placement::InPlace) =
                    (terms.as_slice(), *placement)
                && *from == linear.to
            {
                linear.bias = Some((bias.clone(), *relu));
                *placement = Placement::FusedIntoProducer;
            }
        }
    }

    /// Leaves norms, and ReLUs behind them, to the layers that read them, where nothing else does:
    /// such a value can be found again from its operand, which is kept for the norm's own gradient.
    pub(crate) fn fuse_norms_into_consumers(&mut self) {
        let mut readers = vec![0; self.values.len()];
        self.steps.iter().flat_map(Step::inputs).for_each(|value| readers[value] += 1);
        let mut left = vec![None; self.values.len()];
        for step in &mut self.steps {
            match step {
                Step::Fused { terms, relu, to, placement: Placement::OwnBuffer } => {
                    if let [Term { affine: Affine::Norm { state, .. }, .. }] = terms.as_slice()
                        && readers[*to] == 1
                    {
                        left[*to] = Some((*state, *relu));
                    }
                }
                Step::Linear(linear) => linear.norm = left[linear.from],
                _ => {}
            }
        }
        let read: Vec<ValueId> = self.steps.iter().filter_map(Step::normed_input).collect();
        for index in 0..self.steps.len() {
            let (before, after) = self.steps.split_at_mut(index);
            if let Some(Step::Fused { terms, to, placement, .. }) = after.first_mut()
                && read.contains(to)
            {
                let layer = before.iter_mut().find_map(|step| step.gathering(terms[0].from));
                *placement =
                    if layer.is_some() { Placement::FusedIntoBoth } else { Placement::FusedIntoConsumer };
                if let Some(layer) = layer {
                    layer.output_norm = Some(terms[0].affine.clone());
                }
            }
        }
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
