//! `collegial ntk`: the empirical tangent kernel of a draw or of a checkpoint.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use collegial_arch::{Graph, Spec};
use collegial_ntk::explicit::{
    ExplicitKernel, NormPolicy, Options, Parametrisation, Readout, drawn_weights, normal_inputs,
};
use collegial_report::{Align, Table, significant};
use collegial_tensors::TensorTable;
use collegial_tensors::safetensors::Archive;
use collegial_train::checkpoint::{CheckpointFile, ModelHeader};
use collegial_train::data::{Dataset, Part, npy};
use collegial_train::{Error, run, spec_for};
use serde::Serialize;

use crate::arguments::{Common, Model};
use crate::failure::Failure;
use crate::output::{Document, write_bytes};

/// Compute the empirical tangent kernel between inputs, at drawn or given weights
///
/// K(x, x') is the sum over all parameters of df(x)/dw df(x')/dw, with f one output unit, or summed over all outputs with
/// --trace. Where the output is a map, a unit is its middle position, or with --pooled its mean over positions. Batch norms are
/// removed for drawn weights and frozen at their running statistics for given ones, unless --norms says otherwise. The numbers of
/// a drawn network are those that training from the same seed starts with. MODEL may also be a checkpoint of `collegial train`: a
/// .safetensors file, or the directory of a checkpoint or of a run.
#[derive(Args)]
pub struct Ntk {
    #[command(flatten)]
    model: Model,
    /// Number of inputs: standard normal ones drawn from the seed, or images of --data
    #[arg(long, value_name = "N", default_value_t = 4, conflicts_with = "input")]
    count: usize,
    /// The first images of a data set as inputs, normalised as in training
    #[arg(long, value_name = "DIR", conflicts_with = "input")]
    data: Option<PathBuf>,
    /// Which images of --data
    #[arg(long, value_enum, default_value_t = SplitName::Test, requires = "data")]
    split: SplitName,
    /// Inputs from a .npy file (f4 or f8): N x channels x height x width, or N x anything of that many values
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Weights from a safetensors file with torchvision's names, or from a checkpoint, instead of a draw
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Gradients by the N(0, 1) weights that sqrt(gain / fan-in) scales, or by the actual weights [default: ntk; of given weights those they were trained by]
    #[arg(long, value_enum)]
    parametrisation: Option<ParametrisationName>,
    /// What becomes of batch norms [default: none; of given weights frozen]
    #[arg(long, value_enum)]
    norms: Option<NormsName>,
    /// Which output, from 0
    #[arg(long, value_name = "UNIT", default_value_t = 0, conflicts_with = "trace")]
    output: usize,
    /// The sum of the kernels of all outputs
    #[arg(long)]
    trace: bool,
    /// Outputs averaged over all positions instead of one position's
    #[arg(long)]
    pooled: bool,
    /// Write the kernel to this .npy file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the weights used to this safetensors file
    #[arg(long, value_name = "FILE")]
    save_weights: Option<PathBuf>,
    /// Write the inputs used to this .npy file
    #[arg(long, value_name = "FILE")]
    save_input: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitName {
    /// The test images.
    Test,
    /// The training images.
    Train,
}

#[derive(Clone, Copy, ValueEnum)]
enum ParametrisationName {
    /// By the N(0, 1) weights.
    Ntk,
    /// By the weights themselves.
    Standard,
}

#[derive(Clone, Copy, ValueEnum)]
enum NormsName {
    /// Removed.
    None,
    /// Frozen at the running statistics; scales and shifts are parameters.
    Frozen,
}

/// The JSON form; scripts rely on its keys.
#[derive(Serialize)]
pub struct Kernel {
    model: String,
    /// How many inputs.
    inputs: usize,
    /// Where they and the weights come from.
    input: String,
    weights: String,
    parametrisation: &'static str,
    norms: &'static str,
    readout: String,
    pub kernel: Vec<Vec<f64>>,
    seconds: f64,
}

/// Where the weights come from, and what their file says of them.
struct Given {
    path: PathBuf,
    header: Option<ModelHeader>,
}

/// Runs the verb.
pub fn run(verb: &Ntk, common: &Common) -> Result<(), Failure> {
    answer(verb, common, None)?.show(common.format())
}

/// Computes, between the inputs of `array` (a .npy file's content) where there are some, and writes the files that were
/// asked for.
pub fn answer(verb: &Ntk, common: &Common, array: Option<&[u8]>) -> Result<Kernel, Failure> {
    let (spec, given) = network(verb)?;
    let (spec, inputs, input) = inputs(verb, &spec, common.seed, array)?;
    let graph = spec.graph()?;
    let options = options(verb, given.as_ref());
    let start = std::time::Instant::now();
    let kernel = ExplicitKernel::new(&graph, options, &inputs)?;
    let weights = match &given {
        Some(Given { path, .. }) => {
            let archive = Archive::from_bytes(&read(path)?);
            archive.map_err(|error| Failure::User(format!("{}: {error}", path.display())))?.tensors
        }
        None => drawn_weights(&graph, options.parametrisation, common.seed)?,
    };
    let matrix = kernel.at(&weights).map_err(|error| match &given {
        Some(Given { path, .. }) => Failure::User(format!("{}: {error}", path.display())),
        None => error.into(),
    })?;
    let seconds = start.elapsed().as_secs_f64();
    save(verb, &weights, &inputs, &matrix)?;
    let drawn = || format!("drawn, seed {}", common.seed);
    Ok(Kernel {
        model: spec.name(),
        inputs: inputs.len(),
        input,
        weights: given.map_or_else(drawn, |given| given.path.display().to_string()),
        parametrisation: options.parametrisation.name(),
        norms: options.norms.name(),
        readout: options.readout.to_string(),
        kernel: matrix.chunks_exact(inputs.len()).map(<[f64]>::to_vec).collect(),
        seconds,
    })
}

impl Document for Kernel {
    fn text(&self) -> String {
        let (sentences, table) = self.summary();
        format!("{}\n{}\n{:.2} s\n", table.to_text(), sentences.join("\n"), self.seconds)
    }

