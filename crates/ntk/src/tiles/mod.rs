//! Kernels between many inputs, tile by tile, at given weights.
//!
//! The kernel is that of [`explicit`](crate::explicit): the sum over all parameters of df(x)/dw
//! df(x')/dw. There all inputs go through the network at once; here blocks of s inputs do, and what
//! their entries are made of (*features*) is kept: of dense layers inputs and cotangents, of
//! convolutions the gradient of their weights or, where that is cheaper, inputs and cotangents. A
//! tile is the kernel between two blocks. Each pair of blocks is computed once, and a tile on the
//! diagonal as one triangle.
//!
//! # Cost
//!
//! With F floats of features per input:
//!
//! - dense layers with fan-in a and fan-out b take a + b multiplications per pair of inputs,
//!   convolutions as many as they have weights (or fewer), N^2 / 2 pairs in all;
//! - passes through the network: N where the features of all inputs fit into memory, 4 N F bytes.
//!   Otherwise those of c blocks do, c - 1 of which stay while the other rows of blocks go by, which
//!   makes about N^2 / (2 (c - 1) s) passes.
//!
//! Traces over C outputs have C times the cotangents, and kernels between all outputs C^2 times the
//! entries. [`Plan::bytes`] is what all arrays take at most: inputs, weights, activations, features
//! and tiles, with an allowance for the rest of the program.
//!
//! A tile's bits depend on the [`Cut`] alone: not on threads, on the memory beyond it, or on which
//! tiles were computed before.

mod contributions;
mod features;
mod plan;
mod products;

use collegial_arch::Graph;
use collegial_core::Monitor;
use collegial_core::tensors::TensorTable;
use collegial_nn::{Network, NormPolicy};

use crate::Error;
use crate::explicit::tasks::Threads;
use crate::explicit::worker::{Layer, Worker};
use crate::explicit::{Options, check_inputs, with_one_output};
use contributions::Contributions;
use features::{Collector, Features};
use plan::Needs;
pub use plan::{Cut, Plan, Tile};

/// Which entries of a kernel. By default one number per pair of inputs: of one output, or summed
/// over outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// One per pair of outputs, too; rows and columns are ordered by input, then by output.
    pub by_output: bool,
    /// Those on the diagonal only.
    pub diagonal: bool,
}

/// Inputs, and how many of them, the first, have columns: K(x, x') for all x and the first x'. With
/// fewer columns than inputs it is what a regression needs, between training inputs and between
/// test and training inputs.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// All inputs, each of channels x height x width values.
    pub all: &'a [Vec<f32>],
    /// How many have columns.
    pub columns: usize,
}

impl<'a> Inputs<'a> {
    /// A kernel between these inputs.
    pub fn square(all: &'a [Vec<f32>]) -> Self {
        Self { all, columns: all.len() }
    }
}

/// What takes finished tiles.
pub type Sink<'a, E> = dyn FnMut(&Tile, &[f64]) -> Result<(), E> + 'a;

/// The kernel of a network between many inputs, at given weights.
///
/// ```
/// use collegial_ntk::explicit::{Options, drawn_weights};
/// use collegial_ntk::tiles::{Entries, Inputs, TiledKernel};
/// let graph = "fc3-4x8".parse::<collegial_arch::Spec>()?.graph()?;
/// let weights = drawn_weights(&graph, Options::default().parametrisation, 7)?;
/// let inputs: Vec<Vec<f32>> = (0..5).map(|n| vec![n as f32 - 2.0; 784]).collect();
/// let (options, entries, inputs) = (Options::default(), Entries::default(), Inputs::square(&inputs));
/// let mut kernel = TiledKernel::new(&graph, options, entries, inputs, &weights, 1 << 30, None)?;
/// let mut trace = 0.0;
/// let tiles = kernel.plan().tiles();
/// kernel.run(tiles, &collegial_core::Silent, &mut |tile, values| {
///     trace += tile.rows.clone().map(|row| values[row * 5 + row]).sum::<f64>();
///     Ok::<(), collegial_ntk::Error>(())
/// })?;
/// assert!(trace > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TiledKernel<'a> {
    inputs: Inputs<'a>,
    worker: Worker,
    table: &'a TensorTable,
    /// The weights of all layers in order.
    weights: Vec<&'a [f32]>,
    /// The gradients of the outputs that passes start from, of one input.
    seeds: Vec<Vec<f32>>,
    contributions: Contributions,
    plan: Plan,
}

impl<'a> TiledKernel<'a> {
    /// Plans the kernel within so many bytes of memory, cut in the given way or in one that fits.
    ///
    /// # Errors
    ///
    /// As [`ExplicitKernel`](crate::ExplicitKernel)'s, and where the smallest plan takes more
    /// memory.
    pub fn new(
        graph: &Graph,
        options: Options,
        entries: Entries,
        inputs: Inputs<'a>,
        weights: &'a TensorTable,
        memory: u64,
        cut: Option<Cut>,
    ) -> Result<Self, Error> {
        check_inputs(graph, inputs.all)?;
        if options.norm == NormPolicy::Batch {
            return Err(Error::BatchNorms);
        }
        let unit = options.readout.unit(graph)?;
        if entries.by_output && !options.readout.is_trace() {
            return Err(Error::Invalid(format!(
                "a kernel between all outputs needs all of them, not output {unit} alone"
            )));
        }
        check_weights(graph, options, weights)?;
        let reduced = if options.readout.is_trace() { graph.clone() } else { with_one_output(graph) };
        let mut worker = Worker::new(&reduced, &options, &inputs.all[0], Threads::Pool)?;
        let whole = Network::builder(graph).build()?;
        let layers = Layer::all(graph, worker.network(), &whole, options.parametrisation)?;
        drop(whole);
        let lent = worker.set(&layers, weights, unit)?;
        let seeds = options.readout.seeds(&reduced, unit, 1);
        let contributions = Contributions::new(&layers, worker.network(), seeds.len(), entries)?;
        let needs = needs(&mut worker, &contributions, inputs, weights)?;
        let plan = Plan::new(&needs, memory, cut)?;
        Ok(Self { inputs, worker, table: weights, weights: lent, seeds, contributions, plan })
    }

