//! The kernel between the images of a batch whose norms use the batch's statistics.

use std::sync::{Mutex, PoisonError};

use collegial_arch::Graph;
use collegial_nn::{Mode, Network};

use crate::Error;
use crate::explicit::{Options, Readout, check_inputs};
use crate::law::columns::dot;

/// Parameters whose products are summed in f32 lanes before they are added up in f64.
const SEGMENT: usize = 4096;

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
    /// Networks that nobody uses at the moment.
    idle: Mutex<Vec<Network>>,
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
        let outputs = graph.output_shape().channels;
        let unit = match options.readout {
            Readout::Unit(unit) | Readout::PooledUnit(unit) if unit >= outputs => {
                return Err(Error::OutputUnit { unit, outputs });
            }
            Readout::Unit(unit) | Readout::PooledUnit(unit) => unit,
            Readout::Trace | Readout::PooledTrace => 0,
        };
        let kernel = Self {
            graph: graph.clone(),
            options,
            inputs: images.concat(),
            batch: images.len(),
            count,
            seeds: options.readout.seeds(graph, unit, 1),
            idle: Mutex::new(vec![]),
        };
        let network = kernel.network()?;
        if network.parameters().is_empty() {
            return Err(Error::NoParameters { module: "network".into() });
        }
        kernel.put_back(network);
        Ok(kernel)
    }

    fn network(&self) -> Result<Network, Error> {
        let builder = Network::builder(&self.graph).batch(self.batch).norms(self.options.norms);
        // Draws run side by side.
        Ok(builder.parametrisation(self.options.parametrisation).one_thread().build()?)
    }

    fn put_back(&self, network: Network) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(network);
    }

    /// The kernel at the weights that training from a seed starts with.
    pub(crate) fn at_seed(&self, seed: u64) -> Result<Vec<f64>, Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut network = idle.map_or_else(|| self.network(), Ok)?;
        network.initialise(seed);
        let kernel = self.run(&mut network);
        self.put_back(network);
        kernel
    }

    fn run(&self, network: &mut Network) -> Result<Vec<f64>, Error> {
        let count = self.count;
        let mut kernel = vec![0.0; count * count];
        let mut gradients: Vec<Vec<f32>> = vec![];
        for seed in &self.seeds {
            gradients.clear();
            for image in 0..count {
                let mut all = vec![0.0; self.batch * seed.len()];
                all[image * seed.len()..][..seed.len()].copy_from_slice(seed);
                network.forward(&self.inputs, Mode::Train)?;
                network.backward(&all)?;
                gradients.push(network.gradients().to_vec());
            }
            for (row, a) in gradients.iter().enumerate() {
                for (column, b) in gradients.iter().enumerate().skip(row) {
                    let product = inner_product(a, b);
                    kernel[row * count + column] += product;
                    if row != column {
                        kernel[column * count + row] += product;
                    }
                }
            }
        }
        Ok(kernel)
    }
}

fn inner_product(a: &[f32], b: &[f32]) -> f64 {
    a.chunks(SEGMENT).zip(b.chunks(SEGMENT)).map(|(a, b)| dot(a, b)).sum()
}
