//! Checkpoints: two safetensors files, the network under torchvision's names and the training
//! state.
//!
//! The header of each file holds one JSON document under the key `collegial` (one key, so that
//! equal states make equal bytes). Both carry the number of the checkpoint, by which files that do
//! not belong together are noticed, and a [checksum] of their content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use collegial_arch::Spec;
use collegial_core::tensors::safetensors::Archive;
use collegial_core::tensors::{Tensor, TensorTable};
use collegial_nn::{Network, Optimiser};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::data::Identity;
use crate::error::io;
use crate::history::Progress;
use crate::recipe::{Parametrisation, Recipe};
use crate::{Engine, Error, Loss};
use collegial_core::checksum::{self, Checked};
use collegial_core::files::read_regular;

/// The file with the network.
pub const MODEL_FILE: &str = "model.safetensors";
/// The file with optimiser, position and recipe.
pub const TRAINING_FILE: &str = "training.safetensors";

const KEY: &str = "collegial";
const TRACKED: &str = "num_batches_tracked";

/// The header of a network's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelHeader {
    /// The network. What is read from a file is checked, its name included: names become those of
    /// new files.
    #[serde(deserialize_with = "checked_spec")]
    pub spec: Spec,
    /// The parametrisation of its weights: those of the NTK parametrisation still have to be multiplied by
    /// sqrt(gain / fan-in).
    #[serde(default)]
    pub parametrisation: Parametrisation,
    /// The loss it was trained with.
    #[serde(default)]
    pub loss: Loss,
    /// Epochs finished.
    pub epoch: u32,
    /// Steps of the optimiser.
    pub steps: u64,
    /// The number of the checkpoint in its run.
    pub number: u64,
}

fn checked_spec<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Spec, D::Error> {
    let spec = Spec::deserialize(deserializer)?;
    spec.check().map_err(serde::de::Error::custom)?;
    Ok(spec)
}

impl ModelHeader {
    /// The header of weights that this program has not trained.
    pub fn untrained(spec: Spec) -> Self {
        let (parametrisation, loss) = Default::default();
        Self { spec, parametrisation, loss, epoch: 0, steps: 0, number: 0 }
    }
}

/// The header of the training state's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingHeader {
    /// Seeds weights, order and augmentation.
    pub seed: u64,
    /// How it is trained.
    pub recipe: Recipe,
    /// The data it is trained on.
    pub data: Identity,
    /// Where it stands.
    pub progress: Progress,
    /// The number of the checkpoint in its run.
    pub number: u64,
    /// The backend.
    #[serde(default, skip_serializing_if = "Engine::is_native")]
    pub engine: Engine,
    /// State of the backend's own, besides tensors.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub backend_state: Value,
    /// The instruction set of the CPU on which the last bits depend, where the backend tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// A header with the place of the file's checksum.
#[derive(Serialize)]
struct Sealed<'a, T> {
    #[serde(flatten)]
    header: &'a T,
    checksum: &'static str,
}

/// `bn1.num_batches_tracked`, which PyTorch's norms keep.
fn is_counter(name: &str) -> bool {
    name.strip_suffix(TRACKED).is_some_and(|norm| norm.ends_with('.'))
}

/// Parameters and running statistics of a network under torchvision's names.
pub fn network_tensors(network: &Network) -> Result<TensorTable, Error> {
    let mut table = TensorTable::new();
    for entry in network.parameters() {
        let values = network.values()[entry.range.clone()].to_vec();
        table.insert(&*entry.name, Tensor::new(&*entry.shape, values)?)?;
    }
    for (name, values) in network.statistics() {
        table.insert(name, Tensor::vector(values.to_vec()))?;
    }
    Ok(table)
}

/// The bytes of the network's file. `batches` is how many (micro-)batches the norms have seen.
pub fn model_bytes(network: &Network, header: &ModelHeader, batches: u64) -> Result<Vec<u8>, Error> {
    weight_bytes(network_tensors(network)?, header, batches)
}

/// The same from the tensors of a network.
pub(crate) fn weight_bytes(
    tensors: TensorTable,
    header: &ModelHeader,
    batches: u64,
) -> Result<Vec<u8>, Error> {
    serialise(model_archive(tensors, batches)?, header)
}

/// The same with tensors that other programs call otherwise.
pub fn renamed_model_bytes(
    network: &Network,
    header: &ModelHeader,
    batches: u64,
    name: impl Fn(&str) -> String,
) -> Result<Vec<u8>, Error> {
    let Archive { tensors, integers, metadata } = model_archive(network_tensors(network)?, batches)?;
    let (tensors, integers) = (tensors.renamed(&name)?, integers.renamed(&name)?);
    serialise(Archive { tensors, integers, metadata }, header)
}