    /// How it is cut, and what memory it takes.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Multiplications of all tiles.
    pub fn work(&self) -> f64 {
        let (rows, columns) = (self.inputs.all.len() as f64, self.inputs.columns as f64);
        self.contributions.work() * columns * (rows - columns / 2.0)
    }

    /// Computes some of the [tiles](Plan::tiles), in the order that suits it, and hands them out row
    /// by row.
    ///
    /// # Errors
    ///
    /// Where the values are not finite, the monitor stopped it, or `sink` failed.
    pub fn run<E: From<Error>>(
        &mut self,
        tiles: Vec<Tile>,
        monitor: &dyn Monitor,
        sink: &mut Sink<'_, E>,
    ) -> Result<(), E> {
        let tiles = self.plan.in_order(tiles);
        let mut kept: Vec<(usize, Features)> = vec![];
        for (done, tile) in tiles.iter().enumerate() {
            monitor.progress(done as f64 / tiles.len() as f64, None);
            let (row, column) = tile.blocks;
            for block in [column, row] {
                if kept.iter().any(|(other, _)| *other == block) {
                    continue;
                }
                if kept.len() >= self.plan.kept {
                    drop_one(&mut kept, &tiles[done..], column);
                }
                kept.push((block, self.features(block, monitor)?));
            }
            if monitor.stopped() {
                return Err(Error::Interrupted.into());
            }
            let of =
                |block: usize| kept.iter().find(|(other, _)| *other == block).map(|(_, features)| features);
            let (Some(of_row), Some(of_column)) = (of(row), of(column)) else { continue };
            let values = if self.contributions.entries.diagonal {
                products::diagonal(&self.contributions, of_row)
            } else {
                products::tile(&self.contributions, of_row, of_column)
            };
            if let Some(&value) = values.iter().find(|value| !value.is_finite()) {
                // Inputs are finite: mostly it comes from the weights, which are searched only then.
                self.table.check_finite().map_err(Error::Weights)?;
                return Err(Error::NotFinite { value }.into());
            }
            sink(tile, &values)?;
        }
        monitor.progress(1.0, None);
        Ok(())
    }

    /// Runs a block of inputs through the network.
    fn features(&mut self, block: usize, monitor: &dyn Monitor) -> Result<Features, Error> {
        let block = self.plan.blocks[block].clone();
        let inputs = &self.inputs.all[block];
        let mut features = Features::new(&self.contributions, inputs.len());
        for (number, inputs) in inputs.chunks(self.plan.cut.pass).enumerate() {
            let start = number * self.plan.cut.pass;
            self.worker.load(&inputs.concat())?;
            let seeds: Vec<Vec<f32>> = self.seeds.iter().map(|seed| seed.repeat(inputs.len())).collect();
            let images = start..start + inputs.len();
            let mut collector = Collector::new(&self.contributions, &mut features, images, monitor);
            self.worker.observe(&self.weights, &seeds, &mut collector)?;
        }
        Ok(features)
    }
}

/// Makes room for the features of another block: of those that are used last, or never again.
fn drop_one(kept: &mut Vec<(usize, Features)>, tiles: &[Tile], column: usize) {
    let next = |block: usize| {
        let uses = |tile: &Tile| tile.blocks.0 == block || tile.blocks.1 == block;
        if block == column { 0 } else { tiles.iter().position(uses).unwrap_or(usize::MAX) }
    };
    if let Some(last) = (0..kept.len()).max_by_key(|&at| next(kept[at].0)) {
        kept.swap_remove(last);
    }
}

/// What the plan has to know; runs nothing.
fn needs(
    worker: &mut Worker,
    contributions: &Contributions,
    inputs: Inputs<'_>,
    weights: &TensorTable,
) -> Result<Needs, Error> {
    let bytes = |floats: usize| (floats * size_of::<f32>()) as u64;
    let input = inputs.all[0].len();
    let one = worker.network().bytes() as u64;
    worker.load(&inputs.all[0].repeat(2))?;
    // Scratch of convolutions is not in the engine's count; activations outweigh it.
    let activations = (worker.network().bytes() as u64 - one) * 5 / 4;
    let tensors: usize = weights.iter().map(|(_, tensor)| tensor.values().len()).sum();
    Ok(Needs {
        inputs: inputs.all.len(),
        columns: inputs.columns,
        entries: contributions.entries,
        per_input: contributions.per_image(),
        features: bytes(contributions.floats()),
        fixed: bytes(inputs.all.len() * input) + bytes(tensors) + one,
        activations,
    })
}

/// Refuses tables without the tensors that the kernel depends on.
fn check_weights(graph: &Graph, options: Options, weights: &TensorTable) -> Result<(), Error> {
    let network = Network::builder(graph).norm(options.norm).build()?;
    if network.parameters().is_empty() {
        return Err(Error::NoParameters { module: "network".into() });
    }
    let parameters = network.parameters().iter().map(|entry| (entry.name.clone(), entry.shape.clone()));
    let statistics = network.statistics().map(|(name, values)| (name, vec![values.len()]));
    for (name, shape) in parameters.chain(statistics) {
        weights.shaped(&name, &shape).map_err(Error::Weights)?;
    }
    Ok(())
}
