//! `export`: a network for PyTorch, timm and ONNX runtimes.

use std::path::{Path, PathBuf};

use collegial_arch::Spec;
use collegial_report::{Align, Table, grouped};
use collegial_train::checkpoint::{Checkpoint, MODEL_FILE, TrainingHeader};
use collegial_train::export::{Model as Network, WeightFile, onnx, pytorch};
use collegial_train::recipe::{self, Builtin, Recipe};
use serde::{Deserialize, Serialize};

use crate::message::{invalid, option, option_with};
use crate::model::{Source, note_doubts};
use crate::options::options;
use crate::{Answer, Error, InvalidRequest, Model, Monitor, Style, files};

options! {
    /// Write a network for other programs: safetensors, ONNX, or a PyTorch training script
    ///
    /// A model's weights are drawn from --seed, as at the start of a training; a checkpoint has its
    /// own. Safetensors files load into torchvision's and timm's networks. ONNX files hold plain
    /// operators and take batches of any size. The script holds module and recipe, and trains on one
    /// device or, through torchrun, on many. `evaluate` and `info` read the first two back.
    ///
    /// MODEL can also be the path of a checkpoint, of a run's directory, or of an exported ONNX file.
    #[command(after_help = "Example:\n  collegial export resnext29-66x6d --to pytorch --out better.py")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The network; of a model the weights are drawn, those of a checkpoint are its own
        #[command(flatten)]
        pub model: Model,
        /// What to write
        #[arg(long, value_enum, value_name = "FORMAT", required = true)]
        pub to: Option<Target>,
        /// Where to write it; a file that is there is replaced [default: MODEL.safetensors,
        /// MODEL.onnx or MODEL.py]
        #[arg(long, value_name = "FILE")]
        pub out: Option<PathBuf>,
        /// Safetensors: whose names the layers have; they differ for RegNets
        #[arg(long, value_enum, value_name = "WHOSE")]
        pub names: Naming = Naming::Torchvision,
        /// ONNX: fold batch norms into the convolutions before them
        #[arg(long)]
        pub fold: bool,
        /// ONNX: put the weights into FILE.data; done in any case where they exceed the 2 GB of one
        /// file
        #[arg(long)]
        pub external_data: bool,
        /// PyTorch: cifar10, cifar100, mnist, imagenet, or a TOML file [default: the checkpoint's
        /// own, or by model]
        #[arg(long, value_name = "NAME|FILE")]
        pub recipe: Option<PathBuf>,
        /// PyTorch: change the recipe: epochs=5, learning_rate=0.05
        #[arg(long, value_name = "KEY=VALUE")]
        pub set: Vec<String>,
        /// Seed of drawn weights
        #[arg(skip)]
        pub seed: u64,
    }
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
    /// The form in which a network is most use: the script, where there is one.
    pub(crate) fn usual(network: &Spec) -> Self {
        if pytorch_script(network).is_ok() { Self::Pytorch } else { Self::Onnx }
    }

    pub(crate) fn name(self) -> &'static str {
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
pub struct ExportAnswer {
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
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<ExportAnswer, Error> {
    let to = request.to.ok_or_else(|| Error::Fields(serde::de::Error::missing_field("to")))?;
    check(request, to)?;
    files::check_file("out", request.out.as_deref())?;
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
    let default = || PathBuf::from(format!("{}.{}", spec.name(), to.ending()));
    let path = request.out.clone().unwrap_or_else(default);
    // A name that nobody gave is not followed to where a link of it leads.
    let write = |path: &Path, content: &[u8]| match request.out {
        Some(_) => files::write_unless_stopped(path, content, monitor),
        None => files::write_own(path, content),
    };
    if let Some(file) = file {
        keep_source(&path, file.path())?;
    }
    let network = || match file {
        Some(file) => Network::read(file, &settings),
        None => Network::drawn(&spec, request.seed),
    };
    let (bytes, data) = match to {
        Target::Pytorch => {
            let script = script(&spec, file, request.recipe.as_deref(), &request.set)?;
            write(&path, script.as_bytes())?;
            (script.len(), None)
        }
        Target::Safetensors => {
            let content = match request.names {
                Naming::Torchvision => network()?.to_safetensors()?,
                Naming::Timm => network()?.to_timm_safetensors()?,
            };
            write(&path, &content)?;
            (content.len(), None)
        }
        Target::Onnx => write_onnx(request, &network()?, &path, write)?,
    };
    let parameters = spec.totals()?.parameters;
    Ok(ExportAnswer { model: spec.name(), format: to, path, data, parameters, bytes })
}

/// Fields that say nothing about this form are a mistake.
fn check(request: &Request, to: Target) -> Result<(), InvalidRequest> {
    let refuse = |field: &'static str, form: Target| {
        Err(invalid![
            option(field),
            " does not apply to ",
            option_with("to", to.name()),
            "; it is for ",
            option_with("to", form.name())
        ])
    };
    match to {
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
fn keep_source(path: &Path, source: &Path) -> Result<(), InvalidRequest> {
    let same = path.canonicalize().is_ok_and(|path| source.canonicalize().is_ok_and(|source| source == path));
    if same {
        Err(invalid![
            format!("{} would be replaced by its own export; choose another ", path.display()),
            option("out")
        ])
    } else {
        Ok(())
    }
}

fn write_onnx(
    request: &Request,
    network: &Network,
    path: &Path,
    write: impl Fn(&Path, &[u8]) -> Result<(), Error>,
) -> Result<(usize, Option<PathBuf>), Error> {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else {
        return Err(invalid![format!("{} is not the name of a file", path.display())].into());
    };
    let data_name = format!("{name}.data");
    let beside = path.with_file_name(&data_name);
    let options = onnx::Options { fold: request.fold, data_name, beside: request.external_data };
    let files = network.to_onnx(&options)?;
    let mut bytes = files.model.len();
    // The weights first: a model never stands there without them.
    if let Some(data) = &files.data {
        files::write_own(&beside, data)?;
        bytes += data.len();
    }
    write(path, &files.model)?;
    Ok((bytes, files.data.map(|_| beside)))
}

/// The PyTorch script of a network that is named or written, as `to=pytorch` writes it.
///
/// # Errors
///
/// Where the network has no such form.
pub fn pytorch_script(spec: &Spec) -> Result<String, Error> {
    script(spec, None, None, &[])
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

impl Answer for ExportAnswer {
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
