//! `ntk`: the empirical tangent kernel of a draw or of a checkpoint.
//!
//! [`run`] computes it whole; [`tiled`] tile by tile between many inputs, and [`regress`] predicts
//! with it.

mod amounts;
mod journal;
mod kernel_file;
pub mod regress;
pub mod tiled;

use std::path::{Path, PathBuf};
use std::time::Instant;

use collegial_arch::Spec;
use collegial_core::tensors::Tensor;
use collegial_core::tensors::TensorTable;
use collegial_core::tensors::safetensors::Archive;
use collegial_nn::memory;
pub use collegial_nn::{NormPolicy, Parametrisation};
use collegial_ntk::explicit::{ExplicitKernel, Options, Readout, drawn_weights, normal_inputs};
use collegial_report::{Align, Table, significant};
use collegial_train::checkpoint::{CheckpointFile, ModelHeader};
use collegial_train::data::Dataset;
pub use collegial_train::data::Part;
use collegial_train::{Error as TrainError, spec_for};
use serde::Serialize;

use crate::array;
use crate::message::{invalid, option, option_with};
use crate::model::{Source, note_doubts, weights as weight_path};
use crate::options::options;
use crate::{Answer, Error, Model, Monitor};
pub use amounts::{Memory, NotAShare, NotMemory, Share};

options! {
    /// Compute the empirical tangent kernel between inputs, at drawn or given weights
    ///
    /// K(x, x') is the sum over all parameters of df(x)/dw df(x')/dw. Here f is one output unit;
    /// --trace sums over all outputs. Where the output is a map, the unit is its middle position, or
    /// with --pooled its mean over positions.
    ///
    /// Batch norms are removed for drawn weights and frozen at their running statistics for given
    /// ones, unless --norm says otherwise. A drawn network has the weights that training from the
    /// same seed starts with. MODEL may also be a checkpoint of `collegial train`: a .safetensors
    /// file, or the directory of a checkpoint or of a run.
    ///
    /// With --out the kernel is computed in tiles within --memory, so it may be larger than memory.
    /// The directory FILE.npy.tiles records finished tiles, and the same command goes on where it was
    /// stopped.
    #[command(after_help = "Examples:\n  collegial ntk resnext29-1x8d --count 3 --json\n  \
        collegial ntk fc4-1000 --data DIR --count 10000 --memory 4G --out k.npy\n  \
        collegial ntk fc4-1000 --data DIR --count 2000 --regress")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The network; a checkpoint in its place brings its weights
        #[command(flatten)]
        pub model: Model,
        /// Number of inputs: standard normal ones drawn from the seed, or images of --data [default: 4;
        /// with --draws 2]
        #[arg(long, value_name = "N", conflicts_with = "input")]
        pub count: Option<usize>,
        /// The first images of a data set as inputs, normalised as in training
        #[arg(long, value_name = "DIR", conflicts_with = "input")]
        pub data: Option<PathBuf>,
        /// Which images of --data
        #[arg(long, value_enum, requires = "data")]
        pub split: Part = Part::Test,
        /// Inputs from a .npy file (f4 or f8): N x channels x height x width, or N x anything of that
        /// many values
        #[arg(long, value_name = "FILE")]
        pub input: Option<PathBuf>,
        /// The inputs themselves, in place of a file
        #[arg(skip)]
        #[serde(skip)]
        pub array: Option<Tensor>,
        /// Weights from a safetensors file with torchvision's names, or from a checkpoint, instead of a
        /// draw
        #[arg(long, value_name = "FILE")]
        pub weights: Option<PathBuf>,
        /// By which weights gradients are taken [default: ntk; of given weights those they were
        /// trained by]
        #[arg(long, value_enum)]
        pub parametrisation: Option<Parametrisation>,
        /// Treatment of batch norms [default: none; of given weights frozen]
        #[arg(long, value_enum)]
        pub norm: Option<NormPolicy>,
        /// Mean and variance of the kernel over this many initialisations, seeds from --seed on,
        /// instead of one kernel
        #[arg(long, value_name = "T", conflicts_with_all = ["weights", "out", "save_weights", "save_input", "memory", "full", "diagonal", "tiles", "regress"])]
        pub draws: Option<u64>,
        /// Images of the batch that norms see in each of --draws, the inputs first [default: the inputs
        /// alone]
        #[arg(long, value_name = "N", requires = "draws", conflicts_with = "input")]
        pub batch: Option<usize>,
        /// Which output, from 0
        #[arg(long, value_name = "UNIT", conflicts_with = "trace")]
        pub output: usize = 0,
        /// The sum of the kernels of all outputs
        #[arg(long)]
        pub trace: bool,
        /// Outputs averaged over all positions instead of one position's
        #[arg(long)]
        pub pooled: bool,
        /// Every output with every output: a row and a column per input and output, by input first
        #[arg(long, conflicts_with_all = ["output", "trace"])]
        pub full: bool,
        /// K(x, x) only, one number per input
        #[arg(long)]
        pub diagonal: bool,
        /// Write the kernel to this .npy file, tile by tile, in place of printing it
        #[arg(long, value_name = "FILE")]
        pub out: Option<PathBuf>,
        /// Memory that tiles may take: 4G, 800M [default: half of what is free]
        #[arg(long, value_name = "SIZE")]
        pub memory: Option<Memory>,
        /// Compute the I-th of K equal shares of the tiles of --out, beside other processes
        #[arg(long, value_name = "I/K", requires = "out")]
        pub tiles: Option<Share>,
        /// Predict the classes of --data with the kernel between its first --count training images
        /// [default: 1000], the ridge chosen by leave-one-out
        #[arg(long, requires = "data", conflicts_with_all = ["full", "diagonal", "tiles", "split", "save_weights", "save_input"])]
        pub regress: bool,
        /// Test images of --regress [default: --count, or all that there are]
        #[arg(long, value_name = "N", requires = "regress")]
        pub test_count: Option<usize>,
        /// Seed of everything random
        #[arg(skip)]
        pub seed: u64,
    }
}

