//! The spec: every network of the paper and the user's own, as data that TOML and JSON can hold.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::bottleneck::Bottleneck;
use crate::counts::{Counts, Tally, Totals};
use crate::design::Design;
use crate::error::{MAX_TEXT, within};
use crate::fully_connected::FullyConnected;
use crate::graph::{Graph, Unnamed};
use crate::layers::Layers;
use crate::module::Module;
use crate::regnet::Regnet;
use crate::resnext::Resnext;
use crate::sequence::{Sequence, unnamed};
use crate::stage_design::{Designs, StageDesign};
use crate::toml_error::{explained, plain_words};
use crate::transformer::{Attention, FeedForward, Transformer, hugging_face};
use crate::unsupported::Unsupported;
use crate::wide_resnet::WideResnet;
use crate::{Error, names};

/// A network or a module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Spec {
    /// A fully connected ensemble.
    FullyConnected(FullyConnected),
    /// One bottleneck block.
    Bottleneck(Bottleneck),
    /// The user's own chain of layers.
    Sequence(Sequence),
    /// A ResNet or ResNeXt.
    Resnext(Resnext),
    /// A RegNet.
    Regnet(Regnet),
    /// A Wide ResNet.
    WideResnet(WideResnet),
    /// An attention layer.
    Attention(Attention),
    /// A feed-forward layer of a transformer.
    FeedForward(FeedForward),
    /// A transformer.
    Transformer(Transformer),
}

