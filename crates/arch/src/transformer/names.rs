//! Names of transformers: torchvision's and timm's `vit_*`, `deit_*`, `swin_*`, Hugging Face's `gpt2`
//! and `bert-*`, and blocks as Llama has them by four numbers.

use super::{Embedding, NormOrder, Output, TokenNorm, Transformer, TransformerStage};
use crate::design::number;
use crate::{Activation, Error};

/// Names worth listing, by the titles of their families.
pub(crate) const VISION: &[&str] = &[
    "vit_b_16",
    "vit_b_32",
    "vit_l_16",
    "vit_l_32",
    "vit_h_14",
    "vit_tiny_patch16_224",
    "vit_small_patch16_224",
    "deit_tiny_patch16_224",
    "deit_small_patch16_224",
    "deit_base_patch16_224",
    "swin_t",
    "swin_s",
    "swin_b",
];

/// The same of text.
pub(crate) const TEXT: &[&str] = &[
    "gpt2",
    "gpt2-medium",
    "gpt2-large",
    "gpt2-xl",
    "bert-base",
    "bert-large",
    "llama-4096x32x32x11008",
    "llama-4096x32x8x14336x32",
];

/// Tokens of a block that is not told how many it sees.
const BLOCK_TOKENS: usize = 2048;

/// The transformer of a name; `None` where it has the form of none.
pub(crate) fn find(name: &str) -> Option<Result<Transformer, Error>> {
    if let Some(rest) = name.strip_prefix("llama-") {
        return llama(name, rest);
    }
    vision(name).or_else(|| swin(name)).or_else(|| text(name)).map(Ok)
}

/// `vit_b_16`, `vit_base_patch16_224`, `deit_small_patch16_384`.
fn vision(name: &str) -> Option<Transformer> {
    let rest = name.strip_prefix("vit_").or_else(|| name.strip_prefix("deit_"))?;
    let (size, rest) = rest.split_once('_')?;
    let (patch, image) = match rest.strip_prefix("patch") {
        Some(sides) => sides.split_once('_')?,
        None => (rest, "224"),
    };
    let (patch, image): (usize, usize) = (patch.parse().ok()?, image.parse().ok()?);
    let (inputs, layers, heads) = match size {
        "tiny" | "ti" => (192, 12, 3),
        "small" | "s" => (384, 12, 6),
        "base" | "b" => (768, 12, 12),
        "large" | "l" => (1024, 24, 16),
        "huge" | "h" => (1280, 32, 16),
        _ => return None,
    };
    // Others of these forms are other networks: registers, pools, overlapping patches.
    if ![8, 14, 16, 32].contains(&patch) || image == 0 {
        return None;
    }
    let embedding = Embedding::Patches { image, patch, class_tokens: 1, positions: true };
    Some(Transformer {
        name: name.to_owned(),
        embedding,
        stages: vec![TransformerStage::usual(layers, inputs, heads)],
        output: Output::Classes { classes: 1000 },
        ..Transformer::plain()
    })
}

/// `swin_t`, `swin_tiny_patch4_window7_224`.
fn swin(name: &str) -> Option<Transformer> {
    let rest = name.strip_prefix("swin_")?;
    let (size, window, image) = match rest.split_once("_patch4_window") {
        Some((size, rest)) => {
            let (window, image) = rest.split_once('_')?;
            (size, window.parse().ok()?, image.parse().ok()?)
        }
        None => (rest, 7, 224),
    };
    let (inputs, third, heads) = match size {
        "t" | "tiny" => (96, 6, 3),
        "s" | "small" => (96, 18, 3),
        "b" | "base" => (128, 18, 4),
        "large" => (192, 18, 6),
        _ => return None,
    };
    Some(Transformer { name: name.to_owned(), ..of_windows([2, 2, third, 2], inputs, heads, window, image) })
}

fn of_windows(layers: [usize; 4], inputs: usize, heads: usize, window: usize, image: usize) -> Transformer {
    let stage =
        |(index, layers): (usize, usize)| TransformerStage::usual(layers, inputs << index, heads << index);
    Transformer {
        embedding: Embedding::Patches { image, patch: 4, class_tokens: 0, positions: false },
        embedding_norm: true,
        stages: layers.into_iter().enumerate().map(stage).collect(),
        window: Some(window),
        output: Output::Classes { classes: 1000 },
        ..Transformer::plain()
    }
}