fn model_archive(tensors: TensorTable, batches: u64) -> Result<Archive, Error> {
    let norms = tensors.names().filter_map(|name| name.strip_suffix("running_mean"));
    let counters: Vec<String> = norms.map(|norm| format!("{norm}{TRACKED}")).collect();
    let mut archive = Archive::from(tensors);
    for name in counters {
        archive.integers.insert(name, Tensor::scalar(batches as i64))?;
    }
    Ok(archive)
}

/// The bytes of the second file, with the optimiser's tensors.
pub fn training_bytes(optimiser: TensorTable, header: &TrainingHeader) -> Result<Vec<u8>, Error> {
    serialise(optimiser.into(), header)
}

/// The state of an optimiser under the names of the parameters and torch.optim's.
pub fn optimiser_tensors(network: &Network, optimiser: &Optimiser) -> Result<TensorTable, Error> {
    let mut table = TensorTable::new();
    for (state, values) in optimiser.state() {
        for entry in network.parameters() {
            let values = values[entry.range.clone()].to_vec();
            table.insert(format!("{}.{state}", entry.name), Tensor::new(&*entry.shape, values)?)?;
        }
    }
    Ok(table)
}

fn serialise(archive: Archive, header: &impl Serialize) -> Result<Vec<u8>, Error> {
    let sealed = Sealed { header, checksum: checksum::BLANK };
    let document = serde_json::to_string(&sealed).map_err(Error::Header)?;
    let mut bytes = archive.with_metadata(KEY, document).to_bytes()?;
    let header = checksum::safetensors_header(&bytes);
    checksum::seal(&mut bytes, header);
    Ok(bytes)
}

/// The tensors of a file in memory, with the document of its header.
pub struct CheckpointFile {
    path: PathBuf,
    archive: Archive,
}

