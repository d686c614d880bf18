//! The kernel at given weights, N x N, for any network.
//!
//! K(x, x') is the sum over all parameters of df(x)/dw df(x')/dw, with f one output unit (or K summed over all outputs, the trace).
//! It is added up layer by layer on one backward pass: inner products of a layer's inputs times those of its cotangents,
//! or of its gradients where those are cheaper. Never does a gradient of all parameters exist.
//!
//! Batch norms either are removed, as in the paper's theory, or frozen at their running statistics, so that every image's output
//! depends on that image alone; their scales and shifts are parameters then. Sums over positions, blocks and layers are f64, and
//! results do not depend on the number of threads.

mod contribution;
mod gram;
mod linear;
mod matmul;
mod pass;
mod plan;
mod weights;

use std::fmt;
use std::ops::Range;

use collegial_arch::Graph;
pub use collegial_nn::Parametrisation;
use collegial_stats::{Moments, Rng, Tally, tally_blocks};

use crate::{BLOCK, Error};
use pass::Workspace;
use plan::Plan;
pub use weights::{Tensor, Weights};

/// What becomes of batch norms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norms {
    /// They are removed (the paper's theory).
    #[default]
    None,
    /// They are the affine maps that their running statistics make them; scales and shifts are parameters.
    Frozen,
}

/// Whose kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readout {
    /// One output channel: of an image-like output its middle position, as [`Output::Unit`](crate::Output::Unit) has it.
    Unit(usize),
    /// One output channel averaged over all positions.
    PooledUnit(usize),
    /// The sum of the kernels of all channels and positions: the trace over outputs.
    Trace,
    /// The sum of the kernels of all channels, each averaged over positions.
    PooledTrace,
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
    /// Gradients by the N(0, 1) weights, or by the actual ones. Norms' and biases' parameters are the same in both.
    pub parametrisation: Parametrisation,
    /// What becomes of batch norms.
    pub norms: Norms,
    /// Whose kernel.
    pub readout: Readout,
}

impl Default for Options {
    /// The paper's: NTK parametrisation, no norms, the first output unit.
    fn default() -> Self {
        Self { parametrisation: Parametrisation::Ntk, norms: Norms::None, readout: Readout::Unit(0) }
    }
}

/// The kernel of a network between some inputs, to be computed at any weights.
///
/// ```
/// use collegial_ntk::explicit::{ExplicitKernel, Options, Weights};
/// let spec: collegial_arch::Spec = "fc3-4x8".parse()?;
/// let graph = spec.graph()?;
/// let options = Options::default();
/// let kernel = ExplicitKernel::new(&graph, options, &[vec![1.0; 784], vec![-1.0; 784]])?;
/// let weights = Weights::drawn(&graph, options.parametrisation, 7);
/// let matrix = kernel.at(&weights)?;
/// assert!(matrix[1] == matrix[2] && matrix[0] > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExplicitKernel {
    plan: Plan,
    readout: Readout,
    inputs: Vec<f32>,
    /// The network's tensors, for comparison and for draws.
    template: Weights,
}

impl ExplicitKernel {
    /// Plans the kernel between the given inputs, each of channels x height x width values.
    pub fn new(graph: &Graph, options: Options, inputs: &[Vec<f32>]) -> Result<Self, Error> {
        check_inputs(graph, inputs)?;
        let template = Weights::zeros(graph);
        let plan = Plan::new(graph, &options, inputs.len(), &template)?;
        if !plan.steps[plan.output].has_parameters {
            return Err(Error::NoParameters { module: "network".into() });
        }
        let outputs = graph.output_shape().channels;
        let mut readout = options.readout;
        if let Readout::Unit(unit) | Readout::PooledUnit(unit) = &mut readout {
            if *unit >= outputs {
                return Err(Error::OutputUnit { unit: *unit, outputs });
            }
            // Where the plan has left out the others, the unit is its only one.
            *unit = if plan.steps[plan.output].shape.channels < outputs { 0 } else { *unit };
        }
        Ok(Self { plan, readout, inputs: inputs.concat(), template })
    }

    /// How many inputs the kernel is between.
    pub fn inputs(&self) -> usize {
        self.plan.count
    }

    /// The kernel, inputs x inputs, row by row.
    pub fn at(&self, weights: &Weights) -> Result<Vec<f64>, Error> {
        if !weights.fits(&self.template) {
            return Err(Error::Weights("they belong to another network".into()));
        }
        let mut workspace = Workspace::new(&self.plan, rayon::current_num_threads(), &self.inputs);
        self.compute(&mut workspace, weights);
        Ok(workspace.kernel.symmetric())
    }

    fn compute(&self, workspace: &mut Workspace, weights: &Weights) {
        let shape = self.plan.steps[self.plan.output].shape;
        let (pixels, middle) = (shape.pixels(), shape.height / 2 * shape.width + shape.width / 2);
        let share = 1.0 / pixels as f32;
        workspace.kernel.clear();
        workspace.forward(&self.plan, weights);
        let mut add = |unit: usize, only: Option<usize>| {
            workspace.backward(&self.plan, weights, |channel, position| match only {
                _ if channel != unit => 0.0,
                None => share,
                Some(only) => f32::from(u8::from(position == only)),
            });
        };
        match self.readout {
            Readout::Unit(unit) => add(unit, Some(middle)),
            Readout::PooledUnit(unit) => add(unit, None),
            Readout::PooledTrace => (0..shape.channels).for_each(|unit| add(unit, None)),
            Readout::Trace => {
                (0..shape.channels * pixels).for_each(|at| add(at / pixels, Some(at % pixels)));
            }
        }
    }

    /// Moments of the first diagonal entry over draws of the weights, in parallel over trials; the same bits for any number
    /// of threads. Trial t draws the N(0, 1) weights that the kernel depends on from `Rng::new(seed, stream, t)`; norms and
    /// biases are as at the beginning.
    pub fn tally(&self, seed: u64, stream: u32, trials: Range<u64>) -> Tally {
        tally_blocks(trials, BLOCK, |block| {
            let mut workspace = Workspace::new(&self.plan, 1, &self.inputs);
            workspace.remember_input(&self.plan);
            let mut weights = self.template.clone();
            let mut moments = Moments::new();
            for trial in block {
                weights.redraw(self.plan.weights(), &mut Rng::new(seed, stream, trial));
                self.compute(&mut workspace, &weights);
                moments.push(workspace.kernel.first());
            }
            moments
        })
    }
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

fn check_inputs(graph: &Graph, inputs: &[Vec<f32>]) -> Result<(), Error> {
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