    fn data(&self) -> Table {
        table(&self.kernel, |value| value.to_string())
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let sentence = format!("{}: kernel of {} between {} inputs", self.model, self.readout, self.inputs);
        (vec![sentence], table(&self.kernel, |value| significant(value, 6)))
    }
}

/// The network, and its weights where they are given: by --weights, or by a checkpoint in the model's place.
fn network(verb: &Ntk) -> Result<(Spec, Option<Given>), Failure> {
    let model = Path::new(&verb.model.model);
    let is_checkpoint = model.is_dir() || model.extension().is_some_and(|end| end == "safetensors");
    match (&verb.weights, is_checkpoint) {
        (None, false) => Ok((Spec::load(&verb.model.model)?, None)),
        (Some(weights), false) => {
            let path = run::find_model(weights)?;
            // Whatever is wrong with the file is said when its tensors are read.
            let header = CheckpointFile::read(&path).and_then(|file| file.header()).unwrap_or_default();
            Ok((Spec::load(&verb.model.model)?, Some(Given { path, header })))
        }
        (Some(weights), true) => Err(Failure::User(format!(
            "the weights are given twice, by {} and by --weights {}; leave one out",
            model.display(),
            weights.display()
        ))),
        (None, true) => {
            let path = run::find_model(model)?;
            let Some(header) = CheckpointFile::read(&path)?.header::<ModelHeader>()? else {
                return Err(Failure::User(format!(
                    "{} does not name its network; give the model by name and this file with --weights",
                    path.display()
                )));
            };
            Ok((header.spec.clone(), Some(Given { path, header: Some(header) })))
        }
    }
}

/// The inputs and where they come from in words, and the network made to measure for them.
fn inputs(
    verb: &Ntk,
    spec: &Spec,
    seed: u64,
    array: Option<&[u8]>,
) -> Result<(Spec, Vec<Vec<f32>>, String), Failure> {
    if let Some(directory) = &verb.data {
        let dataset = Dataset::open(directory).map_err(Error::from)?;
        let spec = spec_for(spec, &verb.model.overrides(), &dataset)?;
        let (part, name) = match verb.split {
            SplitName::Test => (Part::Test, "test"),
            SplitName::Train => (Part::Train, "training"),
        };
        let images = dataset.first(part, verb.count).map_err(Error::from)?;
        let source = format!("the first {} {name} images of {}", verb.count, directory.display());
        return Ok((spec, images, source));
    }
    let spec = spec.with(&verb.model.overrides())?;
    let graph = spec.graph()?;
    let (inputs, source) = match (&verb.input, array) {
        (Some(path), _) => {
            let name = path.display().to_string();
            (read_inputs(&read(path)?, &name, &graph)?, name)
        }
        (None, Some(file)) => (read_inputs(file, "the array", &graph)?, "given".to_owned()),
        (None, None) => (normal_inputs(&graph, verb.count, seed), format!("standard normal, seed {seed}")),
    };
    Ok((spec, inputs, source))
}

fn options(verb: &Ntk, given: Option<&Given>) -> Options {
    let parametrisation = match (verb.parametrisation, given) {
        (Some(ParametrisationName::Ntk), _) | (None, None) => Parametrisation::Ntk,
        (Some(ParametrisationName::Standard), _) => Parametrisation::Standard,
        (None, Some(Given { header, .. })) => {
            header.as_ref().map_or(Parametrisation::Standard, |header| header.parametrisation)
        }
    };
    let norms = match verb.norms {
        Some(NormsName::None) => NormPolicy::None,
        Some(NormsName::Frozen) => NormPolicy::Frozen,
        None if given.is_some() => NormPolicy::Frozen,
        None => NormPolicy::None,
    };
    let readout = match (verb.trace, verb.pooled) {
        (false, false) => Readout::Unit(verb.output),
        (false, true) => Readout::PooledUnit(verb.output),
        (true, false) => Readout::Trace,
        (true, true) => Readout::PooledTrace,
    };
    Options { parametrisation, norms, readout }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::User(format!("cannot read {}: {error}", path.display())))
}