/// `gpt2-xl`, `bert-base`, `bert-large-uncased`.
fn text(name: &str) -> Option<Transformer> {
    let (layers, inputs, heads) = match name {
        "gpt2" | "gpt2-small" => (12, 768, 12),
        "gpt2-medium" => (24, 1024, 16),
        "gpt2-large" => (36, 1280, 20),
        "gpt2-xl" => (48, 1600, 25),
        _ => return bert(name),
    };
    Some(Transformer {
        name: name.to_owned(),
        embedding: Embedding::Words { vocabulary: 50_257, tokens: 1024, positions: 1024, types: 0 },
        stages: vec![TransformerStage::usual(layers, inputs, heads)],
        causal: true,
        output: Output::Words { tied: true },
        ..Transformer::plain()
    })
}

fn bert(name: &str) -> Option<Transformer> {
    let rest = name.strip_prefix("bert-")?;
    let (size, vocabulary) = match rest.strip_suffix("-cased") {
        Some(size) => (size, 28_996),
        None => (rest.strip_suffix("-uncased").unwrap_or(rest), 30_522),
    };
    let stage = match size {
        "base" => TransformerStage::usual(12, 768, 12),
        "large" => TransformerStage::usual(24, 1024, 16),
        _ => return None,
    };
    Some(Transformer {
        name: name.to_owned(),
        embedding: Embedding::Words { vocabulary, tokens: 512, positions: 512, types: 2 },
        embedding_norm: true,
        stages: vec![stage],
        order: NormOrder::After,
        output: Output::Pooled,
        ..Transformer::plain()
    })
}

/// `4096x32x8x14336`: width, heads, key/value heads, hidden width of the feed-forward layer; a fifth
/// number is how many layers there are.
fn llama(name: &str, rest: &str) -> Option<Result<Transformer, Error>> {
    const WHAT: [&str; 5] = [
        "the width of a token",
        "the number of heads",
        "the number of key/value heads",
        "the width of the feed-forward layer",
        "the number of layers",
    ];
    let parts: Vec<&str> = rest.split('x').collect();
    if !(4..=5).contains(&parts.len()) {
        return None;
    }
    let numbers: Option<Vec<Result<usize, Error>>> =
        WHAT.iter().zip(&parts).map(|(what, part)| number(what, part)).collect();
    Some(numbers?.into_iter().collect::<Result<Vec<_>, _>>().and_then(|numbers| {
        let (inputs, heads) = (numbers[0], numbers[1]);
        if heads == 0 || !inputs.is_multiple_of(heads) {
            return Err(Error::Invalid(format!(
                "{name} has {heads} heads, which do not divide its width {inputs}; take a divisor, or a TOML spec of kind \
                 transformer"
            )));
        }
        let stage = TransformerStage {
            layers: numbers.get(4).copied().unwrap_or(1),
            inputs,
            heads,
            key_value_heads: Some(numbers[2]),
            width: inputs / heads,
            hidden: numbers[3],
        };
        let embedding = Embedding::Given { tokens: BLOCK_TOKENS };
        Ok(Transformer { name: name.to_owned(), embedding, stages: vec![stage], ..Transformer::llama() })
    }))
}

impl TransformerStage {
    /// Heads that fill the width, and a hidden width of four times the input's.
    pub(super) fn usual(layers: usize, inputs: usize, heads: usize) -> Self {
        let (width, hidden) = (inputs / heads.max(1), inputs.saturating_mul(4));
        Self { layers, inputs, heads, key_value_heads: None, width, hidden }
    }
}

impl Transformer {
    /// What ViT, GPT-2 and BERT have in common, without stages.
    pub(super) fn plain() -> Self {
        Self {
            name: "transformer".into(),
            embedding: Embedding::Given { tokens: 1 },
            embedding_norm: false,
            stages: vec![],
            order: NormOrder::Before,
            norm: TokenNorm::Layer,
            activation: Activation::Gelu,
            gated: false,
            causal: false,
            bias: true,
            window: None,
            experts: 1,
            experts_per_token: 1,
            output: Output::Tokens,
        }
    }

    /// What Llama and Mistral have in common, without stages.
    pub(super) fn llama() -> Self {
        Self {
            norm: TokenNorm::Rms,
            activation: Activation::Silu,
            gated: true,
            causal: true,
            bias: false,
            ..Self::plain()
        }
    }
}
