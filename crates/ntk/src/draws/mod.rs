//! The kernel of a whole network over initialisations: its mean and variance.
//!
//! Draw t is the network that training from seed + t starts with. With norms removed or frozen the
//! kernel between images is that of [`ExplicitKernel`]. With norms over the batch (as in training)
//! an image's output depends on all images of the batch, and so does the gradient of its logit by
//! the parameters; K(x, x') is the inner product of two such gradients, each by a backward pass
//! that goes through the batch's statistics.

mod batch;
mod statistics;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use collegial_arch::Graph;
use collegial_core::tensors::TensorTable;
use collegial_core::{Monitor, Silent};
use rayon::prelude::*;

use crate::Error;
use crate::explicit::{ExplicitKernel, NormPolicy, Options, drawn_weights};
use batch::BatchKernel;
pub use statistics::{DrawStatistics, EntryStatistics};

/// Draws of a network's kernel.
///
/// ```
/// use collegial_ntk::NetworkDraws;
/// use collegial_core::Silent;
/// use collegial_ntk::explicit::{NormPolicy, Options, normal_inputs};
/// let spec: collegial_arch::Spec = "fc3-8".parse()?;
/// let graph = spec.graph()?;
/// let options = Options { norm: NormPolicy::Frozen, ..Options::default() };
/// let draws = NetworkDraws::new(&graph, options, &normal_inputs(&graph, 2, 1))?;
/// let statistics = draws.run(0..50, &Silent)?.expect("it is never stopped");
/// assert!(statistics.diagonal.mean > 0.0 && statistics.diagonal.standard_error > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NetworkDraws {
    graph: Graph,
    options: Options,
    kernel: Kernel,
    count: usize,
}

/// How the kernel of a draw is computed.
enum Kernel {
    /// Every image alone.
    Explicit(Box<ExplicitKernel>),
    /// All images as one batch.
    Batch(Box<BatchKernel>),
}

impl NetworkDraws {
    /// Plans draws of the kernel between the given inputs, each of channels x height x width
    /// values; with norms over the batch they are the batch.
    ///
    /// # Errors
    ///
    /// If there are no inputs, one has another size or is not finite, the output does not exist,
    /// the network has no parameters, or a norm would see one value per channel.
    pub fn new(graph: &Graph, options: Options, inputs: &[Vec<f32>]) -> Result<Self, Error> {
        let kernel = match options.norm {
            NormPolicy::None | NormPolicy::Frozen => {
                Kernel::Explicit(Box::new(ExplicitKernel::new(graph, options, inputs)?))
            }
            NormPolicy::Batch => {
                Kernel::Batch(Box::new(BatchKernel::new(graph, options, inputs, inputs.len())?))
            }
        };
        Ok(Self { graph: graph.clone(), options, kernel, count: inputs.len() })
    }

    /// Plans draws in which other images make up the batch with the inputs, without entries of
    /// their own: each entry takes a pass over the whole batch. Only norms over the batch see them.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn in_batch(
        graph: &Graph,
        options: Options,
        inputs: &[Vec<f32>],
        others: &[Vec<f32>],
    ) -> Result<Self, Error> {
        if options.norm != NormPolicy::Batch || inputs.is_empty() {
            return Self::new(graph, options, inputs);
        }
        let kernel = BatchKernel::new(graph, options, &[inputs, others].concat(), inputs.len())?;
        Ok(Self {
            graph: graph.clone(),
            options,
            kernel: Kernel::Batch(Box::new(kernel)),
            count: inputs.len(),
        })
    }

    /// How many inputs the kernel is between.
    pub fn inputs(&self) -> usize {
        self.count
    }

    /// What is drawn.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The weights of a draw, by torchvision's names.
    ///
    /// # Errors
    ///
    /// If the network cannot be planned.
    pub fn weights(&self, seed: u64) -> Result<TensorTable, Error> {
        drawn_weights(&self.graph, self.options.parametrisation, seed)
    }

    /// The kernel of one draw, inputs x inputs, row by row.
    ///
    /// # Errors
    ///
    /// If the network cannot be run.
    pub fn at(&self, seed: u64) -> Result<Vec<f64>, Error> {
        self.at_watched(seed, &Silent)
    }

    fn at_watched(&self, seed: u64, monitor: &dyn Monitor) -> Result<Vec<f64>, Error> {
        match &self.kernel {
            Kernel::Explicit(kernel) => kernel.at_seed(seed, monitor),
            Kernel::Batch(kernel) => kernel.at_seed(seed, monitor),
        }
    }

    /// Mean and variance over the draws of these seeds; see [`kernels`](Self::kernels). `None` if
    /// the monitor stopped it.
    ///
    /// # Errors
    ///
    /// If there are fewer than two draws, or the network cannot be run.
    pub fn run(&self, seeds: Range<u64>, monitor: &dyn Monitor) -> Result<Option<DrawStatistics>, Error> {
        let count = seeds.end.saturating_sub(seeds.start);
        if count < 2 {
            return Err(Error::TooFewTrials(count));
        }
        self.kernels(seeds, monitor)?.map(|kernels| DrawStatistics::of(&kernels)).transpose()
    }

    /// The kernels of the draws of these seeds, in parallel; the same bits for any number of
    /// threads. `None` if the monitor stopped it, which is heard before every layer of a draw.
    ///
    /// # Errors
    ///
    /// If the network cannot be run.
    pub fn kernels(&self, seeds: Range<u64>, monitor: &dyn Monitor) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let count = seeds.end.saturating_sub(seeds.start);
        let done = AtomicU64::new(0);
        // No error is a stop; either ends the others early.
        let draw = |seed: u64| {
            if monitor.stopped() {
                return Err(None);
            }
            let kernel = self.at_watched(seed, monitor);
            let kernel = kernel.map_err(|error| (!error.is_interruption()).then_some(error));
            monitor.progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / count as f64, None);
            kernel
        };
        match seeds.into_par_iter().map(draw).collect::<Result<_, Option<Error>>>() {
            Ok(kernels) => Ok(Some(kernels)),
            Err(error) => error.map_or(Ok(None), Err),
        }
    }
}
