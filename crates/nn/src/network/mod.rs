//! A network: its plan, its parameters and the memory of its passes.

mod run;

use crate::Error;
use crate::builder::{NetworkBuilder, Settings};
use crate::fold;
use crate::lower::{Options, lower};
use crate::observed::Layer;
use crate::optimiser::Optimiser;
use crate::options::{Mode, Parametrisation, Purpose};
use crate::parameters::Parameter;
use crate::profile::Profile;
use crate::program::Program;
use crate::schedule::Schedule;
use crate::state::State;
use collegial_arch::Graph;
use collegial_core::tensors::{Tensor, TensorTable};

/// A network with its parameters, gradients and all memory of a step.
///
/// Images are `[image][channels][height][width]`, any number of them. A step of the planned batch
/// allocates nothing, runs on rayon's current pool, and gives the same bits for any number of
/// threads. Plan inside the pool that will run it: scratch is reserved for its threads.
///
/// ```
/// use collegial_nn::{Mode, Network, cross_entropy};
/// let spec: collegial_arch::Spec = "fc3-4x8".parse()?;
/// let mut network = Network::builder(&spec.graph()?).seed(7).build()?;
/// let logits = network.forward(&[0.5; 2 * 784], Mode::Train)?;
/// let mut gradient = vec![0.0; logits.len()];
/// let loss = cross_entropy(logits, &[3, 1], &mut gradient)?;
/// network.backward(&gradient)?;
/// assert!(loss > 0.0 && network.gradient("fc1.weight")?.iter().any(|g| *g != 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Network {
    graph: Graph,
    settings: Settings,
    /// Images that the program is planned for.
    batch: usize,
    program: Program,
    schedule: Schedule,
    state: State,
    /// The last forward pass; `None` before the first, and where a backward pass cannot follow it.
    last: Option<Last>,
    /// The outputs of an evaluation in several pieces.
    pieces: Vec<f32>,
}

/// A forward pass that has been run.
#[derive(Clone, Copy)]
struct Last {
    mode: Mode,
    images: usize,
}

