//! Configuration files of Hugging Face's transformers (`config.json`) as specs. Nothing is
//! downloaded: the file says everything that counts.

use serde_json::Value;

use super::{Embedding, NormOrder, Output, Transformer, TransformerStage};
use crate::{Activation, Designs, Error, Regnet, Resnext, Spec, StageDesign, Stem};

/// The kinds that are understood, by their `model_type`.
const KINDS: [&str; 11] =
    ["bert", "deit", "gpt2", "llama", "mistral", "mixtral", "regnet", "resnet", "roberta", "swin", "vit"];

/// Tokens of a text where a network can take more: counts and variances are those of so many.
const MOST_TOKENS: usize = 2048;

/// Whether a document is such a configuration, or at least no spec: those have a `kind`.
pub(crate) fn is_meant(document: &Value) -> bool {
    document.get("kind").is_none()
}

/// The network that a configuration describes.
pub(crate) fn read(document: &Value) -> Result<Spec, Error> {
    let config = Config { document };
    if config.get("model_type").is_none() {
        return Err(Error::Invalid(format!(
            "this is neither a spec, which is an object with a \"kind\", nor a configuration of Hugging Face's, which has a \
             \"model_type\" (one of {})",
            KINDS.join(", ")
        )));
    }
    let kind = config.text("model_type")?;
    match kind {
        "resnet" => config.resnet(),
        "regnet" => config.regnet(),
        "vit" => config.vision(1),
        "deit" => config.vision(2),
        "swin" => config.swin(),
        "bert" | "roberta" => config.bert(),
        "gpt2" => config.gpt2(),
        "llama" | "mistral" => config.llama(1, 1),
        "mixtral" => config.llama(config.number("num_local_experts")?, config.number("num_experts_per_tok")?),
        _ => Err(Error::Invalid(format!(
            "the configuration's model_type {kind:?} is not known; known are {}",
            KINDS.join(", ")
        ))),
    }
}

struct Config<'a> {
    document: &'a Value,
}

