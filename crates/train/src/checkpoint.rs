//! Checkpoints: two safetensors files, the network under torchvision's names and what training needs besides.
//!
//! The header of each file holds one JSON document under the key `collegial` (one key, so that equal states make equal
//! bytes). Both carry the number of the checkpoint, by which files that do not belong together are noticed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use collegial_arch::Spec;
use collegial_nn::{Network, Optimiser};
use safetensors::tensor::{Dtype, SafeTensors, View};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::io;
use crate::history::Progress;
use crate::recipe::{Parametrisation, Recipe};
use crate::{Error, Loss};

/// The file with the network.
pub const MODEL_FILE: &str = "model.safetensors";
/// The file with optimiser, position and recipe.
pub const TRAINING_FILE: &str = "training.safetensors";

const KEY: &str = "collegial";
const TRACKED: &str = "num_batches_tracked";

/// What the file of a network says about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelHeader {
    /// The network.
    pub spec: Spec,
    /// What its weights are: those of the NTK parametrisation still have to be multiplied by sqrt(gain / fan-in).
    #[serde(default)]
    pub parametrisation: Parametrisation,
    /// What it was trained to make small.
    #[serde(default)]
    pub loss: Loss,
    /// Epochs finished.
    pub epoch: u32,
    /// Steps of the optimiser.
    pub steps: u64,
    /// The number of the checkpoint in its run.
    pub number: u64,
}

impl ModelHeader {
    /// That of weights that this program has not trained.
    pub fn untrained(spec: Spec) -> Self {
        let (parametrisation, loss) = Default::default();
        Self { spec, parametrisation, loss, epoch: 0, steps: 0, number: 0 }
    }
}

/// What the second file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingHeader {
    /// Seeds weights, order and augmentation.
    pub seed: u64,
    /// How it is trained.
    pub recipe: Recipe,
    /// What it is trained on, in words: kind, sizes and classes.
    pub data: String,
    /// Where it stands.
    pub progress: Progress,
    /// The number of the checkpoint in its run.
    pub number: u64,
}

/// A tensor to be written.
enum Tensor<'a> {
    Floats { shape: Vec<usize>, values: &'a [f32] },
    Count(i64),
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        match self {
            Self::Floats { .. } => Dtype::F32,
            Self::Count(_) => Dtype::I64,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Floats { shape, .. } => shape,
            Self::Count(_) => &[],
        }
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Floats { values, .. } => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Count(count) => count.to_le_bytes().to_vec().into(),
        }
    }

    fn data_len(&self) -> usize {
        match self {
            Self::Floats { values, .. } => size_of_val(*values),
            Self::Count(_) => size_of::<i64>(),
        }
    }
}

/// `bn1.num_batches_tracked`, which PyTorch's norms keep.
fn is_counter(name: &str) -> bool {
    name.strip_suffix(TRACKED).is_some_and(|norm| norm.ends_with('.'))
}

/// The bytes of the network's file. `batches` is how many (micro-)batches the norms have seen.
pub fn model_bytes(network: &Network, header: &ModelHeader, batches: u64) -> Result<Vec<u8>, Error> {
    let mut tensors: Vec<(String, Tensor)> = vec![];
    for entry in network.parameters() {
        let values = &network.values()[entry.range.clone()];
        tensors.push((entry.name.clone(), Tensor::Floats { shape: entry.shape.clone(), values }));
    }
    for (name, values) in network.statistics() {
        if let Some(norm) = name.strip_suffix("running_mean") {
            tensors.push((format!("{norm}{TRACKED}"), Tensor::Count(batches as i64)));
        }
        tensors.push((name, Tensor::Floats { shape: vec![values.len()], values }));
    }
    serialise(tensors, header)
}

/// The bytes of the second file.
pub fn training_bytes(
    network: &Network,
    optimiser: &Optimiser,
    header: &TrainingHeader,
) -> Result<Vec<u8>, Error> {
    let mut tensors = vec![];
    for (state, values) in optimiser.state() {
        for entry in network.parameters() {
            let values = &values[entry.range.clone()];
            let tensor = Tensor::Floats { shape: entry.shape.clone(), values };
            tensors.push((format!("{}.{state}", entry.name), tensor));
        }
    }
    serialise(tensors, header)
}

fn serialise(tensors: Vec<(String, Tensor)>, header: &impl Serialize) -> Result<Vec<u8>, Error> {
    let refuse = |reason: String| Error::NotACheckpoint { path: "the new checkpoint".into(), reason };
    let document = serde_json::to_string(header).map_err(|error| refuse(error.to_string()))?;
    let metadata = HashMap::from([(KEY.to_owned(), document)]);
    safetensors::serialize(tensors, Some(metadata)).map_err(|error| refuse(error.to_string()))
}

