//! The lowered form of a graph: steps over values, element-wise layers fused.

use crate::kernels::Conv;
use crate::parameters::Table;
use crate::passes::Dims;
use crate::passes::merge::Affine;
use crate::passes::pool::MaxPool;
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

/// An operand of a [`Step::Merge`].
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub from: ValueId,
    pub affine: Affine,
}

/// What multiplies weights with activations.
pub(crate) struct Linear {
    pub from: ValueId,
    pub to: ValueId,
    pub conv: Conv,
    pub weight: Range<usize>,
    /// The factor of the NTK parametrisation.
    pub factor: f32,
    pub kind: Kind,
    /// A bias, and whether a ReLU follows it, that the layer's forward pass takes care of.
    pub bias: Option<(Range<usize>, bool)>,
}

/// Where a merge's result comes to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In memory of its own.
    Own,
    /// Over its first operand.
    First,
    /// Over its first operand, and the layer before has put it there already.
    Done,
}

/// One thing to compute.
pub(crate) enum Step {
    Linear(Box<Linear>),
    /// `relu(sum of terms)`; one or two terms.
    Merge {
        terms: Vec<Term>,
        relu: bool,
        to: ValueId,
        place: Place,
    },
    Activation {
        activation: Activation,
        from: ValueId,
        to: ValueId,
    },
    MaxPool {
        pool: MaxPool,
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
    Merge,
    /// Pools, smooth activations, transpositions, member sums.
    Other,
}

impl Step {
    pub(crate) fn to(&self) -> ValueId {
        match self {
            Self::Linear(linear) => linear.to,
            Self::Merge { to, .. }
            | Self::Activation { to, .. }
            | Self::MaxPool { to, .. }
            | Self::MeanPool { to, .. }
            | Self::MemberSum { to, .. }
            | Self::Transpose { to, .. } => *to,
        }
    }

    /// The values it reads.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        let (single, terms): (Option<ValueId>, &[Term]) = match self {
            Self::Linear(linear) => (Some(linear.from), &[]),
            Self::Merge { terms, .. } => (None, terms),
            Self::Activation { from, .. }
            | Self::MaxPool { from, .. }
            | Self::MeanPool { from, .. }
            | Self::MemberSum { from, .. }
            | Self::Transpose { from, .. } => (Some(*from), &[]),
        };
        single.into_iter().chain(terms.iter().map(|term| term.from))
    }

    /// The values its backward pass reads.
    pub(crate) fn kept(&self) -> impl Iterator<Item = ValueId> + '_ {
        let (single, terms): (Option<ValueId>, &[Term]) = match self {
            Self::Linear(linear) => (Some(linear.from), &[]),
            Self::Merge { terms, to, .. } => (self.masks_by_output().then_some(*to), terms),
            Self::Activation { from, .. } | Self::MaxPool { from, .. } => (Some(*from), &[]),
            Self::MeanPool { .. } | Self::MemberSum { .. } | Self::Transpose { .. } => (None, &[]),
        };
        let norms = terms.iter().filter(|term| matches!(term.affine, Affine::Norm { .. }));
        single.into_iter().chain(norms.map(|term| term.from))
    }

    /// Whether a ReLU's mask is read off its output; a lone norm finds it again from its operand.
    pub(crate) fn masks_by_output(&self) -> bool {
        match self {
            Self::Merge { terms, relu, .. } => {
                *relu && !matches!(terms.as_slice(), [Term { affine: Affine::Norm { .. }, .. }])
            }
            _ => false,
        }
    }

    /// Whether it has parameters.
    pub(crate) fn has_parameters(&self) -> bool {
        match self {
            Self::Linear(_) => true,
            Self::Merge { terms, .. } => terms.iter().any(|term| term.affine != Affine::Plain),
            _ => false,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Linear(linear) => linear.kind,
            Self::Merge { .. } => Kind::Merge,
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
    /// Lets layers add the bias that follows them, where a merge does nothing else.
    pub(crate) fn join_biases(&mut self) {
        for index in 1..self.steps.len() {
            let (before, after) = self.steps.split_at_mut(index);
            if let (Some(Step::Linear(linear)), Some(Step::Merge { terms, relu, place, .. })) =
                (before.last_mut(), after.first_mut())
                && let ([Term { from, affine: Affine::Bias(bias) }], Place::First) =
                    (terms.as_slice(), *place)
                && *from == linear.to
            {
                linear.bias = Some((bias.clone(), *relu));
                *place = Place::Done;
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
