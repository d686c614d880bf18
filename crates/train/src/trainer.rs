//! The training loop.

use std::path::PathBuf;
use std::time::Instant;

use collegial_core::{Monitor, Silent};

use crate::backend::{Backend, BackendState, Backends, Layout, initial_state};
use crate::checkpoint::{Checkpoint, MODEL_FILE, ModelHeader, TrainingHeader, training_bytes, weight_bytes};
use crate::data::{Batch, Loader, Position};
use crate::error::io;
use crate::evaluate::count_all;
use crate::history::{Epoch, Progress};
use crate::{CheckpointPolicy, Error, Evaluation, EventFile, Job, RunDirectory};

/// A point of the training loss goes to TensorBoard every so many steps.
const EVENT_EVERY: u64 = 50;

/// A monitor of a training run: it hears of steps by [`Monitor::progress`], and of epochs.
pub trait TrainingMonitor: Monitor {
    /// Hears that an epoch is done and saved.
    fn finished_epoch(&self, _epoch: &Epoch) {}
}

impl TrainingMonitor for Silent {}

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs are done.
    Finished,
    /// The monitor said so; a checkpoint was saved.
    Stopped,
}

/// The training loop: a backend with the network, and its place in the data.
pub struct Trainer {
    job: Job,
    run: RunDirectory,
    backend: Box<dyn Backend>,
    /// The tensors that every checkpoint must have.
    layout: Layout,
    progress: Progress,
    saved: Instant,
}

impl Trainer {
    /// Draws the weights and saves the first checkpoint, so that a full disk is noticed before any
    /// work is done.
    pub fn begin(job: Job, run: RunDirectory, backends: Backends) -> Result<Self, Error> {
        if run.latest().is_some() {
            return Err(Error::Occupied { path: run.path().to_owned() });
        }
        let mut trainer = Self::start(job, run, backends, None)?;
        trainer.save()?;
        trainer.write_documents()?;
        Ok(trainer)
    }

    /// Goes on from the newest checkpoint; only the number of epochs may have changed. Files beside
    /// it that a failure kept from being written are written now, and older checkpoints go.
    pub fn resume(job: Job, run: RunDirectory, backends: Backends) -> Result<Self, Error> {
        let Some(latest) = run.latest() else {
            return Err(Error::NoCheckpoint { path: run.path().to_owned() });
        };
        let checkpoint = Checkpoint::read(latest)?;
        job.check_resumes(&checkpoint)?;
        let mut trainer = Self::start(job, run, backends, Some(&checkpoint))?;
        trainer.progress = checkpoint.training_header.progress;
        trainer.run.remove_older()?;
        trainer.write_documents()?;
        Ok(trainer)
    }

