//! Builder of a network.

use crate::kernels::{Isa, Method};
use crate::options::{NormPolicy, Parametrisation, Purpose, Threading};
use crate::{Error, Network};
use collegial_arch::Graph;
use collegial_core::tensors::TensorTable;

/// The settings of a [`Network`], see [`Network::builder`].
#[derive(Clone)]
pub struct NetworkBuilder<'a> {
    graph: &'a Graph,
    pub(crate) settings: Settings,
    start: Start<'a>,
}

/// Settings of a network, apart from its graph.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    /// `None`: as many as the first pass has.
    pub batch: Option<usize>,
    pub parametrisation: Parametrisation,
    pub norm: NormPolicy,
    pub purpose: Purpose,
    /// Whether the kernels in plain Rust are used.
    pub portable: bool,
    pub convolutions: Method,
    pub threading: Threading,
}

impl Settings {
    /// The instruction set of the kernels.
    pub(crate) fn isa(self) -> Isa {
        if self.portable { Isa::Portable } else { Isa::detect() }
    }
}

/// Initial parameters.
#[derive(Clone, Copy)]
enum Start<'a> {
    Zeros,
    Seed(u64),
    Table(&'a TensorTable),
}

impl<'a> NetworkBuilder<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Self {
        Self { graph, settings: Settings::default(), start: Start::Zeros }
    }

    /// Batch size. By default as many as the first pass has (64 at most
    /// where each is treated alone); evaluation splits and pads what has another number, a training
    /// pass plans anew.
    #[must_use]
    pub fn batch(mut self, images: usize) -> Self {
        self.settings.batch = Some(images);
        self
    }

    /// Parametrisation of the weights. By default they are used as they are.
    #[must_use]
    pub fn parametrisation(mut self, parametrisation: Parametrisation) -> Self {
        self.settings.parametrisation = parametrisation;
        self
    }

    /// Treatment of batch norms. By default they use the batch's statistics in training.
    #[must_use]
    pub fn norm(mut self, norm: NormPolicy) -> Self {
        self.settings.norm = norm;
        self
    }

    /// By default a network trains. One for inference has no gradients, and activations share
    /// memory.
    #[must_use]
    pub fn inference(mut self) -> Self {
        self.settings.purpose = Purpose::Inference;
        self
    }

    /// As [`inference`](Self::inference), and every norm behind a convolution or a dense layer
    /// disappears into its weights and a bias named `<layer>.bias`. The weights of such a network
    /// are those of the folded form.
    #[must_use]
    pub fn folded_inference(mut self) -> Self {
        self.settings.purpose = Purpose::FoldedInference;
        self
    }

    /// For backward passes that hand out each layer's inputs and cotangents, see
    /// [`Network::observe`], and for several backward passes after one forward pass: all
    /// activations are kept.
    #[must_use]
    pub fn observation(mut self) -> Self {
        self.settings.purpose = Purpose::Observation;
        self
    }

    /// Uses the kernels in plain Rust. By default those for the best instructions of the CPU run,
    /// unless the environment has `COLLEGIAL_PORTABLE=1`.
    #[must_use]
    pub fn portable(mut self, portable: bool) -> Self {
        self.settings.portable = portable;
        self
    }

    /// Algorithm of 3x3 convolutions. By default the fastest, which from groups of 32 channels on is
    /// Winograd's; [`Method::Direct`] does every multiplication of the definition.
    #[must_use]
    pub fn convolutions(mut self, method: Method) -> Self {
        self.settings.convolutions = method;
        self
    }

    /// Runs on the calling thread alone. By default passes are parallel on rayon's current pool; many
    /// networks side by side are faster with one thread each.
    #[must_use]
    pub fn one_thread(mut self) -> Self {
        self.settings.threading = Threading::SingleThread;
        self
    }

    /// Draws the initial parameters, see [`Network::initialise`]. By default weights are 0 and norms the
    /// identity.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.start = Start::Seed(seed);
        self
    }

    /// Takes the parameters and running statistics from a table, see [`Network::set_tensors`].
    #[must_use]
    pub fn weights(mut self, table: &'a TensorTable) -> Self {
        self.start = Start::Table(table);
        self
    }

    /// Bytes of all arrays of the network, of which none is taken for this.
    ///
    /// # Errors
    ///
    /// As those of [`build`](Self::build), but for the memory that is free.
    pub fn planned_bytes(self) -> Result<u64, Error> {
        Network::planned_bytes(self.graph, self.settings)
    }

    /// Plans the network.
    ///
    /// # Errors
    ///
    /// If the batch is empty, a norm would see one value per channel, a layer is beyond the
    /// kernels' limits, or the table of weights is not this network's.
    pub fn build(self) -> Result<Network, Error> {
        let mut network = Network::plan(self.graph, self.settings)?;
        match self.start {
            Start::Zeros => network.reset(),
            Start::Seed(seed) => network.initialise(seed),
            Start::Table(table) => network.set_tensors(table)?,
        }
        Ok(network)
    }
}
