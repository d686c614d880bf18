//! `collegial export`: a network for PyTorch, timm and ONNX runtimes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use collegial_arch::{Overrides, Spec};
use collegial_export::{Model, WeightFile, onnx, pytorch};
use collegial_report::{Align, Table, grouped};
use collegial_train::checkpoint::{Checkpoint, MODEL_FILE, TrainingHeader};
use collegial_train::recipe::{self, Recipe};
use serde::Serialize;

use crate::arguments::{self, Common, Format};
use crate::failure::Failure;
use crate::output::{print, print_json, write_bytes, write_file};

/// Write a network for other programs: safetensors, ONNX, or a PyTorch training script
///
/// A model's weights are drawn from --seed, as training from this seed begins with; those of a checkpoint are its own. Safetensors files
/// load into torchvision's and timm's ResNets; ONNX files hold plain operators and take batches of any size; the script
/// holds the module and its recipe and trains on one device or, through torchrun, on many. `evaluate` and `info` read the first two back.
///
/// MODEL can also be the path of a checkpoint, of a run's directory, or of an exported ONNX file.
#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    model: arguments::Model,
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Target,
    /// Where to write it; a file that is there is replaced [default: MODEL.safetensors, MODEL.onnx or MODEL.py]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// ONNX: fold batch norms into the convolutions before them
    #[arg(long)]
    fold: bool,
    /// ONNX: put the weights into FILE.data; done in any case where they exceed the 2 GB of one file
    #[arg(long)]
    external_data: bool,
    /// PyTorch: cifar10, cifar100, mnist, imagenet, or a TOML file [default: the checkpoint's own, or by model]
    #[arg(long, value_name = "NAME|FILE")]
    recipe: Option<String>,
    /// PyTorch: change the recipe: epochs=5, learning_rate=0.05
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Weights under torchvision's names.
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

/// The JSON form; scripts rely on its keys.
#[derive(Serialize)]
struct Document<'a> {
    model: String,
    format: &'static str,
    path: &'a Path,
    /// The second file of an ONNX model whose weights lie beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<PathBuf>,
    parameters: u64,
    /// Of all files.
    bytes: usize,
}

/// Runs the verb.
pub fn run(verb: &Export, common: &Common) -> Result<(), Failure> {
    check_options(verb)?;
    let settings = verb.model.overrides();
    let named = &verb.model.model;
    let file =
        if WeightFile::is_meant(named) { Some(WeightFile::open(Path::new(named), None)?) } else { None };
    if let Some(file) = file.as_ref().filter(|file| file.lacks_checksum()) {
        common.say(&format!("note: {} carries no checksum: version 0.1.0 wrote it", file.path().display()));
    }
    let spec = match &file {
        Some(file) => file.spec().with(&settings)?,
        None => verb.model.spec()?,
    };
    let default = || PathBuf::from(format!("{}.{}", spec.name(), verb.to.ending()));
    let path = verb.out.clone().unwrap_or_else(default);
    if let Some(file) = &file {
        keep_source(&path, file.path())?;
    }
    let (bytes, data) = match verb.to {
        Target::Pytorch => (write_script(verb, &spec, file.as_ref(), &path)?, None),
        Target::Safetensors => {
            let content = model(&spec, file.as_ref(), &settings, common)?.to_safetensors()?;
            write_bytes(&path, &content)?;
            (content.len(), None)
        }
        Target::Onnx => write_onnx(verb, &model(&spec, file.as_ref(), &settings, common)?, &path)?,
    };
    let parameters = spec.graph()?.counts()?.total.parameters;
    let document =
        Document { model: spec.name(), format: verb.to.name(), path: &path, data, parameters, bytes };
    show(&document, common)
}

