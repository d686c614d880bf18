//! `ntk`: the empirical tangent kernel of a draw or of a checkpoint.

use std::path::{Path, PathBuf};
use std::time::Instant;

use collegial_arch::{Overrides, Spec};
use collegial_export::Model as Network;
pub use collegial_nn::{NormPolicy, Parametrisation};
use collegial_ntk::explicit::{ExplicitKernel, Options, Readout, drawn_weights, normal_inputs};
use collegial_report::{Align, Table, significant};
use collegial_tensors::Tensor;
use collegial_tensors::TensorTable;
use collegial_tensors::safetensors::Archive;
use collegial_train::checkpoint::{CheckpointFile, ModelHeader};
use collegial_train::data::{Dataset, Part};
use collegial_train::{Error as TrainError, spec_for};
use serde::{Deserialize, Serialize};

use crate::array;
use crate::model::{Source, weights as weight_path};
use crate::{Answer, Error, Model, Style, to_json};

/// Which network, at which weights, between which inputs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The network; a checkpoint in its place brings its weights.
    #[serde(flatten)]
    pub model: Model,
    /// Number of inputs: standard normal ones, or images of the data set; by default 4, of draws 2.
    pub count: Option<usize>,
    /// Directory of a data set whose first images are the inputs.
    pub data: Option<PathBuf>,
    /// Which images of the data set.
    pub split: Split,
    /// A .npy file with the inputs.
    pub input: Option<PathBuf>,
    /// The inputs themselves, in place of a file.
    #[serde(skip)]
    pub array: Option<Tensor>,
    /// A file of weights, or a checkpoint, in place of a draw.
    pub weights: Option<PathBuf>,
    /// What gradients are taken by; by default the NTK parametrisation, of given weights the one
    /// they were trained by.
    pub parametrisation: Option<Parametrisation>,
    /// What becomes of batch norms; by default removed, of given weights frozen.
    pub norms: Option<NormPolicy>,
    /// Which output, from 0.
    pub output: usize,
    /// The sum of the kernels of all outputs.
    pub trace: bool,
    /// Outputs averaged over all positions instead of one position's.
    pub pooled: bool,
    /// So many initialisations instead of one, see [`draws`](crate::draws).
    pub draws: Option<u64>,
    /// Images of the batch that norms see in every draw, the inputs first; by default the inputs
    /// alone.
    pub batch: Option<usize>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            model: Model::default(),
            count: None,
            data: None,
            split: Split::Test,
            input: None,
            array: None,
            weights: None,
            parametrisation: None,
            norms: None,
            output: 0,
            trace: false,
            pooled: false,
            draws: None,
            batch: None,
            seed: 0,
        }
    }
}

/// Inputs drawn where nothing else is said.
pub const COUNT: usize = 4;

/// Which images of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// The test images.
    Test,
    /// The training images.
    Train,
}

/// The kernel, and how it came about.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
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
    pub norms: NormPolicy,
    /// Whose kernel it is.
    pub readout: String,
    /// N x N, row by row.
    pub kernel: Vec<Vec<f64>>,
    /// How long it took.
    pub seconds: f64,
    /// The weights that were used.
    #[serde(skip)]
    pub used_weights: TensorTable,
    /// The inputs that were used.
    #[serde(skip)]
    pub used_inputs: Vec<Vec<f32>>,
}

/// Where the weights come from, and what their file says of them.
pub(crate) struct Given {
    path: PathBuf,
    header: Option<ModelHeader>,
    /// The tensors as a safetensors file, where the file is not one.
    converted: Option<Vec<u8>>,
}

