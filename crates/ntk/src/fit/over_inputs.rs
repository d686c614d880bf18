//! Sampling a module's kernel at many inputs, so that neither the ratio nor its interval depends on
//! which one was drawn.
//!
//! Algorithm 1 fixes one input. Here every few trials have an input x of their own, and an input's
//! trials tell its variance without bias: with k the kernels in units of the squared length of what
//! the first layer reads, and k̄ and s^2 the mean and unbiased variance of the t trials at x,
//!
//! > E s^2 = Var\[K | x\],  E (k̄^2 - s^2 / t) = E\[K | x\]^2.
//!
//! The ratio of their means over inputs is the variance averaged over inputs, and inputs are
//! independent of each other, so its error by the delta method holds both the draws and the choice
//! of inputs.

use std::ops::Range;
use std::time::Duration;

use collegial_arch::Module;
#[cfg(test)]
use collegial_core::Silent;
use collegial_core::{Instant, Moments, Monitor, Rng};
use rayon::prelude::*;

use super::grid::ascending;
use super::measure::check_precision;
use super::{Method, Point};
use crate::sampler::{KernelSampler, Output};
use crate::{Error, Fit};

/// Trials at one input. More would take fewer inputs, fewer would waste trials on each input's
/// mean.
const PER_INPUT: u64 = 5;

/// Inputs of a width that are taken however long they last.
const FEWEST: u64 = 4;

/// Inputs of a width before the precision is looked at.
const FIRST: u64 = 100;

/// Inputs of a width beyond which nothing is narrowed.
const MOST: u64 = 10_000_000;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Effort {
    /// When the time is over, of which every width has the same share: narrow ones, whose kernels
    /// have the heaviest tails, are drawn most often. How many draws there are depends on the
    /// machine.
    Time(Duration),
    /// When α's interval is narrower than this share of α on either side.
    Precision(f64, Method),
}

/// Kernels drawn at several widths of a module, at many inputs each.
#[derive(Clone, Debug)]
pub struct OverInputs {
    module: String,
    seed: u64,
    widths: Vec<Width>,
}

/// The draws of one width.
#[derive(Clone, Debug)]
struct Width {
    width: usize,
    inverse_fan_in_sum: f64,
    sampler: KernelSampler,
    /// s^2 of every input.
    variance: Moments,
    /// k̄^2 - s^2 / t.
    square: Moments,
    /// Their sum, for their covariance.
    both: Moments,
    seconds: f64,
}

impl OverInputs {
    /// Samples the module at every width.
    ///
    /// # Errors
    ///
    /// If there are fewer than two widths, the module cannot be sampled, or the precision is no
    /// positive share.
    pub fn take(
        module: &Module,
        widths: &[usize],
        (seed, output): (u64, Output),
        effort: Effort,
        monitor: &dyn Monitor,
    ) -> Result<Self, Error> {
        let mut drawn = Self::empty(module, widths, (seed, output))?;
        match effort {
            Effort::Time(time) => drawn.within(time, monitor),
            Effort::Precision(share, method) => drawn.until_precise(share, method, monitor)?,
        }
        Ok(drawn)
    }

    /// Samples the module at so many inputs at every width.
    #[cfg(test)]
    pub(super) fn at_inputs(
        module: &Module,
        widths: &[usize],
        (seed, output): (u64, Output),
        inputs: u64,
    ) -> Result<Self, Error> {
        let mut drawn = Self::empty(module, widths, (seed, output))?;
        drawn.widths.iter_mut().for_each(|width| width.draw(seed, inputs, &Silent));
        Ok(drawn)
    }

    fn empty(module: &Module, widths: &[usize], (seed, output): (u64, Output)) -> Result<Self, Error> {
        let width = |width: usize| {
            let scaled = module.scaled_to(width)?;
            Ok(Width {
                width,
                inverse_fan_in_sum: scaled.inverse_fan_in_sum(),
                sampler: KernelSampler::at_normal_input(&scaled.member(), output, seed)?,
                variance: Moments::new(),
                square: Moments::new(),
                both: Moments::new(),
                seconds: 0.0,
            })
        };
        let widths = ascending(widths)?.into_iter().map(width).collect::<Result<_, Error>>()?;
        Ok(Self { module: module.name(), seed, widths })
    }

    fn within(&mut self, time: Duration, monitor: &dyn Monitor) {
        let share = time.as_secs_f64() / self.widths.len() as f64;
        loop {
            let before = self.trials_of_all();
            for width in &mut self.widths {
                if monitor.stopped() {
                    return;
                }
                width.draw(self.seed, width.affordable(share), monitor);
            }
            let seconds: f64 = self.widths.iter().map(|width| width.seconds).sum();
            monitor.progress((seconds / time.as_secs_f64()).min(1.0), None);
            if self.trials_of_all() == before {
                return;
            }
        }
    }

