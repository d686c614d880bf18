//! A network that is trained step by step on one batch of normal numbers.

use collegial_arch::Spec;
use collegial_nn::{Mode, Network, Optimiser, UpdateRule, cross_entropy};

use crate::reference::normals;

/// The network, and all that a step needs.
pub struct Stepper {
    pub network: Network,
    optimiser: Optimiser,
    input: Vec<f32>,
    labels: Vec<usize>,
    gradient: Vec<f32>,
}

impl Stepper {
    /// With weights of this seed and inputs of this stream.
    pub fn new(spec: &Spec, batch: usize, rule: UpdateRule, (seed, stream): (u64, u32)) -> Self {
        let graph = spec.graph().expect("the spec is valid");
        let mut network = Network::builder(&graph).batch(batch).build().expect("the graph is valid");
        network.initialise(seed);
        let classes = graph.output_shape().channels;
        Self {
            optimiser: Optimiser::new(rule, network.values().len()),
            input: normals(batch * graph.input_shape().elements() as usize, stream),
            labels: (0..batch).map(|n| n % classes).collect(),
            gradient: vec![0.0; batch * classes],
            network,
        }
    }

    /// Forward, backward and an update.
    pub fn step(&mut self, rate: f32) {
        let outputs = self.network.forward(&self.input, Mode::Train).expect("whole images");
        cross_entropy(outputs, &self.labels, &mut self.gradient).expect("one row per label");
        self.network.backward(&self.gradient).expect("a forward pass came before");
        self.network.update(&mut self.optimiser, rate).expect("an optimiser of this network");
    }
}
