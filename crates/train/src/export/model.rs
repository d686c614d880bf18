//! A network with its weights, ready for export.

use crate::checkpoint::{ModelHeader, model_bytes, renamed_model_bytes};
use crate::recipe::Parametrisation;
use collegial_arch::{Overrides, Spec};
use collegial_nn::Network;

use crate::export::{Error, WeightFile, foreign, onnx};

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
            return Err(Error::Invalid(format!(
                "{} holds weights of the NTK parametrisation, which other programs do not know; train \
                 with parametrisation=standard",
                file.path().display()
            )));
        }
        let network = file.network(&spec)?;
        let header = ModelHeader { spec, ..file.header().clone() };
        Ok(Self { header, network, batches: file.batches() })
    }

    /// The network.
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

    /// The same with timm's names, which differ for RegNets.
    pub fn to_timm_safetensors(&self) -> Result<Vec<u8>, Error> {
        match &self.header.spec {
            Spec::Resnext(_) => self.to_safetensors(),
            Spec::Regnet(_) => {
                Ok(renamed_model_bytes(&self.network, &self.header, self.batches, foreign::timm_regnet)?)
            }
            other => Err(Error::Invalid(format!(
                "timm has no network of the family of {model}, so that its layers have no names there; \
                 ResNets, ResNeXts and RegNets have",
                model = other.name()
            ))),
        }
    }

    /// An ONNX model.
    pub fn to_onnx(&self, options: &onnx::Options) -> Result<onnx::Files, Error> {
        onnx::write(&self.network, &self.header, options)
    }
}