/// Computes.
///
/// # Errors
///
/// Where network, weights and inputs do not belong together.
pub fn run(request: &Request) -> Result<Kernel, Error> {
    let (spec, given) = network(request)?;
    let (spec, inputs, input) = inputs(request, &spec)?;
    let graph = spec.graph()?;
    let options = options(request, given.as_ref());
    let start = Instant::now();
    let kernel = ExplicitKernel::new(&graph, options, &inputs)?;
    let content = |path: &PathBuf, reason: String| Error::Content { path: path.clone(), reason };
    let weights = match &given {
        Some(Given { path, converted, .. }) => {
            let file = converted.clone().map_or_else(|| read(path), Ok)?;
            Archive::from_bytes(&file).map_err(|error| content(path, error.to_string()))?.tensors
        }
        None => drawn_weights(&graph, options.parametrisation, request.seed)?,
    };
    let matrix = kernel.at(&weights).map_err(|error| match &given {
        Some(Given { path, .. }) => content(path, error.to_string()),
        None => error.into(),
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let drawn = || format!("drawn, seed {}", request.seed);
    Ok(Kernel {
        model: spec.name(),
        inputs: inputs.len(),
        input,
        weights: given.map_or_else(drawn, |given| given.path.display().to_string()),
        parametrisation: options.parametrisation,
        norms: options.norms,
        readout: options.readout.to_string(),
        kernel: matrix.chunks_exact(inputs.len()).map(<[f64]>::to_vec).collect(),
        seconds,
        used_weights: weights,
        used_inputs: inputs,
    })
}

/// The network, and its weights where they are given: by a field of their own, or by a checkpoint
/// in the model's place.
pub(crate) fn network(request: &Request) -> Result<(Spec, Option<Given>), Error> {
    match (request.model.open()?, &request.weights) {
        (Source::Spec(spec), None) => Ok((spec, None)),
        (Source::Spec(spec), Some(weights)) => {
            let path = weight_path(weights)?;
            // Whatever is wrong with the file is said when its tensors are read.
            let header = CheckpointFile::read(&path).and_then(|file| file.header()).unwrap_or_default();
            Ok((spec, Some(Given { path, header, converted: None })))
        }
        (Source::Weights(file), None) => {
            let (spec, path) = (file.spec().clone(), file.path().to_owned());
            if path.extension().is_some_and(|ending| ending == "onnx") {
                let converted = Some(Network::read(&file, &Overrides::default())?.to_safetensors()?);
                return Ok((spec, Some(Given { path, header: None, converted })));
            }
            let header = CheckpointFile::read(&path)?.header()?;
            Ok((spec, Some(Given { path, header, converted: None })))
        }
        (Source::Weights(file), Some(weights)) => Err(Error::request(format!(
            "the weights are given twice, by {} and by `weights={}`; leave one out",
            file.path().display(),
            weights.display()
        ))),
    }
}

/// The inputs and where they come from in words, and the network made to measure for them.
pub(crate) fn inputs(request: &Request, spec: &Spec) -> Result<(Spec, Vec<Vec<f32>>, String), Error> {
    let sources = [request.data.is_some(), request.input.is_some(), request.array.is_some()];
    if sources.iter().filter(|&&given| given).count() > 1 {
        return Err(Error::request(
            "inputs are given twice; leave one of `data=`, `input=` and the array out",
        ));
    }
    let given = request.input.is_some() || request.array.is_some();
    if given && request.count.is_some() {
        return Err(Error::request(
            "both inputs and a `count=` of inputs to draw were given; leave one of them out",
        ));
    }
    let count = request.count.unwrap_or(COUNT);
    if let Some(directory) = &request.data {
        let dataset = Dataset::open(directory).map_err(TrainError::from)?;
        let spec = spec_for(spec, &request.model.overrides(), &dataset)?;
        let (part, name) = match request.split {
            Split::Test => (Part::Test, "test"),
            Split::Train => (Part::Train, "training"),
        };
        let images = dataset.first(part, count).map_err(TrainError::from)?;
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
            (normal_inputs(&graph, count, seed), format!("standard normal, seed {seed}"))
        }
    };
    Ok((spec, inputs, source))
}

pub(crate) fn options(request: &Request, given: Option<&Given>) -> Options {
    let trained = given.map_or(Parametrisation::Ntk, |given| {
        given.header.as_ref().map_or(Parametrisation::Standard, |header| header.parametrisation)
    });
    let parametrisation = request.parametrisation.unwrap_or(trained);
    let usual = if given.is_some() { NormPolicy::Frozen } else { NormPolicy::None };
    let norms = request.norms.unwrap_or(usual);
    let readout = match (request.trace, request.pooled) {
        (false, false) => Readout::Unit(request.output),
        (false, true) => Readout::PooledUnit(request.output),
        (true, false) => Readout::Trace,
        (true, true) => Readout::PooledTrace,
    };
    Options { parametrisation, norms, readout }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(Error::reading(path))
}

impl Kernel {
    /// The kernel as a .npy file.
    ///
    /// # Errors
    ///
    /// If it is not square.
    pub fn to_npy(&self) -> Result<Vec<u8>, Error> {
        array::write_rows(self.inputs, self.kernel.concat())
    }

    /// The inputs that were used, one per row, as a .npy file.
    ///
    /// # Errors
    ///
    /// If they are not of one size.
    pub fn inputs_to_npy(&self) -> Result<Vec<u8>, Error> {
        let values: Vec<f64> = self.used_inputs.iter().flatten().map(|&x| f64::from(x)).collect();
        array::write_rows(self.inputs, values)
    }

    /// The weights that were used, as a safetensors file.
    ///
    /// # Errors
    ///
    /// Where the file's format cannot hold them.
    pub fn weights_to_safetensors(&self) -> Result<Vec<u8>, Error> {
        Ok(Archive::from(self.used_weights.clone()).to_bytes()?)
    }

    /// One row per input; its number first.
    fn rows(&self, number: impl Fn(f64) -> String) -> Table {
        let headings: Vec<String> = (0..self.kernel.len()).map(|index| index.to_string()).collect();
        let columns: Vec<(&str, Align)> = [("input", Align::Left)]
            .into_iter()
            .chain(headings.iter().map(|heading| (heading.as_str(), Align::Right)))
            .collect();
        let mut table = Table::new(&columns);
        for (index, row) in self.kernel.iter().enumerate() {
            let cells = row.iter().map(|&value| number(value));
            table.push_row([index.to_string()].into_iter().chain(cells).collect());
        }
        table
    }
}

impl Answer for Kernel {
    fn json(&self) -> Result<String, Error> {
        to_json(self)
    }

    fn text(&self, _style: &Style) -> String {
        let (sentences, table) = self.summary();
        format!("{}\n{}\n{:.2} s\n", table.to_text(), sentences.join("\n"), self.seconds)
    }

    fn table(&self) -> Table {
        self.rows(|value| value.to_string())
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let sentence = format!("{}: kernel of {} between {} inputs", self.model, self.readout, self.inputs);
        (vec![sentence], self.rows(|value| significant(value, 6)))
    }
}
