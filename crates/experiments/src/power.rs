//! Statistical power: the number of trainings that tells two designs apart.

use collegial_core::special::normal_quantile;
use serde::Serialize;

use crate::Row;

/// How often a difference of the wanted size should be found.
const POWER: f64 = 0.8;

/// [`Row::compare`] calls means different that are this many standard errors of their difference
/// apart.
const STANDARD_ERRORS: f64 = 2.0;

/// What so many runs of each design can decide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// Runs of every design.
    pub runs: u32,
    /// The standard deviation of one run around its design's mean, pooled over designs.
    pub scatter: f64,
    /// The difference of two designs' errors that so many runs find in 80 % of cases.
    pub decides: f64,
}

impl Power {
    /// That of what was trained; `None` where no design has two runs.
    pub fn of(rows: &[Row]) -> Option<Self> {
        let scatter = scatter(rows)?;
        let runs = rows.iter().map(|row| row.test_errors.len() as u32).min()?;
        Some(Self { runs, scatter, decides: decided(scatter, runs) })
    }

    /// "5 runs of every design find a difference of 0.35 points in 80 % of cases (one run scatters
    /// by 0.27 points)".
    pub fn words(&self) -> String {
        format!(
            "{} runs of every design find a difference of {:.2} points in 80 % of cases (one run scatters by {:.2} points)",
            self.runs,
            100.0 * self.decides,
            100.0 * self.scatter
        )
    }
}

/// The pooled standard deviation of single runs around their design's mean.
pub fn scatter(rows: &[Row]) -> Option<f64> {
    let freedom: usize = rows.iter().map(|row| row.test_errors.len().saturating_sub(1)).sum();
    let square =
        |row: &Row| -> f64 { row.test_errors.iter().map(|error| (error - row.test_error).powi(2)).sum() };
    (freedom > 0).then(|| (rows.iter().map(square).sum::<f64>() / freedom as f64).sqrt())
}

/// The difference that `runs` runs of each of two designs find in 80 % of cases.
pub fn decided(scatter: f64, runs: u32) -> f64 {
    (STANDARD_ERRORS + normal_quantile(POWER)) * scatter * (2.0 / f64::from(runs)).sqrt()
}

/// Runs of each of two designs that find this difference in 80 % of cases; at least two.
pub fn runs_needed(scatter: f64, difference: f64) -> u32 {
    let ratio = (STANDARD_ERRORS + normal_quantile(POWER)) * scatter / difference;
    // A difference of nothing takes runs without end: the caller has a limit.
    (2.0 * ratio * ratio).ceil().clamp(2.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Difference;
    use crate::sweep::made_up;
    use collegial_core::Rng;

    /// The share of made-up experiments in which a difference of one standard deviation is found
    /// with so many runs.
    fn found(runs: u32) -> f64 {
        let experiments = 2000;
        let hits = (0..experiments).filter(|&experiment| {
            let mut rng = Rng::new(5, 9, experiment);
            let mut row = |mean: f64| {
                let errors: Vec<f64> = (0..runs).map(|_| mean + 0.01 * rng.normal()).collect();
                made_up::row(1, 1.0, 1.0, &errors)
            };
            row(0.1).compare(&row(0.11)) == Difference::Better
        });
        hits.count() as f64 / experiments as f64
    }

    #[test]
    fn the_planned_runs_have_the_power() {
        let runs = runs_needed(0.01, 0.01);
        assert_eq!(runs, 17);
        // 2000 experiments have a standard error of 0.009. Standard errors that are estimated from
        // 17 runs cost next to nothing.
        let share = found(runs);
        assert!((share - 0.8).abs() < 0.04, "{share}");
        assert!(found(runs / 2) < 0.65);
        assert!((decided(0.01, runs) - 0.01).abs() < 5e-4);
        assert_eq!((runs_needed(0.01, 1.0), runs_needed(0.01, 0.0)), (2, u32::MAX));
    }

    #[test]
    fn scatter_is_pooled_over_designs() {
        let rows = [made_up::row(1, 1.0, 1.0, &[0.1, 0.3]), made_up::row(2, 1.0, 1.0, &[0.5, 0.5])];
        // Squares 0.02 and 0 over two degrees of freedom.
        assert!((scatter(&rows).unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(scatter(&[made_up::row(1, 1.0, 1.0, &[0.1])]), None);
        assert_eq!(Power::of(&rows).unwrap().runs, 2);
    }
}
