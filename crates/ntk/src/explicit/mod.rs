//! The kernel at given weights, N x N, for any network.
//!
//! K(x, x') is the sum over all parameters of df(x)/dw df(x')/dw, with f one output unit (or K
//! summed over all outputs, the trace). It is added up layer by layer on the engine's own backward
//! pass, which shows every layer's inputs and cotangents: inner products of inputs times those of
//! cotangents, or of gradients where those are cheaper. Never does a gradient of all parameters
//! exist.
//!
//! Batch norms either are removed, as in the paper's theory, or frozen at their running statistics,
//! so that every image's output depends on that image alone; their scales and shifts are parameters
//! then. Sums over positions, blocks and layers are f64, and results do not depend on the number of
//! threads.

pub(crate) mod contribution;
pub(crate) mod gram;
pub(crate) mod patches;
pub(crate) mod tasks;
pub(crate) mod worker;

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use collegial_arch::{Graph, Op};
use collegial_core::tensors::TensorTable;
use collegial_core::{Moments, Monitor, Rng, Silent, Tally, tally_blocks};
use collegial_nn::Network;
pub use collegial_nn::{NormPolicy, Parametrisation};

use crate::{BLOCK, Error};
use tasks::Threads;
use worker::{Layer, Worker};

/// Whose kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readout {
    /// One output channel: of an image-like output its middle position, as
    /// [`Output::Unit`](crate::Output::Unit) has it.
    Unit(usize),
    /// One output channel averaged over all positions.
    PooledUnit(usize),
    /// The sum of the kernels of all channels and positions: the trace over outputs.
    Trace,
    /// The sum of the kernels of all channels, each averaged over positions.
    PooledTrace,
}

impl Readout {
    pub(crate) fn is_trace(self) -> bool {
        matches!(self, Self::Trace | Self::PooledTrace)
    }

    /// The unit that is read, where it exists; 0 of a trace.
    pub(crate) fn unit(self, graph: &Graph) -> Result<usize, Error> {
        let outputs = graph.output_shape().channels;
        match self {
            Self::Unit(unit) | Self::PooledUnit(unit) if unit >= outputs => Err(Error::Invalid(format!(
                "output {unit} does not exist: the network has {outputs}, counted from 0"
            ))),
            Self::Unit(unit) | Self::PooledUnit(unit) => Ok(unit),
            Self::Trace | Self::PooledTrace => Ok(0),
        }
    }

    /// The gradients of the outputs of all images, one for each output that the kernel is summed
    /// over.
    pub(crate) fn seeds(self, graph: &Graph, unit: usize, images: usize) -> Vec<Vec<f32>> {
        let shape = graph.output_shape();
        let (channels, pixels) = (shape.channels, shape.pixels());
        let middle = shape.height / 2 * shape.width + shape.width / 2;
        let unit = if channels == 1 { 0 } else { unit };
        let at_position = |channel: usize, position: usize| {
            let mut image = vec![0.0; channels * pixels];
            image[channel * pixels + position] = 1.0;
            image.repeat(images)
        };
        let pooled = |channel: usize| {
            let mut image = vec![0.0; channels * pixels];
            image[channel * pixels..][..pixels].fill(1.0 / pixels as f32);
            image.repeat(images)
        };
        match self {
            Self::Unit(_) => vec![at_position(unit, middle)],
            Self::PooledUnit(_) => vec![pooled(unit)],
            Self::PooledTrace => (0..channels).map(pooled).collect(),
            Self::Trace => (0..channels * pixels).map(|at| at_position(at / pixels, at % pixels)).collect(),
        }
    }
}

impl fmt::Display for Readout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(unit) => write!(f, "output {unit}"),
            Self::PooledUnit(unit) => write!(f, "output {unit} averaged over positions"),
            Self::Trace => f.write_str("all outputs, summed"),
            Self::PooledTrace => f.write_str("all outputs averaged over positions, summed"),
        }
    }
}

/// Which kernel to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Gradients by the N(0, 1) weights, or by the actual ones. Norms' and biases' parameters are
    /// the same in both.
    pub parametrisation: Parametrisation,
    /// What becomes of batch norms; those of the batch have no kernel between single images.
    pub norm: NormPolicy,
    /// Whose kernel.
    pub readout: Readout,
}

