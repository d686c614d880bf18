//! The training loop.

mod checkpoints;
mod loss_growth;
mod testing;

use std::path::PathBuf;
use std::time::Instant;

use collegial_core::{Monitor, Silent};

use crate::backend::{Backend, BackendState, Backends, Layout, initial_state};
use crate::checkpoint::{Checkpoint, MODEL_FILE, TrainingHeader};
use crate::data::{Batch, Loader, Position};
use crate::error::io;
use crate::history::{Epoch, Progress};
use crate::{CheckpointPolicy, Error, EventFile, Job, RunDirectory};
use loss_growth::LossGrowth;

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
    /// A sentence about the resumed run, to be said when it goes on.
    note: Option<String>,
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
        trainer.note = other_instructions(&checkpoint.training_header, trainer.backend.as_ref());
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
        backends.check_job(&job)?;
        let (state, factors) = initial_state(&job, checkpoint)?;
        let mut backend = backends.start(&job, factors)?;
        backend.load(&state)?;
        let (layout, progress) = (state.layout(), Progress::default());
        Ok(Self { job, run, backend, layout, progress, saved: Instant::now(), note: None })
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
        self.saved = Instant::now();
        if let Some(note) = self.note.take() {
            monitor.say(&note);
        }
        // A failure after its checkpoint may have kept these points from being written.
        if let Some(last) = self.progress.history.last() {
            self.record(&mut events, self.steps_after(last), &last.scalars())?;
        }
        let mut growth = LossGrowth::from_step(self.progress.steps);
        while self.progress.epoch < self.job.recipe.epochs {
            if !self.train_epoch(loader, monitor, policy, &mut events, &mut growth)? {
                self.save()?;
                return Ok(Outcome::Stopped);
            }
            let Some(epoch) = self.test(monitor)? else {
                self.save()?;
                return Ok(Outcome::Stopped);
            };
            self.progress.finish_epoch(epoch.clone());
            let last = self.progress.epoch == self.job.recipe.epochs;
            if last || self.saved.elapsed() >= policy.epoch_interval {
                self.save()?;
                self.write_history()?;
            }
            self.record(&mut events, self.steps_after(&epoch), &epoch.scalars())?;
            monitor.finished_epoch(&epoch);
        }
        Ok(Outcome::Finished)
    }

    /// The steps that are left of the current epoch; gives whether all were done.
    fn train_epoch(
        &mut self,
        loader: &mut Loader,
        monitor: &dyn TrainingMonitor,
        policy: CheckpointPolicy,
        events: &mut EventFile,
        growth: &mut LossGrowth,
    ) -> Result<bool, Error> {
        while self.progress.step < self.job.steps_per_epoch() {
            if monitor.stopped() {
                return Ok(false);
            }
            let waited = loader.waited();
            let started = Instant::now();
            let Some(batch) = loader.next()? else { break };
            let rate = self.rate();
            let loss = self.step(batch, rate)?;
            let sums = &mut self.progress.sums;
            sums.seconds += started.elapsed().as_secs_f64();
            sums.waited += (loader.waited() - waited).as_secs_f64();
            self.record(events, self.progress.steps, &[("loss/step", loss)])?;
            if let Some(warning) = growth.warning(loss, rate) {
                monitor.say(&warning);
            }
            self.save_if_due(policy)?;
            monitor.progress(share(&self.job, &self.progress, 0), Some(&self.summary()));
        }
        Ok(true)
    }

    /// The steps of all epochs up to this one.
    fn steps_after(&self, epoch: &Epoch) -> u64 {
        u64::from(epoch.epoch) * self.job.steps_per_epoch() as u64
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

    /// The epoch so far, for people.
    fn summary(&self) -> String {
        let Progress { epoch, sums, .. } = &self.progress;
        let loss = sums.loss / sums.images.max(1) as f64;
        let speed = sums.images as f64 / sums.seconds.max(1e-9);
        format!("epoch {}, loss {loss:.4}, {speed:.0} images/s", epoch + 1)
    }

    /// Adds points to TensorBoard's file.
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

/// The share of the whole run that is done, with so many test images of the current epoch. A test
/// image has no backward pass and counts a third of a training image.
fn share(job: &Job, progress: &Progress, tested: usize) -> f64 {
    let steps = |steps: usize| 3.0 * (steps * job.recipe.batch) as f64;
    let epoch = steps(job.steps_per_epoch()) + job.data.dataset().test().len() as f64;
    let done = f64::from(progress.epoch) * epoch + steps(progress.step) + tested as f64;
    done / (f64::from(job.recipe.epochs) * epoch).max(1.0)
}

/// A sentence where a run goes on with other instructions than it was computed with.
fn other_instructions(saved: &TrainingHeader, backend: &dyn Backend) -> Option<String> {
    let (before, now) = (saved.instructions.as_deref()?, backend.instructions()?);
    (before != now).then(|| {
        format!(
            "note: this run was computed with {before} instructions and goes on with {now}: results agree to \
             rounding only; COLLEGIAL_INSTRUCTIONS={before} keeps the bits on a CPU that has them"
        )
    })
}
