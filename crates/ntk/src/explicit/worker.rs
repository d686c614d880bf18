//! One network at the kernel's inputs: forward, and backward once per output, adding every layer's
//! part on the way.

use std::ops::Range;

use collegial_arch::Graph;
use collegial_core::tensors::TensorTable;
use collegial_core::{Monitor, Rng};
use collegial_nn::kernels::{ConvShape, ShapeError};
use collegial_nn::{Fans, Layout, Network, Observed, Observer, Parametrisation};

use super::Options;
use super::contribution::{self, Method};
use super::gram::Gram;
use super::tasks::Threads;
use crate::Error;
use crate::sampler::columns::dot;

/// A layer with weights, prepared.
pub(crate) struct Layer {
    /// The name of its weights.
    weight: String,
    /// Where they lie among the network's parameters.
    range: Range<usize>,
    pub(crate) shape: ConvShape,
    pub(crate) layout: Layout,
    /// What multiplies the weights (the NTK parametrisation), 1 otherwise.
    pub(crate) factor: f32,
    initial: Initial,
    method: Method,
    at_input: bool,
}

/// How a layer's initial weights are drawn.
struct Initial {
    fans: Fans,
    parametrisation: Parametrisation,
    /// The layer's place among all parameters of the network, norms' included.
    place: usize,
    /// How many weights it has, of which the kernel may depend on some only.
    len: usize,
}

impl Layer {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.weight.trim_end_matches(".weight")
    }

    /// Those of a network; `whole` has all outputs and norms.
    pub(crate) fn all(
        graph: &Graph,
        network: &Network,
        whole: &Network,
        parametrisation: Parametrisation,
    ) -> Result<Vec<Self>, Error> {
        let weights = network.parameters().iter().filter(|parameter| parameter.is_weight());
        let layer = |(layer, parameter): (collegial_nn::Layer, &collegial_nn::Parameter)| {
            let name = parameter.name.trim_end_matches(".weight");
            let fans = graph.find(name).and_then(|node| Fans::of(graph, node));
            let place = whole.parameters().iter().position(|other| other.name == parameter.name);
            let (Some(fans), Some(place)) = (fans, place) else {
                return Err(Error::NoParameters { module: name.to_owned() });
            };
            let len = whole.parameters()[place].range.len();
            let refuse = |reason: ShapeError| Error::Layer { name: name.to_owned(), reason };
            Ok(Self {
                weight: parameter.name.clone(),
                range: parameter.range.clone(),
                shape: layer.shape,
                layout: layer.layout,
                factor: fans.factor(parametrisation) as f32,
                initial: Initial { fans, parametrisation, place, len },
                method: Method::cheapest(&layer.shape).map_err(refuse)?,
                at_input: layer.at_input,
            })
        };
        network.layers().zip(weights).map(layer).collect()
    }
}

/// A network with memory for the kernel; reused from draw to draw.
pub(crate) struct Worker {
    network: Network,
    kernel: Gram,
    /// Of layers that read the network's input, the Grams of its patches, where they are to be
    /// kept.
    input_grams: Vec<Option<Vec<f32>>>,
}

impl Worker {
    /// For some inputs, one after the other; on one thread where others work beside it.
    pub(crate) fn new(
        graph: &Graph,
        options: &Options,
        inputs: &[f32],
        threads: Threads,
    ) -> Result<Self, Error> {
        let builder = Network::builder(graph).norm(options.norm).observation();
        let builder = builder.parametrisation(options.parametrisation);
        let mut network = if threads == Threads::One { builder.one_thread() } else { builder }.build()?;
        network.load(inputs)?;
        let images = network.batch();
        let input_grams = vec![None; network.layers().count()];
        Ok(Self { network, kernel: Gram::zeros(images, threads), input_grams })
    }

    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    pub(crate) fn kernel(&self) -> &Gram {
        &self.kernel
    }

    /// Takes other inputs.
    pub(crate) fn load(&mut self, inputs: &[f32]) -> Result<(), Error> {
        Ok(self.network.load(inputs)?)
    }

    /// Shows the layers to an observer, at given weights.
    pub(crate) fn observe(
        &mut self,
        weights: &[&[f32]],
        seeds: &[Vec<f32>],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        Ok(self.network.observe(Some(weights), seeds, observer)?)
    }

    /// Keeps what depends on the input only, for draws at one input.
    pub(crate) fn remember_input(&mut self, layers: &[Layer], input: &[f32]) {
        for (gram, layer) in self.input_grams.iter_mut().zip(layers).filter(|(_, layer)| layer.at_input) {
            if gram.is_none() {
                *gram = contribution::input_gram(&layer.shape, input);
            }
        }
    }

