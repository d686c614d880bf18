//! `export`: a network for PyTorch, timm and ONNX runtimes.

use std::path::{Path, PathBuf};

use collegial_arch::Spec;
use collegial_report::{Align, Table, grouped};
use collegial_train::checkpoint::{Checkpoint, MODEL_FILE, TrainingHeader};
use collegial_train::export::{Model as Network, WeightFile, onnx, pytorch};
use collegial_train::recipe::{self, Builtin, Recipe};
use serde::{Deserialize, Serialize};

use crate::model::{Source, note_doubts};
use crate::{Answer, Error, Model, Monitor, Refusal, Style, files};

/// Which network, in which form, where to.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The network; of a model the weights are drawn, those of a checkpoint are its own.
    #[serde(flatten)]
    pub model: Model,
    /// What to write.
    pub to: Target,
    /// Where to write it; by default into the current directory, under the model's name.
    #[serde(default)]
    pub out: Option<PathBuf>,
    /// Safetensors: whose names of layers to write; by default torchvision's.
    #[serde(default)]
    pub names: Naming,
    /// ONNX: fold batch norms into the convolutions before them.
    #[serde(default)]
    pub fold: bool,
    /// ONNX: put the weights into a file of their own.
    #[serde(default)]
    pub external_data: bool,
    /// PyTorch: a recipe's name or file; by default the checkpoint's own, or by model.
    #[serde(default)]
    pub recipe: Option<PathBuf>,
    /// PyTorch: changes to the recipe, `epochs=5`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Seed of drawn weights.
    #[serde(default)]
    pub seed: u64,
}

/// Whose names of layers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Naming {
    /// torchvision's, which are ours.
    #[default]
    Torchvision,
    /// timm's, who calls the layers of RegNets otherwise.
    Timm,
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Weights under torchvision's names, or timm's.
    Safetensors,
    /// A graph of plain operators with its weights.
    Onnx,
    /// A Python file with module, recipe and training loop.
    Pytorch,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Safetensors => "safetensors",
            Self::Onnx => "onnx",
            Self::Pytorch => "pytorch",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Safetensors | Self::Onnx => self.name(),
            Self::Pytorch => "py",
        }
    }
}

/// What was written.
#[derive(Clone, Debug, Serialize)]
pub struct Exported {
    /// The network's name.
    pub model: String,
    /// The form.
    pub format: Target,
    /// The file.
    pub path: PathBuf,
    /// The second file of an ONNX model whose weights lie beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// The network's parameters.
    pub parameters: u64,
    /// Of all files.
    pub bytes: usize,
}

/// Writes.
///
/// # Errors
///
/// Where the network has no such form, or the file cannot be written.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<Exported, Error> {
    check(request)?;
    let settings = request.model.overrides();
    let source = request.model.open()?;
    if let Source::Weights(file) = &source {
        note_doubts(file, monitor);
    }
    let spec = source.spec().with(&settings)?;
    let file = match &source {
        Source::Spec(_) => None,
        Source::Weights(file) => Some(file.as_ref()),
    };
    let default = || PathBuf::from(format!("{}.{}", spec.name(), request.to.ending()));
    let path = request.out.clone().unwrap_or_else(default);
    if let Some(file) = file {
        keep_source(&path, file.path())?;
    }
    let network = || match file {
        Some(file) => Network::read(file, &settings),
        None => Network::drawn(&spec, request.seed),
    };
    let (bytes, data) = match request.to {
        Target::Pytorch => (write_script(request, &spec, file, &path)?, None),
        Target::Safetensors => {
            let content = match request.names {
                Naming::Torchvision => network()?.to_safetensors()?,
                Naming::Timm => network()?.to_timm_safetensors()?,
            };
            files::write(&path, &content)?;
            (content.len(), None)
        }
        Target::Onnx => write_onnx(request, &network()?, &path)?,
    };
    let parameters = spec.graph()?.counts()?.total.parameters;
    Ok(Exported { model: spec.name(), format: request.to, path, data, parameters, bytes })
}

