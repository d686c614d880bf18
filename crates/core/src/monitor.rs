//! Progress and cancellation of long computations.

/// Hears how far a long computation is, and says when it must stop.
///
/// Every loop of the workspace that can take longer than a moment (sampling, timing, training,
/// reproducing) takes one. [`Silent`] is the one that shows nothing and never stops.
pub trait Monitor: Sync {
    /// Hears that a share of the current work is done (0 to 1), and in what state, where that is
    /// worth words. A share below the last one is the beginning of another piece of work.
    fn progress(&self, share: f64, state: Option<&str>);
    /// Hears something that is worth a line of its own.
    fn say(&self, _sentence: &str) {}
    /// Says whether to stop and keep what there is.
    fn stopped(&self) -> bool;
}

/// The monitor that shows nothing and never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Monitor for Silent {
    fn progress(&self, _share: f64, _state: Option<&str>) {}
    fn stopped(&self) -> bool {
        false
    }
}

/// A monitor that says what is being done to another one, for computations that report shares only.
pub struct Named<'a> {
    monitor: &'a dyn Monitor,
    state: &'a str,
}

impl<'a> Named<'a> {
    /// Passes all on to `monitor`, with `state` where the computation gives none.
    pub fn new(monitor: &'a dyn Monitor, state: &'a str) -> Self {
        Self { monitor, state }
    }
}

impl Monitor for Named<'_> {
    fn progress(&self, share: f64, state: Option<&str>) {
        self.monitor.progress(share, state.or(Some(self.state)));
    }
    fn say(&self, sentence: &str) {
        self.monitor.say(sentence);
    }
    fn stopped(&self) -> bool {
        self.monitor.stopped()
    }
}
