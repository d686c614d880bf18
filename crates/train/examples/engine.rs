//! Runs the engine on given weights and batches and writes down all it computes, for
//! `interop/test_engine.py`.
//!
//! ```text
//! cargo run --release -p collegial-train --example engine -- WEIGHTS BATCHES RECIPE OUT
//! ```
//!
//! WEIGHTS is a safetensors file whose header names the network, BATCHES one with `0.images`,
//! `0.labels`, `1.images`, ... RECIPE gives loss, parametrisation, optimiser and learning rate. OUT
//! gets, first for inference (`evaluate.`) and then for the steps of training (`train.`, of the
//! first one): `logits`, `loss` and `gradient.NAME`, in training `statistics.NAME` too; then
//! `losses` and, after the last step, `final.NAME`.

use std::error::Error;
use std::path::Path;

use collegial_nn::{Mode, Network, Optimiser};
use collegial_train::Recipe;
use collegial_train::checkpoint::{CheckpointFile, ModelHeader};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

/// Images and labels.
type Batch = (Vec<f32>, Vec<usize>);

/// Named tensors to be written.
#[derive(Default)]
struct Results(Vec<(String, Vec<usize>, Vec<u8>)>);

impl Results {
    fn add(&mut self, name: String, shape: Vec<usize>, values: &[f32]) {
        self.0.push((name, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect()));
    }

    /// The results of one forward and backward pass.
    fn add_pass(&mut self, prefix: &str, network: &Network, (logits, loss): (&[f32], f64)) {
        let classes = logits.len() / network.batch();
        self.add(format!("{prefix}.logits"), vec![network.batch(), classes], logits);
        self.add(format!("{prefix}.loss"), vec![], &[loss as f32]);
        for entry in network.parameters() {
            let values = &network.gradients()[entry.range.clone()];
            self.add(format!("{prefix}.gradient.{}", entry.name), entry.shape.clone(), values);
        }
    }

    fn add_statistics(&mut self, prefix: &str, network: &Network) {
        for (name, values) in network.statistics() {
            self.add(format!("{prefix}.{name}"), vec![values.len()], values);
        }
    }

    fn write(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let mut views = vec![];
        for (name, shape, bytes) in &self.0 {
            views.push((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?));
        }
        Ok(std::fs::write(path, safetensors::serialize(views, None)?)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [weights, batches, recipe, out] = words.as_slice() else {
        return Err("usage: engine WEIGHTS BATCHES RECIPE OUT".into());
    };
    let file = CheckpointFile::read(weights.as_ref())?;
    let header: ModelHeader = file.own_header()?;
    let recipe = Recipe::build(&std::fs::read_to_string(recipe)?, &[])?;
    let batches = read_batches(batches.as_ref())?;
    let graph = header.spec.graph()?;
    let parametrisation = recipe.parametrisation;
    let mut network =
        Network::builder(&graph).batch(batches[0].1.len()).parametrisation(parametrisation).build()?;
    file.fill_network(&mut network, &header.spec.name())?;
    let mut optimiser = Optimiser::new(recipe.optimiser, network.values().len());
    let mut results = Results::default();
    let pass = |network: &mut Network, (images, labels): &Batch, mode| {
        // The backward pass may take the memory of the outputs.
        let logits = network.forward(images, mode)?.to_vec();
        let mut gradient = vec![0.0; logits.len()];
        let loss = recipe.loss.compute(&logits, labels, &mut gradient)?;
        network.backward(&gradient)?;
        Ok::<_, collegial_nn::Error>((logits, loss))
    };
    let (logits, loss) = pass(&mut network, &batches[0], Mode::Evaluate)?;
    results.add_pass("evaluate", &network, (&logits, loss));
    let mut folded = network.folded_inference(network.batch())?;
    let folded = folded.forward(&batches[0].0, Mode::Evaluate)?.to_vec();
    results.add("folded.logits".into(), vec![folded.len()], &folded);
    let mut losses = vec![];
    for (step, batch) in batches.iter().enumerate() {
        let (logits, loss) = pass(&mut network, batch, Mode::Train)?;
        losses.push(loss as f32);
        if step == 0 {
            results.add_pass("train", &network, (&logits, loss));
            results.add_statistics("train.statistics", &network);
        }
        network.update(&mut optimiser, recipe.learning_rate as f32)?;
    }
    results.add("losses".into(), vec![losses.len()], &losses);
    for entry in network.parameters() {
        let values = &network.values()[entry.range.clone()];
        results.add(format!("final.{}", entry.name), entry.shape.clone(), values);
    }
    results.add_statistics("final", &network);
    results.write(out.as_ref())
}

/// Images and labels of every step.
fn read_batches(path: &Path) -> Result<Vec<Batch>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let tensors = SafeTensors::deserialize(&bytes)?;
    let mut batches = vec![];
    while let Ok(images) = tensors.tensor(&format!("{}.images", batches.len())) {
        let labels = tensors.tensor(&format!("{}.labels", batches.len()))?;
        let images = images.data().as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect();
        let labels = labels.data().as_chunks::<8>().0.iter().map(|word| i64::from_le_bytes(*word) as usize);
        batches.push((images, labels.collect()));
    }
    Ok(batches)
}
