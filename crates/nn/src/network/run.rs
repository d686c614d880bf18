//! Forward and backward passes of a network, also under an observer.

use super::{Last, Network};
use crate::Error;
use crate::builder::Settings;
use crate::observed::Observer;
use crate::options::{Mode, NormPolicy, Purpose, Threading};
use crate::state::{BorrowedWeights, PassContext};
use crate::workers::{in_team, on_this_thread};

/// Images that are evaluated at a time unless the builder says otherwise.
const EVALUATION_BATCH: usize = 64;

impl Network {
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
        self.forward_until(images, mode, &|| false)
    }

    /// As [`forward`](Self::forward), until `stopped` says so, which is asked before every step of
    /// the network.
    ///
    /// # Errors
    ///
    /// As [`forward`](Self::forward), and [`Error::Interrupted`] where it was stopped.
    pub fn forward_until(
        &mut self,
        images: &[f32],
        mode: Mode,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<&[f32], Error> {
        let count = self.count(images)?;
        self.last = None;
        if mode == Mode::Train && !self.settings.purpose.has_backward() {
            return Err(Error::WrongPurpose);
        }
        let mode = if self.settings.norm == NormPolicy::Batch { mode } else { Mode::Evaluate };
        let batch = match mode {
            Mode::Train => count,
            Mode::Evaluate => self.settings.batch.unwrap_or(count.min(EVALUATION_BATCH)),
        };
        if batch != self.batch {
            self.replan(batch, mode)?;
        }
        if count <= batch {
            self.write(images);
            self.run(mode, None, stopped)?;
            self.last = Some(Last { mode, images: count });
            return Ok(&self.outputs_of_batch()[..count * self.output_len()]);
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        for piece in images.chunks(batch * self.input_len()) {
            self.write(piece);
            self.run(mode, None, stopped)?;
            let len = piece.len() / self.input_len() * self.output_len();
            pieces.extend_from_slice(&self.outputs_of_batch()[..len]);
        }
        self.pieces = pieces;
        Ok(&self.pieces)
    }

    /// Sets the input to at most a batch of images, padded with zeros.
    fn write(&mut self, images: &[f32]) {
        let Self { program, schedule, state, .. } = self;
        state.write(schedule, schedule.values[program.input], images);
    }

    /// Runs the program forward.
    fn run(
        &mut self,
        mode: Mode,
        borrowed: BorrowedWeights<'_>,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let Self { program, schedule, state, settings, .. } = self;
        let context = PassContext { program, schedule, mode, borrowed };
        Execution::unobserved(settings).run(|| {
            state.scale_weights(&program.steps);
            state.prepare(&program.steps);
            program.steps.iter().try_for_each(|step| {
                check_stopped(stopped())?;
                state.forward(context, step);
                Ok(())
            })
        })
    }

    /// Number of images.
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
    /// pass, unless the network is one for [observation](crate::NetworkBuilder::observation)), or
    /// the gradient has not the outputs' size.
    pub fn backward(&mut self, gradient: &[f32]) -> Result<(), Error> {
        let last = match self.settings.purpose {
            Purpose::Training => self.last.take(),
            Purpose::Observation => self.last,
            Purpose::Inference | Purpose::FoldedInference => return Err(Error::WrongPurpose),
        };
        let last = last.ok_or(Error::NoForwardPass)?;
        self.run_backward(gradient, last, None, None)
    }

    /// Takes the images that the following [observations](Self::observe) are of, each treated
    /// alone.
    ///
    /// # Errors
    ///
    /// If the values do not make up whole images, there are none, or the network is not one for
    /// [observation](crate::NetworkBuilder::observation).
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
    /// If no images were loaded, a gradient has not the outputs' size, a layer's weights are more
    /// or fewer, or the observer stopped it.
    pub fn observe(
        &mut self,
        weights: Option<&[&[f32]]>,
        gradients: &[Vec<f32>],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let loaded = self.last.filter(|_| self.settings.purpose == Purpose::Observation);
        let last = loaded.ok_or(Error::NoForwardPass)?;
        self.check_borrowed(weights)?;
        self.run(last.mode, weights, &|| observer.stopped())?;
        gradients.iter().try_for_each(|gradient| {
            observer.begin();
            self.run_backward(gradient, last, Some(&mut *observer), weights)
        })
    }

    fn check_borrowed(&self, weights: BorrowedWeights<'_>) -> Result<(), Error> {
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

    fn run_backward(
        &mut self,
        gradient: &[f32],
        Last { mode, images }: Last,
        mut observer: Option<&mut dyn Observer>,
        borrowed: BorrowedWeights<'_>,
    ) -> Result<(), Error> {
        let expected = images * self.output_len();
        if gradient.len() != expected {
            return Err(Error::Gradient { found: gradient.len(), expected });
        }
        let Self { program, schedule, state, settings, .. } = self;
        state.write(schedule, schedule.output_gradient, gradient);
        let context = PassContext { program, schedule, mode, borrowed };
        let execution = match observer {
            Some(_) => Execution::observed(settings),
            None => Execution::unobserved(settings),
        };
        execution.run(|| {
            schedule.backward.iter().try_for_each(|step| {
                check_stopped(observer.as_ref().is_some_and(|observer| observer.stopped()))?;
                state.backward(context, step, &mut observer);
                Ok(())
            })
        })
    }
}

/// How a pass uses threads.
enum Execution {
    /// On the calling thread alone.
    SingleThread,
    /// With a team of rayon's current pool until its last step.
    Team,
    /// With a team per section: between sections an observer uses the pool.
    Pool,
}

impl Execution {
    fn unobserved(settings: &Settings) -> Self {
        match settings.threading {
            Threading::SingleThread => Self::SingleThread,
            Threading::Pool => Self::Team,
        }
    }

    fn observed(settings: &Settings) -> Self {
        match settings.threading {
            Threading::SingleThread => Self::SingleThread,
            Threading::Pool => Self::Pool,
        }
    }

    fn run<R: Send>(self, run: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::SingleThread => on_this_thread(run),
            Self::Team => in_team(run),
            Self::Pool => rayon::scope(|_| run()),
        }
    }
}

/// Turns a request to stop into an error.
fn check_stopped(stopped: bool) -> Result<(), Error> {
    if stopped { Err(Error::Interrupted) } else { Ok(()) }
}