impl Request {
    /// Whether it is a question for [`tiled`].
    pub fn is_tiled(&self) -> bool {
        self.out.is_some() || self.memory.is_some() || self.full || self.diagonal || self.tiles.is_some()
    }
}

/// Inputs drawn where nothing else is said.
pub const COUNT: usize = 4;

/// What a kernel was computed from.
#[derive(Clone, Debug, Serialize)]
pub struct Basis {
    /// The network's name.
    pub model: String,
    /// How many inputs.
    pub inputs: usize,
    /// Where they come from.
    pub input: String,
    /// Where the weights come from.
    pub weights: String,
    /// What gradients were taken by.
    pub parametrisation: Parametrisation,
    /// What became of batch norms.
    pub norm: NormPolicy,
    /// Whose kernel it is.
    pub readout: String,
    /// The weights that were used.
    #[serde(skip)]
    pub used_weights: TensorTable,
    /// The inputs that were used.
    #[serde(skip)]
    pub used_inputs: Vec<Vec<f32>>,
}

/// A kernel, computed whole.
#[derive(Clone, Debug, Serialize)]
pub struct KernelAnswer {
    /// What it was computed from.
    #[serde(flatten)]
    pub basis: Basis,
    /// N x N, row by row.
    pub kernel: Vec<Vec<f64>>,
    /// How long it took.
    pub seconds: f64,
}

/// Weights of a file.
pub(crate) struct Given {
    path: PathBuf,
    /// What they were trained by.
    parametrisation: Parametrisation,
    tensors: TensorTable,
}

/// Computes.
///
/// # Errors
///
/// Where network, weights and inputs do not belong together, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<KernelAnswer, Error> {
    let (spec, given) = network(request, monitor)?;
    let (spec, inputs, input) = inputs(request, &spec)?;
    let graph = spec.graph()?;
    let options = options(request, given.as_ref());
    let start = Instant::now();
    let kernel = ExplicitKernel::new(&graph, options, &inputs)?;
    let (weights, source) = match given {
        Some(Given { path, tensors, .. }) => (tensors, Some(path)),
        None => (drawn_weights(&graph, options.parametrisation, request.seed)?, None),
    };
    let matrix = kernel.at_watched(&weights, monitor).map_err(|error| match &source {
        Some(path) if !error.is_interruption() => content(path, error),
        _ => error.into(),
    })?;
    check_finite(&matrix, inputs.len())?;
    let seconds = start.elapsed().as_secs_f64();
    let drawn = || format!("drawn, seed {}", request.seed);
    let basis = Basis {
        model: spec.name(),
        inputs: inputs.len(),
        input,
        weights: source.map_or_else(drawn, |path| path.display().to_string()),
        parametrisation: options.parametrisation,
        norm: options.norm,
        readout: options.readout.to_string(),
        used_weights: weights,
        used_inputs: inputs,
    };
    let rows = matrix.chunks_exact(basis.inputs).map(<[f64]>::to_vec);
    Ok(KernelAnswer { kernel: rows.collect(), basis, seconds })
}