/// The rows of an array as inputs; their lengths and values are checked with the kernel.
pub fn read_inputs(file: &[u8], name: &str, graph: &Graph) -> Result<Vec<Vec<f32>>, Failure> {
    let refuse = |reason: &str| Failure::User(format!("cannot take inputs from {name}: {reason}"));
    let (axes, values) = npy::read(file).map_err(|mismatch| refuse(&mismatch.to_string()))?;
    let Some((&count, rest)) = axes.split_first() else {
        return Err(refuse("it is a single number"));
    };
    let shape = graph.input_shape();
    let sides = [shape.channels, shape.height, shape.width];
    let len: usize = rest.iter().product();
    if count > 0 && len != sides.iter().product::<usize>() {
        return Err(Failure::User(format!(
            "{name} holds inputs of shape {rest:?}, but the network takes {sides:?}"
        )));
    }
    Ok(values.chunks_exact(len.max(1)).map(<[f32]>::to_vec).collect())
}

fn save(verb: &Ntk, weights: &TensorTable, inputs: &[Vec<f32>], matrix: &[f64]) -> Result<(), Failure> {
    let count = inputs.len();
    if let Some(path) = &verb.save_weights {
        let file = Archive::from(weights.clone()).to_bytes();
        write_bytes(path, &file.map_err(|error| Failure::User(error.to_string()))?)?;
    }
    if let Some(path) = &verb.save_input {
        let values: Vec<f64> = inputs.iter().flatten().map(|&x| f64::from(x)).collect();
        write_bytes(path, &npy::write(&[count, values.len() / count], &values))?;
    }
    if let Some(path) = &verb.out {
        write_bytes(path, &npy::write(&[count, count], matrix))?;
    }
    Ok(())
}

/// One row per input; its number first.
fn table(rows: &[Vec<f64>], number: impl Fn(f64) -> String) -> Table {
    let headings: Vec<String> = (0..rows.len()).map(|index| index.to_string()).collect();
    let columns: Vec<(&str, Align)> = [("input", Align::Left)]
        .into_iter()
        .chain(headings.iter().map(|heading| (heading.as_str(), Align::Right)))
        .collect();
    let mut table = Table::new(&columns);
    for (index, row) in rows.iter().enumerate() {
        table.push_row(
            [index.to_string()].into_iter().chain(row.iter().map(|&value| number(value))).collect(),
        );
    }
    table
}
