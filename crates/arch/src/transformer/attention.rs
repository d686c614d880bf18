//! One attention layer: m heads of width n.

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, Matrix};
use crate::counts::Wide;
use crate::error::{MAX_IMAGE_SIDE, dimension, product, within};
use crate::{Counts, Error};

/// What logits are divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Logits {
    /// q·k / √n, as in nearly all networks.
    #[default]
    InverseRoot,
    /// q·k / n, as in the maximal update parametrisation.
    InverseWidth,
}

/// An attention layer with its queries, keys, values and output matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attention {
    /// Features d of a token, in and out.
    pub inputs: usize,
    /// Heads with queries of their own.
    pub heads: usize,
    /// Heads with keys and values of their own, which must divide the heads; as many where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_value_heads: Option<usize>,
    /// Width n of a head.
    pub width: usize,
    /// How many tokens a query sees, itself included.
    pub tokens: usize,
    /// The correlation between any two tokens, of variance 1; 0 are white tokens.
    #[serde(default)]
    pub correlation: f64,
    /// Whether tokens behind a query are hidden from it.
    #[serde(default)]
    pub causal: bool,
    /// What logits are divided by.
    #[serde(default)]
    pub logits: Logits,
    /// Whether the four matrices have biases.
    #[serde(default)]
    pub bias: bool,
}

impl Attention {
    /// Heads with keys and values of their own.
    pub fn key_value_heads(&self) -> usize {
        self.key_value_heads.unwrap_or(self.heads)
    }

    /// How many heads share keys and values.
    pub fn sharing(&self) -> usize {
        self.heads / self.key_value_heads().max(1)
    }

    /// `attention-12x64d`, or with 4 heads for keys and values `attention-12x64d-4`.
    pub fn name(&self) -> String {
        let shared = self.key_value_heads.filter(|&shared| shared != self.heads);
        let shared = shared.map(|heads| format!("-{heads}")).unwrap_or_default();
        format!("attention-{}x{}d{shared}", self.heads, self.width)
    }

    /// Whether every number is in range and they fit together.
    pub(crate) fn check(&self) -> Result<(), Error> {
        dimension("the number of features of a token", self.inputs)?;
        dimension("the number of heads", self.heads)?;
        dimension("the width of a head", self.width)?;
        product("the width of all heads together", &[self.heads, self.width])?;
        let shared = within("the number of key/value heads", self.key_value_heads(), 1, self.heads)?;
        if !self.heads.is_multiple_of(shared) {
            let heads = self.heads;
            return Err(Error::Invalid(format!(
                "{heads} heads cannot share {shared} heads of keys and values; take a divisor of {heads}"
            )));
        }
        within("the number of tokens", self.tokens, 1, MAX_IMAGE_SIDE)?;
        if !(0.0..=1.0).contains(&self.correlation) {
            let correlation = self.correlation;
            return Err(Error::Invalid(format!(
                "the correlation of tokens is {correlation}; it must be between 0 and 1"
            )));
        }
        Ok(())
    }

    /// The counts of all tokens.
    pub fn counts(&self) -> Result<Counts, Error> {
        self.check()?;
        let mut ledger = Ledger::default();
        self.count(&mut ledger, self.tokens)?;
        ledger.finish()
    }

    /// The same at these positions, each of which sees the layer's tokens.
    pub(super) fn count(&self, ledger: &mut Ledger, positions: usize) -> Result<(), Error> {
        let inner = self.heads * self.width;
        let shared = self.key_value_heads() * self.width;
        for (name, width) in [("query", inner), ("key", shared), ("value", shared)] {
            ledger.dense(name, positions, &Matrix::new(self.inputs, width, self.bias))?;
        }
        let macs = 2 * positions as u128 * self.tokens as u128 * inner as u128;
        let kind = format!("{} heads over {} tokens", self.heads, self.tokens);
        let products = Wide { macs, flops: 2 * macs, ..Wide::default() };
        ledger.line("heads", &kind, [inner, positions, 1], products)?;
        ledger.dense("output", positions, &Matrix::new(inner, self.inputs, self.bias))
    }
}