/// A safetensors file in memory, its structure checked.
pub struct CheckpointFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl CheckpointFile {
    /// Reads a file and checks its structure, so that a truncated or foreign one is refused here.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(path, std::fs::read(path).map_err(io("read", path))?)
    }

    /// The same for bytes that stand for the file at `path`.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self, Error> {
        let file = Self { path: path.to_owned(), bytes };
        file.tensors()?;
        Ok(file)
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tensors by name with their shapes, without the counters of batches.
    pub fn shapes(&self) -> Result<BTreeMap<String, Vec<usize>>, Error> {
        let tensors = self.tensors()?;
        let named = tensors.iter().filter(|(name, _)| !is_counter(name));
        Ok(named.map(|(name, tensor)| (name.to_owned(), tensor.shape().to_vec())).collect())
    }

    /// How many batches the norms have seen; 0 if the file does not say.
    pub fn batches(&self) -> Result<u64, Error> {
        let tensors = self.tensors()?;
        let counter = tensors.iter().find(|(name, tensor)| is_counter(name) && tensor.dtype() == Dtype::I64);
        let bytes = counter.and_then(|(_, tensor)| tensor.data().try_into().ok());
        Ok(bytes.map_or(0, |bytes| i64::from_le_bytes(bytes).max(0) as u64))
    }

    /// The document of its header; `None` if another program wrote it.
    pub fn header<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let (_, metadata) =
            SafeTensors::read_metadata(&self.bytes).map_err(|error| self.refuse(error.to_string()))?;
        let Some(document) = metadata.metadata().as_ref().and_then(|all| all.get(KEY)) else {
            return Ok(None);
        };
        let parsed = serde_json::from_str(document);
        parsed.map(Some).map_err(|error| self.refuse(format!("its header says something else ({error})")))
    }

    /// The document of its header, which must be there.
    pub fn own_header<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.header()?.ok_or_else(|| self.refuse("its header does not name a network of ours".into()))
    }

    /// Sets every parameter and running statistic of a network; all of them must be here and nothing else.
    pub fn fill_network(&self, network: &mut Network, model: &str) -> Result<(), Error> {
        let tensors = self.tensors()?;
        if let Ok(Some(ModelHeader { parametrisation, .. })) = self.header()
            && network.parametrisation() != parametrisation.into()
        {
            let reason = format!("its weights are those of the {parametrisation:?} parametrisation");
            return Err(self.other(model, reason));
        }
        let parameters = network.parameters().iter().map(|entry| (entry.name.clone(), entry.shape.clone()));
        let statistics = network.statistics().map(|(name, values)| (name, vec![values.len()]));
        let expected: HashMap<String, Vec<usize>> = parameters.chain(statistics).collect();
        let mut names = tensors.names();
        names.sort_unstable();
        let unknown = names.into_iter().find(|name| !expected.contains_key(*name) && !is_counter(name));
        if let Some(name) = unknown {
            return Err(self.other(model, format!("the network has no tensor {name}")));
        }
        let mut expected: Vec<_> = expected.into_iter().collect();
        expected.sort_unstable();
        for (name, shape) in expected {
            let values = self.floats(&tensors, &name, &shape, model)?;
            network.set(&name, &values)?;
        }
        Ok(())
    }

    /// Sets the state of an optimiser of this network.
    pub fn fill_optimiser(
        &self,
        network: &Network,
        optimiser: &mut Optimiser,
        model: &str,
    ) -> Result<(), Error> {
        let tensors = self.tensors()?;
        for (state, values) in optimiser.state_mut() {
            for entry in network.parameters() {
                let name = format!("{}.{state}", entry.name);
                let saved = self.floats(&tensors, &name, &entry.shape, model)?;
                values[entry.range.clone()].copy_from_slice(&saved);
            }
        }
        Ok(())
    }

    fn tensors(&self) -> Result<SafeTensors<'_>, Error> {
        SafeTensors::deserialize(&self.bytes).map_err(|error| self.refuse(error.to_string()))
    }

    fn floats(&self, all: &SafeTensors, name: &str, shape: &[usize], model: &str) -> Result<Vec<f32>, Error> {
        let tensor = all.tensor(name).map_err(|_| self.other(model, format!("it has no tensor {name}")))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            let (dtype, found) = (tensor.dtype(), tensor.shape());
            let reason = format!("{name} is {dtype} of shape {found:?}, expected F32 of shape {shape:?}");
            return Err(self.other(model, reason));
        }
        let words = tensor.data().as_chunks::<4>().0;
        Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect())
    }

    fn refuse(&self, reason: String) -> Error {
        Error::NotACheckpoint { path: self.path.clone(), reason }
    }

    fn other(&self, model: &str, reason: String) -> Error {
        Error::OtherNetwork { path: self.path.clone(), model: model.to_owned(), reason }
    }
}

/// Both files of a checkpoint, read and found to belong together.
pub struct Checkpoint {
    /// The network's file.
    pub model: CheckpointFile,
    /// What it says.
    pub model_header: ModelHeader,
    /// The second file.
    pub training: CheckpointFile,
    /// What it says.
    pub training_header: TrainingHeader,
}

impl Checkpoint {
    /// Reads the two files of a checkpoint's directory.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let model = CheckpointFile::read(&directory.join(MODEL_FILE))?;
        let training = CheckpointFile::read(&directory.join(TRAINING_FILE))?;
        let model_header: ModelHeader = model.own_header()?;
        let training_header: TrainingHeader = training.own_header()?;
        let (a, b) = (model_header.number, training_header.number);
        if a != b {
            let reason = format!("it is number {b}, but {MODEL_FILE} beside it is number {a}");
            return Err(training.refuse(reason));
        }
        Ok(Self { model, model_header, training, training_header })
    }
}
