//! The correlation of tokens behind the layers of a transformer, at infinite width.
//!
//! Tokens of variance 1 with one correlation c between all stay so through a layer, since attention
//! treats them alike. With many heads and variance-preserving matrices, attention adds E[a_i^T G a_j] to
//! the covariance of tokens i and j, where G = (1 - c) I + c, the logits of a head at two tokens are
//! N(0, G) with correlation c, and a is their softmax; a feed-forward layer adds E[φ(x) φ(y)] of normal
//! numbers of correlation c. Both read normalised tokens. In the order [`NormOrder::Before`] the sums
//! grow, so that later layers change the correlation less.
//!
//! What is neglected: positions that are hidden from a token (causal heads: c is that of tokens that see
//! as many others), position embeddings inside attention, and biases.

use collegial_arch::{Activation, NormOrder};
use collegial_core::Rng;

use super::{Tokens, dot, softmax};
use crate::Error;
use crate::feed_forward::dual;

/// Draws of attention weights at two tokens, for E[a_i^T a_j]; each is a mean over all tokens.
const DRAWS: u64 = 256;

/// The seed of these draws: they stand for an integral, and nobody chooses them.
const SEED: u64 = 0x746f_6b65_6e73;

/// A layer of a transformer: attention, then a feed-forward layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// How many tokens a head sees.
    pub tokens: usize,
    /// φ of the feed-forward layer.
    pub activation: Activation,
    /// Whether that has a gate.
    pub gated: bool,
    /// Where the norms are.
    pub order: NormOrder,
}

/// The correlation in front of every layer and behind the last, beginning with the given one.
///
/// # Errors
///
/// As [`Tokens::correlated`].
pub fn correlations(block: &Block, layers: usize, first: f64) -> Result<Vec<f64>, Error> {
    let mut sum = Covariance { variance: 1.0, between: first };
    let mut all = vec![first];
    for _ in 0..layers {
        let attention = attended(block.tokens, sum.correlation())?;
        sum = sum.plus(attention, block.order);
        let c = sum.correlation();
        let of = |c: f64| dual(block.activation, block.gated, c);
        sum = sum.plus(Covariance { variance: of(1.0), between: of(c) }, block.order);
        all.push(sum.correlation());
    }
    Ok(all)
}

/// Of one token, and between two.
#[derive(Clone, Copy, Debug)]
struct Covariance {
    variance: f64,
    between: f64,
}

impl Covariance {
    fn correlation(&self) -> f64 {
        (self.between / self.variance).clamp(0.0, 1.0)
    }

    fn plus(self, branch: Self, order: NormOrder) -> Self {
        let sum = Self { variance: self.variance + branch.variance, between: self.between + branch.between };
        match order {
            NormOrder::Before => sum,
            NormOrder::After => Self { variance: 1.0, between: sum.correlation() },
        }
    }
}

/// E[a_i^T G a_j] for i = j and otherwise.
fn attended(tokens: usize, c: f64) -> Result<Covariance, Error> {
    let logits = Tokens::correlated(tokens, c)?;
    let (mut along, mut drawn) = (vec![], vec![]);
    let (mut same, mut other) = (0.0, 0.0);
    for draw in 0..DRAWS {
        logits.draw(3, &mut along, &mut drawn, &mut Rng::new(SEED, 0, draw));
        let (common, rest) = drawn.split_at(tokens);
        let weights = |own: &[f64]| {
            let both = common.iter().zip(own);
            let mut weights: Vec<f64> = both.map(|(x, y)| c.sqrt() * x + (1.0 - c).sqrt() * y).collect();
            softmax(&mut weights);
            weights
        };
        let (first, second) = (weights(&rest[..tokens]), weights(&rest[tokens..]));
        same += 0.5 * (dot(&first, &first) + dot(&second, &second)) / DRAWS as f64;
        other += dot(&first, &second) / DRAWS as f64;
    }
    // Weights sum to 1, so that the constant part of G gives c.
    let covariance = |overlap: f64| (1.0 - c) * overlap + c;
    Ok(Covariance { variance: covariance(same), between: covariance(other) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINEAR: Block =
        Block { tokens: 1, activation: Activation::None, gated: false, order: NormOrder::Before };

    /// White tokens have a mean overlap of 1 / T between two tokens, by symmetry.
    #[test]
    fn two_tokens_attend_alike_on_average() {
        for tokens in [2, 10, 200] {
            let found = attended(tokens, 0.0).unwrap();
            assert!((found.between * tokens as f64 - 1.0).abs() < 0.05, "{found:?}");
            assert!(found.variance > found.between);
        }
    }

    #[test]
    fn depth_correlates_tokens_and_equal_tokens_stay_equal() {
        for order in [NormOrder::Before, NormOrder::After] {
            let block = Block { tokens: 64, activation: Activation::Gelu, order, ..LINEAR };
            let found = correlations(&block, 12, 0.0).unwrap();
            assert_eq!(found.len(), 13);
            assert!(found.is_sorted() && found[0] == 0.0 && found[12] < 1.0, "{found:?}");
            let equal = correlations(&block, 3, 1.0).unwrap();
            assert!(equal.iter().all(|c| (c - 1.0).abs() < 1e-9), "{equal:?}");
        }
    }
}