    fn until_precise(&mut self, share: f64, method: Method, monitor: &dyn Monitor) -> Result<(), Error> {
        check_precision(share)?;
        loop {
            let done = self.inputs();
            for width in &mut self.widths {
                if monitor.stopped() {
                    return Ok(());
                }
                width.draw(self.seed, done.max(FIRST), monitor);
            }
            if monitor.stopped() {
                return Ok(());
            }
            let fit = Fit::over_inputs(self, method)?;
            let half = fit.alpha_ci.width() / 2.0 / fit.alpha.abs();
            monitor.progress((share / half).powi(2).min(1.0), None);
            if half <= share || self.inputs() >= MOST {
                return Ok(());
            }
        }
    }

    fn trials_of_all(&self) -> u64 {
        self.widths.iter().map(Width::trials).sum()
    }

    /// The module that was sampled.
    pub fn module_name(&self) -> String {
        self.module.clone()
    }

    /// The seed it was drawn from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The fewest inputs of a width.
    pub fn inputs(&self) -> u64 {
        self.widths.iter().map(|width| width.variance.count).min().unwrap_or(0)
    }

    /// The fewest trials of a width.
    pub fn trials(&self) -> u64 {
        self.inputs() * PER_INPUT
    }

    /// The measured ratios, without a line through them yet.
    pub(super) fn points(&self) -> Result<Vec<Point>, Error> {
        self.widths.iter().map(Width::point).collect()
    }
}

impl Width {
    fn trials(&self) -> u64 {
        self.variance.count * PER_INPUT
    }

    /// How many more inputs its share of the time pays for: at most as many as before.
    fn affordable(&self, share: f64) -> u64 {
        match (self.variance.count, self.seconds > 0.0) {
            (0, _) => FEWEST,
            (count, true) => (count as f64 * (share / self.seconds - 1.0)).clamp(0.0, count as f64) as u64,
            // Without a clock, the paper's number of trials.
            (count, false) => (2000 / PER_INPUT).saturating_sub(count),
        }
    }

    /// Draws at more inputs; those behind the first that the monitor stopped are left out.
    fn draw(&mut self, seed: u64, inputs: u64, monitor: &dyn Monitor) {
        let start = Instant::now();
        let done = self.variance.count;
        let numbers: Range<u64> = done..done + inputs;
        let drawn: Vec<Option<Moments>> =
            numbers.into_par_iter().map(|number| self.at_input(seed, number, monitor)).collect();
        for kernels in drawn.into_iter().map_while(|kernels| kernels) {
            let variance = kernels.variance();
            let square = kernels.mean() * kernels.mean() - variance / PER_INPUT as f64;
            self.variance.push(variance);
            self.square.push(square);
            self.both.push(variance + square);
        }
        self.seconds += start.elapsed().as_secs_f64();
    }

    /// The kernels at one input, unless the monitor stops it. Widths have inputs of their own, so
    /// that they are independent.
    fn at_input(&self, seed: u64, number: u64, monitor: &dyn Monitor) -> Option<Moments> {
        if monitor.stopped() {
            return None;
        }
        let stream = self.width as u32;
        let sampler = self.sampler.at_another_input(seed, u64::from(stream) << 32 | (number + 1));
        let (mut workspace, mut kernel) = (sampler.workspace(), [0.0]);
        let square = sampler.input_square();
        let mut draw = |trial| {
            sampler.draw(&mut workspace, &mut Rng::new(seed, stream, trial), &mut kernel);
            (!monitor.stopped()).then(|| kernel[0] / square)
        };
        (number * PER_INPUT..(number + 1) * PER_INPUT).map(&mut draw).collect()
    }

    fn point(&self) -> Result<Point, Error> {
        let inputs = self.variance.count;
        if inputs < 2 {
            return Err(Error::TooFewTrials(inputs * PER_INPUT));
        }
        let variance = self.variance.mean() / self.square.mean();
        let (of_variance, of_square) = (self.variance.variance(), self.square.variance());
        let covariance = (self.both.variance() - of_variance - of_square) / 2.0;
        let spread = of_variance + variance * variance * of_square - 2.0 * variance * covariance;
        Ok(Point {
            standard_error: (spread.max(0.0) / inputs as f64).sqrt() / self.square.mean(),
            trials: self.trials(),
            ..Point::new(self.width, self.inverse_fan_in_sum, 1.0 + variance)
        })
    }
}