/// The network, and its weights where they are given: by a field of their own, or by a checkpoint
/// in the model's place.
pub(crate) fn network(request: &Request, monitor: &dyn Monitor) -> Result<(Spec, Option<Given>), Error> {
    match (request.model.open()?, &request.weights) {
        (Source::Spec(spec), None) => Ok((spec, None)),
        (Source::Spec(spec), Some(weights)) => {
            let path = weight_path(weights)?;
            let file = CheckpointFile::read(&path)?;
            let header = file.header::<ModelHeader>()?;
            let parametrisation = header.map_or(Parametrisation::Standard, |header| header.parametrisation);
            // A kernel may need fewer tensors than the network has, so that they need not be all.
            let tensors = file.into_tensors()?;
            Ok((spec, Some(Given { path, parametrisation, tensors })))
        }
        (Source::Weights(file), None) => {
            note_doubts(&file, monitor);
            let (spec, path) = (file.spec().clone(), file.path().to_owned());
            let network = file.network(&spec)?;
            let (parametrisation, tensors) = (network.parametrisation(), network.tensors());
            Ok((spec, Some(Given { path, parametrisation, tensors })))
        }
        (Source::Weights(file), Some(weights)) => {
            let (file, weights) = (file.path().to_owned(), weights.clone());
            Err(invalid![
                format!("the weights are given twice, by {} and by ", file.display()),
                option_with("weights", weights.display()),
                "; leave one out"
            ]
            .into())
        }
    }
}

/// Weights that are numbers may still give products that are none.
fn check_finite(matrix: &[f64], inputs: usize) -> Result<(), Error> {
    match matrix.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((index, &value)) => {
            let (row, column) = (index / inputs, index % inputs);
            Err(invalid![format!("the kernel between inputs {row} and {column} is {value}: weights or inputs are too large for it to be computed in single precision")].into())
        }
    }
}

/// A file whose tensors do not serve.
fn content(path: &Path, error: collegial_ntk::Error) -> Error {
    Error::Content { path: path.to_owned(), reason: Box::new(error).into() }
}

/// The refusal of several sources of inputs.
fn inputs_twice() -> Error {
    invalid![
        "inputs are given twice; leave one of ",
        option("data"),
        ", ",
        option("input"),
        " and the array out"
    ]
    .into()
}

/// The inputs and where they come from in words, and the network made to measure for them.
pub(crate) fn inputs(request: &Request, spec: &Spec) -> Result<(Spec, Vec<Vec<f32>>, String), Error> {
    let sources = [request.data.is_some(), request.input.is_some(), request.array.is_some()];
    if sources.iter().filter(|&&given| given).count() > 1 {
        return Err(inputs_twice());
    }
    let given = request.input.is_some() || request.array.is_some();
    if given && request.count.is_some() {
        return Err(invalid![
            "both inputs and a ",
            option("count"),
            " of inputs to draw were given; leave one of them out"
        ]
        .into());
    }
    let count = request.count.unwrap_or(COUNT);
    if let Some(directory) = &request.data {
        let dataset = Dataset::open(directory).map_err(TrainError::from)?;
        let spec = spec_for(spec, &request.model.overrides(), &dataset)?;
        let name = match request.split {
            Part::Test => "test",
            Part::Train => "training",
        };
        check_memory(count, matrix(request, count), spec.graph()?.input_shape().elements())?;
        let images = dataset.first(request.split, count).map_err(TrainError::from)?;
        let source = format!("the first {count} {name} images of {}", directory.display());
        return Ok((spec, images, source));
    }
    let spec = spec.with(&request.model.overrides())?;
    let graph = spec.graph()?;
    let (inputs, source) = match (&request.input, &request.array) {
        (Some(path), _) => {
            let name = path.display().to_string();
            (array::rows(&array::read(path)?, &name, &graph)?, name)
        }
        (None, Some(given)) => (array::rows(given, "the array", &graph)?, "given".to_owned()),
        (None, None) => {
            let seed = request.seed;
            check_memory(count, matrix(request, count), graph.input_shape().elements())?;
            (normal_inputs(&graph, count, seed), format!("standard normal, seed {seed}"))
        }
    };
    Ok((spec, inputs, source))
}