    fn start(
        job: Job,
        run: RunDirectory,
        backends: Backends,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Self, Error> {
        backends.check(job.engine)?;
        let (state, factors) = initial_state(&job, checkpoint)?;
        let mut backend = backends.start(&job, factors)?;
        backend.load(&state)?;
        let (layout, progress) = (state.layout(), Progress::default());
        Ok(Self { job, run, backend, layout, progress, saved: Instant::now() })
    }

    /// Trains until all epochs are done or the monitor says stop.
    pub fn run(&mut self, monitor: &dyn TrainingMonitor, policy: CheckpointPolicy) -> Result<Outcome, Error> {
        let mut loader = self.loader()?;
        self.run_on(&mut loader, monitor, policy)
    }

    /// The batches that are still to be trained on.
    pub(crate) fn loader(&self) -> Result<Loader, Error> {
        let whole = self.progress.step >= self.job.steps_per_epoch();
        let start = Position {
            epoch: self.progress.epoch + u32::from(whole),
            batch: if whole { 0 } else { self.progress.step },
        };
        Ok(self.job.data.training_batches(&self.job.recipe, self.job.seed, start)?)
    }

    pub(crate) fn run_on(
        &mut self,
        loader: &mut Loader,
        monitor: &dyn TrainingMonitor,
        policy: CheckpointPolicy,
    ) -> Result<Outcome, Error> {
        let mut events = EventFile::create(self.run.path()).map_err(io("write", self.run.path()))?;
        let (steps, epochs) = (self.job.steps_per_epoch(), self.job.recipe.epochs);
        let first = self.progress.steps;
        let total = (u64::from(epochs) * steps as u64).saturating_sub(first);
        self.saved = Instant::now();
        // A failure after its checkpoint may have kept these points from being written.
        if let Some(last) = self.progress.history.last() {
            self.record_epoch(&mut events, last)?;
        }
        while self.progress.epoch < epochs {
            while self.progress.step < steps {
                if monitor.stopped() {
                    self.save()?;
                    return Ok(Outcome::Stopped);
                }
                let waited = loader.waited();
                let started = Instant::now();
                let Some(batch) = loader.next()? else { break };
                let rate = self.rate();
                let loss = self.step(batch, rate)?;
                let sums = &mut self.progress.sums;
                sums.seconds += started.elapsed().as_secs_f64();
                sums.waited += (loader.waited() - waited).as_secs_f64();
                if self.progress.steps.is_multiple_of(EVENT_EVERY) {
                    self.record(&mut events, self.progress.steps, &[("loss/step", loss)])?;
                }
                self.save_if_due(policy)?;
                let share = (self.progress.steps - first) as f64 / total.max(1) as f64;
                monitor.progress(share, Some(&self.summary()));
            }
            let Some(epoch) = self.test(&|| monitor.stopped())? else {
                self.save()?;
                return Ok(Outcome::Stopped);
            };
            self.progress.finish_epoch(epoch.clone());
            if self.progress.epoch == epochs || self.saved.elapsed() >= policy.epoch_interval {
                self.save()?;
                self.write_history()?;
            }
            self.record_epoch(&mut events, &epoch)?;
            monitor.finished_epoch(&epoch);
        }
        Ok(Outcome::Finished)
    }

    /// One step of the optimiser on a batch; gives the mean loss.
    pub fn step(&mut self, batch: &Batch, rate: f64) -> Result<f64, Error> {
        let images = batch.labels().len();
        let output = self.backend.step(batch.images(), batch.labels(), rate)?;
        let loss = output.loss / images.max(1) as f64;
        if !loss.is_finite() {
            return Err(self.diverged(loss, rate));
        }
        let Progress { step, steps, sums, .. } = &mut self.progress;
        (*step, *steps) = (*step + 1, *steps + 1);
        sums.images += images as u64;
        sums.loss += output.loss;
        sums.errors += output.errors;
        Ok(loss)
    }

    /// The learning rate of the next step.
    pub fn rate(&self) -> f64 {
        let (recipe, Progress { epoch, step, .. }) = (&self.job.recipe, &self.progress);
        recipe.schedule.rate(recipe.learning_rate, *epoch, *step, self.job.steps_per_epoch())
    }

    /// Tests, and sums up the epoch; `None` if stopped.
    fn test(&mut self, stopped: &dyn Fn() -> bool) -> Result<Option<Epoch>, Error> {
        let started = Instant::now();
        let Some(test) = self.evaluate(stopped)? else { return Ok(None) };
        let (recipe, steps, Progress { epoch, sums, .. }) =
            (&self.job.recipe, self.job.steps_per_epoch(), &self.progress);
        let learning_rate =
            recipe.schedule.rate(recipe.learning_rate, *epoch, steps.saturating_sub(1), steps);
        if !test.loss.is_finite() {
            return Err(self.diverged(test.loss, learning_rate));
        }
        let images = sums.images.max(1) as f64;
        Ok(Some(Epoch {
            epoch: epoch + 1,
            loss: sums.loss / images,
            train_error: sums.errors as f64 / images,
            test_error: test.error(),
            seconds: sums.seconds + started.elapsed().as_secs_f64(),
            test_loss: test.loss,
            top5_error: test.top5_error(),
            learning_rate,
            images_per_second: sums.images as f64 / sums.seconds.max(1e-9),
            waited: sums.waited,
        }))
    }

    /// The errors on the test images; `None` if stopped.
    fn evaluate(&mut self, stopped: &dyn Fn() -> bool) -> Result<Option<Evaluation>, Error> {
        let mut loader: Loader = self.job.data.test_batches(self.job.recipe.micro_batch())?;
        let width = self.job.spec.graph()?.output_shape().elements() as usize;
        let mut forward = |images: &[f32], logits: &mut Vec<f32>| {
            logits.extend(self.backend.outputs(images)?);
            Ok(())
        };
        count_all(width, self.job.recipe.loss, &mut loader, None, stopped, &mut forward)
    }

    /// The epoch so far, for people.
    fn summary(&self) -> String {
        let Progress { epoch, sums, .. } = &self.progress;
        let loss = sums.loss / sums.images.max(1) as f64;
        let speed = sums.images as f64 / sums.seconds.max(1e-9);
        format!("epoch {}, loss {loss:.4}, {speed:.0} images/s", epoch + 1)
    }

    fn save_if_due(&mut self, policy: CheckpointPolicy) -> Result<(), Error> {
        let by_steps = policy.steps.is_some_and(|steps| self.progress.steps.is_multiple_of(steps.max(1)));
        if by_steps || self.saved.elapsed() >= policy.time { self.save() } else { Ok(()) }
    }

    fn save(&mut self) -> Result<(), Error> {
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
        };
        let training = training_bytes(state.optimiser, &header)?;
        self.run.save(&model, &training)?;
        self.saved = Instant::now();
        Ok(())
    }

    /// The files for people beside a checkpoint, which holds all that is in them.
    fn write_documents(&self) -> Result<(), Error> {
        self.run.write("model.toml", &self.job.spec.to_toml())?;
        self.run.write("recipe.toml", &self.job.recipe.to_toml())?;
        self.write_history()
    }

    fn write_history(&self) -> Result<(), Error> {
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

    fn record_epoch(&self, events: &mut EventFile, epoch: &Epoch) -> Result<(), Error> {
        let steps = u64::from(epoch.epoch) * self.job.steps_per_epoch() as u64;
        self.record(
            events,
            steps,
            &[
                ("loss/train", epoch.loss),
                ("loss/test", epoch.test_loss),
                ("error/train", epoch.train_error),
                ("error/test", epoch.test_error),
                ("error/test_top5", epoch.top5_error),
                ("learning_rate", epoch.learning_rate),
                ("images_per_second", epoch.images_per_second),
            ],
        )
    }

    fn record(&self, events: &mut EventFile, steps: u64, scalars: &[(&str, f64)]) -> Result<(), Error> {
        self.run.check_lock()?;
        events.scalars(steps, scalars).map_err(io("write", events.path()))
    }

    fn diverged(&self, loss: f64, rate: f64) -> Error {
        let Progress { epoch, step, .. } = self.progress;
        Error::Diverged { loss, epoch: epoch + 1, step: step + 1, rate, checkpoint: self.checkpoint() }
    }

    /// Where the run stands.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The backend's state: weights, running statistics and optimiser.
    pub fn state(&mut self) -> Result<BackendState, Error> {
        self.backend.state()
    }

    /// The file of the newest checkpoint's network.
    pub fn checkpoint(&self) -> PathBuf {
        self.run.latest().unwrap_or(self.run.path()).join(MODEL_FILE)
    }
}
