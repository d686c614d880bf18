//! Mean and variance of kernel entries over draws, with standard errors.

use serde::Serialize;

use crate::Error;

/// What draws of an N x N kernel say.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DrawStatistics {
    /// How many draws.
    pub draws: u64,
    /// The entries K(x, x).
    pub diagonal: EntryStatistics,
    /// The entries K(x, x') between different inputs, where there are two inputs.
    pub off_diagonal: Option<EntryStatistics>,
}

/// Averages over some entries of the kernel: each entry has its moments over draws, and the
/// entries' are averaged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EntryStatistics {
    /// How many entries.
    pub entries: usize,
    /// The mean over draws.
    pub mean: f64,
    /// The standard error of the mean.
    pub mean_standard_error: f64,
    /// The variance over draws, divided by the mean squared.
    pub variance: f64,
    /// The standard error of that variance.
    pub standard_error: f64,
}

impl DrawStatistics {
    /// Of draws of a kernel, row by row each.
    ///
    /// # Errors
    ///
    /// If there are fewer than two draws.
    pub fn of(kernels: &[Vec<f64>]) -> Result<Self, Error> {
        let [first, _, ..] = kernels else { return Err(Error::TooFewTrials(kernels.len() as u64)) };
        let count = first.len().isqrt();
        let diagonal: Vec<usize> = (0..count).map(|n| n * count + n).collect();
        let above = |n: usize| (n + 1..count).map(move |other| n * count + other);
        let off_diagonal: Vec<usize> = (0..count).flat_map(above).collect();
        let some = (!off_diagonal.is_empty()).then_some(off_diagonal);
        Ok(Self {
            draws: kernels.len() as u64,
            diagonal: EntryStatistics::of(kernels, &diagonal),
            off_diagonal: some.map(|entries| EntryStatistics::of(kernels, &entries)),
        })
    }
}

impl EntryStatistics {
    /// An entry with mean mu and variance s^2 has r = s^2 / mu^2. To first order a draw k moves r
    /// by ((k - mu)^2 - s^2) / mu^2 - 2 s^2 (k - mu) / mu^3, over the number of draws. Entries of
    /// one draw depend on each other, so these shifts are averaged over entries before their spread
    /// over draws is taken.
    fn of(kernels: &[Vec<f64>], entries: &[usize]) -> Self {
        let (draws, share) = (kernels.len() as f64, 1.0 / entries.len() as f64);
        let (mut mean, mut variance) = (0.0, 0.0);
        let mut shifts = vec![(0.0, 0.0); kernels.len()];
        for &entry in entries {
            let values = || kernels.iter().map(|kernel| kernel[entry]);
            let mu = values().sum::<f64>() / draws;
            let square = values().map(|k| (k - mu).powi(2)).sum::<f64>() / (draws - 1.0);
            mean += share * mu;
            variance += share * square / (mu * mu);
            for (shift, k) in shifts.iter_mut().zip(values()) {
                let gap = k - mu;
                shift.0 += share * gap;
                shift.1 += share * ((gap * gap - square) / (mu * mu) - 2.0 * square * gap / mu.powi(3));
            }
        }
        let error = |shift: &dyn Fn(&(f64, f64)) -> f64| {
            let sum: f64 = shifts.iter().map(|both| shift(both).powi(2)).sum();
            (sum / (draws - 1.0) / draws).sqrt()
        };
        Self {
            entries: entries.len(),
            mean,
            mean_standard_error: error(&|shift| shift.0),
            variance,
            standard_error: error(&|shift| shift.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_stats::Rng;

    /// Gamma numbers of shape 2 (the sum of two exponentials) have mean 2 and variance 2: r = 1/2.
    /// Both entries are the same number, so the error must not shrink by averaging them.
    #[test]
    fn errors_cover_the_truth_and_know_that_entries_depend_on_each_other() {
        let run = |trial: u64| {
            let mut rng = Rng::new(11, 0, trial);
            let mut exponential = || -rng.uniform().max(1e-300).ln();
            let mut draw = || {
                let k = exponential() + exponential();
                vec![k, 0.5 * k, 0.5 * k, k]
            };
            let kernels: Vec<Vec<f64>> = (0..400).map(|_| draw()).collect();
            (DrawStatistics::of(&kernels).unwrap(), EntryStatistics::of(&kernels, &[0]))
        };
        let runs: Vec<(DrawStatistics, EntryStatistics)> = (0..400).map(run).collect();
        let mut inside = [0; 2];
        for (both, single) in &runs {
            let diagonal = &both.diagonal;
            assert!((diagonal.standard_error - single.standard_error).abs() < 1e-12 && diagonal.entries == 2);
            let off_diagonal = both.off_diagonal.as_ref().expect("two inputs");
            assert!((off_diagonal.variance - diagonal.variance).abs() < 1e-12);
            inside[0] += u32::from((diagonal.mean - 2.0).abs() < 1.96 * diagonal.mean_standard_error);
            inside[1] += u32::from((diagonal.variance - 0.5).abs() < 1.96 * diagonal.standard_error);
        }
        // 95 % of 400 is 380 with a deviation of 4.4. The ratio's error is a little small at 400
        // skewed draws.
        assert!(inside[0] >= 362 && inside[1] >= 348, "{inside:?} of 400 intervals hold the truth");
    }
}
