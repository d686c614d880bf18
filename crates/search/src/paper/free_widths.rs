//! Every layer's width free, instead of one ratio for all.
//!
//! β is a sum of products of widths and, for the law as for the exact moments, Var is a sum of
//! products of inverse widths, all with positive coefficients. So ln(Var β) is a convex function of
//! ln **n** (a geometric program): the real-valued minimum over a box is unique and coordinate
//! descent finds it, and branch and bound over boxes finds the integer minimum and proves it.

use collegial_arch::{Cost, Module};
use collegial_core::Monitor;
use serde::Serialize;

use super::variance::{Relaxed, Variance};
use crate::Error;
use crate::error::go_on;

/// The best width vector.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FreeWidths {
    /// **n** of one member.
    pub widths: Vec<usize>,
    /// m^p at it.
    pub primal_multiplicity: f64,
    /// m^d at it.
    pub dual_multiplicity: f64,
    /// ρ at it.
    pub efficiency: f64,
    /// Whether it was proved to be the best (always, but for very deep modules).
    pub proved: bool,
    /// Boxes that the proof took.
    pub boxes: usize,
}

/// Boxes beyond which the proof is given up.
const MOST_BOXES: usize = 5_000;

/// Boxes whose bound is less than this below the best (in ln) cannot hold anything that matters.
const ACCURACY: f64 = 1e-9;

/// Finds the integer width vector, each width between 1 and the baseline's, that minimises
/// Var(**n**) β(**n**). The monitor can stop it at every box: those of many layers take long.
pub fn free_widths(
    baseline: &Module,
    cost: Cost,
    variance: &dyn Variance,
    monitor: &dyn Monitor,
) -> Result<FreeWidths, Error> {
    let objective = Objective::new(baseline, cost, variance)?;
    let (widths, boxes, proved) = objective.minimise(&baseline.widths(), monitor)?;
    let member = baseline.with_widths(&widths)?;
    let members = baseline.members() as f64;
    let budget = members * baseline.member_cost(cost)? as f64;
    let member_cost = member.member_cost(cost)? as f64;
    let dual_multiplicity = members * variance.of(&member)?.value / variance.of(baseline)?.value;
    Ok(FreeWidths {
        widths,
        primal_multiplicity: budget / member_cost,
        dual_multiplicity,
        efficiency: budget / (dual_multiplicity * member_cost),
        proved,
        boxes,
    })
}

/// ln(Var β) at real widths.
struct Objective<'a> {
    cost: NeighbourProducts,
    variance: Relaxed<'a>,
}

/// β as a function of real widths: 1 + x_l are the widths, and only neighbours multiply.
struct NeighbourProducts {
    constant: f64,
    linear: Vec<f64>,
    product: Vec<f64>,
}

impl NeighbourProducts {
    /// Reads the coefficients off the cost at widths 1 and 2.
    fn of(baseline: &Module, cost: Cost) -> Result<Self, Error> {
        let count = baseline.widths().len();
        let at = |twos: &[usize]| {
            let widths: Vec<usize> =
                (0..count).map(|layer| if twos.contains(&layer) { 2 } else { 1 }).collect();
            Ok::<f64, Error>(baseline.with_widths(&widths)?.member_cost(cost)? as f64)
        };
        let constant = at(&[])?;
        let linear: Vec<f64> =
            (0..count).map(|layer| Ok(at(&[layer])? - constant)).collect::<Result<_, Error>>()?;
        let mixed =
            |layer: usize| Ok(at(&[layer, layer + 1])? - constant - linear[layer] - linear[layer + 1]);
        let product = (0..count.saturating_sub(1)).map(mixed).collect::<Result<_, Error>>()?;
        Ok(Self { constant, linear, product })
    }

    fn at(&self, widths: &[f64]) -> f64 {
        let linear: f64 = self.linear.iter().zip(widths).map(|(a, n)| a * (n - 1.0)).sum();
        let pairs = self.product.iter().zip(widths.windows(2));
        let product: f64 = pairs.map(|(b, pair)| b * (pair[0] - 1.0) * (pair[1] - 1.0)).sum();
        self.constant + linear + product
    }
}

/// A box of widths.
struct Region {
    low: Vec<usize>,
    high: Vec<usize>,
}

