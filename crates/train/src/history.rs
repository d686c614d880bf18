//! Progress of a run, and the results of its epochs.

use serde::{Deserialize, Serialize};

/// One epoch's results; scripts rely on these names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Counted from 1.
    pub epoch: u32,
    /// Mean training loss, while the weights changed.
    pub loss: f64,
    /// Share of training images that were wrong when they were trained on.
    pub train_error: f64,
    /// Share of test images that are wrong.
    pub test_error: f64,
    /// Time of training and testing.
    pub seconds: f64,
    /// Mean loss on test images.
    pub test_loss: f64,
    /// Share of test images whose class is not among the first five guesses.
    pub top5_error: f64,
    /// The rate of the epoch's last step.
    pub learning_rate: f64,
    /// Training images per second, without testing.
    pub images_per_second: f64,
    /// Seconds that training waited for data.
    pub waited: f64,
}

impl Epoch {
    /// Its points for TensorBoard.
    pub(crate) fn scalars(&self) -> [(&'static str, f64); 7] {
        [
            ("loss/train", self.loss),
            ("loss/test", self.test_loss),
            ("error/train", self.train_error),
            ("error/test", self.test_error),
            ("error/test_top5", self.top5_error),
            ("learning_rate", self.learning_rate),
            ("images_per_second", self.images_per_second),
        ]
    }
}

/// Sums over the steps of an epoch so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Images trained on.
    pub images: u64,
    /// Of the losses of all images.
    pub loss: f64,
    /// Wrong ones.
    pub errors: u64,
    /// Time spent.
    pub seconds: f64,
    /// Time waited for data.
    pub waited: f64,
}

/// Where a run stands between two steps. All chance is keyed by (seed, epoch, image), so this is
/// all that a resumed run needs besides weights and optimiser.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Epochs finished, tests included.
    pub epoch: u32,
    /// Steps of the current epoch.
    pub step: usize,
    /// Steps in all.
    pub steps: u64,
    /// Sums over the current epoch.
    pub sums: Sums,
    /// Finished epochs.
    pub history: Vec<Epoch>,
}

impl Progress {
    /// The run's [test error](run_error) so far.
    pub fn run_error(&self) -> Option<f64> {
        run_error(&self.history.iter().map(|epoch| epoch.test_error).collect::<Vec<_>>())
    }

    /// The mean test error over the last ten epochs.
    pub fn last_ten(&self) -> Option<f64> {
        let last = &self.history[self.history.len().saturating_sub(10)..];
        let sum: f64 = last.iter().map(|epoch| epoch.test_error).sum();
        (!last.is_empty()).then(|| sum / last.len() as f64)
    }

    /// Closes the current epoch.
    pub(crate) fn finish_epoch(&mut self, epoch: Epoch) {
        self.history.push(epoch);
        self.epoch += 1;
        self.step = 0;
        self.sums = Sums::default();
    }
}

/// The test error of a run, given those of its epochs: the mean over the last tenth of the epochs,
/// at least one and at most ten.
///
/// The paper averages the last ten of 300 epochs; of a short run the last ten would be most of it.
/// `None` without an epoch.
pub fn run_error(test_errors: &[f64]) -> Option<f64> {
    let count = (test_errors.len() / 10).clamp(1, 10);
    let last = test_errors.len().checked_sub(count).map(|start| &test_errors[start..])?;
    Some(last.iter().sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tenth_of_the_epochs_counts() {
        let of = |epochs: u32| {
            let errors: Vec<f64> = (1..=epochs).map(|epoch| 1.0 / f64::from(epoch)).collect();
            run_error(&errors)
        };
        assert_eq!((of(0), of(1), of(5)), (None, Some(1.0), Some(0.2)));
        assert_eq!(of(20), Some(0.5 * (1.0 / 19.0 + 0.05)));
        let ten = (291..=300).map(|epoch| 0.1 / f64::from(epoch)).sum::<f64>();
        assert!((of(300).unwrap() - ten).abs() < 1e-15, "ten of 300, as in the paper");
        assert!(
            (of(1000).unwrap() - (991..=1000).map(|epoch| 0.1 / f64::from(epoch)).sum::<f64>()).abs() < 1e-15
        );
    }
}
