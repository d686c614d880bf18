//! The two problems, and what a question leaves to choose: the rule for the budget, and where
//! variances come from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which of the two problems a design answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Problem {
    /// Lowest variance at the baseline's cost.
    Primal,
    /// Lowest cost at the baseline's variance.
    Dual,
}

impl fmt::Display for Problem {
    /// As in answers: `primal`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Primal => "primal",
            Self::Dual => "dual",
        })
    }
}

/// Which integer multiplicity the primal takes. The paper's 37x10d is the nearest, its 22x10d the
/// most under the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Nearest to the budget.
    #[default]
    Nearest,
    /// The most that the budget allows.
    Under,
}

/// Where the variance of a member comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum VarianceSource {
    /// The fitted law e^{α S} - 1: Algorithm 2 as printed.
    Law,
    /// Draws of the kernel at every width.
    Measured,
    /// The closed form.
    Exact,
}

impl fmt::Display for VarianceSource {
    /// As in requests and answers: `law`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Law => "law",
            Self::Measured => "measured",
            Self::Exact => "exact",
        })
    }
}
