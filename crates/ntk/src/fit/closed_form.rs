//! What the closed form of the second moment says about a fit: its points without noise, and how
//! far α depends on the input.

use collegial_arch::Module;
use collegial_stats::{Moments, Rng};

use super::line::Line;
use super::{Method, Point};
use crate::{Error, SingleColumn};

/// Inputs from which the spread of α is estimated: known to 7 %, of which a part of an interval's
/// width depends.
const INPUTS: u64 = 100;

/// The stream of those inputs.
const STREAM: u32 = 0x0073_7072;

/// The exact ratios at the given widths, averaged over standard normal inputs.
pub(super) fn points(module: &Module, widths: &[usize]) -> Result<Vec<Point>, Error> {
    let mut widths = widths.to_vec();
    widths.sort_unstable();
    widths.dedup();
    if widths.first() == Some(&0) {
        return Err(Error::Widths("one of the widths is 0; widths must be at least 1".into()));
    }
    let point = |&width: &usize| {
        let scaled = module.scaled_to(width)?;
        let ratio = SingleColumn::new(&scaled.member())?.averaged()?.moments.second_moment_ratio;
        Ok(Point::new(width, scaled.inverse_fan_in_sum(), ratio))
    };
    widths.iter().map(point).collect()
}

/// The standard deviation over inputs of the slope of the line through exact ratios at one input;
/// `None` without a closed form.
pub(super) fn slope_spread(module: &Module, widths: &[usize], method: Method) -> Result<Option<f64>, Error> {
    let mut chains = Vec::with_capacity(widths.len());
    for &width in widths {
        let scaled = module.scaled_to(width)?;
        match SingleColumn::new(&scaled.member()) {
            Ok(chain) => chains.push((width, scaled.inverse_fan_in_sum(), chain)),
            Err(Error::NoClosedForm { .. }) => return Ok(None),
            Err(other) => return Err(other),
        }
    }
    let Some((_, _, first)) = chains.first() else { return Ok(None) };
    let mut columns = vec![0.0; first.entries()];
    let mut slopes = Moments::new();
    for trial in 0..INPUTS {
        Rng::new(0, STREAM, trial).fill_normal(&mut columns);
        let points = chains.iter().map(|(width, sum, chain)| {
            Ok(Point::new(*width, *sum, chain.at_columns(&columns)?.second_moment_ratio))
        });
        let points: Vec<Point> = points.collect::<Result<_, Error>>()?;
        // Exact points have no errors to weigh by.
        slopes.push(Line::through(&points, Method { weighted: false, ..method })?.slope);
    }
    Ok(Some(slopes.variance().sqrt()))
}