impl Default for Options {
    /// The paper's: NTK parametrisation, no norms, the first output unit.
    fn default() -> Self {
        Self { parametrisation: Parametrisation::Ntk, norm: NormPolicy::None, readout: Readout::Unit(0) }
    }
}

/// The kernel of a network between some inputs, to be computed at any weights.
///
/// ```
/// use collegial_ntk::explicit::{ExplicitKernel, Options, drawn_weights};
/// let spec: collegial_arch::Spec = "fc3-4x8".parse()?;
/// let graph = spec.graph()?;
/// let options = Options::default();
/// let kernel = ExplicitKernel::new(&graph, options, &[vec![1.0; 784], vec![-1.0; 784]])?;
/// let weights = drawn_weights(&graph, options.parametrisation, 7)?;
/// let matrix = kernel.at(&weights)?;
/// assert!(matrix[1] == matrix[2] && matrix[0] > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExplicitKernel {
    /// The network, whose last layer has one output where no other is read.
    graph: Graph,
    options: Options,
    layers: Vec<Layer>,
    inputs: Vec<f32>,
    count: usize,
    /// Which output the last layer keeps.
    unit: usize,
    /// Gradients of the outputs that the kernel is summed over.
    seeds: Vec<Vec<f32>>,
    /// Names and shapes of the tensors that the kernel depends on.
    tensors: Vec<(String, Vec<usize>)>,
    /// Networks that no thread uses at the moment.
    idle: Mutex<Vec<Worker>>,
    /// The same, for draws side by side: each stays on one thread.
    idle_alone: Mutex<Vec<Worker>>,
}

impl ExplicitKernel {
    /// Plans the kernel between the given inputs, each of channels x height x width values.
    ///
    /// # Errors
    ///
    /// If there are no inputs, one has another size or is not finite, the output does not exist,
    /// the network has no parameters, or norms are to use the statistics of the batch.
    pub fn new(graph: &Graph, options: Options, inputs: &[Vec<f32>]) -> Result<Self, Error> {
        check_inputs(graph, inputs)?;
        if options.norm == NormPolicy::Batch {
            return Err(Error::BatchNorms);
        }
        let unit = options.readout.unit(graph)?;
        let read = Network::builder(graph).norm(options.norm).build()?;
        if read.parameters().is_empty() {
            return Err(Error::NoParameters { module: "network".into() });
        }
        let parameters = read.parameters().iter().map(|entry| (entry.name.clone(), entry.shape.clone()));
        let statistics = read.statistics().map(|(name, values)| (name, vec![values.len()]));
        let tensors = parameters.chain(statistics).collect();
        let whole = Network::builder(graph).build()?;
        let reduced = if options.readout.is_trace() { graph.clone() } else { with_one_output(graph) };
        let values = inputs.concat();
        let worker = Worker::new(&reduced, &options, &values, Threads::Pool)?;
        Ok(Self {
            layers: Layer::all(graph, worker.network(), &whole, options.parametrisation)?,
            options,
            inputs: values,
            count: inputs.len(),
            unit,
            seeds: options.readout.seeds(&reduced, unit, inputs.len()),
            tensors,
            graph: reduced,
            idle: Mutex::new(vec![worker]),
            idle_alone: Mutex::new(vec![]),
        })
    }

    /// How many inputs the kernel is between.
    pub fn inputs(&self) -> usize {
        self.count
    }

    /// The kernel, inputs x inputs, row by row. Tensors that it does not depend on are left alone.
    ///
    /// # Errors
    ///
    /// If a tensor is missing, has another shape, or contains NaN or an infinity.
    pub fn at(&self, weights: &TensorTable) -> Result<Vec<f64>, Error> {
        self.at_watched(weights, &Silent)
    }

    /// As [`at`](Self::at), until the monitor says stop, which is heard before every layer.
    ///
    /// # Errors
    ///
    /// As [`at`](Self::at), and where it was stopped; see [`Error::is_interruption`].
    pub fn at_watched(&self, weights: &TensorTable, monitor: &dyn Monitor) -> Result<Vec<f64>, Error> {
        for (name, shape) in &self.tensors {
            weights.shaped(name, shape).map_err(Error::Weights)?;
        }
        let kernel = self.with_worker(Threads::Pool, |worker| {
            let lent = worker.set(&self.layers, weights, self.unit)?;
            worker.run(&self.layers, Some(&lent), &self.seeds, monitor)?;
            Ok(worker.kernel().symmetric())
        })?;
        // Inputs are finite: what is not comes from the weights, which are searched only then.
        if kernel.iter().any(|value| !value.is_finite()) {
            weights.check_finite().map_err(Error::Weights)?;
        }
        Ok(kernel)
    }

