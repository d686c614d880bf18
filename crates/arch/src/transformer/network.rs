//! A transformer: tokens, layers of attention and feed-forward layers, and an output.

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, Matrix};
use super::{Attention, FeedForward, Logits, is_one, one};
use crate::error::{MAX_IMAGE_SIDE, MAX_LAYERS, dimension, within};
use crate::{Activation, Counts, Error};

/// Where the norms of a layer stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormOrder {
    /// x + f(norm(x)): ViT, GPT-2, Llama.
    #[default]
    Before,
    /// norm(x + f(x)): BERT.
    After,
}

/// What normalises a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenNorm {
    /// Layer norm, with scale and shift.
    #[default]
    Layer,
    /// By the root of the mean square, with a scale alone.
    Rms,
}

/// What tokens are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Embedding {
    /// Patches of a square colour image.
    Patches {
        /// Side of the image.
        image: usize,
        /// Side of a patch.
        patch: usize,
        /// Tokens that stand for no patch.
        #[serde(default)]
        class_tokens: usize,
        /// Whether every token has a position of its own.
        #[serde(default)]
        positions: bool,
    },
    /// Rows of a table.
    Words {
        /// Its rows.
        vocabulary: usize,
        /// How many tokens there are.
        tokens: usize,
        /// Rows of a table of positions, 0 for none.
        #[serde(default)]
        positions: usize,
        /// Rows of a table of segments, 0 for none.
        #[serde(default)]
        types: usize,
    },
    /// Not said: layers by themselves.
    Given {
        /// How many there are.
        tokens: usize,
    },
}

/// What the last tokens become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Output {
    /// Nothing else.
    #[default]
    Tokens,
    /// Classes, from one token or their mean.
    Classes {
        /// How many.
        classes: usize,
    },
    /// A dense layer of the first token.
    Pooled,
    /// A logit per word at every token.
    Words {
        /// Whether the matrix is the table of words.
        #[serde(default)]
        tied: bool,
    },
}

/// Layers of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransformerStage {
    /// How many.
    pub layers: usize,
    /// Features d of a token.
    pub inputs: usize,
    /// Heads with queries of their own.
    pub heads: usize,
    /// Heads with keys and values of their own; as many where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_value_heads: Option<usize>,
    /// Width n of a head.
    pub width: usize,
    /// Hidden width of a feed-forward layer.
    pub hidden: usize,
}

/// A transformer; with several stages, each merges two by two neighbouring tokens of the one before,
/// as Swin does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transformer {
    /// What it is called.
    pub name: String,
    /// What tokens are made of.
    pub embedding: Embedding,
    /// Whether they are normalised before the first layer.
    #[serde(default)]
    pub embedding_norm: bool,
    /// Stages, most networks have one.
    pub stages: Vec<TransformerStage>,
    /// Where norms stand.
    #[serde(default)]
    pub order: NormOrder,
    /// What they are.
    #[serde(default)]
    pub norm: TokenNorm,
    /// φ of the feed-forward layers.
    #[serde(default = "super::gelu")]
    pub activation: Activation,
    /// Whether these have a gate.
    #[serde(default)]
    pub gated: bool,
    /// Whether later tokens are hidden.
    #[serde(default)]
    pub causal: bool,
    /// Whether matrices have biases.
    #[serde(default)]
    pub bias: bool,
    /// Side of the square windows that attention is confined to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<usize>,
    /// Feed-forward layers from which a router picks.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub experts: usize,
    /// How many it picks for a token.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub experts_per_token: usize,
    /// What comes out.
    #[serde(default)]
    pub output: Output,
}

impl Transformer {
    /// The number of layers, each with attention and a feed-forward layer.
    pub fn depth(&self) -> usize {
        self.stages.iter().map(|stage| stage.layers).sum()
    }

    /// How many tokens a stage has.
    pub fn positions(&self, stage: usize) -> usize {
        match self.embedding {
            Embedding::Patches { image, patch, class_tokens, .. } => {
                let side = (image / patch.max(1)) >> stage.min(16);
                side.saturating_mul(side).saturating_add(class_tokens)
            }
            Embedding::Words { tokens, .. } | Embedding::Given { tokens } => tokens,
        }
    }

    /// The attention layer of a stage, with white tokens.
    pub fn attention(&self, stage: usize) -> Attention {
        let TransformerStage { inputs, heads, key_value_heads, width, .. } = self.stages[stage];
        let positions = self.positions(stage);
        let tokens = self.window.map_or(positions, |side| positions.min(side.saturating_mul(side)));
        Attention {
            inputs,
            heads,
            key_value_heads,
            width,
            tokens,
            correlation: 0.0,
            causal: self.causal,
            logits: Logits::InverseRoot,
            bias: self.bias,
        }
    }

    /// The feed-forward layer of a stage.
    pub fn feed_forward(&self, stage: usize) -> FeedForward {
        let TransformerStage { inputs, hidden, .. } = self.stages[stage];
        FeedForward {
            gated: self.gated,
            bias: self.bias,
            experts: self.experts,
            experts_per_token: self.experts_per_token,
            ..FeedForward::of_width(inputs, hidden, self.activation)
        }
    }

