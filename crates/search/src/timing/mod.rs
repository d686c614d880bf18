//! Time as a cost: of whole networks, measured here or elsewhere.
//!
//! Times do not add up over members as counts do, so that only designs that were timed are
//! compared. Timings are ratios to the baseline's time, each with an interval where it was measured
//! here.

mod measure;
mod runtime;

use collegial_arch::Design;
use serde::Serialize;

use crate::Error;
pub use measure::measure;
pub use runtime::{Loader, Measurement, Native, Pass, Runtime, TimedNetwork};

/// Images per timed pass by default.
pub const BATCH: usize = 2;

/// The time of a pass with one design.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// m x n.
    pub design: Design,
    /// Seconds; of a pass per image where it was measured here.
    pub seconds: f64,
    /// The same over the baseline's.
    pub ratio: f64,
    /// Its 95 % interval, where it was measured here.
    pub ratio_ci: Option<[f64; 2]>,
    /// Steps of each of the two that it comes from, where it was measured here.
    pub steps: Option<usize>,
}

impl Timing {
    /// Whether the ratio is known to 3 % or was given.
    pub fn precise(&self) -> bool {
        self.ratio_ci.is_none_or(|[low, high]| (high - low) / 2.0 <= PRECISION * self.ratio)
    }
}

/// A ratio is measured until its 95 % interval is within this share of it on either side.
pub const PRECISION: f64 = 0.03;

/// The times of some designs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timings {
    /// Seconds of the baseline.
    pub baseline: f64,
    /// Each design once.
    pub designs: Vec<Timing>,
    /// How they were measured; `None` where they were given.
    pub measurement: Option<Measurement>,
}

impl Timings {
    /// Times that were measured elsewhere, in any unit.
    ///
    /// # Errors
    ///
    /// If there are none, or one is not a positive finite number.
    pub fn given(baseline: f64, designs: &[(Design, f64)]) -> Result<Self, Error> {
        let wrong = |time: f64| !(time.is_finite() && time > 0.0);
        if let Some(value) =
            [baseline].into_iter().chain(designs.iter().map(|timed| timed.1)).find(|&t| wrong(t))
        {
            return Err(Error::Invalid(format!("a time is {value}; times must be positive finite numbers")));
        }
        if designs.is_empty() {
            return Err(Error::NoTimings);
        }
        let timing = |&(design, seconds): &(Design, f64)| Timing {
            design,
            seconds,
            ratio: seconds / baseline,
            ratio_ci: None,
            steps: None,
        };
        Ok(Self { baseline, designs: designs.iter().map(timing).collect(), measurement: None })
    }

    /// Whether any time is known to 3 % or was given.
    pub fn any_precise(&self) -> bool {
        self.designs.iter().any(Timing::precise)
    }

    /// The designs that may be chosen: those whose time is known, so that noise decides nothing; all
    /// of them where none is.
    pub(crate) fn eligible(&self) -> impl Iterator<Item = &Timing> {
        let any = self.any_precise();
        self.designs.iter().filter(move |timing| !any || timing.precise())
    }

    /// Their widths, ascending.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.eligible().map(|timing| timing.design.width).collect();
        widths.sort_unstable();
        widths.dedup();
        widths
    }
}

/// Seconds in whole nanoseconds, as costs are whole numbers.
pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    (1e9 * seconds).round().max(1.0) as u64
}
