//! Who computes a training's passes and steps: the native engine, or another one that a host of
//! this library brings.
//!
//! Everything else is the same for all engines: [`Trainer`](crate::Trainer) has the data, their
//! order and augmentation, the schedule, the tests, the checkpoints and the history. An engine is
//! given weights, batches and rates, and gives losses and outputs. PyTorch lives in Python
//! processes, so that the wheel brings it ([`provide`]); the program alone has none.

use std::sync::OnceLock;

use collegial_core::tensors::{Tensor, TensorTable};
use collegial_nn::{Network, Optimiser};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkpoint::{network_tensors, optimiser_tensors};
use crate::{Error, Job};

/// Who computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// The program's own engine, on CPUs.
    #[default]
    Native,
    /// PyTorch by the Python package collegial, on a GPU if there is one.
    Torch,
}

impl Engine {
    /// Whether it is the native one, which settings and files need not name: those of older
    /// versions do not.
    pub fn is_native(&self) -> bool {
        *self == Self::Native
    }

    /// Refuses an engine that this process does not have.
    ///
    /// # Errors
    ///
    /// [`Error::NoTorch`].
    pub fn check(self) -> Result<(), Error> {
        if self.is_native() || PROVIDER.get().is_some() { Ok(()) } else { Err(Error::NoTorch) }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Native => "native",
            Self::Torch => "torch",
        })
    }
}

/// Weights, running statistics and optimiser of a network in training, by the names of checkpoints.
#[derive(Clone, Debug, Default)]
pub struct EngineState {
    /// Parameters and running statistics.
    pub network: TensorTable,
    /// The optimiser's, `NAME.momentum_buffer`, `NAME.exp_avg`, ...
    pub optimiser: TensorTable,
    /// Steps that the optimiser has done.
    pub steps: u64,
    /// What the engine keeps besides, such as the scale of its losses; null if nothing.
    pub own: Value,
}

impl EngineState {
    /// That of the native network and optimiser.
    pub(crate) fn of(network: &Network, optimiser: &Optimiser, own: Value) -> Result<Self, Error> {
        Ok(Self {
            network: network_tensors(network)?,
            optimiser: optimiser_tensors(network, optimiser)?,
            steps: optimiser.steps(),
            own,
        })
    }

    /// Makes the native network and optimiser the same.
    pub(crate) fn fill(&self, network: &mut Network, optimiser: &mut Optimiser) -> Result<(), Error> {
        for (name, tensor) in self.network.iter() {
            network.set(name, tensor.values())?;
        }
        for (state, values) in optimiser.state_mut() {
            for entry in network.parameters() {
                let saved = self.optimiser.get(&format!("{}.{state}", entry.name))?;
                values[entry.range.clone()].copy_from_slice(saved.values());
            }
        }
        optimiser.set_steps(self.steps);
        Ok(())
    }
}

/// What a step on a batch brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// The mean loss of the batch. Where it is not finite the weights are as they were.
    pub loss: f64,
    /// Images that were wrong.
    pub errors: u64,
}

/// An engine other than the native one, with the network of one training.
pub trait ForeignEngine: Send {
    /// Takes over a state.
    fn load(&mut self, state: &EngineState) -> Result<(), Error>;

    /// Its state.
    fn state(&mut self) -> Result<EngineState, Error>;

    /// One step of the recipe's optimiser on a batch, images x channels x height x width.
    fn step(&mut self, images: &[f32], labels: &[u32], rate: f64) -> Result<Stepped, Error>;

    /// The outputs for images, image by image; norms use their running statistics.
    fn outputs(&mut self, images: &[f32]) -> Result<Vec<f32>, Error>;

    /// Where it computes.
    fn device(&self) -> Device;
}

/// Where an engine computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// On cores of a CPU.
    Cpu,
    /// On a GPU.
    Gpu,
}

/// What an engine is made of.
pub struct Setup<'a> {
    /// What is trained, and how.
    pub job: &'a Job,
    /// What every tensor of weights is multiplied by, by its name; 1 in the standard
    /// parametrisation.
    pub factors: Vec<(String, f64)>,
    /// Threads to compute with.
    pub threads: usize,
}

/// Makes the engine of a training.
pub type Provider = fn(&Setup<'_>) -> Result<Box<dyn ForeignEngine>, Error>;

static PROVIDER: OnceLock<Provider> = OnceLock::new();

/// Brings PyTorch into this process, once, as a logger is brought: trainings are deep inside
/// requests that know nothing of Python.
pub fn provide(provider: Provider) {
    let _ = PROVIDER.set(provider);
}

/// The engine of a training; `None` for the native one.
pub(crate) fn start(job: &Job, network: &Network) -> Result<Option<Box<dyn ForeignEngine>>, Error> {
    if job.engine.is_native() {
        return Ok(None);
    }
    let parametrisation = job.recipe.parametrisation;
    let factor = |entry: &collegial_nn::Parameter| (entry.name.clone(), entry.factor(parametrisation));
    let factors = network.parameters().iter().map(factor).collect();
    let setup = Setup { job, factors, threads: rayon::current_num_threads() };
    PROVIDER.get().ok_or(Error::NoTorch)?(&setup).map(Some)
}

/// A table of tensors from their names, shapes and values.
///
/// # Errors
///
/// Where a shape is not that of its values, or a name comes twice.
pub fn table(
    tensors: impl IntoIterator<Item = (String, Vec<usize>, Vec<f32>)>,
) -> Result<TensorTable, Error> {
    let mut table = TensorTable::new();
    for (name, shape, values) in tensors {
        table.insert(name, Tensor::new(&*shape, values)?)?;
    }
    Ok(table)
}
