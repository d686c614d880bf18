//! One network at the kernel's inputs: forward, and backward once per output, adding every layer's
//! part on the way.

use std::ops::Range;

use collegial_arch::Graph;
use collegial_nn::kernels::{ConvShape, ShapeError};
use collegial_nn::{Fans, Layout, Mode, Network, NormPolicy, Observed, Parametrisation};
use collegial_stats::Rng;
use collegial_tensors::TensorTable;
use rayon::prelude::*;

use super::contribution::{self, Method};
use super::gram::Gram;
use crate::Error;
use crate::law::columns::dot;

/// Weights that a task copies.
const COPIED: usize = 1 << 16;

/// A layer with weights, prepared.
pub(crate) struct Layer {
    /// The name of its weights.
    weight: String,
    /// Where they lie among the network's parameters.
    range: Range<usize>,
    shape: ConvShape,
    layout: Layout,
    /// What multiplies the weights (the NTK parametrisation), 1 otherwise.
    factor: f32,
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
    /// Those of a network in its standard parametrisation, which the actual weights are put in.
    /// `whole` has all outputs and norms.
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
            let refuse =
                |reason: ShapeError| Error::Layer { name: name.to_owned(), reason: reason.to_string() };
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
    scratch: Vec<f32>,
}

impl Worker {
    /// For a batch of inputs.
    pub(crate) fn new(graph: &Graph, norms: NormPolicy, inputs: usize) -> Result<Self, Error> {
        let network = Network::builder(graph).batch(inputs).norms(norms).observation().build()?;
        let input_grams = vec![None; network.layers().count()];
        Ok(Self { network, kernel: Gram::zeros(inputs), input_grams, scratch: vec![] })
    }

    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    pub(crate) fn kernel(&self) -> &Gram {
        &self.kernel
    }

    /// Keeps what depends on the input only, for draws at one input.
    pub(crate) fn remember_input(&mut self, layers: &[Layer], input: &[f32]) {
        for (gram, layer) in self.input_grams.iter_mut().zip(layers).filter(|(_, layer)| layer.at_input) {
            if gram.is_none() {
                *gram = contribution::input_gram(&layer.shape, input);
            }
        }
    }

    /// Sets the weights of a table that has been checked; of a last layer that is cut down to one
    /// output, that row.
    pub(crate) fn set(&mut self, layers: &[Layer], table: &TensorTable, unit: usize) -> Result<(), Error> {
        let weights = |error: collegial_tensors::Error| Error::Weights(error);
        let parameters = self.network.parameters().iter().filter(|parameter| !parameter.is_weight());
        let parameters = parameters.map(|parameter| (parameter.name.clone(), parameter.range.len()));
        let statistics = self.network.statistics().map(|(name, values)| (name, values.len()));
        for (name, len) in parameters.chain(statistics).collect::<Vec<_>>() {
            self.network.set(&name, row(table.get(&name).map_err(weights)?.values(), len, unit))?;
        }
        for layer in layers {
            let from = table.get(&layer.weight).map_err(weights)?.values();
            let from = row(from, layer.range.len(), unit);
            let to = &mut self.network.values_mut()[layer.range.clone()];
            let pieces = to.par_chunks_mut(COPIED).zip(from.par_chunks(COPIED));
            pieces.for_each(|(to, from)| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = layer.factor * from);
            });
        }
        Ok(())
    }

    /// Draws the weights, N(0, 1) times each layer's factor.
    pub(crate) fn draw(&mut self, layers: &[Layer], rng: &mut Rng) {
        for layer in layers {
            let values = &mut self.network.values_mut()[layer.range.clone()];
            rng.fill_normal(values);
            values.iter_mut().for_each(|value| *value *= layer.factor);
        }
    }

    /// Sets the weights that training from a seed starts with.
    pub(crate) fn initialise(&mut self, layers: &[Layer], seed: u64, unit: usize) {
        for Layer { range, factor, initial, .. } in layers {
            let Initial { fans, parametrisation, place, len } = *initial;
            let values = &mut self.network.values_mut()[range.clone()];
            if len == values.len() {
                fans.draw(parametrisation, seed, place, values);
            } else {
                let mut all = vec![0.0; len];
                fans.draw(parametrisation, seed, place, &mut all);
                values.copy_from_slice(row(&all, values.len(), unit));
            }
            if *factor != 1.0 {
                values.iter_mut().for_each(|value| *value *= factor);
            }
        }
    }

    /// Computes the kernel, summed over the outputs that the seeds pick: each is the gradient of
    /// one of them by all outputs of all images.
    pub(crate) fn run(&mut self, layers: &[Layer], inputs: &[f32], seeds: &[Vec<f32>]) -> Result<(), Error> {
        let Self { network, kernel, input_grams, scratch } = self;
        kernel.clear();
        network.forward(inputs, Mode::Evaluate)?;
        for seed in seeds {
            network.observe(seed, &mut |observed| match observed {
                Observed::Linear { index, inputs, cotangents } => {
                    let Layer { shape, layout, factor, method, .. } = &layers[index];
                    let scale = f64::from(*factor).powi(2);
                    match &input_grams[index] {
                        Some(gram) => {
                            contribution::add_at_input(kernel, shape, gram, cotangents, scale, scratch);
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
                        let sum = d.iter().map(|&d| f64::from(d)).sum::<f64>();
                        let centred = dot(d, x) - f64::from(mean[channel]) * sum;
                        (centred * f64::from(inverse_deviation[channel])) as f32
                    });
                    contribution::add_channels(kernel, extent, |_, at| cotangents[at].iter().sum());
                }
            })?;
        }
        Ok(())
    }
}

/// All values, or the unit's share where there are `len` for one unit only.
fn row(values: &[f32], len: usize, unit: usize) -> &[f32] {
    if values.len() == len { values } else { &values[unit * len..][..len] }
}
