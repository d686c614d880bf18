//! The test pass at the end of an epoch.

use std::time::Instant;

use collegial_core::Monitor;

use super::{Trainer, share};
use crate::evaluate::count_all;
use crate::history::{Epoch, Progress};
use crate::{Error, Evaluation};

impl Trainer {
    /// Tests, and sums up the epoch; `None` if stopped.
    pub(super) fn test(&mut self, monitor: &dyn Monitor) -> Result<Option<Epoch>, Error> {
        let started = Instant::now();
        let Some(test) = self.evaluate(monitor)? else { return Ok(None) };
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
    fn evaluate(&mut self, monitor: &dyn Monitor) -> Result<Option<Evaluation>, Error> {
        let mut loader = self.job.data.test_batches(self.job.recipe.micro_batch())?;
        let graph = self.job.spec.graph()?;
        let width = graph.output_shape().elements() as usize;
        let size = graph.input_shape().elements() as usize;
        let state = format!("epoch {}, testing", self.progress.epoch + 1);
        let mut tested = 0;
        let mut forward = |images: &[f32], logits: &mut Vec<f32>| {
            logits.extend(self.backend.outputs(images)?);
            tested += images.len() / size.max(1);
            monitor.progress(share(&self.job, &self.progress, tested), Some(&state));
            Ok(())
        };
        count_all(width, self.job.recipe.loss, &mut loader, None, &|| monitor.stopped(), &mut forward)
    }
}
