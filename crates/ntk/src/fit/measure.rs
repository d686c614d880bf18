//! Sampling a module's kernel at several widths: resumable, sharded, interruptible, the same to the bit.

use std::ops::Range;

use collegial_arch::{Module, Spec};
use collegial_stats::Tally;
use serde::{Deserialize, Serialize};

use super::Point;
use crate::law::{BLOCK, LawSampler, Output};
use crate::{Error, Fit};

/// Trials of a width that are done before the next width has its turn, so that an interrupted run has points everywhere.
const ROUND: u64 = 10 * BLOCK;

/// Trials beyond which `precision` gives up narrowing.
const MOST_TRIALS: u64 = 50_000_000;

/// Which share of the trials a process takes: shard `index` of `count`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// The whole.
    pub const ALL: Self = Self { index: 1, count: 1 };

    /// Shard `index` of `count`.
    pub fn new(index: u64, count: u64) -> Result<Self, Error> {
        if (1..=count).contains(&index) {
            Ok(Self { index, count })
        } else {
            Err(Error::Fit(format!(
                "shard {index}/{count} does not exist; shards are 1/{count} to {count}/{count}"
            )))
        }
    }

    /// Its trials, cut at block boundaries so that shards join exactly.
    fn trials(self, trials: u64) -> Range<u64> {
        let blocks = trials.div_ceil(BLOCK);
        // 128 bits, because a block count times a shard count may pass 64.
        let cut =
            |index: u64| (u128::from(blocks) * u128::from(index) / u128::from(self.count)) as u64 * BLOCK;
        cut(self.index - 1)..cut(self.index).min(trials)
    }
}

/// How to sample.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Seed of the input and of all weights.
    pub seed: u64,
    /// Draws per width (T).
    pub trials: u64,
    /// Keep drawing, T more at a time, until α's interval is narrower than this share of α on either side.
    pub precision: Option<f64>,
    /// This process's share.
    pub shard: Shard,
    /// Whose kernel.
    pub output: Output,
}

impl Sampling {
    /// The paper's T = 2000 draws of one output unit's kernel.
    pub fn paper(seed: u64) -> Self {
        Self { seed, trials: 2000, precision: None, shard: Shard::ALL, output: Output::Unit }
    }
}

/// Whoever watches a long computation.
pub trait Monitor: Sync {
    /// So much of the work (in arbitrary units) is done, of so much in all.
    fn progress(&self, done: f64, total: f64);
    /// Whether to stop and keep what there is.
    fn stopped(&self) -> bool;
}

/// Nobody watches.
pub struct Silent;

impl Monitor for Silent {
    fn progress(&self, _done: f64, _total: f64) {}
    fn stopped(&self) -> bool {
        false
    }
}

/// The draws of one width.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    width: usize,
    tally: Tally,
}

/// Kernels drawn at several widths of a module; what shards write and `merge` joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    spec: Spec,
    seed: u64,
    pooled: bool,
    /// Draws per width asked for.
    pub trials: u64,
    samples: Vec<Sample>,
}

impl Measurements {
    /// Samples the module at every width.
    pub fn take(
        module: &Module,
        widths: &[usize],
        sampling: &Sampling,
        monitor: &dyn Monitor,
    ) -> Result<Self, Error> {
        let mut measurements = Self::empty(module, widths, sampling)?;
        let samplers = measurements.samplers(module)?;
        measurements.draw(&samplers, sampling.shard.trials(sampling.trials), monitor)?;
        if let Some(precision) = sampling.precision {
            while !monitor.stopped() && measurements.trials < MOST_TRIALS {
                let fit = Fit::new(&measurements, super::Method::default())?;
                if fit.alpha_ci.width() / 2.0 <= precision * fit.alpha.abs() {
                    break;
                }
                let next = measurements.trials..measurements.trials + sampling.trials;
                measurements.trials = next.end;
                measurements.draw(&samplers, next, monitor)?;
            }
        }
        Ok(measurements)
    }

