//! MODEL, for every verb: a name, a spec's file or text, a run, a checkpoint, a safetensors or an
//! ONNX file.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use collegial_arch::{Design, Overrides, Spec, StageDesign};
use collegial_train::export::WeightFile;
use serde::Deserialize;

use crate::options::options;
use crate::{ContentError, Error, ModelRef, Monitor};

options! {
    /// A model by name or file, with the settings that its name leaves open.
    pub struct Model {
        /// Name of a model (timm/ or torchvision/ may stand before it), or path of a TOML spec or of a
        /// Hugging Face config.json
        #[arg(value_name = "MODEL", value_hint = clap::ValueHint::AnyPath)]
        pub model: ModelRef,
        /// Number of classes of a network
        #[arg(long, value_name = "COUNT")]
        pub classes: Option<usize>,
        /// Inputs of a fully connected network, or input channels of a block
        #[arg(long, value_name = "COUNT")]
        pub inputs: Option<usize>,
        /// Outputs of a fully connected network, or output channels of a block
        #[arg(long, value_name = "COUNT")]
        pub outputs: Option<usize>,
        /// Side of the square images
        #[arg(long, value_name = "PIXELS")]
        pub image: Option<usize>,
    }
}

/// Where the network of a [`Model`] was found.
pub enum Source {
    /// Named or written as a spec: its weights have to be drawn.
    Spec(Spec),
    /// In a file that holds its weights too.
    Weights(Box<WeightFile>),
}

impl Model {
    /// The model of a name or path, without settings.
    pub fn named(name_or_path: &str) -> Self {
        let model = name_or_path.parse().unwrap_or_else(|_| ModelRef::Name(name_or_path.to_owned()));
        model.into()
    }

    /// The settings that were given.
    pub fn overrides(&self) -> Overrides {
        let Self { classes, inputs, outputs, image, .. } = *self;
        Overrides { classes, inputs, outputs, image }
    }

    /// The network as it is named, settings not applied, with its weights where they come along.
    pub fn open(&self) -> Result<Source, Error> {
        self.model.open()
    }

    /// The network as it is named, settings not applied; a data set may set them.
    pub fn bare_spec(&self) -> Result<Spec, Error> {
        Ok(self.open()?.into_spec())
    }

    /// The same, and says where a file may be another network's.
    pub(crate) fn bare_spec_noted(&self, monitor: &dyn Monitor) -> Result<Spec, Error> {
        let source = self.open()?;
        if let Source::Weights(file) = &source {
            note_doubts(file, monitor);
        }
        Ok(source.into_spec())
    }

    /// The spec that is meant, settings applied.
    pub fn spec(&self) -> Result<Spec, Error> {
        Ok(self.bare_spec()?.with(&self.overrides())?)
    }
}

impl From<ModelRef> for Model {
    fn from(model: ModelRef) -> Self {
        Self { model, ..Self::default() }
    }
}

impl From<Spec> for Model {
    fn from(spec: Spec) -> Self {
        ModelRef::from(spec).into()
    }
}

impl Source {
    /// The network.
    pub fn spec(&self) -> &Spec {
        match self {
            Self::Spec(spec) => spec,
            Self::Weights(file) => file.spec(),
        }
    }

    /// The network alone.
    pub fn into_spec(self) -> Spec {
        match self {
            Self::Spec(spec) => spec,
            Self::Weights(file) => file.spec().clone(),
        }
    }
}

/// Designs that take the place of a network's own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Redesign {
    /// One for all stages, `37x10d`.
    All(Design),
    /// One per stage, `37x10d-20x12_14d-...`.
    PerStage(Vec<StageDesign>),
}

impl FromStr for Redesign {
    type Err = collegial_arch::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains(['-', '_']) {
            return Ok(Self::PerStage(text.split('-').map(str::parse).collect::<Result<_, _>>()?));
        }
        text.parse().map(Self::All)
    }
}

impl TryFrom<String> for Redesign {
    type Error = collegial_arch::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// The model with other designs in place of its own.
///
/// # Errors
///
/// Where there is no such model, or it cannot have such designs.
pub fn redesigned(model: &Model, redesign: &Redesign) -> Result<Spec, Error> {
    let spec = model.spec()?;
    Ok(match redesign {
        Redesign::All(design) => spec.with_design(*design)?,
        Redesign::PerStage(stages) => spec.with_stage_designs(stages)?,
    })
}

/// The spec that a file holds or whose weights it holds, by its name's ending: TOML, JSON,
/// safetensors or ONNX.
///
/// # Errors
///
/// Where the content is none of these, or the network is not told by its tensors.
pub fn of_content(name: &str, content: &[u8]) -> Result<Spec, Error> {
    let path = Path::new(name);
    let text = || {
        std::str::from_utf8(content)
            .map_err(|error| Error::Content { path: path.to_owned(), reason: ContentError::NotText(error) })
    };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => Ok(Spec::from_toml(text()?)?),
        Some("json") => Ok(Spec::from_json(text()?)?),
        _ => Ok(WeightFile::parse(path, content)?.spec().clone()),
    }
}

/// Says that a file may be another network's.
pub(crate) fn note_doubts(file: &WeightFile, monitor: &dyn Monitor) {
    if let Some(sentence) = doubt(file) {
        monitor.say(&format!("note: {sentence}"));
    }
}

/// Why a file may be another network's than the one it is taken for.
pub(crate) fn doubt(file: &WeightFile) -> Option<String> {
    let (path, model) = (file.path().display(), file.spec().name());
    file.doubt().map(|doubt| format!("{path} is taken for {model} by its tensors: {doubt}"))
}

/// The file of weights that a path leads to: itself, or the newest of a checkpoint's or run's
/// directory.
pub(crate) fn weights(path: &Path) -> Result<PathBuf, Error> {
    Ok(collegial_train::run::find_model(path)?)
}
