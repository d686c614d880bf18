//! The kernel between the images of a batch whose norms use the batch's statistics.

use std::sync::{Mutex, PoisonError};

use collegial_arch::Graph;
use collegial_core::Monitor;
use collegial_nn::{Mode, Network};

use crate::Error;
use crate::explicit::gram::Gram;
use crate::explicit::tasks::Threads;
use crate::explicit::{Options, check_inputs};

/// Gradients of single images' outputs by all parameters, and their inner products.
///
/// An image's output depends on the whole batch, so that no layer's inputs and cotangents factor
/// into images as they do for an [`ExplicitKernel`](crate::ExplicitKernel): every output of every
/// image takes a backward pass over the batch.
pub(crate) struct BatchKernel {
    graph: Graph,
    options: Options,
    inputs: Vec<f32>,
    /// Images of the batch.
    batch: usize,
    /// How many of them, the first ones, the kernel is between.
    count: usize,
    /// Gradients of the outputs of one image, one for each output that the kernel is summed over.
    seeds: Vec<Vec<f32>>,
    /// What no thread uses at the moment.
    idle: Mutex<Vec<Worker>>,
}

/// A network with memory for the gradients of its images; reused from draw to draw.
struct Worker {
    network: Network,
    /// A row for each image.
    gradients: Vec<f32>,
}

impl BatchKernel {
    /// The kernel between `count` images at the beginning of a batch.
    pub(crate) fn new(
        graph: &Graph,
        options: Options,
        images: &[Vec<f32>],
        count: usize,
    ) -> Result<Self, Error> {
        check_inputs(graph, images)?;
        let unit = options.readout.unit(graph)?;
        let kernel = Self {
            graph: graph.clone(),
            options,
            inputs: images.concat(),
            batch: images.len(),
            count,
            seeds: options.readout.seeds(graph, unit, 1),
            idle: Mutex::new(vec![]),
        };
        let worker = kernel.worker()?;
        if worker.network.parameters().is_empty() {
            return Err(Error::NoParameters { module: "network".into() });
        }
        kernel.put_back(worker);
        Ok(kernel)
    }

    fn worker(&self) -> Result<Worker, Error> {
        let builder = Network::builder(&self.graph).batch(self.batch).norm(self.options.norm);
        // One forward pass for the backward passes of all images; draws run side by side.
        let builder = builder.parametrisation(self.options.parametrisation).observation().one_thread();
        let network = builder.build()?;
        let gradients = vec![0.0; self.count * network.values().len()];
        Ok(Worker { network, gradients })
    }

    fn put_back(&self, worker: Worker) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// The kernel at the weights that training from a seed starts with.
    pub(crate) fn at_seed(&self, seed: u64, monitor: &dyn Monitor) -> Result<Vec<f64>, Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = idle.map_or_else(|| self.worker(), Ok)?;
        worker.network.initialise(seed);
        let kernel = self.run(&mut worker, monitor);
        self.put_back(worker);
        kernel
    }

    fn run(
        &self,
        Worker { network, gradients }: &mut Worker,
        monitor: &dyn Monitor,
    ) -> Result<Vec<f64>, Error> {
        let mut kernel = Gram::zeros(self.count, Threads::One);
        let parameters = network.values().len();
        network.forward_until(&self.inputs, Mode::Train, &|| monitor.stopped())?;
        for seed in &self.seeds {
            for (image, gradient) in gradients.chunks_exact_mut(parameters).enumerate() {
                if monitor.stopped() {
                    return Err(collegial_nn::Error::Interrupted.into());
                }
                let mut all = vec![0.0; self.batch * seed.len()];
                all[image * seed.len()..][..seed.len()].copy_from_slice(seed);
                network.backward(&all)?;
                gradient.copy_from_slice(network.gradients());
            }
            kernel.add_rows(gradients, 1.0);
        }
        Ok(kernel.symmetric())
    }
}
