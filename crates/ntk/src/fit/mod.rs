//! Algorithm 1: the α of a module, fitted to the variance of its kernel at several widths.
//!
//! The law says ln(E\[K^2\] / E\[K\]^2) = α S(**n**), S being the sum of inverse fan-ins. The paper
//! fits a first-degree polynomial, so with an intercept; that is the default here. The law is an
//! approximation, and α depends on the widths it is fitted to: a [`Fit`] therefore carries its
//! points, residuals and a verdict on whether the law holds.

mod closed_form;
#[cfg(test)]
mod coverage;
mod grid;
mod line;
mod measure;
mod over_inputs;
mod variance;

use collegial_arch::Module;
use collegial_core::Interval;
use collegial_core::special::{chi_square_tail, normal_quantile, student_quantile};
use serde::Serialize;

use crate::Error;
use closed_form::Known;
pub use grid::default_widths;
use line::Line;
pub use measure::{Measurements, Sampling, Shard};
pub use over_inputs::{Effort, OverInputs};
pub use variance::{VarianceSample, measure_variance};

/// How the line is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Method {
    /// Whether points count by the inverse square of their standard error; the paper counts all
    /// alike.
    pub weighted: bool,
    /// Whether the line may miss the origin; the paper's does.
    pub intercept: bool,
}

impl Default for Method {
    fn default() -> Self {
        Self { weighted: false, intercept: true }
    }
}

/// One width's measurement and how far the fitted law is from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The width n that stands for the module's width vector.
    pub width: usize,
    /// S(**n**).
    pub inverse_fan_in_sum: f64,
    /// E\[K^2\] / E\[K\]^2.
    pub second_moment_ratio: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Draws behind it.
    pub trials: u64,
    /// ln of the measured ratio minus the line.
    pub residual: f64,
    /// The variance that the law, used without its intercept as Algorithm 2 does, gives here: e^{α
    /// S} - 1.
    pub law_variance: f64,
}

impl Point {
    /// A measurement before a line is put through it.
    fn new(width: usize, inverse_fan_in_sum: f64, second_moment_ratio: f64) -> Self {
        Self {
            width,
            inverse_fan_in_sum,
            second_moment_ratio,
            standard_error: 0.0,
            trials: 0,
            residual: 0.0,
            law_variance: 0.0,
        }
    }

    /// The measured variance E\[K^2\] / E\[K\]^2 - 1.
    pub fn variance(&self) -> f64 {
        self.second_moment_ratio - 1.0
    }
}

/// Where the points of a fit come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The closed form, averaged over standard normal inputs.
    Exact,
    /// Draws at standard normal inputs: one, or many.
    Sampled,
}

/// How points were sampled.
#[derive(Clone, Copy)]
struct Sampled {
    trials: u64,
    inputs: u64,
    input_spread: Option<f64>,
    /// What the slope's error is multiplied by.
    quantile: f64,
}

/// Whether the measured ratios follow the law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether the residuals are explained by sampling noise (probability at least 1 %); `None`
    /// where there are as many fitted numbers as points, which cannot tell.
    pub holds: Option<bool>,
    /// The largest relative difference between a measured ratio and the law.
    pub largest_misfit: f64,
    /// The largest relative difference between a measured variance and the law's: the model's
    /// error, where `alpha_ci` is that of sampling.
    pub largest_variance_misfit: f64,
    /// Sum of squared residuals in units of their standard errors.
    pub chi_squared: f64,
    /// Points minus fitted numbers.
    pub degrees_of_freedom: usize,
    /// How often noise alone would give residuals this large.
    pub p_value: f64,
}

/// α with everything needed to judge it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The module's name.
    pub module: String,
    /// The slope.
    pub alpha: f64,
    /// Its 95 % confidence interval: sampling noise, and the choice of the input where that is
    /// known (the misfit of the law is not in it). One point where nothing was sampled.
    #[serde(serialize_with = "as_pair")]
    pub alpha_ci: Interval,
    /// Where the line meets S = 0.
    pub intercept: f64,
    /// Share of the points' spread that the line explains.
    pub r_squared: f64,
    /// Requested draws per width, or the fewest that a width has; 0 where nothing was
    /// sampled.
    pub trials: u64,
    /// Inputs at which a width was sampled, the fewest that a width has: 1 as Algorithm 1 is
    /// printed, 0 where nothing was sampled.
    pub inputs: u64,
    /// Where the points come from.
    pub source: Source,
    /// The standard deviation of α over inputs, which the interval of draws at one input contains;
    /// `None` where many inputs were drawn, and where there is no closed form to tell it: then the
    /// interval is about the one input.
    pub input_spread: Option<f64>,
    /// How it was fitted.
    pub method: Method,
    /// Whether the law holds for this module.
    pub law: Verdict,
    /// The measurements.
    pub points: Vec<Point>,
}

fn as_pair<S: serde::Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    [interval.low, interval.high].serialize(serializer)
}

impl Fit {
    /// Fits the law to measurements.
    pub fn new(measurements: &Measurements, method: Method) -> Result<Self, Error> {
        Self::knowing(measurements, method, measurements.known(method)?.as_ref())
    }

    fn knowing(measurements: &Measurements, method: Method, known: Option<&Known>) -> Result<Self, Error> {
        let sampled = Sampled {
            trials: measurements.trials,
            inputs: 1,
            input_spread: known.map(|known| known.input_spread),
            quantile: normal_quantile(0.975),
        };
        Self::through(measurements.module_name(), measurements.points(known)?, method, Some(sampled))
    }