    /// Whether every number is in range and they fit together.
    pub(crate) fn check(&self) -> Result<(), Error> {
        crate::names::check(&self.name)?;
        within("the number of stages", self.stages.len(), 1, 16)?;
        match self.embedding {
            Embedding::Patches { image, patch, class_tokens, .. } => {
                within("the side of an image", image, 1, MAX_IMAGE_SIDE)?;
                within("the side of a patch", patch, 1, image)?;
                within("the number of class tokens", class_tokens, 0, MAX_IMAGE_SIDE)?;
            }
            Embedding::Words { vocabulary, positions, types, .. } => {
                dimension("the number of words", vocabulary)?;
                within("the number of positions", positions, 0, crate::MAX_DIMENSION)?;
                within("the number of segments", types, 0, crate::MAX_DIMENSION)?;
            }
            Embedding::Given { .. } => {}
        }
        if let Output::Classes { classes } = self.output {
            dimension("the number of classes", classes)?;
        }
        if matches!((self.output, self.embedding), (Output::Words { .. }, Embedding::Patches { .. })) {
            return Err(Error::Invalid(format!(
                "{} has patches for tokens, so that it cannot put out words; take classes or tokens",
                self.name
            )));
        }
        if let Some(side) = self.window {
            within("the side of a window", side, 1, MAX_IMAGE_SIDE)?;
        }
        for (stage, TransformerStage { layers, .. }) in self.stages.iter().enumerate() {
            within("the number of layers", *layers, 1, MAX_LAYERS)?;
            within("the number of tokens", self.positions(stage), 1, MAX_IMAGE_SIDE)?;
            self.attention(stage).check()?;
            self.feed_forward(stage).check()?;
        }
        Ok(())
    }

    /// The counts of one image or text.
    pub fn counts(&self) -> Result<Counts, Error> {
        self.check()?;
        let mut ledger = Ledger::default();
        self.count_embedding(&mut ledger)?;
        let mut layer = 0;
        for stage in 0..self.stages.len() {
            if stage > 0 {
                self.count_merge(&mut ledger, stage)?;
            }
            for _ in 0..self.stages[stage].layers {
                self.count_layer(&mut ledger, stage, layer)?;
                layer += 1;
            }
        }
        ledger.begin(String::new());
        self.count_output(&mut ledger)?;
        ledger.finish()
    }

    fn norm(&self, ledger: &mut Ledger, name: &str, positions: usize, features: usize) -> Result<(), Error> {
        let (kind, each) = match self.norm {
            TokenNorm::Layer => ("layer norm", 2),
            TokenNorm::Rms => ("rms norm", 1),
        };
        ledger.norm(name, kind, positions, features, each)
    }

    fn count_embedding(&self, ledger: &mut Ledger) -> Result<(), Error> {
        let features = self.stages[0].inputs;
        let tokens = self.positions(0);
        ledger.begin("embedding.".into());
        match self.embedding {
            Embedding::Patches { patch, class_tokens, positions, .. } => {
                let values = crate::error::product("the values of a patch", &[3, patch, patch])?;
                ledger.dense("patches", tokens - class_tokens, &Matrix::new(values, features, true))?;
                ledger.table("class", "tokens", class_tokens, features)?;
                ledger.table("positions", "table", if positions { tokens } else { 0 }, features)?;
            }
            Embedding::Words { vocabulary, positions, types, .. } => {
                ledger.table("words", "table", vocabulary, features)?;
                ledger.table("positions", "table", positions, features)?;
                ledger.table("types", "table", types, features)?;
            }
            Embedding::Given { .. } => {}
        }
        if self.embedding_norm { self.norm(ledger, "norm", tokens, features) } else { Ok(()) }
    }

    /// Four neighbouring tokens become one.
    fn count_merge(&self, ledger: &mut Ledger, stage: usize) -> Result<(), Error> {
        let (positions, before) = (self.positions(stage), self.stages[stage - 1].inputs);
        ledger.begin(format!("merge{stage}."));
        self.norm(ledger, "norm", positions, 4 * before)?;
        ledger.dense("reduction", positions, &Matrix::new(4 * before, self.stages[stage].inputs, false))
    }

    fn count_layer(&self, ledger: &mut Ledger, stage: usize, layer: usize) -> Result<(), Error> {
        let (positions, features) = (self.positions(stage), self.stages[stage].inputs);
        let attention = self.attention(stage);
        let names = [("attention", "norm1", "add1"), ("feed-forward", "norm2", "add2")];
        for (index, (name, norm, sum)) in names.into_iter().enumerate() {
            let own = format!("layers.{layer}.");
            ledger.begin(own.clone());
            if self.order == NormOrder::Before {
                self.norm(ledger, norm, positions, features)?;
            }
            ledger.begin(format!("{own}{name}."));
            if index == 0 {
                if let Some(side) = self.window {
                    let offsets = (2 * side - 1).saturating_mul(2 * side - 1);
                    ledger.table("offsets", "relative positions", offsets, attention.heads)?;
                }
                attention.count(ledger, positions)?;
            } else {
                self.feed_forward(stage).count(ledger, positions)?;
            }
            ledger.begin(own);
            ledger.pointwise(sum, "residual sum", positions, features)?;
            if self.order == NormOrder::After {
                self.norm(ledger, norm, positions, features)?;
            }
        }
        Ok(())
    }

    fn count_output(&self, ledger: &mut Ledger) -> Result<(), Error> {
        let last = self.stages.len() - 1;
        let (positions, features) = (self.positions(last), self.stages[last].inputs);
        let alone = matches!(self.embedding, Embedding::Given { .. });
        if self.order == NormOrder::Before && !alone {
            self.norm(ledger, "norm", positions, features)?;
        }
        match (self.output, self.embedding) {
            (Output::Classes { classes }, _) => {
                ledger.dense("head", 1, &Matrix::new(features, classes, true))
            }
            (Output::Pooled, _) => ledger.dense("pooler", 1, &Matrix::new(features, features, true)),
            (Output::Words { tied: false }, Embedding::Words { vocabulary, .. }) => {
                ledger.dense("head", positions, &Matrix::new(features, vocabulary, false))
            }
            (Output::Words { tied: true }, Embedding::Words { vocabulary, .. }) => {
                ledger.product("head", "dense, the table of words", positions, features, vocabulary)
            }
            _ => Ok(()),
        }
    }
}