impl<'a> Objective<'a> {
    fn new(baseline: &Module, cost: Cost, variance: &'a dyn Variance) -> Result<Self, Error> {
        let relaxed = variance.relaxed(baseline)?.ok_or_else(|| {
            Error::Invalid(
                "free widths need a variance formula, which measured variances have none of; \
                 take law or exact"
                    .into(),
            )
        })?;
        Ok(Self { cost: NeighbourProducts::of(baseline, cost)?, variance: relaxed })
    }

    fn at(&self, widths: &[f64]) -> f64 {
        ((self.variance)(widths) * self.cost.at(widths)).ln()
    }

    fn at_integers(&self, widths: &[usize]) -> f64 {
        self.at(&widths.iter().map(|&width| width as f64).collect::<Vec<_>>())
    }

    /// Branch and bound; gives the widths, the number of boxes, and whether the proof is complete.
    fn minimise(&self, upper: &[usize], monitor: &dyn Monitor) -> Result<(Vec<usize>, usize, bool), Error> {
        let whole = Region { low: vec![1; upper.len()], high: upper.to_vec() };
        let mut best = self.descend_integers(&self.relaxed_minimum(&whole), upper);
        let mut value = self.at_integers(&best);
        let (mut open, mut boxes) = (vec![whole], 0);
        while let Some(region) = open.pop() {
            go_on(monitor)?;
            boxes += 1;
            if boxes > MOST_BOXES {
                return Ok((best, boxes - 1, false));
            }
            let minimum = self.relaxed_minimum(&region);
            if self.at(&minimum) >= value - ACCURACY {
                continue;
            }
            let rounded: Vec<usize> = minimum.iter().map(|width| width.round() as usize).collect();
            let here = self.at_integers(&rounded);
            if here < value {
                (best, value) = (rounded, here);
            }
            open.extend(region.split(&minimum));
        }
        Ok((best, boxes, true))
    }

    /// The minimum over real widths in a box: coordinate descent in ln n, where the objective is
    /// convex.
    fn relaxed_minimum(&self, region: &Region) -> Vec<f64> {
        let mut widths: Vec<f64> = region
            .low
            .iter()
            .zip(&region.high)
            .map(|(&low, &high)| (low as f64 * high as f64).sqrt())
            .collect();
        let mut value = self.at(&widths);
        for _ in 0..200 {
            for layer in 0..widths.len() {
                let ends = ((region.low[layer] as f64).ln(), (region.high[layer] as f64).ln());
                let best = golden_section(ends, |ln| {
                    widths[layer] = ln.exp();
                    self.at(&widths)
                });
                widths[layer] = best.exp().clamp(region.low[layer] as f64, region.high[layer] as f64);
            }
            let next = self.at(&widths);
            if value - next <= 1e-13 {
                break;
            }
            value = next;
        }
        widths
    }

    /// Steps of one unit in one width at a time, while they help: a good first guess.
    fn descend_integers(&self, start: &[f64], upper: &[usize]) -> Vec<usize> {
        let mut widths: Vec<usize> = start.iter().map(|width| (width.round() as usize).max(1)).collect();
        let mut value = self.at_integers(&widths);
        loop {
            let before = value;
            for layer in 0..widths.len() {
                for candidate in
                    [widths[layer].saturating_sub(1).max(1), (widths[layer] + 1).min(upper[layer])]
                {
                    let old = std::mem::replace(&mut widths[layer], candidate);
                    let next = self.at_integers(&widths);
                    if next < value {
                        value = next;
                    } else {
                        widths[layer] = old;
                    }
                }
            }
            if value >= before {
                return widths;
            }
        }
    }
}

impl Region {
    /// Two boxes left and right of the most fractional coordinate, or around the minimum if it is
    /// integer.
    fn split(mut self, minimum: &[f64]) -> Vec<Region> {
        let fraction = |width: f64| (width - width.round()).abs();
        let splittable = (0..minimum.len()).filter(|&layer| self.low[layer] < self.high[layer]);
        let Some(layer) = splittable.max_by(|&a, &b| fraction(minimum[a]).total_cmp(&fraction(minimum[b])))
        else {
            return vec![];
        };
        let cut = (minimum[layer].floor() as usize).clamp(self.low[layer], self.high[layer] - 1);
        let mut right = Region { low: self.low.clone(), high: self.high.clone() };
        self.high[layer] = cut;
        right.low[layer] = cut + 1;
        vec![self, right]
    }
}

/// The minimum of a convex function on an interval.
fn golden_section((mut low, mut high): (f64, f64), mut f: impl FnMut(f64) -> f64) -> f64 {
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    while high - low > 1e-8 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = f(b);
        }
    }
    (low + high) / 2.0
}
