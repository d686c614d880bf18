//! A module: what Algorithm 1 scales and Algorithm 2 replaces by m members of width **n**.

use crate::bottleneck::Bottleneck;
use crate::counts::{Cost, Tally};
use crate::fully_connected::FullyConnected;
use crate::sequence::{Sequence, Shortcut};
use crate::transformer::FeedForward;
use crate::{Error, Spec};

/// A building block with a width vector **n** and a multiplicity m.
#[derive(Clone, Debug, PartialEq)]
pub enum Module {
    /// A fully connected network.
    FullyConnected(FullyConnected),
    /// A bottleneck residual block.
    Bottleneck(Bottleneck),
    /// The user's own chain of layers.
    Sequence(Sequence),
    /// A feed-forward layer without gate, router and biases.
    FeedForward(FeedForward),
}

impl Module {
    /// One member as a plain chain: no shortcut, m = 1. Its kernel is the one whose variance the
    /// paper bounds.
    pub fn member(&self) -> Sequence {
        Sequence { members: 1, shortcut: Shortcut::None, ..self.sequence() }
    }

    /// All members as a chain, shortcut included.
    pub fn sequence(&self) -> Sequence {
        match self {
            Self::FullyConnected(module) => module.sequence(),
            Self::Bottleneck(module) => module.sequence(),
            Self::Sequence(module) => module.clone(),
            Self::FeedForward(module) => module.sequence(),
        }
    }

    /// The multiplicity m.
    pub fn members(&self) -> usize {
        match self {
            Self::FullyConnected(module) => module.members,
            Self::Bottleneck(module) => module.members,
            Self::Sequence(module) => module.members,
            Self::FeedForward(module) => module.members,
        }
    }

    /// The width vector **n** of one member.
    pub fn widths(&self) -> Vec<usize> {
        self.sequence().widths()
    }

    /// The largest inner width: the one number that stands for **n** on the axis of a curve.
    pub fn width(&self) -> Result<usize, Error> {
        self.widths().into_iter().max().ok_or_else(|| {
            Error::Invalid(format!(
                "{} has no inner width to scale; it needs at least two layers with parameters",
                self.name()
            ))
        })
    }

    /// The module with every inner width multiplied by the ratio `width / self.width()` and rounded
    /// (line 2 of Algorithm 1), never below 1.
    pub fn scaled_to(&self, width: usize) -> Result<Self, Error> {
        let base = self.width()?;
        let scale = |inner: usize| {
            let exact = inner as f64 * width as f64 / base as f64;
            (exact.round() as usize).max(1)
        };
        let widths: Vec<usize> = self.widths().into_iter().map(scale).collect();
        self.with_widths(&widths)
    }

    /// The module with another width vector.
    pub fn with_widths(&self, widths: &[usize]) -> Result<Self, Error> {
        let (expected, given) = (self.widths().len(), widths.len());
        if given != expected {
            let name = self.name();
            return Err(Error::Invalid(format!("{name} has {expected} inner widths but {given} were given")));
        }
        let module = match self {
            Self::FullyConnected(module) => {
                Self::FullyConnected(FullyConnected { widths: widths.to_vec(), ..module.clone() })
            }
            Self::Bottleneck(module) => Self::Bottleneck(module.with_widths([widths[0], widths[1]])),
            Self::Sequence(module) => Self::Sequence(module.with_widths(widths)),
            Self::FeedForward(module) => {
                Self::FeedForward(FeedForward { widths: widths.to_vec(), ..module.clone() })
            }
        };
        module.sequence().check()?;
        Ok(module)
    }

    /// The module with another multiplicity m.
    pub fn with_members(&self, members: usize) -> Result<Self, Error> {
        let module = match self.clone() {
            Self::FullyConnected(module) => Self::FullyConnected(FullyConnected { members, ..module }),
            Self::Bottleneck(module) => Self::Bottleneck(Bottleneck { members, ..module }),
            Self::Sequence(module) => Self::Sequence(Sequence { members, ..module }),
            Self::FeedForward(module) => Self::FeedForward(FeedForward { members, ..module }),
        };
        module.sequence().check()?;
        Ok(module)
    }

    /// S(**n**), the sum of inverse fan-ins that multiplies α in the variance law.
    pub fn inverse_fan_in_sum(&self) -> f64 {
        match self {
            Self::FullyConnected(module) => module.inverse_width_sum(),
            _ => self.sequence().inverse_fan_in_sum(),
        }
    }

    /// β(**n**): what one member costs. Its norms count, the one on its output included; the
    /// shortcut and the residual sum, which members share, do not. Only counts have one: a member
    /// is never timed alone.
    pub fn member_cost(&self, cost: Cost) -> Result<u64, Error> {
        self.member().build::<Tally>()?.totals()?.of(cost).ok_or(Error::NotCounted(cost))
    }

    /// Its name.
    pub fn name(&self) -> String {
        match self {
            Self::FullyConnected(module) => module.name(),
            Self::Bottleneck(module) => module.name(),
            Self::Sequence(module) => module.name.clone(),
            Self::FeedForward(module) => module.name(),
        }
    }
}

impl From<Module> for Spec {
    fn from(module: Module) -> Self {
        match module {
            Module::FullyConnected(module) => Self::FullyConnected(module),
            Module::Bottleneck(module) => Self::Bottleneck(module),
            Module::Sequence(module) => Self::Sequence(module),
            Module::FeedForward(module) => Self::FeedForward(module),
        }
    }
}