/// Numbers of a row of the kernel that are in memory: of one that is computed whole the row and a
/// copy of it.
fn matrix(request: &Request, count: usize) -> usize {
    if request.is_tiled() { 0 } else { 2 * count }
}

/// Refuses a kernel between so many inputs of so many values that does not fit, with so many numbers
/// in memory per input.
fn check_memory(count: usize, numbers: usize, values: u128) -> Result<(), Error> {
    let row = numbers as u128 * size_of::<f64>() as u128 + values * size_of::<f32>() as u128;
    let needed = u64::try_from(row.saturating_mul(count as u128)).unwrap_or(u64::MAX);
    match memory::available() {
        Some(available) if needed > available => Err(invalid![
            format!(
                "a kernel between {count} inputs needs {} of memory, but {} are free; take a smaller ",
                memory::words(needed),
                memory::words(available)
            ),
            option("count")
        ]
        .into()),
        _ => Ok(()),
    }
}

pub(crate) fn options(request: &Request, given: Option<&Given>) -> Options {
    let trained = given.map_or(Parametrisation::Ntk, |given| given.parametrisation);
    let parametrisation = request.parametrisation.unwrap_or(trained);
    let usual = if given.is_some() { NormPolicy::Frozen } else { NormPolicy::None };
    let norm = request.norm.unwrap_or(usual);
    let readout = match (request.trace, request.pooled) {
        (false, false) => Readout::Unit(request.output),
        (false, true) => Readout::PooledUnit(request.output),
        (true, false) => Readout::Trace,
        (true, true) => Readout::PooledTrace,
    };
    Options { parametrisation, norm, readout }
}

impl Basis {
    /// The inputs that were used, one per row, as a .npy file.
    ///
    /// # Errors
    ///
    /// If they are not of one size.
    pub fn inputs_to_npy(&self) -> Result<Vec<u8>, Error> {
        let values: Vec<f64> = self.used_inputs.iter().flatten().map(|&x| f64::from(x)).collect();
        array::write_rows(self.used_inputs.len(), values)
    }

    /// The weights that were used, as a safetensors file.
    ///
    /// # Errors
    ///
    /// Where the file's format cannot hold them.
    pub fn weights_to_safetensors(&self) -> Result<Vec<u8>, Error> {
        Ok(Archive::from(self.used_weights.clone()).to_bytes()?)
    }
}

/// One row per input; its number first.
fn table(kernel: &[Vec<f64>], number: impl Fn(f64) -> String) -> Table {
    let headings: Vec<String> =
        (0..kernel.first().map_or(0, Vec::len)).map(|index| index.to_string()).collect();
    let columns: Vec<(&str, Align)> = [("input", Align::Left)]
        .into_iter()
        .chain(headings.iter().map(|heading| (heading.as_str(), Align::Right)))
        .collect();
    let mut table = Table::new(&columns);
    for (index, row) in kernel.iter().enumerate() {
        let cells = row.iter().map(|&value| number(value));
        table.push_row([index.to_string()].into_iter().chain(cells).collect());
    }
    table
}

impl Answer for KernelAnswer {
    fn seconds(&self) -> Option<f64> {
        Some(self.seconds)
    }

    fn table(&self) -> Table {
        table(&self.kernel, |value| value.to_string())
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let Basis { model, readout, inputs, .. } = &self.basis;
        let sentence = format!("{model}: kernel of {readout} between {inputs} inputs");
        (vec![sentence], table(&self.kernel, |value| significant(value, 6)))
    }
}