impl<'a> Config<'a> {
    /// A value that is there and not null.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.document.get(key).filter(|value| !value.is_null())
    }

    fn required(&self, key: &str) -> Result<&'a Value, Error> {
        self.get(key).ok_or_else(|| {
            let kind = self.document["model_type"].as_str().unwrap_or_default();
            Error::Invalid(format!("the configuration of model_type {kind:?} lacks the key {key:?}"))
        })
    }

    fn wrong(key: &str, value: &Value, wanted: &str) -> Error {
        Error::Invalid(format!("the configuration's {key:?} is {value}; it must be {wanted}"))
    }

    fn text(&self, key: &str) -> Result<&'a str, Error> {
        let value = self.required(key)?;
        value.as_str().ok_or_else(|| Self::wrong(key, value, "a text"))
    }

    fn as_number(key: &str, value: &Value) -> Result<usize, Error> {
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        number.filter(|&number| number > 0).ok_or_else(|| Self::wrong(key, value, "a whole number above 0"))
    }

    fn number(&self, key: &str) -> Result<usize, Error> {
        Self::as_number(key, self.required(key)?)
    }

    fn number_or(&self, key: &str, otherwise: usize) -> Result<usize, Error> {
        self.get(key).map_or(Ok(otherwise), |value| Self::as_number(key, value))
    }

    fn numbers(&self, key: &str) -> Result<Vec<usize>, Error> {
        let value = self.required(key)?;
        let list = value.as_array().ok_or_else(|| Self::wrong(key, value, "a list of whole numbers"))?;
        list.iter().map(|number| Self::as_number(key, number)).collect()
    }

    fn flag(&self, key: &str, otherwise: bool) -> Result<bool, Error> {
        let Some(value) = self.get(key) else { return Ok(otherwise) };
        value.as_bool().ok_or_else(|| Self::wrong(key, value, "true or false"))
    }

    /// The number of labels; Hugging Face's own default is 2.
    fn classes(&self) -> Result<usize, Error> {
        match self.get("id2label").and_then(Value::as_object) {
            Some(labels) if !labels.is_empty() => Ok(labels.len()),
            _ => self.number_or("num_labels", 2),
        }
    }

    fn activation(&self, key: &str, otherwise: Activation) -> Result<Activation, Error> {
        let Some(value) = self.get(key) else { return Ok(otherwise) };
        match value.as_str() {
            // The approximations differ from GELU by less than 5e-4.
            Some("gelu" | "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh") => Ok(Activation::Gelu),
            Some("relu") => Ok(Activation::Relu),
            Some("silu" | "swish") => Ok(Activation::Silu),
            Some("tanh") => Ok(Activation::Tanh),
            _ => Err(Self::wrong(key, value, "gelu, gelu_new, relu, silu or tanh")),
        }
    }

    /// `google/vit-base-patch16-224` as `vit-base-patch16-224`.
    fn name(&self) -> String {
        let given = self.get("_name_or_path").and_then(Value::as_str).unwrap_or_default();
        let last = given.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or_default();
        let kind = self.document["model_type"].as_str().unwrap_or_default();
        let name = if crate::names::check(last).is_ok() { last } else { kind };
        name.to_owned()
    }

    /// A stage whose heads fill the width unless the configuration says how wide they are.
    fn stage(&self, hidden: usize) -> Result<TransformerStage, Error> {
        let (inputs, heads) = (self.number("hidden_size")?, self.number("num_attention_heads")?);
        if self.get("head_dim").is_none() && !inputs.is_multiple_of(heads) {
            return Err(Error::Invalid(format!(
                "the configuration's \"num_attention_heads\" {heads} does not divide its \"hidden_size\" {inputs}; give \
                 \"head_dim\""
            )));
        }
        let key_value_heads = self.get("num_key_value_heads").map(|_| self.number("num_key_value_heads"));
        Ok(TransformerStage {
            layers: self.number("num_hidden_layers")?,
            inputs,
            heads,
            key_value_heads: key_value_heads.transpose()?,
            width: self.number_or("head_dim", inputs / heads)?,
            hidden,
        })
    }

    fn vision(&self, class_tokens: usize) -> Result<Spec, Error> {
        let (image, patch) = (self.number("image_size")?, self.number("patch_size")?);
        if !self.flag("qkv_bias", true)? {
            return Err(Error::Invalid(
                "the configuration's \"qkv_bias\" is false; here either all matrices have biases or none"
                    .into(),
            ));
        }
        checked(Transformer {
            name: self.name(),
            embedding: Embedding::Patches { image, patch, class_tokens, positions: true },
            stages: vec![self.stage(self.number("intermediate_size")?)?],
            activation: self.activation("hidden_act", Activation::Gelu)?,
            output: Output::Classes { classes: self.classes()? },
            ..Transformer::plain()
        })
    }

    fn swin(&self) -> Result<Spec, Error> {
        let (image, patch) = (self.number("image_size")?, self.number("patch_size")?);
        let (inputs, depths, heads) =
            (self.number("embed_dim")?, self.numbers("depths")?, self.numbers("num_heads")?);
        if depths.len() != heads.len() || !(1..=16).contains(&depths.len()) {
            return Err(Error::Invalid(format!(
                "the configuration's \"depths\" and \"num_heads\" have {} and {} entries; both must have one per stage, at \
                 most 16",
                depths.len(),
                heads.len()
            )));
        }
        let ratio = match self.get("mlp_ratio") {
            None => 4.0,
            Some(value) => value
                .as_f64()
                .filter(|ratio| *ratio > 0.0 && *ratio <= 1024.0)
                .ok_or_else(|| Self::wrong("mlp_ratio", value, "a number above 0 and at most 1024"))?,
        };
        let stage = |(index, (&layers, &heads)): (usize, (&usize, &usize))| {
            let inputs = inputs.saturating_mul(1 << index);
            if !inputs.is_multiple_of(heads) {
                return Err(Error::Invalid(format!(
                    "the configuration's \"num_heads\" {heads} of stage {} does not divide the stage's width {inputs}",
                    index + 1
                )));
            }
            let hidden = (inputs as f64 * ratio) as usize;
            Ok(TransformerStage { layers, hidden, ..TransformerStage::usual(layers, inputs, heads) })
        };
        checked(Transformer {
            name: self.name(),
            embedding: Embedding::Patches { image, patch, class_tokens: 0, positions: false },
            embedding_norm: true,
            stages: depths.iter().zip(&heads).enumerate().map(stage).collect::<Result<_, _>>()?,
            activation: self.activation("hidden_act", Activation::Gelu)?,
            window: Some(self.number("window_size")?),
            output: Output::Classes { classes: self.classes()? },
            ..Transformer::plain()
        })
    }

    fn bert(&self) -> Result<Spec, Error> {
        let positions = self.number("max_position_embeddings")?;
        checked(Transformer {
            name: self.name(),
            embedding: Embedding::Words {
                vocabulary: self.number("vocab_size")?,
                tokens: positions.min(MOST_TOKENS),
                positions,
                types: self.number_or("type_vocab_size", 2)?,
            },
            embedding_norm: true,
            stages: vec![self.stage(self.number("intermediate_size")?)?],
            order: NormOrder::After,
            activation: self.activation("hidden_act", Activation::Gelu)?,
            output: Output::Pooled,
            ..Transformer::plain()
        })
    }

    fn gpt2(&self) -> Result<Spec, Error> {
        let (inputs, heads) = (self.number("n_embd")?, self.number("n_head")?);
        if !inputs.is_multiple_of(heads) {
            return Err(Error::Invalid(format!(
                "the configuration's \"n_head\" {heads} does not divide its \"n_embd\" {inputs}"
            )));
        }
        let positions = match self.get("n_positions") {
            Some(_) => self.number("n_positions")?,
            None => self.number("n_ctx")?,
        };
        let usual = TransformerStage::usual(self.number("n_layer")?, inputs, heads);
        let hidden = self.number_or("n_inner", usual.hidden)?;
        checked(Transformer {
            name: self.name(),
            embedding: Embedding::Words {
                vocabulary: self.number("vocab_size")?,
                tokens: positions.min(MOST_TOKENS),
                positions,
                types: 0,
            },
            stages: vec![TransformerStage { hidden, ..usual }],
            activation: self.activation("activation_function", Activation::Gelu)?,
            causal: true,
            output: Output::Words { tied: self.flag("tie_word_embeddings", true)? },
            ..Transformer::plain()
        })
    }

    fn llama(&self, experts: usize, experts_per_token: usize) -> Result<Spec, Error> {
        if self.flag("attention_bias", false)? || self.flag("mlp_bias", false)? {
            return Err(Error::Invalid(
                "the configuration asks for biases in some matrices of a Llama, which no spec has; set attention_bias and \
                 mlp_bias to false"
                    .into(),
            ));
        }
        let tokens = self.number("max_position_embeddings")?.min(MOST_TOKENS);
        checked(Transformer {
            name: self.name(),
            embedding: Embedding::Words {
                vocabulary: self.number("vocab_size")?,
                tokens,
                positions: 0,
                types: 0,
            },
            stages: vec![self.stage(self.number("intermediate_size")?)?],
            activation: self.activation("hidden_act", Activation::Silu)?,
            experts,
            experts_per_token,
            output: Output::Words { tied: self.flag("tie_word_embeddings", false)? },
            ..Transformer::llama()
        })
    }

    /// Four stages or fewer that begin with `[256, 512, ...]` and double, as names have them.
    fn resnet(&self) -> Result<Spec, Error> {
        self.bottlenecks()?;
        self.rectified()?;
        let (outputs, blocks) = (self.numbers("hidden_sizes")?, self.numbers("depths")?);
        let doubling = outputs.windows(2).all(|pair| pair[1] == pair[0].saturating_mul(2));
        let first = outputs.first().copied().unwrap_or_default();
        if !doubling || !first.is_multiple_of(4) || outputs.len() != blocks.len() || outputs.is_empty() {
            return Err(Error::Invalid(format!(
                "the configuration's \"hidden_sizes\" are {outputs:?}; a resnet here has one per stage, each twice the one \
                 before"
            )));
        }
        if self.flag("downsample_in_first_stage", false)? || self.flag("downsample_in_bottleneck", false)? {
            return Err(Error::Invalid(
                "the configuration has strides in other layers than a resnet here (downsample_in_first_stage and \
                 downsample_in_bottleneck must be false)"
                    .into(),
            ));
        }
        let width = first / 4;
        let spec = Spec::Resnext(Resnext {
            stem: Stem::Imagenet,
            blocks,
            design: Designs::Doubling(StageDesign::new(1, [width; 2])?),
            classes: self.classes()?,
            image: 224,
            stem_channels: self.number_or("embedding_size", 64)?,
            outputs: first,
            squeeze: None,
        });
        spec.check()?;
        Ok(spec)
    }

    fn regnet(&self) -> Result<Spec, Error> {
        self.rectified()?;
        let (outputs, blocks) = (self.numbers("hidden_sizes")?, self.numbers("depths")?);
        let group = self.number("groups_width")?;
        let squeeze = match self.text("layer_type")? {
            "x" => None,
            "y" => Some(4),
            other => return Err(Self::wrong("layer_type", &other.into(), "x or y")),
        };
        // As transformers count them: a width below that of a group is one group.
        let stage = |&width: &usize| {
            let groups = (width / group).max(1);
            if !width.is_multiple_of(groups) {
                return Err(Error::Invalid(format!(
                    "the configuration's \"groups_width\" {group} makes {groups} groups, whose number does not divide \
                     {width} of its \"hidden_sizes\""
                )));
            }
            StageDesign::new(groups, [width / groups; 2])
        };
        let designs = outputs.iter().map(stage).collect::<Result<Vec<_>, _>>()?;
        let spec = Spec::Regnet(Regnet {
            blocks,
            outputs,
            design: Designs::PerStage(designs),
            squeeze,
            classes: self.classes()?,
            image: 224,
            stem_channels: self.number_or("embedding_size", 32)?,
        });
        spec.check()?;
        Ok(spec)
    }

    /// Networks of bottleneck blocks have ReLU.
    fn rectified(&self) -> Result<(), Error> {
        match self.get("hidden_act") {
            Some(value) if value != "relu" => Err(Self::wrong("hidden_act", value, "relu")),
            _ => Ok(()),
        }
    }

    fn bottlenecks(&self) -> Result<(), Error> {
        match self.get("layer_type").and_then(Value::as_str) {
            None | Some("bottleneck") => Ok(()),
            Some(other) => Err(Error::Invalid(format!(
                "the configuration's \"layer_type\" is {other:?}: such blocks have one hidden layer, and splitting that \
                 changes nothing; bottleneck is read"
            ))),
        }
    }
}

fn checked(network: Transformer) -> Result<Spec, Error> {
    network.check()?;
    Ok(Spec::Transformer(network))
}
