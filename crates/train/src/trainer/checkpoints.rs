//! Checkpoints of a training, and the files beside them.

use std::time::Instant;

use super::Trainer;
use crate::checkpoint::{ModelHeader, TrainingHeader, training_bytes, weight_bytes};
use crate::history::Progress;
use crate::{CheckpointPolicy, Error};

impl Trainer {
    pub(super) fn save_if_due(&mut self, policy: CheckpointPolicy) -> Result<(), Error> {
        let by_steps = policy.steps.is_some_and(|steps| self.progress.steps.is_multiple_of(steps.max(1)));
        if by_steps || self.saved.elapsed() >= policy.time { self.save() } else { Ok(()) }
    }

    pub(super) fn save(&mut self) -> Result<(), Error> {
        let state = self.backend.state()?;
        self.layout.check(&state)?;
        let (number, &Progress { epoch, steps, .. }) = (self.run.next_number()?, &self.progress);
        let recipe = &self.job.recipe;
        let header = ModelHeader {
            spec: self.job.spec.clone(),
            parametrisation: recipe.parametrisation,
            loss: recipe.loss,
            epoch,
            steps,
            number,
        };
        let batches = steps * (recipe.batch / recipe.micro_batch()) as u64;
        let model = weight_bytes(state.network, &header, batches)?;
        let header = TrainingHeader {
            seed: self.job.seed,
            recipe: recipe.clone(),
            data: self.job.data.identity().clone(),
            progress: self.progress.clone(),
            number,
            engine: self.job.engine,
            backend_state: state.extra,
            instructions: self.backend.instructions().map(str::to_owned),
        };
        let training = training_bytes(state.optimiser, &header)?;
        self.run.save(&model, &training)?;
        self.saved = Instant::now();
        Ok(())
    }

    /// The files for people beside a checkpoint, which holds all that is in them.
    pub(super) fn write_documents(&self) -> Result<(), Error> {
        self.run.write("model.toml", &self.job.spec.to_toml())?;
        self.run.write("recipe.toml", &self.job.recipe.to_toml())?;
        self.write_history()
    }

    pub(super) fn write_history(&self) -> Result<(), Error> {
        if self.progress.history.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        for epoch in &self.progress.history {
            text += &serde_json::to_string(epoch).map_err(Error::Header)?;
            text.push('\n');
        }
        self.run.write("epochs.jsonl", &text)
    }
}
