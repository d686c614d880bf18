//! Sampling a module's kernel at several widths: resumable, sharded, interruptible, the same to the
//! bit.

use std::ops::Range;

use collegial_arch::{Module, Spec};
use collegial_core::{Monitor, Tally};
use serde::{Deserialize, Serialize};

use super::closed_form::Known;
use super::grid::ascending;
use super::{Method, Point};
use crate::sampler::{BLOCK, KernelSampler, Output};
use crate::{Error, Fit};

/// Trials of a width that are done before the next width has its turn, so that an interrupted run
/// has points everywhere.
const ROUND: u64 = 10 * BLOCK;

/// Trials beyond which `precision` gives up narrowing.
const MOST_TRIALS: u64 = 50_000_000;

/// More trials than anybody can wait for; far below where counting them could overflow.
const ABSURD_TRIALS: u64 = 1_000_000_000_000;

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
        if count == 0 {
            Err(Error::Invalid("a run has at least one shard; write 1/1 for the whole".into()))
        } else if (1..=count).contains(&index) {
            Ok(Self { index, count })
        } else {
            Err(Error::Invalid(format!(
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
    /// Keep drawing, T more at a time, until α's interval is narrower than this share of α on
    /// either side.
    pub precision: Option<f64>,
    /// This process's share.
    pub shard: Shard,
    /// Whose kernel.
    pub output: Output,
    /// The line whose slope `precision` is about.
    pub method: Method,
}

impl Sampling {
    /// The paper's T = 2000 draws of one output unit's kernel.
    pub fn paper(seed: u64) -> Self {
        Self {
            seed,
            trials: 2000,
            precision: None,
            shard: Shard::ALL,
            output: Output::Unit,
            method: Method::default(),
        }
    }
}

/// The draws of one width.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    width: usize,
    tally: Tally,
}

impl Sample {
    fn add(&mut self, tally: Tally) -> Result<(), Error> {
        let before = std::mem::replace(&mut self.tally, Tally::new(BLOCK));
        self.tally = before.join(tally)?;
        Ok(())
    }
}

/// Kernels drawn at several widths of a module; what shards write and `merge` joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    spec: Spec,
    seed: u64,
    pooled: bool,
    /// Requested draws per width.
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
        measurements.draw(module, sampling.shard.trials(sampling.trials), monitor)?;
        if let Some(precision) = sampling.precision {
            let known = measurements.known(sampling.method)?;
            while !monitor.stopped() && measurements.trials < MOST_TRIALS {
                let fit = Fit::knowing(&measurements, sampling.method, known.as_ref())?;
                if fit.alpha_ci.width() / 2.0 <= precision * fit.alpha.abs() {
                    break;
                }
                let next = measurements.trials..measurements.trials + sampling.trials;
                measurements.trials = next.end;
                measurements.draw(module, next, monitor)?;
            }
        }
        Ok(measurements)
    }

    fn empty(module: &Module, widths: &[usize], sampling: &Sampling) -> Result<Self, Error> {
        if sampling.trials < 2 {
            return Err(Error::TooFewTrials(sampling.trials));
        }
        if sampling.trials > ABSURD_TRIALS {
            return Err(Error::Invalid(format!(
                "{given} trials would never end; take at most {most}",
                given = sampling.trials,
                most = ABSURD_TRIALS
            )));
        }
        sampling.precision.map_or(Ok(()), check_precision)?;
        if sampling.precision.is_some()
            && (sampling.shard != Shard::ALL || !sampling.trials.is_multiple_of(BLOCK))
        {
            return Err(Error::Invalid(format!(
                "a precision cannot be reached by one shard alone and needs trials that are a multiple \
                 of {BLOCK}"
            )));
        }
        let samples =
            ascending(widths)?.into_iter().map(|width| Sample { width, tally: Tally::new(BLOCK) }).collect();
        Ok(Self {
            spec: module.clone().into(),
            seed: sampling.seed,
            pooled: sampling.output == Output::PooledUnit,
            trials: sampling.trials,
            samples,
        })
    }

    /// The sampler of one width. Made anew for every round: that is cheap, and many at once would
    /// take memory.
    fn sampler(&self, module: &Module, width: usize) -> Result<KernelSampler, Error> {
        let output = if self.pooled { Output::PooledUnit } else { Output::Unit };
        KernelSampler::at_normal_input(&module.scaled_to(width)?.member(), output, self.seed)
    }

    /// Draws the given trials at every width, a round at a time. Trial t at width n has the stream
    /// n.
    fn draw(&mut self, module: &Module, trials: Range<u64>, monitor: &dyn Monitor) -> Result<(), Error> {
        let cost = |sampler: &KernelSampler| sampler.normals_per_draw() as f64 + 100.0;
        let widths: Vec<usize> = self.samples.iter().map(|sample| sample.width).collect();
        let mut per_trial = 0.0;
        for &width in &widths {
            per_trial += cost(&self.sampler(module, width)?);
        }
        let total = per_trial * trials.end.saturating_sub(trials.start) as f64;
        let (mut done, mut begin) = (0.0, trials.start);
        while begin < trials.end {
            let round = begin..(begin + ROUND).min(trials.end);
            for (index, &width) in widths.iter().enumerate() {
                if monitor.stopped() {
                    return Ok(());
                }
                let sampler = self.sampler(module, width)?;
                match sampler.tally_until(self.seed, width as u32, round.clone(), monitor) {
                    Ok(tally) => self.samples[index].add(tally)?,
                    // The rounds before are kept.
                    Err(Error::Interrupted) => return Ok(()),
                    Err(other) => return Err(other),
                }
                done += cost(&sampler) * (round.end - round.start) as f64;
                monitor.progress(done / total, None);
            }
            begin = round.end;
        }
        Ok(())
    }

    /// Refuses measurements that were read and that no sampling can have written: widths that do
    /// not ascend, trials beyond those of the run.
    pub fn check(&self) -> Result<(), Error> {
        let widths = self.samples.iter().map(|sample| sample.width);
        let ascending = widths.clone().zip(widths.skip(1)).all(|(a, b)| a < b);
        let outside =
            |sample: &Sample| sample.tally.trials().last().is_some_and(|last| last.end > self.trials);
        if self.samples.len() < 2 || self.samples[0].width == 0 || !ascending {
            return Err(Error::Invalid("its widths are not at least two in ascending order".into()));
        }
        match self.samples.iter().find(|sample| outside(sample)) {
            Some(sample) => Err(Error::Invalid(format!(
                "width {width} has trials beyond the {trials} of the run",
                width = sample.width,
                trials = self.trials
            ))),
            None => Ok(()),
        }
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
        if let Some(what) = difference {
            return Err(Error::Invalid(format!(
                "these shards have different {what}; merge shards of one run only"
            )));
        }
        let mut joined = self;
        for (sample, other) in joined.samples.iter_mut().zip(other.samples) {
            sample.add(other.tally)?;
        }
        Ok(joined)
    }

    /// Whether every requested trial is there.
    pub fn is_complete(&self) -> bool {
        self.samples.iter().all(|sample| sample.tally.moments().count == self.trials)
    }

    /// The seed it was drawn from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The module that was sampled.
    pub fn module_name(&self) -> String {
        self.spec.name()
    }

    /// What theory knows of the errors, where there is a closed form.
    pub(super) fn known(&self, method: Method) -> Result<Option<Known>, Error> {
        let widths: Vec<usize> = self.samples.iter().map(|sample| sample.width).collect();
        match self.spec.module() {
            Some(module) if !self.pooled => Known::of(&module, &widths, method),
            _ => Ok(None),
        }
    }

    /// The measured ratios, without a line through them yet.
    pub(super) fn points(&self, known: Option<&Known>) -> Result<Vec<Point>, Error> {
        let module = self
            .spec
            .module()
            .ok_or_else(|| Error::Invalid(format!("{name} is not a module", name = self.spec.name())))?;
        let point = |(index, sample): (usize, &Sample)| {
            let moments = sample.tally.moments();
            if moments.count < 2 {
                return Err(Error::TooFewTrials(moments.count));
            }
            let sum = module.scaled_to(sample.width)?.inverse_fan_in_sum();
            let ratio = moments.second_moment_ratio();
            let standard_error = match known.and_then(|known| known.draw_errors[index]) {
                Some(error) => ratio * error / (moments.count as f64).sqrt(),
                None => moments.second_moment_ratio_standard_error(),
            };
            Ok(Point { standard_error, trials: moments.count, ..Point::new(sample.width, sum, ratio) })
        };
        self.samples.iter().enumerate().map(point).collect()
    }
}

/// Refuses a precision that no interval can have.
pub(super) fn check_precision(precision: f64) -> Result<(), Error> {
    match precision.is_finite() && precision > 0.0 {
        true => Ok(()),
        false => Err(Error::Invalid(format!(
            "the precision is {precision}; it must be a positive share of alpha, such as 0.02"
        ))),
    }
}
