//! The native backend: `collegial-nn` on the threads of the current pool.

use collegial_nn::kernels::Isa;
use collegial_nn::{Mode, Network, Optimiser, memory};

use super::{Backend, BackendState, Device, Setup, StepOutput};
use crate::evaluate::count_errors;
use crate::{Error, Job, Loss};

/// A network and its optimiser, with the buffers of a step.
struct Native {
    network: Network,
    optimiser: Optimiser,
    loss: Loss,
    batch: usize,
    micro_batch: usize,
    /// Gradients summed over the micro-batches of a step; empty where there is only one.
    sum: Vec<f32>,
    labels: Vec<usize>,
    output_gradient: Vec<f32>,
}

/// Plans the memory of the recipe's micro-batches.
pub(super) fn start(setup: &Setup<'_>) -> Result<Box<dyn Backend>, Error> {
    let (graph, recipe) = (setup.job.spec.graph()?, &setup.job.recipe);
    let (batch, micro_batch) = (recipe.batch, recipe.micro_batch());
    let network =
        Network::builder(&graph).batch(micro_batch).parametrisation(recipe.parametrisation).build()?;
    let parameters = network.values().len();
    let ranges = network.parameters().iter().map(|entry| entry.range.clone());
    let groups = ranges.zip(&setup.rates).map(|(range, (_, rate))| (range, *rate as f32));
    Ok(Box::new(Native {
        optimiser: Optimiser::new(recipe.optimiser, parameters).groups(groups.collect())?,
        loss: recipe.loss,
        batch,
        micro_batch,
        sum: if micro_batch < batch { vec![0.0; parameters] } else { vec![] },
        labels: vec![],
        output_gradient: vec![0.0; micro_batch * graph.output_shape().elements() as usize],
        network,
    }))
}

/// Refuses a training that does not fit into memory before anything of it is built: the engine and
/// the optimiser, and beside them a checkpoint as tensors and as the bytes of its two files. The data
/// set is there already.
pub(super) fn check_memory(job: &Job) -> Result<(), Error> {
    let Some(available) = memory::available() else { return Ok(()) };
    let (graph, recipe) = (job.spec.graph()?, &job.recipe);
    let (batch, micro_batch) = (recipe.batch, recipe.micro_batch());
    let engine = Network::builder(&graph).batch(micro_batch).parametrisation(recipe.parametrisation);
    let states = Optimiser::states(recipe.optimiser) as u64;
    // The network's tensors are gone when the bytes of the optimiser's are made.
    let saved = (2 + states).max(1 + 2 * states);
    let sum = u64::from(micro_batch < batch);
    let weights = (states + saved + sum).saturating_mul(job.spec.totals()?.parameters);
    let image = u64::try_from(graph.input_shape().elements()).unwrap_or(u64::MAX);
    let batches = ((BATCHES * batch) as u64).saturating_mul(image);
    let floats = weights.saturating_add(batches);
    let needed = engine.planned_bytes()?.saturating_add(floats.saturating_mul(size_of::<f32>() as u64));
    if needed > available { Err(Error::Memory { needed, available }) } else { Ok(()) }
}

/// Batches that the loader holds: some wait, one is filled, one is trained on.
const BATCHES: usize = 6;

impl Backend for Native {
    fn load(&mut self, state: &BackendState) -> Result<(), Error> {
        for (name, tensor) in state.network.iter() {
            self.network.set(name, tensor.values())?;
        }
        for (kind, values) in self.optimiser.state_mut() {
            for entry in self.network.parameters() {
                let saved = state.optimiser.get(&format!("{}.{kind}", entry.name))?;
                values[entry.range.clone()].copy_from_slice(saved.values());
            }
        }
        self.optimiser.set_steps(state.steps);
        Ok(())
    }

    fn state(&mut self) -> Result<BackendState, Error> {
        BackendState::of(&self.network, &self.optimiser)
    }

    /// The batch is cut into micro-batches, over which gradients are averaged.
    fn step(&mut self, images: &[f32], labels: &[u32], rate: f64) -> Result<StepOutput, Error> {
        let share = self.micro_batch as f32 / self.batch as f32;
        let size = images.len() / labels.len().max(1);
        let mut output = StepOutput { loss: 0.0, errors: 0 };
        self.sum.fill(0.0);
        for (images, labels) in images.chunks(self.micro_batch * size).zip(labels.chunks(self.micro_batch)) {
            self.labels.clear();
            self.labels.extend(labels.iter().map(|&label| label as usize));
            let logits = self.network.forward(images, Mode::Train)?;
            let loss = self.loss.compute(logits, &self.labels, &mut self.output_gradient)?;
            if !loss.is_finite() {
                return Ok(StepOutput { loss, ..output });
            }
            output.loss += loss * labels.len() as f64;
            output.errors += count_errors(logits, &self.labels);
            if self.sum.is_empty() {
                self.network.backward(&self.output_gradient)?;
            } else {
                self.output_gradient.iter_mut().for_each(|value| *value *= share);
                self.network.backward(&self.output_gradient)?;
                self.sum.iter_mut().zip(self.network.gradients()).for_each(|(sum, value)| *sum += value);
            }
        }
        if self.sum.is_empty() {
            self.network.update(&mut self.optimiser, rate as f32)?;
        } else {
            self.optimiser.step(rate as f32, self.network.values_mut(), &self.sum)?;
        }
        Ok(output)
    }

    fn outputs(&mut self, images: &[f32]) -> Result<Vec<f32>, Error> {
        Ok(self.network.forward(images, Mode::Evaluate)?.to_vec())
    }

    fn device(&self) -> Device {
        Device::Cpu
    }

    /// AVX2 and AVX-512 give the same bits.
    fn instructions(&self) -> Option<&'static str> {
        Some(match Isa::detect() {
            Isa::Avx512 | Isa::Avx2 => "avx2",
            Isa::Neon => "neon",
            Isa::Portable => "portable",
        })
    }
}