impl CheckpointFile {
    /// Reads a safetensors file and checks its structure and its checksum. A file of ours must carry
    /// one; files of other programs have none.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(path, &read_regular(path).map_err(io("read", path))?)
    }

    /// The same for the content of the file at `path`.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let refuse = |error: collegial_core::tensors::Error| Error::NotACheckpoint {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let archive = Archive::from_bytes(bytes).map_err(refuse)?;
        let ours = archive.metadata.contains_key(KEY);
        match checksum::check(bytes, checksum::safetensors_header(bytes)) {
            Checked::Intact => {}
            Checked::Absent if !ours => {}
            Checked::Absent | Checked::Broken => return Err(Error::Corrupt { path: path.to_owned() }),
        }
        Ok(Self { path: path.to_owned(), archive })
    }

    /// Tensors that another reader found in the file at `path`, whose checksum it has compared.
    pub fn new(path: &Path, tensors: TensorTable, header: &ModelHeader) -> Result<Self, Error> {
        let document = serde_json::to_string(header).map_err(Error::Header)?;
        Ok(Self { path: path.to_owned(), archive: Archive::from(tensors).with_metadata(KEY, document) })
    }

    /// The same tensors under other names.
    pub fn renamed(mut self, name: impl Fn(&str) -> String) -> Result<Self, Error> {
        let Archive { tensors, integers, metadata } = std::mem::take(&mut self.archive);
        let refuse = |error: collegial_core::tensors::Error| self.refuse(error.to_string());
        let tensors = tensors.renamed(&name).map_err(refuse)?;
        let integers = integers.renamed(&name).map_err(refuse)?;
        Ok(Self { archive: Archive { tensors, integers, metadata }, ..self })
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tensors by name with their shapes, without the counters of batches.
    pub fn shapes(&self) -> BTreeMap<String, Vec<usize>> {
        let tensors = self.archive.tensors.iter().filter(|(name, _)| !is_counter(name));
        tensors.map(|(name, tensor)| (name.to_owned(), tensor.shape().to_vec())).collect()
    }

    /// All tensors, whichever network they belong to; all of their numbers must be finite.
    pub fn into_tensors(self) -> Result<TensorTable, Error> {
        let not_finite = |(name, tensor): (&str, &Tensor)| {
            let value = tensor.values().iter().copied().find(|value| !value.is_finite())?;
            Some(Error::NotFinite { path: self.path.clone(), tensor: name.to_owned(), value })
        };
        let found = self.archive.tensors.iter().find_map(not_finite);
        found.map_or(Ok(self.archive.tensors), Err)
    }

    /// How many batches the norms have seen; 0 if the file does not say.
    pub fn batches(&self) -> u64 {
        let counter = self.archive.integers.iter().find(|(name, _)| is_counter(name));
        let count = counter.and_then(|(_, tensor)| tensor.values().first());
        count.map_or(0, |&count| count.max(0) as u64)
    }

    /// The document of its header; `None` if another program wrote it.
    pub fn header<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let Some(document) = self.archive.metadata.get(KEY) else { return Ok(None) };
        let parsed = serde_json::from_str(document);
        parsed.map(Some).map_err(|error| self.refuse(format!("its header says something else ({error})")))
    }

    /// The document of its header, which must be there.
    pub fn own_header<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.header()?.ok_or_else(|| self.refuse("its header does not name a network of ours".into()))
    }

    /// Sets every parameter and running statistic of a network; all of them must be here, finite,
    /// and nothing else.
    pub fn fill_network(&self, network: &mut Network, model: &str) -> Result<(), Error> {
        if let Ok(Some(ModelHeader { parametrisation, .. })) = self.header()
            && network.parametrisation() != parametrisation
        {
            let found = parametrisation;
            return Err(self.other(model, format!("its weights are those of the {found} parametrisation")));
        }
        let parameters = network.parameters().iter().map(|entry| (entry.name.clone(), entry.shape.clone()));
        let statistics = network.statistics().map(|(name, values)| (name, vec![values.len()]));
        let expected: BTreeMap<String, Vec<usize>> = parameters.chain(statistics).collect();
        let tables = self.archive.tensors.names().chain(self.archive.integers.names());
        let unknown = tables.filter(|name| !expected.contains_key(*name) && !is_counter(name)).min();
        if let Some(name) = unknown {
            return Err(self.other(model, format!("the network has no tensor {name}")));
        }
        for (name, shape) in expected {
            network.set(&name, self.floats(&name, &shape, model)?)?;
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
        for (state, values) in optimiser.state_mut() {
            for entry in network.parameters() {
                let saved = self.floats(&format!("{}.{state}", entry.name), &entry.shape, model)?;
                values[entry.range.clone()].copy_from_slice(saved);
            }
        }
        Ok(())
    }

    /// The values of a tensor of this shape, all of them finite.
    fn floats(&self, name: &str, shape: &[usize], model: &str) -> Result<&[f32], Error> {
        let Ok(tensor) = self.archive.tensors.get(name) else {
            return Err(self.other(model, format!("it has no tensor {name}")));
        };
        if tensor.shape() != shape {
            let (found, expected) = (tensor.shape().to_vec(), shape.to_vec());
            return Err(self.other(model, format!("{name} has the shape {found:?}, expected {expected:?}")));
        }
        match tensor.values().iter().find(|value| !value.is_finite()) {
            None => Ok(tensor.values()),
            Some(&value) => Err(Error::NotFinite { path: self.path.clone(), tensor: name.to_owned(), value }),
        }
    }

    fn refuse(&self, reason: String) -> Error {
        Error::NotACheckpoint { path: self.path.clone(), reason }
    }

    fn other(&self, model: &str, reason: String) -> Error {
        let (path, model) = (self.path.clone(), model.to_owned());
        Error::OtherNetwork { path, model, reason }
    }
}

/// Both files of a checkpoint, read and found to belong together.
pub struct Checkpoint {
    /// The network's file.
    pub model: CheckpointFile,
    /// The header of the network's file.
    pub model_header: ModelHeader,
    /// The second file.
    pub training: CheckpointFile,
    /// The header of the second file.
    pub training_header: TrainingHeader,
}

impl Checkpoint {
    /// Reads the two files of a checkpoint's directory.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let model = CheckpointFile::read(&directory.join(MODEL_FILE))?;
        let training = CheckpointFile::read(&directory.join(TRAINING_FILE))?;
        let model_header: ModelHeader = model.own_header()?;
        let training_header: TrainingHeader = training.own_header()?;
        let numbers = (model_header.number, training_header.number);
        if numbers.0 != numbers.1 {
            return Err(training.refuse(format!(
                "it is number {training}, but {} beside it is number {model}",
                MODEL_FILE,
                model = numbers.0,
                training = numbers.1
            )));
        }
        // Two processes that did not see each other's lock may have written one file each.
        let steps = (model_header.steps, training_header.progress.steps);
        if steps.0 != steps.1 {
            return Err(training.refuse(format!(
                "it is of step {training}, but {} beside it is of step {model}",
                MODEL_FILE,
                model = steps.0,
                training = steps.1
            )));
        }
        Ok(Self { model, model_header, training, training_header })
    }
}
