//! The closed form of the second moment beside a fit: its points without noise, how far α
//! depends on the input, and how large the error of a draw really is.
//!
//! The kernel of a narrow module has heavy tails. Few draws hold none of the rare large values, and
//! then both their second moment and the error that they tell of are too small: at width 1, 2000
//! draws give intervals that hold the truth in 88 of 100 runs instead of 95. So at widths whose
//! variance is large the error of a draw is taken from many more of them, of fixed seed. They tell
//! the error only; what is fitted are the requested draws.

use collegial_arch::Module;
use collegial_core::{Moments, Rng};
use rayon::prelude::*;

use super::grid::ascending;
use super::line::Line;
use super::{Method, Point};
use crate::sampler::{KernelSampler, Output};
use crate::{Error, OnePosition};

/// Inputs and draws at each from which the error of a draw is known: to about 10 % at width 1.
const ERROR_INPUTS: u64 = 400;
const ERROR_DRAWS: u64 = 125;

/// The variance above which few draws do not tell their own error.
const HEAVY: f64 = 0.5;

/// Inputs from which the spread of α is estimated: known to 7 %, of which a part of an interval's
/// width depends.
const INPUTS: u64 = 100;

/// The stream of those inputs.
const STREAM: u32 = 0x0073_7072;

/// The exact ratios at the given widths, averaged over standard normal inputs.
pub(super) fn points(module: &Module, widths: &[usize]) -> Result<Vec<Point>, Error> {
    let point = |&width: &usize| {
        let scaled = module.scaled_to(width)?;
        let ratio = OnePosition::new(&scaled.member())?.average()?.second_moment_ratio;
        Ok(Point::new(width, scaled.inverse_fan_in_sum(), ratio))
    };
    ascending(widths)?.iter().map(point).collect()
}

/// What theory knows of the errors of a fit by draws at one input.
pub(super) struct Known {
    /// The standard deviation over inputs of the slope of the line through exact ratios at one
    /// input.
    pub input_spread: f64,
    /// For every width the error that one draw gives ln(E\[K^2\] / E\[K\]^2), where the draws of a
    /// fit do not tell it.
    pub draw_errors: Vec<Option<f64>>,
}

impl Known {
    /// Of one output unit of the module at ascending widths; `None` without a closed form.
    pub fn of(module: &Module, widths: &[usize], method: Method) -> Result<Option<Self>, Error> {
        let mut chains = Vec::with_capacity(widths.len());
        for &width in widths {
            let scaled = module.scaled_to(width)?;
            match OnePosition::new(&scaled.member()) {
                Ok(exact) => chains.push(Chain { width, sum: scaled.inverse_fan_in_sum(), exact }),
                Err(Error::NoClosedForm { .. }) => return Ok(None),
                Err(other) => return Err(other),
            }
        }
        let Some(first) = chains.first() else { return Ok(None) };
        let mut columns = vec![0.0; first.exact.entries()];
        let (mut slopes, mut variances) = (Moments::new(), vec![]);
        for trial in 0..INPUTS {
            Rng::new(0, STREAM, trial).fill_normal(&mut columns);
            // Modules of all widths read the same patches.
            let gram = first.exact.patch_gram(&columns)?;
            let points: Vec<Point> =
                chains.iter().map(|chain| chain.point(&gram)).collect::<Result<_, Error>>()?;
            // Exact points have no errors to weigh by.
            slopes.push(Line::through(&points, Method { weighted: false, ..method })?.slope);
            variances = points.iter().map(Point::variance).collect();
        }
        let draw_error = |(chain, &variance): (&Chain, &f64)| match variance > HEAVY {
            true => chain.draw_error(module).map(Some),
            false => Ok(None),
        };
        let draw_errors = chains.iter().zip(&variances).map(draw_error).collect::<Result<_, Error>>()?;
        Ok(Some(Self { input_spread: slopes.variance().sqrt(), draw_errors }))
    }
}

/// The module at one width.
struct Chain {
    width: usize,
    sum: f64,
    exact: OnePosition,
}

impl Chain {
    fn point(&self, gram: &[f64]) -> Result<Point, Error> {
        Ok(Point::new(self.width, self.sum, self.exact.at_gram(gram)?.second_moment_ratio))
    }

    /// The error of one draw, from many at many inputs, each in units of its input's mean.
    fn draw_error(&self, module: &Module) -> Result<f64, Error> {
        let chain = module.scaled_to(self.width)?.member();
        let first = KernelSampler::at_normal_input(&chain, Output::Unit, 0)?;
        let at_input = |number: u64| {
            let sampler = first.at_another_input(0, number);
            let mean = self.exact.at_gram(sampler.first_patch_gram())?.mean;
            let (mut workspace, mut kernel) = (sampler.workspace(), [0.0]);
            let mut draw = |trial| {
                sampler.draw(&mut workspace, &mut Rng::new(number, STREAM, trial), &mut kernel);
                kernel[0] / mean
            };
            Ok((0..ERROR_DRAWS).map(&mut draw).collect::<Moments>())
        };
        let parts: Vec<Moments> =
            (0..ERROR_INPUTS).into_par_iter().map(at_input).collect::<Result<_, Error>>()?;
        let moments = Moments::merge_all(&parts);
        let error = moments.second_moment_ratio_standard_error() / moments.second_moment_ratio();
        Ok(error * (moments.count as f64).sqrt())
    }
}
