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
    /// Errors by leaving out one draw at a time, on a logarithmic scale: kernels are skewed, and
    /// what few draws say of their own fourth moments (the delta method) is too little. Entries of
    /// one draw depend on each other, so they are averaged before their spread over draws is taken.
    fn of(kernels: &[Vec<f64>], entries: &[usize]) -> Self {
        let (draws, share) = (kernels.len() as f64, 1.0 / entries.len() as f64);
        let (mut mean, mut variance) = (0.0, 0.0);
        let (mut gaps, mut without) = (vec![0.0; kernels.len()], vec![0.0; kernels.len()]);
        for &entry in entries {
            let values = || kernels.iter().map(|kernel| kernel[entry]);
            let mu = values().sum::<f64>() / draws;
            let square: f64 = values().map(|k| (k - mu).powi(2)).sum();
            mean += share * mu;
            variance += share * square / (draws - 1.0) / (mu * mu);
            for (index, k) in values().enumerate() {
                let gap = k - mu;
                // Mean and sum of squares of the others.
                let (others, rest) = (mu - gap / (draws - 1.0), square - gap * gap * draws / (draws - 1.0));
                gaps[index] += share * gap;
                without[index] += share * rest.max(0.0) / (draws - 2.0) / (others * others);
            }
        }
        let sum_of_squares = |values: &[f64]| -> f64 { values.iter().map(|value| value * value).sum() };
        Self {
            entries: entries.len(),
            mean,
            mean_standard_error: (sum_of_squares(&gaps) / (draws - 1.0) / draws).sqrt(),
            variance,
            standard_error: variance * relative_error(&without),
        }
    }
}

/// The relative error of a positive statistic whose values without one draw each are given; of two
/// draws, which tell none, that of the variance of two normal numbers.
fn relative_error(without: &[f64]) -> f64 {
    let draws = without.len() as f64;
    if without.len() < 3 {
        return 2f64.sqrt();
    }
    if without.iter().all(|&value| value == 0.0) {
        return 0.0;
    }
    let mean = without.iter().map(|value| value.ln()).sum::<f64>() / draws;
    let square: f64 = without.iter().map(|value| (value.ln() - mean).powi(2)).sum();
    (square * (draws - 1.0) / draws).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;

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
        // 95 % of 400 is 380 with a deviation of 4.4; four of them are allowed.
        assert!(inside[0] >= 362 && inside[1] >= 362, "{inside:?} of 400 intervals hold the truth");
    }
    #[test]
    fn few_or_equal_draws_have_an_error_too() {
        let constant = vec![vec![3.0]; 4];
        let statistics = DrawStatistics::of(&constant).unwrap().diagonal;
        assert_eq!((statistics.variance, statistics.standard_error), (0.0, 0.0));
        let two = DrawStatistics::of(&[vec![1.0], vec![3.0]]).unwrap().diagonal;
        assert!((two.variance - 0.5).abs() < 1e-12 && (two.standard_error - 0.5 * 2f64.sqrt()).abs() < 1e-12);
        // By hand: 2 and 4 without the first, 1 and 4 without the second, 1 and 2 without the last.
        let three = DrawStatistics::of(&[vec![1.0], vec![2.0], vec![4.0]]).unwrap().diagonal;
        let without: [f64; 3] = [2.0 / 9.0, 4.5 / 6.25, 0.5 / 2.25];
        let mean = without.iter().map(|value| value.ln()).sum::<f64>() / 3.0;
        let square: f64 = without.iter().map(|value| (value.ln() - mean).powi(2)).sum();
        assert!((three.standard_error / three.variance - (square * 2.0 / 3.0).sqrt()).abs() < 1e-12);
    }
}
