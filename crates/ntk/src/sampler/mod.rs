//! The kernel sampler: draws of the tangent kernel from its distribution, without weight matrices.

pub(crate) mod activation;
pub(crate) mod columns;
mod conditional;
mod explicit_weights;
mod factor;
mod first_layer_sums;
pub(crate) mod gram;
mod one_position;
mod plan;
mod product;
mod sample;
mod size;
mod triangle;

use std::ops::Range;

use collegial_arch::Sequence;
use collegial_core::{Moments, Monitor, Rng, Silent, Tally, tally_blocks};

use crate::Error;
pub(crate) use factor::Factor;
use one_position::OnePositionSampler;
use plan::Method;
pub use plan::Output;
pub(crate) use plan::{LinearStep, Plan, Step};
use sample::Input;
pub use sample::Workspace;
use triangle::Triangle;

/// Trials per block: the unit of parallel work and of sharding.
pub const BLOCK: u64 = 50;

/// The stream that inputs are drawn from; trials use the streams below it.
const INPUT_STREAM: u32 = u32::MAX;

/// Draws the tangent kernel of a chain of layers between a few inputs.
#[derive(Clone, Debug)]
pub struct KernelSampler {
    plan: Plan,
    methods: Vec<Method>,
    columns: Vec<f32>,
    gram: Vec<f64>,
    first_patch_gram: Vec<f64>,
    first_triangle: Triangle,
    /// The short way, where there is one.
    one_position: Option<OnePositionSampler>,
}

impl KernelSampler {
    /// Multiplications that a sampler at one standard normal input takes: to be made, and for every
    /// draw. Nothing is made for this.
    pub fn foreseen_work(chain: &Sequence, output: Output) -> Result<(f64, f64), Error> {
        let plan = Plan::new(chain, output, 1)?;
        Ok((size::input_work(&plan), size::work(&plan)))
    }

    /// The kernel at one standard normal input, drawn once from `seed`: Algorithm 1's setting.
    pub fn at_normal_input(chain: &Sequence, output: Output, seed: u64) -> Result<Self, Error> {
        let plan = Plan::new(chain, output, 1)?;
        size::check(&plan)?;
        Ok(Self::with_columns(normal_columns(&plan, seed, 0), plan))
    }

    /// The same kernel at another standard normal input: the one of this number.
    pub(crate) fn at_another_input(&self, seed: u64, number: u64) -> Self {
        Self::with_columns(normal_columns(&self.plan, seed, number), self.plan.clone())
    }

    /// The kernel between given inputs, each of channels x height x width values.
    pub fn at_inputs(chain: &Sequence, output: Output, inputs: &[Vec<f32>]) -> Result<Self, Error> {
        let elements = chain.input.channels * chain.input.pixels();
        for (index, input) in inputs.iter().enumerate() {
            if input.len() != elements {
                return Err(Error::InputLength { index, found: input.len(), expected: elements });
            }
            if let Some(value) = input.iter().find(|value| !value.is_finite()) {
                return Err(Error::InputNotFinite { index, value: *value });
            }
        }
        if inputs.is_empty() {
            return Err(Error::NoInputs);
        }
        let plan = Plan::new(chain, output, inputs.len())?;
        size::check(&plan)?;
        let pixels = chain.input.pixels();
        let mut columns = Vec::with_capacity(plan.pixels.len() * plan.channels * inputs.len());
        for input in inputs {
            for &pixel in &plan.pixels {
                columns.extend((0..plan.channels).map(|channel| input[channel * pixels + pixel]));
            }
        }
        Ok(Self::with_columns(columns, plan))
    }

    fn with_columns(columns: Vec<f32>, plan: Plan) -> Self {
        let count = plan.pixels.len() * plan.inputs;
        let mut gram = vec![0.0; count * count];
        gram::of_input(&columns, plan.channels, &mut gram);
        let methods = plan.methods();
        let (mut first_patch_gram, mut first_factor) = (vec![], Factor::default());
        let mut first_triangle = Triangle::default();
        if let Some(Step::Linear(step)) = plan.steps.first() {
            step.patch_gram(plan.inputs, &gram, &mut first_patch_gram);
            first_factor.compute(&first_patch_gram, step.positions * plan.inputs);
            first_triangle.fill(&first_factor, step.scale);
            first_triangle.turn();
        }
        let one_position = OnePositionSampler::new(&plan, &first_patch_gram, &first_factor);
        Self { plan, methods, columns, gram, first_patch_gram, first_triangle, one_position }
    }