impl Spec {
    /// Reads a name (`resnext29-37x10d`), the path of a `.toml` or `.json` file, or what such a
    /// file would hold: JSON begins with a brace, TOML has more than one line.
    pub fn load(name_or_path: &str) -> Result<Self, Error> {
        if name_or_path.trim_start().starts_with('{') {
            return Self::from_json(name_or_path);
        }
        if name_or_path.trim_end().contains('\n') {
            return Self::from_toml(name_or_path);
        }
        let path = Path::new(name_or_path);
        let named_as_file = path.extension().is_some_and(|ending| ending == "toml" || ending == "json");
        if !named_as_file && !path.is_file() {
            return name_or_path.parse();
        }
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Unreadable { path: path.into(), source })?;
        Self::of_file(path, &text)
    }

    /// Reads the text of a file of this name, and checks it. A module without a name takes the
    /// file's.
    pub fn of_file(path: &Path, text: &str) -> Result<Self, Error> {
        let json = path.extension().is_some_and(|ending| ending == "json");
        let spec = if json { Self::from_json(text) } else { Self::from_toml(text) };
        let mut spec = spec.map_err(|error| match error {
            Error::Malformed { message, .. } => Error::Malformed { path: path.into(), message },
            other => Error::Malformed { path: path.into(), message: other.to_string() },
        })?;
        if let (Self::Sequence(module), Some(stem)) = (&mut spec, path.file_stem())
            && module.name == unnamed()
        {
            module.name = stem.to_string_lossy().into_owned();
        }
        Ok(spec)
    }

    /// Reads the TOML form and checks it.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        check_length(text)?;
        let spec: Self = toml::from_str(text).map_err(|error| Error::Malformed {
            path: "the spec".into(),
            message: explained::<Self>(text, &error),
        })?;
        spec.check()?;
        Ok(spec)
    }

    /// Reads the JSON form, or a configuration file of Hugging Face's (`config.json`, which has a
    /// `model_type`), and checks it.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        check_length(text)?;
        let malformed = |error: serde_json::Error| Error::Malformed {
            path: "the spec".into(),
            message: plain_words(&error.to_string()),
        };
        let document: serde_json::Value = serde_json::from_str(text).map_err(malformed)?;
        if hugging_face::is_meant(&document) {
            return hugging_face::read(&document);
        }
        // The text again: only its reader says line and column.
        let spec: Self = serde_json::from_str(text).map_err(malformed)?;
        spec.check()?;
        Ok(spec)
    }

    /// The TOML form, which [`Spec::from_toml`] reads back to the same spec.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| unreachable!("a spec is plain TOML data: {error}"))
    }

    /// Whether its name is one, every dimension is in range and all layers fit together.
    pub fn check(&self) -> Result<(), Error> {
        if let Self::Sequence(sequence) = self {
            names::check(&sequence.name)?;
        }
        match self {
            Self::Attention(layer) => layer.check(),
            Self::FeedForward(layer) => layer.check(),
            Self::Transformer(network) => network.check(),
            _ => self.build::<Tally>().map(|_| ()),
        }
    }

    /// The elementary operations by their names, for engines and for counts per layer.
    pub fn graph(&self) -> Result<Graph, Error> {
        self.build()
    }

    /// The same without names, which take most of the time: for questions that only its operations
    /// decide.
    pub fn graph_without_names(&self) -> Result<Graph, Error> {
        Ok(self.build::<Unnamed>()?.0)
    }

    /// The counts per layer and in all.
    pub fn counts(&self) -> Result<Counts, Error> {
        match self {
            Self::Attention(layer) => layer.counts(),
            Self::FeedForward(layer) => layer.counts(),
            Self::Transformer(network) => network.counts(),
            _ => self.graph()?.counts(),
        }
    }

    /// The counts in all: those of its graph, which is not built for them.
    pub fn totals(&self) -> Result<Totals, Error> {
        match self {
            Self::Attention(_) | Self::FeedForward(_) | Self::Transformer(_) => Ok(self.counts()?.total),
            _ => self.build::<Tally>()?.totals(),
        }
    }

    fn build<L: Layers>(&self) -> Result<L, Error> {
        match self {
            Self::FullyConnected(network) => {
                network.check()?;
                network.sequence().build()
            }
            Self::Bottleneck(block) => block.sequence().build(),
            Self::Sequence(sequence) => sequence.build(),
            Self::Resnext(network) => network.build(),
            Self::Regnet(network) => network.build(),
            Self::WideResnet(network) => network.build(),
            Self::FeedForward(layer) if layer.is_plain() => layer.sequence().build(),
            Self::FeedForward(_) | Self::Attention(_) | Self::Transformer(_) => {
                Err(Error::NoGraph { model: self.name() })
            }
        }
    }

    /// The module, if this is one and not a stack of several.
    pub fn module(&self) -> Option<Module> {
        match self.clone() {
            Self::FullyConnected(module) => Some(Module::FullyConnected(module)),
            Self::Bottleneck(module) => Some(Module::Bottleneck(module)),
            Self::Sequence(module) => Some(Module::Sequence(module)),
            Self::FeedForward(module) if module.is_plain() => Some(Module::FeedForward(module)),
            Self::FeedForward(_) | Self::Attention(_) | Self::Transformer(_) => None,
            Self::Resnext(_) | Self::Regnet(_) | Self::WideResnet(_) => None,
        }
    }

    /// The module whose width and multiplicity are searched: the spec itself if it is a module, the
    /// block of the first stage for a ResNeXt (the block the paper analyses).
    pub fn analysed_module(&self) -> Result<Module, Error> {
        match self {
            Self::Resnext(network) => Ok(Module::Bottleneck(network.block(0)?)),
            Self::Regnet(_) => Err(Error::Invalid(format!(
                "the stages of {} have widths of their own, so that no single block stands for it; its blocks can be analysed one by one, as TOML modules of kind bottleneck",
                self.name()
            ))),
            Self::WideResnet(_) => Err(self.basic_blocks()),
            Self::FeedForward(_) | Self::Attention(_) | Self::Transformer(_) if self.module().is_none() => {
                Err(Error::NoGraph { model: self.name() })
            }
            _ => self.module().ok_or_else(|| Error::NoBlocks { model: self.name() }),
        }
    }

    /// The blocks whose members a search counts and widens, in order: all of a network's, or the
    /// one block that this is.
    pub fn blocks(&self) -> Result<Vec<Block>, Error> {
        match self {
            Self::Resnext(network) => network.blocks(),
            Self::Regnet(network) => network.blocks(),
            Self::Bottleneck(block) => Ok(vec![Block { stage: 0, count: 1, bottleneck: block.clone() }]),
            Self::WideResnet(_) => Err(self.basic_blocks()),
            _ => Err(Error::NoBlocks { model: self.name() }),
        }
    }

    fn basic_blocks(&self) -> Error {
        Error::Unsupported {
            name: self.name(),
            reason: Unsupported::BySearch(
                "it has basic blocks: one hidden layer, and splitting that changes nothing; take a resnext, regnet, fc \
                     or bottleneck model, or a TOML module",
            ),
        }
    }

    /// What a design m x n is at every stage: a ResNeXt's members widen, a RegNet's become more. The
    /// two widths of a block keep their ratio, as in [`with_design`](Self::with_design).
    pub fn stage_designs(&self, design: Design) -> Result<Vec<StageDesign>, Error> {
        match self {
            Self::Resnext(network) => {
                (0..network.stages()).map(|stage| Designs::from(design).stage(stage)).collect()
            }
            Self::Regnet(network) => network.stage_designs(design),
            Self::Bottleneck(block) => {
                let widths = Module::Bottleneck(block.clone()).scaled_to(design.width)?.widths();
                Ok(vec![StageDesign { multiplicity: design.multiplicity, widths: [widths[0], widths[1]] }])
            }
            Self::WideResnet(_) => Err(self.basic_blocks()),
            _ => Err(Error::NoBlocks { model: self.name() }),
        }
    }

    /// How many times as many members as the first every stage has with one design for all, but for
    /// rounding; a module has one stage.
    pub fn stage_shares(&self) -> Vec<f64> {
        match self {
            Self::Resnext(network) => vec![1.0; network.stages()],
            Self::Regnet(network) => network.stage_shares(),
            _ => vec![1.0],
        }
    }

    /// The same model with m members of width n in place of its own; a network's stages widen as
    /// its family does.
    pub fn with_design(&self, design: Design) -> Result<Self, Error> {
        let spec = match self {
            Self::Resnext(network) => Self::Resnext(network.with_design(design)),
            Self::Regnet(network) => Self::Regnet(network.with_design(design)?),
            _ => {
                let module = self.analysed_module()?.scaled_to(design.width)?;
                module.with_members(design.multiplicity)?.into()
            }
        };
        spec.check()?;
        Ok(spec)
    }

    /// The same network with one design per stage; a block has one stage.
    pub fn with_stage_designs(&self, designs: &[StageDesign]) -> Result<Self, Error> {
        let spec = match (self, designs) {
            (Self::Resnext(network), _) => Self::Resnext(network.with_stage_designs(designs)?),
            (Self::Regnet(network), _) => Self::Regnet(network.with_stage_designs(designs)?),
            (Self::Bottleneck(block), [design]) => {
                let block = Bottleneck { members: design.multiplicity, ..block.clone() };
                Self::Bottleneck(block.with_widths(design.widths))
            }
            (Self::Bottleneck(_), _) => {
                let (name, designs) = (self.name(), designs.len());
                return Err(Error::Invalid(format!("{name} is one block but {designs} designs were given")));
            }
            _ => return Err(Error::NoBlocks { model: self.name() }),
        };
        spec.check()?;
        Ok(spec)
    }

    /// The short name; class counts and image sizes are not in it. It can always stand as the name
    /// of a file: it has at most letters, digits and `-_.,`, and does not begin with a dot.
    pub fn name(&self) -> String {
        match self {
            Self::FullyConnected(network) => network.name(),
            Self::Bottleneck(block) => block.name(),
            Self::Sequence(sequence) => sequence.name.clone(),
            Self::Resnext(network) => network.name(),
            Self::Regnet(network) => network.name(),
            Self::WideResnet(network) => network.name(),
            Self::Attention(layer) => layer.name(),
            Self::FeedForward(layer) => layer.name(),
            Self::Transformer(network) => network.name.clone(),
        }
    }
}

/// Before it is parsed, which takes longer the longer it is.
fn check_length(text: &str) -> Result<(), Error> {
    within("the length of the spec in bytes", text.len(), 0, MAX_TEXT).map(drop)
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

impl std::str::FromStr for Spec {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self, Error> {
        names::parse(name)
    }
}