impl Network {
    /// Starts planning a network.
    pub fn builder(graph: &Graph) -> NetworkBuilder<'_> {
        NetworkBuilder::new(graph)
    }

    /// A copy of this network that only infers: activations share memory, and there are no
    /// gradients.
    ///
    /// # Errors
    ///
    /// If the batch is empty.
    pub fn inference(&self, batch: usize) -> Result<Self, Error> {
        self.copy(batch, Purpose::Inference)
    }

    /// As [`inference`](Self::inference), and every norm behind a convolution or a dense layer
    /// disappears into its weights and a bias named `<layer>.bias`.
    ///
    /// # Errors
    ///
    /// If the batch is empty.
    pub fn folded_inference(&self, batch: usize) -> Result<Self, Error> {
        self.copy(batch, Purpose::FoldedInference)
    }

    fn copy(&self, batch: usize, purpose: Purpose) -> Result<Self, Error> {
        let settings = Settings { batch: Some(batch), purpose, ..self.settings };
        let mut copy = Self::plan(&self.graph, settings)?;
        fold::copy(self, &mut copy)?;
        Ok(copy)
    }

    pub(crate) fn plan(graph: &Graph, settings: Settings) -> Result<Self, Error> {
        let (batch, program, schedule) = Self::plan_steps(graph, settings)?;
        let state = State::new(&program, &schedule, settings)?;
        let graph = graph.clone();
        Ok(Self { graph, settings, batch, program, schedule, state, last: None, pieces: vec![] })
    }

    fn plan_steps(graph: &Graph, settings: Settings) -> Result<(usize, Program, Schedule), Error> {
        // Until a pass says how many images it has, one is enough to know the parameters.
        let batch = settings.batch.unwrap_or(1);
        let trains = settings.batch.is_some() && settings.purpose.has_backward();
        let mode = if trains { Mode::Train } else { Mode::Evaluate };
        let program = lower(graph, Options::new(settings, batch, mode))?;
        let schedule = Schedule::new(&program, settings.purpose);
        Ok((batch, program, schedule))
    }

    /// Bytes of the arrays of a network that is not built.
    pub(crate) fn planned_bytes(graph: &Graph, settings: Settings) -> Result<u64, Error> {
        let (_, program, schedule) = Self::plan_steps(graph, settings)?;
        let floats = State::floats(&program, &schedule, settings) as u64;
        Ok(floats.saturating_mul(size_of::<f32>() as u64))
    }

    /// Plans for another number of images; parameters and statistics stay.
    fn replan(&mut self, batch: usize, mode: Mode) -> Result<(), Error> {
        let program = lower(&self.graph, Options::new(self.settings, batch, mode))?;
        let schedule = Schedule::new(&program, self.settings.purpose);
        let mut state = State::new(&program, &schedule, self.settings)?;
        state.take_parameters_from(&mut self.state);
        (self.batch, self.program, self.schedule, self.state) = (batch, program, schedule, state);
        Ok(())
    }

    /// Batch size.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Parametrisation of its weights.
    pub fn parametrisation(&self) -> Parametrisation {
        self.settings.parametrisation
    }

    /// The graph it was planned from.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Bytes of all its arrays.
    pub fn bytes(&self) -> usize {
        4 * (self.schedule.slots.iter().sum::<usize>()
            + self.state.parameters.len()
            + self.state.prepared_len()
            + self.state.gradients.len())
    }

    /// Weights 0, norms the identity, biases 0.
    pub(crate) fn reset(&mut self) {
        self.initialise(0);
        for parameter in &self.program.parameters.entries {
            if parameter.is_weight() {
                self.state.parameters_mut()[parameter.range.clone()].fill(0.0);
            }
        }
    }

    /// Draws the parameters and resets the running statistics: Kaiming-normal (convolutions N(0, 2
    /// / fan-out) as torchvision, dense layers N(0, gain / fan-in) with gain 2 before a ReLU and 1
    /// otherwise), or N(0, 1) in the NTK parametrisation; norms as the identity, biases 0.
    pub fn initialise(&mut self, seed: u64) {
        self.state.initialise(&self.program.parameters, self.settings.parametrisation, seed);
    }

    /// Its layers with weights, in the order of computation.
    pub fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        self.program.layers()
    }

    /// The table of parameters: names, shapes, and their ranges in [`values`](Self::values).
    pub fn parameters(&self) -> &[Parameter] {
        &self.program.parameters.entries
    }

    /// All parameters.
    pub fn values(&self) -> &[f32] {
        &self.state.parameters
    }

    /// All parameters, to be changed.
    pub fn values_mut(&mut self) -> &mut [f32] {
        self.state.parameters_mut()
    }

    /// All gradients, laid out as [`values`](Self::values).
    pub fn gradients(&self) -> &[f32] {
        &self.state.gradients
    }

    /// Takes a step of an optimiser with learning rate `rate` on the gradients of the last backward
    /// pass.
    ///
    /// # Errors
    ///
    /// If the optimiser is for another number of parameters.
    pub fn update(&mut self, optimiser: &mut Optimiser, rate: f32) -> Result<(), Error> {
        optimiser.step(rate, &mut self.state.parameters, &self.state.gradients)
    }

    /// The gradient of a parameter.
    ///
    /// # Errors
    ///
    /// If there is none of this name.
    pub fn gradient(&self, name: &str) -> Result<&[f32], Error> {
        let range = self.program.parameters.find(name)?.range.clone();
        self.state.gradients.get(range).ok_or_else(|| self.unknown(name))
    }

    /// A parameter or a running statistic (`bn1.running_mean`, `bn1.running_var`).
    ///
    /// # Errors
    ///
    /// If there is none of this name.
    pub fn get(&self, name: &str) -> Result<&[f32], Error> {
        if let Some(tensor) = self.statistics().find_map(|(other, tensor)| (other == name).then_some(tensor))
        {
            return Ok(tensor);
        }
        let range = self.program.parameters.find(name)?.range.clone();
        Ok(&self.state.parameters[range])
    }

    /// Sets a parameter or a running statistic.
    ///
    /// # Errors
    ///
    /// If there is none of this name, or it has another length.
    pub fn set(&mut self, name: &str, values: &[f32]) -> Result<(), Error> {
        let expected = self.get(name)?.len();
        if expected != values.len() {
            return Err(Error::WrongLength { name: name.to_owned(), expected, given: values.len() });
        }
        for (norm, state) in self.program.norms.iter().zip(&mut self.state.norms) {
            let target = match name.strip_prefix(&norm.name) {
                Some(".running_mean") => &mut state.running_mean,
                Some(".running_var") => &mut state.running_var,
                _ => continue,
            };
            target.copy_from_slice(values);
            return Ok(());
        }
        let range = self.program.parameters.find(name)?.range.clone();
        self.state.parameters_mut()[range].copy_from_slice(values);
        Ok(())
    }

    /// All parameters and running statistics by torchvision's names.
    pub fn tensors(&self) -> TensorTable {
        let parameters = self.parameters().iter().map(|parameter| {
            let values = self.values()[parameter.range.clone()].to_vec();
            (parameter.name.clone(), parameter.shape.clone(), values)
        });
        let statistics = self.statistics().map(|(name, values)| (name, vec![values.len()], values.to_vec()));
        let mut table = TensorTable::new();
        for (name, shape, values) in parameters.chain(statistics) {
            Tensor::new(shape, values)
                .and_then(|tensor| table.insert(name, tensor))
                .expect("names of a graph are unique, and shapes are those of the values");
        }
        table
    }

    /// Sets all parameters and running statistics; what the network does not have is left alone.
    ///
    /// # Errors
    ///
    /// If a tensor is missing, has another shape, or contains NaN or an infinity.
    pub fn set_tensors(&mut self, table: &TensorTable) -> Result<(), Error> {
        let statistics = self.statistics().map(|(name, values)| (name, vec![values.len()]));
        let parameters = self.parameters().iter().map(|entry| (entry.name.clone(), entry.shape.clone()));
        let expected: Vec<(String, Vec<usize>)> = parameters.chain(statistics).collect();
        for (name, shape) in expected {
            let values = table.shaped(&name, &shape)?.values();
            if let Some(&value) = values.iter().find(|value| !value.is_finite()) {
                return Err(collegial_core::tensors::Error::NotFinite { name, value }.into());
            }
            self.set(&name, values)?;
        }
        Ok(())
    }

    /// The running statistics of all norms by name.
    pub fn statistics(&self) -> impl Iterator<Item = (String, &[f32])> {
        self.program.norms.iter().zip(&self.state.norms).flat_map(|(norm, state)| {
            [
                (format!("{}.running_mean", norm.name), state.running_mean.as_slice()),
                (format!("{}.running_var", norm.name), state.running_var.as_slice()),
            ]
        })
    }

    /// Time per kind of layer and pass so far.
    pub fn profile(&self) -> &Profile {
        &self.state.profile
    }

    /// Starts the profile anew.
    pub fn reset_profile(&mut self) {
        self.state.profile = Profile::for_purpose(self.settings.purpose);
    }

    fn unknown(&self, name: &str) -> Error {
        let first = self.parameters().first().map_or_else(String::new, |entry| entry.name.clone());
        Error::UnknownTensor { name: name.to_owned(), first }
    }
}
