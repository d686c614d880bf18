//! Options of a network.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Parametrisation of the weights: standard or NTK (Eq. 1 of the paper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Parametrisation {
    /// Weights are used as they are, and drawn small, as in practice.
    #[default]
    Standard,
    /// Weights are N(0, 1), and layers multiply by sqrt(gain / fan-in), with a gain of 2 before
    /// a ReLU and 1 otherwise.
    Ntk,
}

impl Parametrisation {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Ntk => "ntk",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Standard, Self::Ntk].into_iter().find(|known| known.name() == name)
    }
}

impl fmt::Display for Parametrisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::Ntk => "NTK",
        })
    }
}

/// Treatment of batch norms: removed, frozen, or with the statistics of the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum NormPolicy {
    /// They are removed, as in the paper's theory.
    None,
    /// They are the affine maps that their running statistics make them; scales and shifts are
    /// parameters.
    Frozen,
    /// They use the statistics of the batch, which depend on all its images; gradients pass through
    /// them.
    #[default]
    Batch,
}

impl NormPolicy {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Frozen => "frozen",
            Self::Batch => "batch",
        }
    }
}

/// Training or evaluation mode: the statistics that norms use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// From the batch, whose share enters the running statistics; from the running statistics where
    /// norms are [frozen](NormPolicy::Frozen).
    Train,
    /// From the running statistics, which stay. Every image is treated alone.
    Evaluate,
}

/// The passes that memory and checks are planned for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    #[default]
    Training,
    Inference,
    /// Norms behind a layer with weights become its bias.
    FoldedInference,
    /// Backward passes that hand out layers' inputs and cotangents instead of computing weight
    /// gradients.
    Observation,
}

/// The threads that run passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Threading {
    /// Rayon's current pool.
    #[default]
    Pool,
    /// The calling thread alone.
    SingleThread,
}

impl Threading {
    /// How many threads a pass can use.
    pub(crate) fn threads(self) -> usize {
        match self {
            Self::Pool => rayon::current_num_threads(),
            Self::SingleThread => 1,
        }
    }
}

impl Purpose {
    /// Whether there are backward passes.
    pub(crate) fn has_backward(self) -> bool {
        matches!(self, Self::Training | Self::Observation)
    }
}
