//! A network that computes.

use crate::Error;
use crate::fold;
use crate::lower::{Options, lower};
use crate::parameters::{Parameter, Parametrisation};
use crate::profile::Profile;
use crate::program::Program;
use crate::schedule::Schedule;
use crate::state::State;
use crate::workers::in_pool;
use collegial_arch::Graph;

/// Where norms take their statistics from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// From the batch, whose share enters the running statistics.
    Train,
    /// From the running statistics, which stay.
    Evaluate,
}

/// What memory and checks are planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Training,
    Inference,
    /// Norms behind a layer with weights become its bias.
    FoldedInference,
}

/// A network with its parameters, gradients and all memory of a step, planned once for a batch size.
///
/// A batch is `[batch][channels][height][width]`; smaller ones are padded by the caller (evaluation treats every image
/// alone). A step allocates nothing, runs on rayon's current pool, and gives the same bits for any number of threads. Plan
/// inside the pool that will run it: scratch is reserved for its threads.
///
/// ```
/// use collegial_nn::{Mode, Network, cross_entropy};
/// let spec: collegial_arch::Spec = "fc3-4x8".parse()?;
/// let mut network = Network::new(&spec.graph()?, 2)?;
/// network.initialise(7);
/// let logits = network.forward(&[0.5; 2 * 784], Mode::Train);
/// let mut gradient = vec![0.0; logits.len()];
/// let loss = cross_entropy(logits, &[3, 1], &mut gradient);
/// network.backward(&gradient);
/// assert!(loss > 0.0 && network.gradient("fc1.weight")?.iter().any(|g| *g != 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Network {
    graph: Graph,
    batch: usize,
    parametrisation: Parametrisation,
    purpose: Purpose,
    program: Program,
    schedule: Schedule,
    state: State,
    /// How the last forward pass was run; `None` before the first.
    mode: Option<Mode>,
}

impl Network {
    /// Plans a network for training, in the standard parametrisation. Weights are zero and norms the identity until
    /// [`initialise`](Self::initialise) or [`set`](Self::set).
    ///
    /// # Errors
    ///
    /// If the batch is empty, a norm would see one value per channel, or a layer is beyond the kernels' limits.
    pub fn new(graph: &Graph, batch: usize) -> Result<Self, Error> {
        Self::with_parametrisation(graph, batch, Parametrisation::Standard)
    }

    /// Plans a network for training.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_parametrisation(
        graph: &Graph,
        batch: usize,
        parametrisation: Parametrisation,
    ) -> Result<Self, Error> {
        Self::plan(graph, batch, parametrisation, Purpose::Training)
    }

    /// A copy of this network that only infers, for batches of another size: activations share memory, and there are no
    /// gradients. Folded, every norm behind a convolution or dense layer disappears into its weights and a bias named
    /// `<layer>.bias`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn inference(&self, batch: usize, folded: bool) -> Result<Self, Error> {
        let purpose = if folded { Purpose::FoldedInference } else { Purpose::Inference };
        let mut copy = Self::plan(&self.graph, batch, self.parametrisation, purpose)?;
        fold::copy(self, &mut copy)?;
        Ok(copy)
    }

    fn plan(
        graph: &Graph,
        batch: usize,
        parametrisation: Parametrisation,
        purpose: Purpose,
    ) -> Result<Self, Error> {
        let program = lower(graph, Options { batch, parametrisation, purpose })?;
        let schedule = Schedule::new(&program, purpose);
        let ntk = parametrisation == Parametrisation::Ntk;
        let state = State::new(&program, &schedule, ntk, purpose == Purpose::Training);
        Ok(Self {
            graph: graph.clone(),
            batch,
            parametrisation,
            purpose,
            program,
            schedule,
            state,
            mode: None,
        })
    }

    /// Images of a batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How its weights are scaled.
    pub fn parametrisation(&self) -> Parametrisation {
        self.parametrisation
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

    /// Draws the parameters and resets the running statistics: Kaiming-normal (convolutions N(0, 2 / fan-out) as
    /// torchvision, dense layers N(0, gain / fan-in) with gain 2 before a ReLU and 1 otherwise), or N(0, 1) in the NTK
    /// parametrisation; norms as the identity, biases 0.
    pub fn initialise(&mut self, seed: u64) {
        self.state.initialise(&self.program.parameters, self.parametrisation, seed);
    }

    /// Computes the outputs, `[batch][classes]`.
    ///
    /// # Panics
    ///
    /// If the input has not the planned size, or [`Mode::Train`] is asked of a network for inference.
    pub fn forward(&mut self, input: &[f32], mode: Mode) -> &[f32] {
        let Self { program, schedule, state, .. } = self;
        assert!(mode == Mode::Evaluate || self.purpose == Purpose::Training, "this network only infers");
        let expected = program.values[program.input].dims.len();
        assert_eq!(input.len(), expected, "the input has not the size of the planned batch");
        self.mode = Some(mode);
        state.write(schedule, schedule.values[program.input], input);
        in_pool(|| {
            state.scale_weights(&program.steps);
            program.steps.iter().for_each(|step| state.forward(program, schedule, step, mode));
        });
        state.read(schedule, schedule.values[program.output])
    }

    /// The outputs of the last forward pass.
    pub fn outputs(&self) -> &[f32] {
        self.state.read(&self.schedule, self.schedule.values[self.program.output])
    }

    /// Computes the gradients of all parameters from that of the outputs. After [`Mode::Evaluate`], the norms are
    /// treated as the fixed affine maps they were.
    ///
    /// # Panics
    ///
    /// If there was no forward pass since the last backward pass, the network only infers, or the gradient has not the
    /// outputs' size.
    pub fn backward(&mut self, gradient: &[f32]) {
        let Self { program, schedule, state, .. } = self;
        assert!(self.purpose == Purpose::Training, "this network only infers");
        let Some(mode) = self.mode.take() else { panic!("a backward pass needs a forward pass before it") };
        let expected = program.values[program.output].dims.len();
        assert_eq!(gradient.len(), expected, "the gradient has not the size of the outputs");
        state.write(schedule, schedule.seed, gradient);
        in_pool(|| schedule.backward.iter().for_each(|back| state.backward(program, schedule, back, mode)));
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

    /// Parameters to be changed, and their gradients: what an optimiser needs.
    pub fn values_and_gradients(&mut self) -> (&mut [f32], &[f32]) {
        (&mut self.state.parameters, &self.state.gradients)
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
        self.state.profile = Profile::default();
    }

    fn unknown(&self, name: &str) -> Error {
        let first = self.parameters().first().map_or_else(String::new, |entry| entry.name.clone());
        Error::UnknownTensor { name: name.to_owned(), first }
    }
}
