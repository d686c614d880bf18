//! Profile of a network: time per kind of layer and pass.

use crate::options::Purpose;
use crate::program::Kind;
use std::time::{Duration, Instant};

/// A pass of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// From inputs to outputs.
    Forward,
    /// The gradient of the inputs.
    DataGradient,
    /// The gradient of the weights.
    WeightGradient,
}

const KINDS: [Kind; 6] =
    [Kind::Pointwise, Kind::Grouped, Kind::Convolution, Kind::Dense, Kind::Fused, Kind::Other];
const PASSES: [Pass; 3] = [Pass::Forward, Pass::DataGradient, Pass::WeightGradient];

/// Time spent so far, by kind of step and pass. The clock is read a few times per layer, not per
/// element; where networks are so small that this shows, those for observation, it is off.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    off: bool,
    spent: [[Duration; 3]; 6],
}

impl Profile {
    /// All that took time.
    pub fn entries(&self) -> impl Iterator<Item = (Kind, Pass, Duration)> + '_ {
        KINDS
            .into_iter()
            .flat_map(|kind| PASSES.map(move |pass| (kind, pass)))
            .map(|(kind, pass)| (kind, pass, self.spent[kind as usize][pass as usize]))
            .filter(|(.., spent)| !spent.is_zero())
    }

    /// An empty profile; networks for observation read no clock.
    pub(crate) fn for_purpose(purpose: Purpose) -> Self {
        Self { off: purpose == Purpose::Observation, ..Self::default() }
    }

    /// The time, if it is taken.
    pub(crate) fn start(&self) -> Option<Instant> {
        (!self.off).then(Instant::now)
    }

    /// Adds the time since `started`; returns now.
    pub(crate) fn stop(&mut self, started: Option<Instant>, kind: Kind, pass: Pass) -> Option<Instant> {
        let (started, now) = started.zip(self.start())?;
        self.spent[kind as usize][pass as usize] += now - started;
        Some(now)
    }
}