    /// Sets norms and biases by a table that has been checked, and gives the layers' weights; of a
    /// last layer that is cut down to one output, that row.
    pub(crate) fn set<'a>(
        &mut self,
        layers: &[Layer],
        table: &'a TensorTable,
        unit: usize,
    ) -> Result<Vec<&'a [f32]>, Error> {
        let parameters = self.network.parameters().iter().filter(|parameter| !parameter.is_weight());
        let parameters = parameters.map(|parameter| (parameter.name.clone(), parameter.range.len()));
        let statistics = self.network.statistics().map(|(name, values)| (name, values.len()));
        let values = |name: &str, len| {
            let tensor = table.get(name).map_err(Error::Weights)?;
            Ok::<&[f32], Error>(row(tensor.values(), len, unit))
        };
        for (name, len) in parameters.chain(statistics).collect::<Vec<_>>() {
            self.network.set(&name, values(&name, len)?)?;
        }
        layers.iter().map(|layer| values(&layer.weight, layer.range.len())).collect()
    }

    /// Draws the weights, N(0, 1).
    pub(crate) fn draw(&mut self, layers: &[Layer], rng: &mut Rng) {
        for layer in layers {
            rng.fill_normal(&mut self.network.values_mut()[layer.range.clone()]);
        }
    }

    /// Sets the weights that training from a seed starts with.
    pub(crate) fn initialise(&mut self, layers: &[Layer], seed: u64, unit: usize) {
        for Layer { range, initial, .. } in layers {
            let Initial { fans, parametrisation, place, len } = *initial;
            let values = &mut self.network.values_mut()[range.clone()];
            if len == values.len() {
                fans.draw(parametrisation, seed, place, values);
            } else {
                let mut all = vec![0.0; len];
                fans.draw(parametrisation, seed, place, &mut all);
                values.copy_from_slice(row(&all, values.len(), unit));
            }
        }
    }

    /// Computes the kernel, summed over the outputs that the seeds pick: each is the gradient of
    /// one of them by all outputs of all images.
    /// The weights are the network's own unless they are given.
    pub(crate) fn run(
        &mut self,
        layers: &[Layer],
        weights: Option<&[&[f32]]>,
        seeds: &[Vec<f32>],
        monitor: &dyn Monitor,
    ) -> Result<(), Error> {
        let Self { network, kernel, input_grams } = self;
        kernel.clear();
        let mut sum = Sum { kernel, layers, input_grams, monitor };
        Ok(network.observe(weights, seeds, &mut sum)?)
    }
}

/// The gradient of a norm's scale at the values of one image and channel: the sum of `d (x - mean)
/// inverse_deviation`.
pub(crate) fn scale_gradient(x: &[f32], d: &[f32], mean: f32, inverse_deviation: f32) -> f32 {
    let sum = d.iter().map(|&d| f64::from(d)).sum::<f64>();
    let centred = dot(d, x) - f64::from(mean) * sum;
    (centred * f64::from(inverse_deviation)) as f32
}

/// Adds the parts of the layers that a backward pass shows.
struct Sum<'a> {
    kernel: &'a mut Gram,
    layers: &'a [Layer],
    input_grams: &'a [Option<Vec<f32>>],
    monitor: &'a dyn Monitor,
}

impl Observer for Sum<'_> {
    fn stopped(&self) -> bool {
        self.monitor.stopped()
    }

    fn see(&mut self, observed: Observed<'_>) {
        let kernel = &mut *self.kernel;
        match observed {
            Observed::Linear { index, inputs, cotangents } => {
                let Layer { shape, layout, factor, method, .. } = &self.layers[index];
                let scale = f64::from(*factor).powi(2);
                match &self.input_grams[index] {
                    Some(gram) => {
                        contribution::add_at_input(kernel, shape, gram, cotangents, scale);
                    }
                    None => {
                        let pair = (inputs, cotangents);
                        contribution::add(kernel, method, (shape, *layout), pair, scale);
                    }
                }
            }
            Observed::Bias { extent, cotangents } => {
                contribution::add_channels(kernel, extent, |_, at| cotangents[at].iter().sum());
            }
            Observed::Norm { extent, inputs, cotangents, mean, inverse_deviation } => {
                contribution::add_channels(kernel, extent, |channel, at| {
                    let (x, d) = (&inputs[at.clone()], &cotangents[at]);
                    scale_gradient(x, d, mean[channel], inverse_deviation[channel])
                });
                contribution::add_channels(kernel, extent, |_, at| cotangents[at].iter().sum());
            }
        }
    }
}

/// All values, or the unit's share where there are `len` for one unit only.
fn row(values: &[f32], len: usize, unit: usize) -> &[f32] {
    if values.len() == len { values } else { &values[unit * len..][..len] }
}
