//! Trains for a few steps and writes down its inputs and results, for
//! `interop/test_losses.py`.
//!
//! ```text
//! cargo run --release -p collegial-train --example steps -- MODEL DATA OUT STEPS [KEY=VALUE...]
//! ```
//!
//! OUT gets the run (whose first checkpoint is copied to `initial.safetensors`),
//! `batches.safetensors` with the exact images and labels of every step, and `losses.json`.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use collegial_arch::{Overrides, Spec};
use collegial_train::Builtin;
use collegial_train::data::{Dataset, Position};
use collegial_train::{Backends, Data, Engine, Job, RunDirectory, Trainer, spec_for};
use safetensors::tensor::{Dtype, TensorView};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, data, out, steps, changes @ ..] = words.as_slice() else {
        return Err("usage: steps MODEL DATA OUT STEPS [KEY=VALUE...]".into());
    };
    let (out, steps): (&Path, usize) = (out.as_ref(), steps.parse()?);
    let dataset = Dataset::open(data)?;
    let spec = spec_for(&Spec::load(model)?, &Overrides::default(), &dataset)?;
    let recipe = Builtin::of(&dataset).with(changes)?;
    let job = Job { spec, data: Data::new(dataset, &recipe)?, recipe, seed: 0, engine: Engine::Native };
    let shape = job.data.dataset().shape();

    let mut loader = job.data.training_batches(&job.recipe, job.seed, Position::default())?;
    let mut trainer = Trainer::begin(job, RunDirectory::open(&out.join("run"))?, Backends::NATIVE)?;
    std::fs::copy(trainer.checkpoint(), out.join("initial.safetensors"))?;
    let (mut batches, mut losses, mut rates) = (vec![], vec![], vec![]);
    for step in 0..steps {
        let Some(batch) = loader.next()? else { break };
        let images: Vec<u8> = batch.images().iter().flat_map(|value| value.to_le_bytes()).collect();
        let labels: Vec<u8> =
            batch.labels().iter().flat_map(|&label| i64::from(label).to_le_bytes()).collect();
        let count = batch.labels().len();
        let dims = vec![count, shape.channels, shape.height, shape.width];
        batches.push((format!("{step:04}.images"), Dtype::F32, dims, images));
        batches.push((format!("{step:04}.labels"), Dtype::I64, vec![count], labels));
        let rate = trainer.rate();
        losses.push(trainer.step(batch, rate)?);
        rates.push(rate);
    }
    let mut views = vec![];
    for (name, dtype, dims, bytes) in &batches {
        views.push((name, TensorView::new(*dtype, dims.clone(), bytes)?));
    }
    std::fs::write(out.join("batches.safetensors"), safetensors::serialize(views, None)?)?;
    let document = HashMap::from([("losses", losses), ("rates", rates)]);
    std::fs::write(out.join("losses.json"), serde_json::to_string(&document)?)?;
    Ok(())
}