/// Fields that say nothing about this form are a mistake.
fn check(request: &Request) -> Result<(), Refusal> {
    let refuse = |field: &'static str, form: Target| {
        Err(Refusal::NotForTarget { field, to: request.to.name(), form: form.name() })
    };
    match request.to {
        Target::Safetensors | Target::Pytorch if request.fold => refuse("fold", Target::Onnx),
        Target::Safetensors | Target::Pytorch if request.external_data => {
            refuse("external_data", Target::Onnx)
        }
        Target::Safetensors | Target::Onnx if request.recipe.is_some() => refuse("recipe", Target::Pytorch),
        Target::Safetensors | Target::Onnx if !request.set.is_empty() => refuse("set", Target::Pytorch),
        Target::Onnx | Target::Pytorch if request.names != Naming::Torchvision => {
            refuse("names", Target::Safetensors)
        }
        _ => Ok(()),
    }
}

/// Files are replaced, but never the one that is read.
fn keep_source(path: &Path, source: &Path) -> Result<(), Refusal> {
    let same = path.canonicalize().is_ok_and(|path| source.canonicalize().is_ok_and(|source| source == path));
    if same { Err(Refusal::OwnExport { path: path.to_owned() }) } else { Ok(()) }
}

fn write_onnx(request: &Request, network: &Network, path: &Path) -> Result<(usize, Option<PathBuf>), Error> {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else {
        return Err(Refusal::NotAFileName { path: path.to_owned() }.into());
    };
    let data_name = format!("{name}.data");
    let beside = path.with_file_name(&data_name);
    let options = onnx::Options { fold: request.fold, data_name, beside: request.external_data };
    let files = network.to_onnx(&options)?;
    let mut bytes = files.model.len();
    // The weights first: a model never stands there without them.
    if let Some(data) = &files.data {
        files::write(&beside, data)?;
        bytes += data.len();
    }
    files::write(path, &files.model)?;
    Ok((bytes, files.data.map(|_| beside)))
}

/// The PyTorch script of a network that is named or written, as `to=pytorch` writes it.
///
/// # Errors
///
/// Where the network has no such form.
pub fn pytorch_script(model: &Model) -> Result<String, Error> {
    let spec = model.spec()?;
    script(&spec, None, None, &[])
}

fn write_script(
    request: &Request,
    spec: &Spec,
    file: Option<&WeightFile>,
    path: &Path,
) -> Result<usize, Error> {
    let script = script(spec, file, request.recipe.as_deref(), &request.set)?;
    files::write(path, script.as_bytes())?;
    Ok(script.len())
}

fn script(
    spec: &Spec,
    file: Option<&WeightFile>,
    recipe: Option<&Path>,
    set: &[String],
) -> Result<String, Error> {
    let saved = file.and_then(|file| training(file.path())).filter(|_| recipe.is_none());
    let (text, data) = match (saved, recipe) {
        (Some(saved), _) => (saved.recipe.to_toml(), pytorch::data_of(saved.data.kind)?),
        (None, None) => {
            let recipe = pytorch::recipe_for(spec);
            (recipe.toml().to_owned(), Some(pytorch::data_for(recipe)?))
        }
        (None, Some(path)) => (recipe::load(path)?, Builtin::named(path).map(pytorch::data_for).transpose()?),
    };
    Ok(pytorch::script(spec, &Recipe::build(&text, set)?, data)?)
}

/// How and on what a checkpoint was trained.
fn training(model: &Path) -> Option<TrainingHeader> {
    let directory = model.parent().filter(|_| model.file_name().is_some_and(|name| name == MODEL_FILE))?;
    Some(Checkpoint::read(directory).ok()?.training_header)
}

impl Answer for Exported {
    fn text(&self, _style: &Style) -> String {
        let beside = self.data.as_ref().map(|data| format!(" and {}", data.display()));
        let (parameters, bytes) = (grouped(self.parameters), grouped(self.bytes as u64));
        let (path, model, beside) = (self.path.display(), &self.model, beside.unwrap_or_default());
        format!("{path}{beside}: {model}, {parameters} parameters, {bytes} bytes\n")
    }

    fn table(&self) -> Table {
        let headings =
            ["model", "format", "path", "parameters", "bytes"].map(|heading| (heading, Align::Left));
        let mut table = Table::new(&headings);
        table.push([
            self.model.clone(),
            self.format.name().to_owned(),
            self.path.display().to_string(),
            self.parameters.to_string(),
            self.bytes.to_string(),
        ]);
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (vec![], self.table())
    }
}