/// Options that say nothing about this format are a mistake.
fn check_options(verb: &Export) -> Result<(), Failure> {
    let refuse = |option: &str, format: &str| {
        Err(Failure::User(format!(
            "{option} does not apply to --to {}; it is for --to {format}",
            verb.to.name()
        )))
    };
    match verb.to {
        Target::Safetensors | Target::Pytorch if verb.fold => refuse("--fold", "onnx"),
        Target::Safetensors | Target::Pytorch if verb.external_data => refuse("--external-data", "onnx"),
        Target::Safetensors | Target::Onnx if verb.recipe.is_some() => refuse("--recipe", "pytorch"),
        Target::Safetensors | Target::Onnx if !verb.set.is_empty() => refuse("--set", "pytorch"),
        _ => Ok(()),
    }
}

/// Files are replaced, but never the one that is read.
fn keep_source(path: &Path, source: &Path) -> Result<(), Failure> {
    let same = path.canonicalize().is_ok_and(|path| source.canonicalize().is_ok_and(|source| source == path));
    if same {
        let path = path.display();
        return Err(Failure::User(format!(
            "{path} would be replaced by its own export; choose another --out"
        )));
    }
    Ok(())
}

fn model(
    spec: &Spec,
    file: Option<&WeightFile>,
    settings: &Overrides,
    common: &Common,
) -> Result<Model, Failure> {
    Ok(match file {
        Some(file) => Model::read(file, settings)?,
        None => Model::drawn(spec, common.seed)?,
    })
}

fn write_onnx(verb: &Export, model: &Model, path: &Path) -> Result<(usize, Option<PathBuf>), Failure> {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else {
        return Err(Failure::User(format!("{} is not the name of a file", path.display())));
    };
    let data_name = format!("{name}.data");
    let beside = path.with_file_name(&data_name);
    let options = onnx::Options { fold: verb.fold, data_name, beside: verb.external_data };
    let files = model.to_onnx(&options)?;
    let mut bytes = files.model.len();
    // The weights first: a model never stands there without them.
    if let Some(data) = &files.data {
        write_bytes(&beside, data)?;
        bytes += data.len();
    }
    write_bytes(path, &files.model)?;
    Ok((bytes, files.data.map(|_| beside)))
}

fn write_script(
    verb: &Export,
    spec: &Spec,
    file: Option<&WeightFile>,
    path: &Path,
) -> Result<usize, Failure> {
    let saved = file.and_then(|file| training(file.path())).filter(|_| verb.recipe.is_none());
    let (text, data) = match (saved, &verb.recipe) {
        (Some(saved), _) => (saved.recipe.to_toml(), pytorch::data_of(saved.data.kind)?),
        (None, name) => {
            let name = name.as_deref().unwrap_or_else(|| pytorch::recipe_for(spec));
            (recipe::load(name)?, pytorch::data_for(name)?)
        }
    };
    let script = pytorch::script(spec, &Recipe::build(&text, &verb.set)?, data)?;
    write_file(path, &script)?;
    Ok(script.len())
}

/// How and on what a checkpoint was trained.
fn training(model: &Path) -> Option<TrainingHeader> {
    let directory = model.parent().filter(|_| model.file_name().is_some_and(|name| name == MODEL_FILE))?;
    Some(Checkpoint::read(directory).ok()?.training_header)
}

fn show(document: &Document, common: &Common) -> Result<(), Failure> {
    let path = document.path.display().to_string();
    match common.format() {
        Format::Json => print_json(document),
        Format::Csv => {
            let headings =
                ["model", "format", "path", "parameters", "bytes"].map(|heading| (heading, Align::Left));
            let mut table = Table::new(&headings);
            let (parameters, bytes) = (document.parameters.to_string(), document.bytes.to_string());
            table.push([document.model.clone(), document.format.to_owned(), path, parameters, bytes]);
            print(&table.to_csv())
        }
        Format::Table => {
            let beside = document.data.as_ref().map(|data| format!(" and {}", data.display()));
            let (parameters, bytes) = (grouped(document.parameters), grouped(document.bytes as u64));
            let (model, beside) = (&document.model, beside.unwrap_or_default());
            print(&format!("{path}{beside}: {model}, {parameters} parameters, {bytes} bytes\n"))
        }
    }
}