    fn empty(module: &Module, widths: &[usize], sampling: &Sampling) -> Result<Self, Error> {
        if sampling.trials < 2 {
            return Err(Error::TooFewTrials(sampling.trials));
        }
        if sampling.precision.is_some_and(|precision| !(precision.is_finite() && precision > 0.0)) {
            return Err(Error::Fit("the precision must be a positive share of alpha, such as 0.02".into()));
        }
        if sampling.precision.is_some()
            && (sampling.shard != Shard::ALL || !sampling.trials.is_multiple_of(BLOCK))
        {
            return Err(Error::Fit(format!(
                "a precision cannot be reached by one shard alone and needs trials that are a multiple of {BLOCK}"
            )));
        }
        if widths.contains(&0) {
            return Err(Error::Widths("one of the widths is 0; widths must be at least 1".into()));
        }
        let mut sorted = widths.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < 2 {
            return Err(Error::Fit(format!(
                "a fit needs at least two different widths, but {} was given",
                sorted.len()
            )));
        }
        let samples = sorted.into_iter().map(|width| Sample { width, tally: Tally::new(BLOCK) }).collect();
        Ok(Self {
            spec: module.clone().into(),
            seed: sampling.seed,
            pooled: sampling.output == Output::PooledUnit,
            trials: sampling.trials,
            samples,
        })
    }

    fn samplers(&self, module: &Module) -> Result<Vec<LawSampler>, Error> {
        let output = if self.pooled { Output::PooledUnit } else { Output::Unit };
        let sampler = |sample: &Sample| {
            let member = module.scaled_to(sample.width)?.member();
            LawSampler::at_normal_input(&member, output, self.seed)
        };
        self.samples.iter().map(sampler).collect()
    }

    /// Draws the given trials at every width, a round at a time. Trial t at width n has the stream n.
    fn draw(
        &mut self,
        samplers: &[LawSampler],
        trials: Range<u64>,
        monitor: &dyn Monitor,
    ) -> Result<(), Error> {
        let cost = |sampler: &LawSampler| sampler.normals_per_draw() as f64 + 100.0;
        let per_trial: f64 = samplers.iter().map(cost).sum();
        let total = per_trial * (trials.end.saturating_sub(trials.start)) as f64;
        let mut done = 0.0;
        let mut begin = trials.start;
        while begin < trials.end {
            let round = begin..(begin + ROUND).min(trials.end);
            for (sample, sampler) in self.samples.iter_mut().zip(samplers) {
                if monitor.stopped() {
                    return Ok(());
                }
                let drawn = sampler.tally(self.seed, sample.width as u32, round.clone());
                let before = std::mem::replace(&mut sample.tally, Tally::new(BLOCK));
                sample.tally = before.join(drawn).map_err(|error| Error::Fit(error.to_string()))?;
                done += cost(sampler) * (round.end - round.start) as f64;
                monitor.progress(done, total);
            }
            begin = round.end;
        }
        Ok(())
    }

    /// Joins the draws of two shards of one run; the result equals one process's to the bit.
    pub fn join(self, other: Self) -> Result<Self, Error> {
        let widths =
            |measurements: &Self| measurements.samples.iter().map(|sample| sample.width).collect::<Vec<_>>();
        let difference = if self.spec != other.spec {
            Some("modules")
        } else if self.seed != other.seed {
            Some("seeds")
        } else if widths(&self) != widths(&other) {
            Some("widths")
        } else if (self.trials, self.pooled) != (other.trials, other.pooled) {
            Some("numbers of trials or outputs")
        } else {
            None
        };
        if let Some(difference) = difference {
            return Err(Error::Fit(format!(
                "these shards have different {difference}; merge shards of one run only"
            )));
        }
        let mut joined = self;
        for (sample, other) in joined.samples.iter_mut().zip(other.samples) {
            let before = std::mem::replace(&mut sample.tally, Tally::new(BLOCK));
            sample.tally = before.join(other.tally).map_err(|error| Error::Fit(error.to_string()))?;
        }
        Ok(joined)
    }

    /// Whether every trial that was asked for is there.
    pub fn is_complete(&self) -> bool {
        self.samples.iter().all(|sample| sample.tally.moments().count == self.trials)
    }

    /// The module that was sampled.
    pub fn module_name(&self) -> String {
        self.spec.name()
    }

    /// The measured ratios, without a line through them yet.
    pub(super) fn points(&self) -> Result<Vec<Point>, Error> {
        let module =
            self.spec.module().ok_or_else(|| Error::Fit(format!("{} is not a module", self.spec.name())))?;
        let point = |sample: &Sample| {
            let moments = sample.tally.moments();
            if moments.count < 2 {
                return Err(Error::TooFewTrials(moments.count));
            }
            Ok(Point {
                width: sample.width,
                inverse_fan_in_sum: module.scaled_to(sample.width)?.inverse_fan_in_sum(),
                second_moment_ratio: moments.second_moment_ratio(),
                standard_error: moments.second_moment_ratio_standard_error(),
                trials: moments.count,
                residual: 0.0,
            })
        };
        self.samples.iter().map(point).collect()
    }
}
