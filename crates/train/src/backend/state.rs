//! The state of a backend, which checkpoints hold.

use std::collections::BTreeMap;

use collegial_core::tensors::TensorTable;
use collegial_nn::{Network, Optimiser};
use serde_json::Value;

use crate::checkpoint::{Checkpoint, network_tensors, optimiser_tensors};
use crate::{Error, Job};

/// Weights, running statistics and optimiser of a network in training, by the names of checkpoints.
#[derive(Clone, Debug, Default)]
pub struct BackendState {
    /// Parameters and running statistics.
    pub network: TensorTable,
    /// The optimiser's, `NAME.momentum_buffer`, `NAME.exp_avg`, ...
    pub optimiser: TensorTable,
    /// Steps that the optimiser has done.
    pub steps: u64,
    /// State of a backend's own, such as the scale of its losses; null if there is none.
    pub extra: Value,
}

impl BackendState {
    /// The state of a native network and its optimiser.
    ///
    /// # Errors
    ///
    /// Where two tensors have one name.
    pub fn of(network: &Network, optimiser: &Optimiser) -> Result<Self, Error> {
        Ok(Self {
            network: network_tensors(network)?,
            optimiser: optimiser_tensors(network, optimiser)?,
            steps: optimiser.steps(),
            extra: Value::Null,
        })
    }

    pub(crate) fn layout(&self) -> Layout {
        let tensors = self.network.iter().chain(self.optimiser.iter());
        Layout(tensors.map(|(name, tensor)| (name.to_owned(), tensor.shape().to_vec())).collect())
    }
}

/// The names and shapes of a state's tensors.
#[derive(Debug, PartialEq)]
pub(crate) struct Layout(BTreeMap<String, Vec<usize>>);

impl Layout {
    /// Refuses a state with other tensors: what is saved must be whole.
    pub(crate) fn check(&self, state: &BackendState) -> Result<(), Error> {
        let Self(found) = state.layout();
        let mut names = self.0.keys().chain(found.keys());
        match names.find(|name| self.0.get(*name) != found.get(*name)) {
            None => Ok(()),
            Some(name) => {
                let reason = format!("the backend's tensor {name} is not that of the network");
                Err(Error::Backend { reason })
            }
        }
    }
}

/// The state in which a training begins, or goes on from a checkpoint, and the factors of the
/// parametrisation by parameter.
///
/// A native network, which lives no longer than this call, draws the weights or checks those of the
/// checkpoint, whichever backend computes. It is planned for two images at most: a norm in a fully
/// connected network sees one value per channel and image, and needs two.
pub(crate) fn initial_state(
    job: &Job,
    checkpoint: Option<&Checkpoint>,
) -> Result<(BackendState, Vec<(String, f64)>), Error> {
    let parametrisation = job.recipe.parametrisation;
    let images = job.recipe.micro_batch().min(2);
    let mut network =
        Network::builder(&job.spec.graph()?).batch(images).parametrisation(parametrisation).build()?;
    let mut optimiser = Optimiser::new(job.recipe.optimiser, network.values().len());
    let mut extra = Value::Null;
    match checkpoint {
        None => network.initialise(job.seed),
        Some(checkpoint) => {
            let (model, header) = (job.spec.name(), &checkpoint.training_header);
            checkpoint.model.fill_network(&mut network, &model)?;
            checkpoint.training.fill_optimiser(&network, &mut optimiser, &model)?;
            optimiser.set_steps(header.progress.steps);
            extra = header.backend_state.clone();
        }
    }
    let factor = |entry: &collegial_nn::Parameter| (entry.name.clone(), entry.factor(parametrisation));
    let factors = network.parameters().iter().map(factor).collect();
    Ok((BackendState { extra, ..BackendState::of(&network, &optimiser)? }, factors))
}