    /// Fits the law to moments that were drawn at many inputs.
    pub fn over_inputs(drawn: &OverInputs, method: Method) -> Result<Self, Error> {
        let sampled = Sampled {
            trials: drawn.trials(),
            inputs: drawn.inputs(),
            input_spread: None,
            quantile: student_quantile(0.975, drawn.inputs() as f64 - 1.0),
        };
        Self::through(drawn.module_name(), drawn.points()?, method, Some(sampled))
    }

    /// Fits the law to exact moments, averaged over standard normal inputs: no draws, no noise.
    ///
    /// # Errors
    ///
    /// If the module has no closed form (the layer is named), or no line can be put through the
    /// widths.
    pub fn exact(module: &Module, widths: &[usize], method: Method) -> Result<Self, Error> {
        Self::through(module.name(), closed_form::points(module, widths)?, method, None)
    }

    fn through(
        module: String,
        mut points: Vec<Point>,
        method: Method,
        sampled: Option<Sampled>,
    ) -> Result<Self, Error> {
        let line = Line::through(&points, method)?;
        for point in &mut points {
            point.residual = point.second_moment_ratio.ln() - line.at(point.inverse_fan_in_sum);
            point.law_variance = (line.slope * point.inverse_fan_in_sum).exp_m1();
        }
        let input_spread = sampled.and_then(|sampled| sampled.input_spread);
        let error = line.slope_error.hypot(input_spread.unwrap_or(0.0));
        let half = sampled.map_or(0.0, |sampled| sampled.quantile * error);
        Ok(Self {
            module,
            alpha: line.slope,
            alpha_ci: Interval { low: line.slope - half, high: line.slope + half },
            intercept: line.intercept,
            r_squared: line.r_squared,
            trials: sampled.map_or(0, |sampled| sampled.trials),
            inputs: sampled.map_or(0, |sampled| sampled.inputs),
            source: if sampled.is_some() { Source::Sampled } else { Source::Exact },
            input_spread,
            method,
            law: verdict(&points, method),
            points,
        })
    }

    /// The variance that the law gives at S: e^{α S} - 1 (the paper drops the intercept here).
    pub fn variance(&self, inverse_fan_in_sum: f64) -> f64 {
        (self.alpha * inverse_fan_in_sum).exp_m1()
    }
}

fn verdict(points: &[Point], method: Method) -> Verdict {
    let standardised = |point: &Point| {
        let error = point.standard_error / point.second_moment_ratio;
        if error > 0.0 { (point.residual / error).powi(2) } else { 0.0 }
    };
    let chi_squared: f64 = points.iter().map(standardised).sum();
    let degrees_of_freedom = points.len().saturating_sub(if method.intercept { 2 } else { 1 });
    let largest = |misfits: &mut dyn Iterator<Item = f64>| misfits.fold(0.0, f64::max);
    let largest_misfit = largest(&mut points.iter().map(|point| point.residual.exp_m1().abs()));
    let exact = points.iter().all(|point| point.standard_error == 0.0);
    // Without noise any misfit is the law's.
    let p_value = match exact {
        true if largest_misfit > 1e-9 => 0.0,
        true => 1.0,
        false => chi_square_tail(chi_squared, degrees_of_freedom),
    };
    Verdict {
        holds: (degrees_of_freedom > 0).then_some(p_value >= 0.01),
        largest_misfit,
        largest_variance_misfit: largest(
            &mut points
                .iter()
                .filter(|point| point.variance() > 0.0)
                .map(|point| (point.law_variance / point.variance() - 1.0).abs()),
        ),
        chi_squared,
        degrees_of_freedom,
        p_value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::{Moments, Rng};

    /// Log-normal kernels follow the law exactly: ln R = sigma^2. Over 600 simulated fits the share
    /// of 95 % intervals that contain the true alpha has a standard error of 0.9 %; three of them
    /// are allowed.
    #[test]
    fn intervals_contain_alpha_as_often_as_they_say() {
        let alpha = 1.6;
        let simulated = |replicate: u64, method: Method| {
            let point = |(index, width): (usize, usize)| {
                let inverse_fan_in_sum = 1.0 / 256.0 + 10.0 / (9.0 * width as f64);
                let sigma = (alpha * inverse_fan_in_sum).sqrt();
                let mut rng = Rng::new(replicate, index as u32, 0);
                let moments: Moments = (0..2000).map(|_| (sigma * rng.normal()).exp()).collect();
                Point {
                    standard_error: moments.second_moment_ratio_standard_error(),
                    trials: moments.count,
                    ..Point::new(width, inverse_fan_in_sum, moments.second_moment_ratio())
                }
            };
            let points: Vec<Point> = [8, 16, 32, 64, 128, 256].into_iter().enumerate().map(point).collect();
            let line = Line::through(&points, method).unwrap();
            (line.slope - alpha).abs() <= normal_quantile(0.975) * line.slope_error
        };
        for method in [Method::default(), Method { weighted: false, intercept: false }] {
            let covered = (0..600).filter(|&replicate| simulated(replicate, method)).count() as f64 / 600.0;
            assert!((covered - 0.95).abs() < 3.0 * 0.009, "{method:?}: {covered}");
        }
    }
}
