//! Verdicts on splitting a layer into members: a question of variance, of speed alone, or open.

use std::fmt;

use collegial_arch::FeedForward;
use serde::{Deserialize, Serialize};

/// The kinds of answers that a layer can get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Of the kernel's variance: a block-diagonal or grouped matrix lies inside, so that n^2 is in the
    /// cost and an optimum exists. A search finds it.
    Variance,
    /// Of speed alone: the kernel's variance does not choose, or trained networks do not follow it.
    SplitNeutral,
    /// Of something that the theory does not know: gates over channels, routing.
    NotCovered,
}

impl Verdict {
    /// Of attention heads: variances differ with the width where tokens are white, but published
    /// tables of trained networks do not follow them.
    pub const HEADS: Self = Self::SplitNeutral;

    /// Of a feed-forward layer.
    pub fn of_feed_forward(layer: &FeedForward) -> Self {
        match (layer.is_routed(), layer.has_inner_matrix()) {
            (true, _) => Self::NotCovered,
            (false, true) => Self::Variance,
            (false, false) => Self::SplitNeutral,
        }
    }
}

impl fmt::Display for Verdict {
    /// As in answers: `split-neutral`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Variance => "variance",
            Self::SplitNeutral => "split-neutral",
            Self::NotCovered => "not-covered",
        })
    }
}

#[cfg(test)]
mod tests {
    use collegial_arch::Activation;

    use super::*;

    #[test]
    fn feed_forward_layers_are_judged_by_what_is_inside() {
        let dense = FeedForward::of_width(8, 32, Activation::Gelu);
        let gated = FeedForward { gated: true, ..dense.clone() };
        let blocks = FeedForward { widths: vec![8, 8], members: 4, ..dense.clone() };
        let routed = FeedForward { experts: 8, ..dense.clone() };
        for (layer, verdict, word) in [
            (dense, Verdict::SplitNeutral, "split-neutral"),
            (gated, Verdict::SplitNeutral, "split-neutral"),
            (blocks, Verdict::Variance, "variance"),
            (routed, Verdict::NotCovered, "not-covered"),
        ] {
            let found = Verdict::of_feed_forward(&layer);
            assert_eq!((found, found.to_string().as_str()), (verdict, word));
            assert_eq!(serde_json::to_value(found).unwrap(), word);
        }
    }
}
