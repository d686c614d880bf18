//! Runtimes: they load networks whose passes are timed.

use std::fmt;

use collegial_arch::{Shape, Spec};
use collegial_core::Instant;
use collegial_nn::{Mode, Network};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The program that runs the networks that are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// This program's CPU engine: training steps.
    #[default]
    Native,
    /// ONNX Runtime by the Python package collegial: inference.
    Onnx,
    /// PyTorch by the Python package collegial: inference.
    Torch,
}

impl Runtime {
    /// The pass that it is timed by.
    pub fn pass(self) -> Pass {
        match self {
            Self::Native => Pass::Training,
            Self::Onnx | Self::Torch => Pass::Inference,
        }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "the native engine",
            Self::Onnx => "ONNX Runtime",
            Self::Torch => "PyTorch",
        })
    }
}

/// A kind of pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pass {
    /// Forward and backward.
    Training,
    /// Forward, norms with their running statistics.
    Inference,
}

/// How times are measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measurement {
    /// By which program.
    pub runtime: Runtime,
    /// Which pass.
    pub pass: Pass,
    /// Images per pass.
    pub batch: usize,
    /// The device, by the runtime's own name: cpu, cuda.
    pub device: String,
}

/// A network in a runtime.
pub trait TimedNetwork {
    /// Seconds of one pass per image.
    ///
    /// # Errors
    ///
    /// Those of the runtime.
    fn pass(&mut self) -> Result<f64, Error>;
}

/// Loads networks into a runtime.
pub trait Loader {
    /// How its times are measured.
    fn measurement(&self) -> Measurement;

    /// Loads a network with drawn weights.
    ///
    /// # Errors
    ///
    /// If the runtime cannot run it.
    fn load(&self, spec: &Spec) -> Result<Box<dyn TimedNetwork>, Error>;
}

/// Training steps of the CPU engine on the current thread pool.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    /// Images per step.
    pub batch: usize,
}

impl Loader for Native {
    fn measurement(&self) -> Measurement {
        let runtime = Runtime::Native;
        Measurement { runtime, pass: runtime.pass(), batch: self.batch, device: "cpu".into() }
    }

    fn load(&self, spec: &Spec) -> Result<Box<dyn TimedNetwork>, Error> {
        let (graph, batch) = (spec.graph()?, self.batch);
        let network = Network::builder(&graph).batch(batch).seed(0).build()?;
        let elements = |shape: Shape| batch * shape.channels * shape.pixels();
        let input = vec![0.5; elements(graph.input_shape())];
        let gradient = vec![1e-3; elements(graph.output_shape())];
        Ok(Box::new(TrainingStep { network, batch, input, gradient }))
    }
}

struct TrainingStep {
    network: Network,
    batch: usize,
    input: Vec<f32>,
    gradient: Vec<f32>,
}

impl TimedNetwork for TrainingStep {
    fn pass(&mut self) -> Result<f64, Error> {
        let start = Instant::now();
        self.network.forward(&self.input, Mode::Train)?;
        self.network.backward(&self.gradient)?;
        Ok(start.elapsed().as_secs_f64() / self.batch as f64)
    }
}
