//! A network that computes.

use crate::Error;
use crate::builder::{NetworkBuilder, Settings};
use crate::fold;
use crate::lower::{Options, lower};
use crate::observed::{Layer, Observed, Observer};
use crate::optimiser::Optimiser;
use crate::options::{Mode, NormPolicy, Parametrisation, Purpose};
use crate::parameters::Parameter;
use crate::profile::Profile;
use crate::program::Program;
use crate::schedule::Schedule;
use crate::state::{Lent, State};
use crate::workers::{alone, in_pool};
use collegial_arch::Graph;
use collegial_tensors::{Tensor, TensorTable};

/// Images that are evaluated at a time unless the builder says otherwise.
const EVALUATED: usize = 64;

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
/// let loss = cross_entropy(logits, &[3, 1], &mut gradient);
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
        // Until a pass says how many images it has, one is enough to know the parameters.
        let batch = settings.batch.unwrap_or(1);
        let training = settings.batch.is_some() && settings.purpose.goes_back();
        let program = lower(graph, Options::new(settings, batch, training))?;
        let schedule = Schedule::new(&program, settings.purpose);
        let state = State::new(&program, &schedule, settings)?;
        let graph = graph.clone();
        Ok(Self { graph, settings, batch, program, schedule, state, last: None, pieces: vec![] })
    }

    /// Plans for another number of images; parameters and statistics stay.
    fn replan(&mut self, batch: usize, mode: Mode) -> Result<(), Error> {
        let program = lower(&self.graph, Options::new(self.settings, batch, mode == Mode::Train))?;
        let schedule = Schedule::new(&program, self.settings.purpose);
        let mut state = State::new(&program, &schedule, self.settings)?;
        state.take_over(&mut self.state);
        (self.batch, self.program, self.schedule, self.state) = (batch, program, schedule, state);
        Ok(())
    }

    /// Images that are computed at a time.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How its weights are scaled.
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
            + self.state.gradients.len())
    }

    /// Weights 0, norms the identity, biases 0.
    pub(crate) fn reset(&mut self) {
        self.initialise(0);
        for parameter in &self.program.parameters.entries {
            if parameter.is_weight() {
                self.state.parameters[parameter.range.clone()].fill(0.0);
            }
        }
    }

    /// Draws the parameters and resets the running statistics: Kaiming-normal (convolutions N(0, 2
    /// / fan-out) as torchvision, dense layers N(0, gain / fan-in) with gain 2 before a ReLU and 1
    /// otherwise), or N(0, 1) in the NTK parametrisation; norms as the identity, biases 0.
    pub fn initialise(&mut self, seed: u64) {
        self.state.initialise(&self.program.parameters, self.settings.parametrisation, seed);
    }

    /// Computes the outputs, `[image][channels][pixels]`.
    ///
    /// In [`Mode::Evaluate`] every image is treated alone: images are computed a batch at a time,
    /// the last batch filled up. In [`Mode::Train`] all images are one batch, for which the network
    /// is planned anew where it has another size than the last one.
    ///
    /// # Errors
    ///
    /// If the values do not make up whole images, there are none, or a network for inference is to
    /// train.
    pub fn forward(&mut self, images: &[f32], mode: Mode) -> Result<&[f32], Error> {
        let count = self.count(images)?;
        self.last = None;
        if mode == Mode::Train && !self.settings.purpose.goes_back() {
            return Err(Error::WrongPurpose);
        }
        let mode = if self.settings.norms == NormPolicy::Batch { mode } else { Mode::Evaluate };
        let batch = match mode {
            Mode::Train => count,
            Mode::Evaluate => self.settings.batch.unwrap_or(count.min(EVALUATED)),
        };
        if batch != self.batch {
            self.replan(batch, mode)?;
        }
        if count <= batch {
            self.write(images);
            self.run(mode, None);
            self.last = Some(Last { mode, images: count });
            return Ok(&self.outputs_of_batch()[..count * self.output_len()]);
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        for piece in images.chunks(batch * self.input_len()) {
            self.write(piece);
            self.run(mode, None);
            let len = piece.len() / self.input_len() * self.output_len();
            pieces.extend_from_slice(&self.outputs_of_batch()[..len]);
        }
        self.pieces = pieces;
        Ok(&self.pieces)
    }

    /// Sets the input to at most a batch of images; what is missing is zero.
    fn write(&mut self, images: &[f32]) {
        let Self { program, schedule, state, .. } = self;
        state.write(schedule, schedule.values[program.input], images);
    }

    /// Runs the program forward.
    fn run(&mut self, mode: Mode, lent: Lent<'_>) {
        let Self { program, schedule, state, settings, .. } = self;
        on_threads(settings.alone, || {
            state.scale_weights(&program.steps);
            program.steps.iter().for_each(|step| state.forward(program, schedule, step, mode, lent));
        });
    }

    /// How many images there are.
    fn count(&self, images: &[f32]) -> Result<usize, Error> {
        let expected = self.input_len();
        if images.is_empty() || !images.len().is_multiple_of(expected) {
            return Err(Error::Images { found: images.len(), expected });
        }
        Ok(images.len() / expected)
    }

    /// Values of an image.
    fn input_len(&self) -> usize {
        self.program.values[self.program.input].dims.len() / self.batch
    }

    /// Outputs of an image.
    fn output_len(&self) -> usize {
        self.program.values[self.program.output].dims.len() / self.batch
    }

    fn outputs_of_batch(&self) -> &[f32] {
        self.state.read(&self.schedule, self.schedule.values[self.program.output])
    }

    /// Computes the gradients of all parameters from that of the outputs. Where norms used running
    /// statistics, they are the fixed affine maps they were.
    ///
    /// # Errors
    ///
    /// If the network only infers, there was no forward pass of one batch (since the last backward
    /// pass, unless the network is one for [observation](NetworkBuilder::observation)), or the
    /// gradient has not the outputs' size.
    pub fn backward(&mut self, gradient: &[f32]) -> Result<(), Error> {
        let last = match self.settings.purpose {
            Purpose::Training => self.last.take(),
            Purpose::Observation => self.last,
            Purpose::Inference | Purpose::FoldedInference => return Err(Error::WrongPurpose),
        };
        let last = last.ok_or(Error::NoForwardPass)?;
        self.run_back(gradient, last, None, None)
    }

    /// Takes the images that the following [observations](Self::observe) are of, each treated
    /// alone.
    ///
    /// # Errors
    ///
    /// If the values do not make up whole images, there are none, or the network is not one for
    /// [observation](NetworkBuilder::observation).
    pub fn load(&mut self, images: &[f32]) -> Result<(), Error> {
        if self.settings.purpose != Purpose::Observation {
            return Err(Error::WrongPurpose);
        }
        let count = self.count(images)?;
        if count != self.batch {
            self.replan(count, Mode::Evaluate)?;
        }
        self.write(images);
        self.last = Some(Last { mode: Mode::Evaluate, images: count });
        Ok(())
    }

    /// Runs the [loaded](Self::load) images forward, and back once for every gradient of their
    /// outputs, showing every layer's inputs and cotangents instead of computing weight gradients,
    /// last layer first. With `weights`, those of [all layers](Self::layers) in order are used
    /// instead of the network's own.
    ///
    /// # Errors
    ///
    /// If no images were loaded, a gradient has not the outputs' size, or a layer's weights are
    /// more or fewer.
    pub fn observe(
        &mut self,
        weights: Option<&[&[f32]]>,
        gradients: &[Vec<f32>],
        observer: &mut (dyn FnMut(Observed<'_>) + Send),
    ) -> Result<(), Error> {
        let loaded = self.last.filter(|_| self.settings.purpose == Purpose::Observation);
        let last = loaded.ok_or(Error::NoForwardPass)?;
        self.check_lent(weights)?;
        self.run(last.mode, weights);
        gradients.iter().try_for_each(|gradient| self.run_back(gradient, last, Some(&mut *observer), weights))
    }

    fn check_lent(&self, weights: Lent<'_>) -> Result<(), Error> {
        let Some(weights) = weights else { return Ok(()) };
        let lens = || self.layers().map(|layer| (layer.weight, layer.shape.weight_len()));
        if lens().count() != weights.len() {
            let (name, expected, given) = ("all layers".to_owned(), lens().count(), weights.len());
            return Err(Error::WrongLength { name, expected, given });
        }
        let wrong = |((name, expected), given): ((&str, usize), &&[f32])| {
            let given = given.len();
            (expected != given).then(|| Error::WrongLength { name: name.to_owned(), expected, given })
        };
        lens().zip(weights).find_map(wrong).map_or(Ok(()), Err)
    }

    fn run_back(
        &mut self,
        gradient: &[f32],
        Last { mode, images }: Last,
        mut observer: Option<Observer<'_>>,
        lent: Lent<'_>,
    ) -> Result<(), Error> {
        let expected = images * self.output_len();
        if gradient.len() != expected {
            return Err(Error::Gradient { found: gradient.len(), expected });
        }
        let Self { program, schedule, state, settings, .. } = self;
        state.write(schedule, schedule.seed, gradient);
        on_threads(settings.alone, || {
            for back in &schedule.backward {
                state.backward(program, schedule, back, mode, &mut observer, lent);
            }
        });
        Ok(())
    }

    /// Its layers with weights, in the order of computation.
    pub fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        self.program.layers()
    }

    /// The table of parameters: names, shapes, and where they lie in [`values`](Self::values).
    pub fn parameters(&self) -> &[Parameter] {
        &self.program.parameters.entries
    }

    /// All parameters.
    pub fn values(&self) -> &[f32] {
        &self.state.parameters
    }

    /// All parameters, to be changed.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.state.parameters
    }

    /// All gradients, laid out as [`values`](Self::values).
    pub fn gradients(&self) -> &[f32] {
        &self.state.gradients
    }

    /// Takes a step of an optimiser with learning rate `rate` on the gradients of the last backward
    /// pass.
    pub fn update(&mut self, optimiser: &mut Optimiser, rate: f32) {
        optimiser.step(rate, &mut self.state.parameters, &self.state.gradients);
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
        self.state.parameters[range].copy_from_slice(values);
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
            let added = Tensor::new(shape, values).and_then(|tensor| table.insert(name, tensor));
            debug_assert!(added.is_ok(), "names of a graph are unique, and shapes are those of the values");
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
                return Err(collegial_tensors::Error::NotFinite { name, value }.into());
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

    /// Where the time went so far.
    pub fn profile(&self) -> &Profile {
        &self.state.profile
    }

    /// Starts the profile anew.
    pub fn reset_profile(&mut self) {
        let observed = self.settings.purpose == Purpose::Observation;
        self.state.profile = if observed { Profile::off() } else { Profile::default() };
    }

    fn unknown(&self, name: &str) -> Error {
        let first = self.parameters().first().map_or_else(String::new, |entry| entry.name.clone());
        Error::UnknownTensor { name: name.to_owned(), first }
    }
}

/// Runs passes on this thread alone, or on rayon's current pool.
fn on_threads<R: Send>(one: bool, run: impl FnOnce() -> R + Send) -> R {
    if one { alone(run) } else { in_pool(run) }
}