    /// The kernel at the weights that training from a seed starts with.
    pub(crate) fn at_seed(&self, seed: u64, monitor: &dyn Monitor) -> Result<Vec<f64>, Error> {
        self.with_worker(Threads::One, |worker| {
            worker.initialise(&self.layers, seed, self.unit);
            worker.run(&self.layers, None, &self.seeds, monitor)?;
            Ok(worker.kernel().symmetric())
        })
    }

    /// Lends an idle network, or a new one.
    fn with_worker<T>(
        &self,
        threads: Threads,
        run: impl FnOnce(&mut Worker) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let idle = match threads {
            Threads::Pool => &self.idle,
            Threads::One => &self.idle_alone,
        };
        let idle = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let lent = idle().pop();
        let mut worker = match lent {
            Some(worker) => worker,
            None => Worker::new(&self.graph, &self.options, &self.inputs, threads)?,
        };
        let result = run(&mut worker);
        idle().push(worker);
        result
    }

    /// Moments of the first diagonal entry over draws of the weights, in parallel over trials; the
    /// same bits for any number of threads. Trial t draws the N(0, 1) weights that the kernel
    /// depends on from `Rng::new(seed, stream, t)`; norms and biases are as at the beginning.
    ///
    /// # Errors
    ///
    /// If the network cannot be run.
    pub fn tally(&self, seed: u64, stream: u32, trials: Range<u64>) -> Result<Tally, Error> {
        let failure = Mutex::new(None);
        let tally = tally_blocks(trials, BLOCK, |block| {
            let run = |worker: &mut Worker| {
                worker.remember_input(&self.layers, &self.inputs);
                let mut moments = Moments::new();
                for trial in block {
                    worker.draw(&self.layers, &mut Rng::new(seed, stream, trial));
                    worker.run(&self.layers, None, &self.seeds, &Silent)?;
                    moments.push(worker.kernel().first());
                }
                Ok(moments)
            };
            self.with_worker(Threads::One, run).unwrap_or_else(|error| {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                Moments::new()
            })
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(tally), Err)
    }
}

/// The weights that training from a seed starts with, by torchvision's names, norms and statistics
/// included.
///
/// # Errors
///
/// If the network cannot be planned.
pub fn drawn_weights(
    graph: &Graph,
    parametrisation: Parametrisation,
    seed: u64,
) -> Result<TensorTable, Error> {
    Ok(Network::builder(graph).parametrisation(parametrisation).seed(seed).build()?.tensors())
}

/// A network whose last layer has one output, where it is not grouped: the others are not read.
pub(crate) fn with_one_output(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    let last = graph.output();
    if let Op::Conv { groups: 1, .. } | Op::Dense { groups: 1, .. } = graph.nodes[last].op {
        graph.nodes[last].shape.channels = 1;
    }
    graph
}

/// The stream that inputs are drawn from.
const INPUTS: u32 = 0x696e_7075;

/// Standard normal inputs for a network.
pub fn normal_inputs(graph: &Graph, count: usize, seed: u64) -> Vec<Vec<f32>> {
    let shape = graph.input_shape();
    let draw = |index: usize| {
        let mut x = vec![0.0; shape.channels * shape.pixels()];
        Rng::new(seed, INPUTS, index as u64).fill_normal(&mut x);
        x
    };
    (0..count).map(draw).collect()
}

pub(crate) fn check_inputs(graph: &Graph, inputs: &[Vec<f32>]) -> Result<(), Error> {
    let shape = graph.input_shape();
    let expected = shape.channels * shape.pixels();
    for (index, input) in inputs.iter().enumerate() {
        if input.len() != expected {
            return Err(Error::InputLength { index, found: input.len(), expected });
        }
        if let Some(&value) = input.iter().find(|value| !value.is_finite()) {
            return Err(Error::InputNotFinite { index, value });
        }
    }
    if inputs.is_empty() { Err(Error::NoInputs) } else { Ok(()) }
}
