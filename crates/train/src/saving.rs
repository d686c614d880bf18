//! When a run saves itself.

use std::time::Duration;

/// When checkpoints are saved besides at the end of the last epoch and when stopped. It changes no
/// result.
#[derive(Clone, Copy, Debug)]
pub struct Saving {
    /// After so many steps.
    pub steps: Option<u64>,
    /// After so much time.
    pub time: Duration,
    /// At the end of an epoch, unless the last one is younger than this.
    pub apart: Duration,
}

impl Default for Saving {
    fn default() -> Self {
        Self { steps: None, time: Duration::from_secs(600), apart: Duration::ZERO }
    }
}
