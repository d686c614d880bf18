//! A network with its weights, on its way out.

use std::path::Path;

use collegial_arch::{Overrides, Spec};
use collegial_nn::Network;
use collegial_train::checkpoint::{ModelHeader, model_bytes};
use collegial_train::recipe::Parametrisation;

use crate::{Error, WeightFile, onnx};

/// A spec and the network that it describes, with weights.
pub struct Model {
    header: ModelHeader,
    network: Network,
    /// How many batches its norms have seen.
    batches: u64,
}

impl Model {
    /// Weights drawn from a seed, as training from this seed begins with.
    pub fn drawn(spec: &Spec, seed: u64) -> Result<Self, Error> {
        let network = Network::builder(&spec.graph()?).seed(seed).build()?;
        let header = ModelHeader::untrained(spec.clone());
        Ok(Self { header, network, batches: 0 })
    }

    /// Weights of a file; the settings must leave the shapes of its tensors alone.
    pub fn read(file: &WeightFile, settings: &Overrides) -> Result<Self, Error> {
        let spec = file.spec().with(settings)?;
        if file.header().parametrisation != Parametrisation::Standard {
            return Err(Error::Parametrisation { path: file.path().to_owned() });
        }
        let network = file.network(&spec)?;
        let header = ModelHeader { spec, ..file.header().clone() };
        Ok(Self { header, network, batches: file.batches() })
    }

    /// What it is.
    pub fn spec(&self) -> &Spec {
        &self.header.spec
    }

    /// The network itself.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// A safetensors file with torchvision's names and, as PyTorch's norms want it,
    /// `num_batches_tracked`; the spec is in the header's metadata.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        Ok(model_bytes(&self.network, &self.header, self.batches)?)
    }

    /// An ONNX model.
    pub fn to_onnx(&self, options: &onnx::Options) -> Result<onnx::Files, Error> {
        onnx::write(&self.network, &self.header, options)
    }
}

/// The spec that is meant: a model's name, the path of a spec, or that of a file of weights.
pub fn spec(name_or_path: &str) -> Result<Spec, Error> {
    if WeightFile::is_meant(name_or_path) {
        return Ok(WeightFile::open(Path::new(name_or_path), None)?.spec().clone());
    }
    Ok(Spec::load(name_or_path)?)
}