    /// The Gram matrix of the patches that the first layer reads; empty where that is a pool.
    pub(crate) fn first_patch_gram(&self) -> &[f64] {
        &self.first_patch_gram
    }

    /// The sum of the squared lengths of what the first layer reads, with which the kernel grows.
    pub(crate) fn input_square(&self) -> f64 {
        let gram = if self.first_patch_gram.is_empty() { &self.gram } else { &self.first_patch_gram };
        gram.iter().step_by(gram.len().isqrt() + 1).sum()
    }

    /// How many inputs the kernel is between.
    pub fn inputs(&self) -> usize {
        self.plan.inputs
    }

    /// Normal numbers that one draw takes: fewer where columns are dependent, more where a
    /// chi-square rejects some.
    pub fn normals_per_draw(&self) -> u64 {
        if let Some(one_position) = &self.one_position {
            return one_position.normals() as u64;
        }
        let linear = self.plan.steps.iter().zip(&self.methods).enumerate();
        let counts = linear.map(|(index, (step, method))| match (step, method) {
            (Step::Pool { .. }, _) => 0,
            (Step::Linear(step), Method::Explicit) => step.outputs * step.fan_in(),
            (Step::Linear(step), Method::Law) => {
                let columns = step.positions * self.plan.inputs;
                let is_last = index + 1 == self.plan.steps.len();
                let forward = if is_last { 0 } else { step.outputs * columns.min(step.fan_in()) };
                let backward = if index > 0 { step.fan_in() * columns.min(step.outputs) } else { 0 };
                forward + backward
            }
        });
        counts.sum::<usize>() as u64
    }

    /// Multiplications of one draw, by which its time can be foreseen.
    pub fn work_per_draw(&self) -> f64 {
        size::work(&self.plan)
    }

    /// Buffers for [`KernelSampler::draw`].
    pub fn workspace(&self) -> Workspace {
        Workspace::new(&self.plan)
    }

    /// Draws the kernel matrix (inputs x inputs, row-major) with fresh weights from `rng`.
    pub fn draw(&self, workspace: &mut Workspace, rng: &mut Rng, kernel: &mut [f64]) {
        if let Some(one_position) = &self.one_position {
            kernel[0] = one_position.draw(&mut workspace.fresh, rng);
            return;
        }
        let input = Input {
            columns: &self.columns,
            gram: &self.gram,
            first_triangle: &self.first_triangle,
            first_patch_gram: &self.first_patch_gram,
        };
        workspace.draw(&self.plan, &self.methods, &input, rng, kernel);
    }

    /// Moments of the first diagonal entry K(x, x) over the given trials, in parallel; the same
    /// bits for any number of threads. Trial t draws from `Rng::new(seed, stream, t)`.
    pub fn tally(&self, seed: u64, stream: u32, trials: Range<u64>) -> Tally {
        self.tally_while(seed, stream, trials, &Silent)
    }

    /// The same, unless the monitor stops it: it is asked before every draw.
    pub(crate) fn tally_until(
        &self,
        seed: u64,
        stream: u32,
        trials: Range<u64>,
        monitor: &dyn Monitor,
    ) -> Result<Tally, Error> {
        let tally = self.tally_while(seed, stream, trials, monitor);
        if monitor.stopped() { Err(Error::Interrupted) } else { Ok(tally) }
    }

    /// Blocks lack draws once the monitor has stopped them.
    fn tally_while(&self, seed: u64, stream: u32, trials: Range<u64>, monitor: &dyn Monitor) -> Tally {
        tally_blocks(trials, BLOCK, |block| {
            let mut workspace = self.workspace();
            let mut kernel = vec![0.0; self.inputs() * self.inputs()];
            let mut moments = Moments::new();
            for trial in block.take_while(|_| !monitor.stopped()) {
                self.draw(&mut workspace, &mut Rng::new(seed, stream, trial), &mut kernel);
                moments.push(kernel[0]);
            }
            moments
        })
    }
}

/// The values that the kernel sees of a standard normal input, position by position.
fn normal_columns(plan: &Plan, seed: u64, number: u64) -> Vec<f32> {
    let mut columns = vec![0.0; plan.pixels.len() * plan.channels];
    Rng::new(seed, INPUT_STREAM, number).fill_normal(&mut columns);
    columns
}
