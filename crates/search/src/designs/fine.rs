//! Both objectives between the narrowest widths, where the curves bend most.
//!
//! No network has a width of 1.5. But the variance of a member is a formula in n, and its cost a
//! polynomial of degree two, so both have values there, and a curve through them is smooth.

use collegial_core::Silent;
use serde::Serialize;

use super::blocks::{BlockInputs, ScoredBlocks};
use super::search::DesignSearch;
use super::variances::{Variances, stage_widths};
use crate::Error;

/// Whole widths that others are put between.
const WHOLE: [usize; 5] = [1, 2, 3, 4, 5];

/// Points from one whole width to the next.
const STEPS: usize = 8;

/// Costs of whole widths differ from the polynomial through three of them by no more.
const ROUNDING: f64 = 1e-9;

/// What a width gives that need not be whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FinePoint {
    /// n.
    pub width: f64,
    /// Var(n) of one member.
    pub variance: f64,
    /// Var(n) / m for the m that the budget pays for.
    pub primal_objective: f64,
    /// The baseline's cost over that of the m that has the baseline's score.
    pub efficiency: f64,
}

impl DesignSearch {
    /// Both objectives from width 1 to 5 in eighths; none where one of these widths is not looked
    /// at, or the variance or the cost between them has no formula. In the
    /// standard parametrisation the variance depends on m as well, and there are none.
    ///
    /// # Errors
    ///
    /// As those of [`run`](Self::run).
    pub fn fine_curve(&self) -> Result<Vec<FinePoint>, Error> {
        self.check()?;
        let inputs = if self.baseline.module().is_none() { self.inputs } else { BlockInputs::White };
        let blocks = ScoredBlocks::parametrised(&self.baseline, inputs, &self.images, self.parametrisation);
        let Ok(blocks) = blocks else { return Ok(vec![]) };
        if self.is_timed() || blocks.depend_on_members() || !self.candidates()?.0.starts_with(&WHOLE) {
            return Ok(vec![]);
        }
        let widths = WHOLE.map(|width| stage_widths(&self.baseline, width));
        let widths = widths.into_iter().collect::<Result<Vec<_>, Error>>()?;
        let scaled = |by: f64| -> Vec<Vec<f64>> {
            widths[0].iter().map(|stage| stage.iter().map(|width| by * width).collect()).collect()
        };
        let variances = Variances::exact(&self.baseline, blocks.clone(), &WHOLE, &Silent)?;
        let table = self.table(&WHOLE, &variances, &Silent)?;
        let costs: Vec<Vec<f64>> = table.widths.iter().map(|width| width.steps().collect()).collect();
        let regular = costs.len() == WHOLE.len()
            && WHOLE.iter().zip(&widths).all(|(&width, stages)| *stages == scaled(width as f64))
            && WHOLE.iter().zip(&costs).all(|(&width, steps)| {
                let meets = |(at, step): (usize, &f64)| {
                    (quadratic(&costs, at, width as f64) / step - 1.0).abs() < ROUNDING
                };
                steps.iter().enumerate().all(meets)
            });
        if !regular {
            return Ok(vec![]);
        }
        let shares = self.baseline.stage_shares();
        let point = |eighths: usize| {
            let width = eighths as f64 / STEPS as f64;
            let stages = blocks.stage_variances(&scaled(width), |_| 1.0);
            let variance = stages.iter().zip(&shares).map(|(variance, share)| variance / share).sum();
            let steps: Vec<f64> = (0..costs[0].len()).map(|at| quadratic(&costs, at, width)).collect();
            let (primal_objective, efficiency) = table.widths[0].objectives(
                &table.allowed.limits,
                (table.baseline.cost, table.baseline.score),
                variance,
                &steps,
            );
            FinePoint { width, variance, primal_objective, efficiency }
        };
        Ok((STEPS..=STEPS * WHOLE.len()).map(point).collect())
    }
}

/// The parabola through the costs of widths 1, 2 and 3 (Lagrange).
fn quadratic(costs: &[Vec<f64>], at: usize, width: f64) -> f64 {
    let [one, two, three] = [0, 1, 2].map(|index: usize| costs[index][at]);
    one * (width - 2.0) * (width - 3.0) / 2.0 - two * (width - 1.0) * (width - 3.0)
        + three * (width - 1.0) * (width - 2.0) / 2.0
}
