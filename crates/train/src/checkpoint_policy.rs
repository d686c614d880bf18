//! Checkpoint policy: when a run saves itself.

use std::time::Duration;

/// When checkpoints are saved besides at the end of the last epoch and when stopped. It changes no
/// result.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointPolicy {
    /// After so many steps. By default never.
    pub steps: Option<u64>,
    /// After so much time. By default ten minutes.
    pub time: Duration,
    /// At the end of an epoch, unless the last checkpoint is younger than this. By default after
    /// every epoch.
    pub epoch_interval: Duration,
}

impl Default for CheckpointPolicy {
    fn default() -> Self {
        Self { steps: None, time: Duration::from_secs(600), epoch_interval: Duration::ZERO }
    }
}
