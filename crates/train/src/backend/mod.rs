//! Backends: they compute the passes and steps of a training.
//!
//! Everything else is the same for all of them: [`Trainer`](crate::Trainer) has the data, their
//! order and augmentation, the schedule, the tests, the checkpoints and the history. A [`Backend`]
//! is given weights, batches and rates, and gives losses and outputs. The native one is part of
//! this crate; PyTorch lives in Python processes, so that the wheel brings it
//! ([`Backends::with_torch`]).

mod native;
mod state;

pub use state::BackendState;
pub(crate) use state::{Layout, initial_state};

use serde::{Deserialize, Serialize};

use crate::{Error, Job, layer_rates};

/// The name of a backend, as people choose it.
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
    /// Whether it is the native one, the default, which settings and files need not name.
    pub fn is_native(&self) -> bool {
        *self == Self::Native
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

/// The network and optimiser of one training, wherever they are computed.
pub trait Backend: Send {
    /// Sets weights, running statistics and the optimiser's state.
    fn load(&mut self, state: &BackendState) -> Result<(), Error>;

    /// Copies weights, running statistics and the optimiser's state.
    fn state(&mut self) -> Result<BackendState, Error>;

    /// One step of the recipe's optimiser on a batch, images x channels x height x width.
    fn step(&mut self, images: &[f32], labels: &[u32], rate: f64) -> Result<StepOutput, Error>;

    /// The outputs for images, image by image; norms use their running statistics.
    fn outputs(&mut self, images: &[f32]) -> Result<Vec<f32>, Error>;

    /// Where it computes.
    fn device(&self) -> Device;

    /// The instruction set on which the last bits of its results depend, as a value of
    /// `COLLEGIAL_INSTRUCTIONS`; `None` if it does not tell.
    fn instructions(&self) -> Option<&'static str> {
        None
    }
}

/// Loss and errors of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepOutput {
    /// The sum of the losses of the batch's images. Where it is not finite the weights are as they
    /// were.
    pub loss: f64,
    /// Images that were wrong.
    pub errors: u64,
}

/// Where a backend computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// On cores of a CPU.
    Cpu,
    /// On a GPU.
    Gpu,
}

/// Arguments of a backend's constructor.
pub struct Setup<'a> {
    /// Network, recipe and data.
    pub job: &'a Job,
    /// The factor of every tensor of weights, by its name; 1 in the standard parametrisation.
    pub factors: Vec<(String, f64)>,
    /// The factor of every parameter's rate, by its name, in the network's order.
    pub rates: Vec<(String, f64)>,
    /// Threads to compute with.
    pub threads: usize,
}

/// Constructs the backend of a training.
pub type Constructor = fn(&Setup<'_>) -> Result<Box<dyn Backend>, Error>;

/// The rate of every parameter relative to the recipe's: its layer's.
fn parameter_rates(job: &Job, parameters: &[(String, f64)]) -> Result<Vec<(String, f64)>, Error> {
    let layers = match job.recipe.rates_by_fan_in {
        Some(reference) => layer_rates(&job.spec.graph()?, reference)?,
        None => vec![],
    };
    let rate = |name: &str| {
        let layer = name.rsplit_once('.').map_or(name, |(layer, _)| layer);
        layers.iter().find(|(known, _)| known == layer).map_or(1.0, |(_, rate)| *rate)
    };
    Ok(parameters.iter().map(|(name, _)| (name.clone(), rate(name))).collect())
}

/// The backends that a process has: the native one, and PyTorch where the caller brings it.
#[derive(Clone, Copy, Debug)]
pub struct Backends {
    torch: Option<Constructor>,
}

impl Backends {
    /// The native one alone.
    pub const NATIVE: Self = Self { torch: None };

    /// The native one and PyTorch.
    pub const fn with_torch(torch: Constructor) -> Self {
        Self { torch: Some(torch) }
    }

    /// Refuses an engine that this process does not have.
    ///
    /// # Errors
    ///
    /// [`Error::NoTorch`].
    pub fn check(self, engine: Engine) -> Result<(), Error> {
        self.constructor(engine).map(drop)
    }

    /// Refuses a job that its backend could not start, before anything of it is built.
    pub(crate) fn check_job(self, job: &Job) -> Result<(), Error> {
        match job.engine {
            Engine::Native => native::check_memory(job),
            Engine::Torch => self.check(job.engine),
        }
    }

    /// Constructs the job's backend, with weights that are still to be loaded.
    pub(crate) fn start(self, job: &Job, factors: Vec<(String, f64)>) -> Result<Box<dyn Backend>, Error> {
        let threads = rayon::current_num_threads();
        let rates = parameter_rates(job, &factors)?;
        self.constructor(job.engine)?(&Setup { job, factors, rates, threads })
    }

    fn constructor(self, engine: Engine) -> Result<Constructor, Error> {
        match engine {
            Engine::Native => Ok(native::start),
            Engine::Torch => self.torch.ok_or(Error::NoTorch),
        }
    }
}
