//! Does a prediction rank what was measured? Spearman's correlation with an interval.

use collegial_core::{Interval, bootstrap, spearman};
use serde::Serialize;

/// Resamples behind an interval.
const REPLICATES: u64 = 4000;

/// Three designs come in the predicted order by chance once in six times: no interval of theirs
/// leaves anything out.
const FEWEST: usize = 4;

/// The stream of random numbers that is ours ("rank").
const STREAM: u32 = 0x7261_6e6b;

/// A rank correlation with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// Spearman's correlation between the prediction and the mean of the runs.
    pub estimate: f64,
    /// Its 95 % bootstrap interval.
    pub interval: [f64; 2],
}

/// What a rank correlation says of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The 95 % interval of the rank correlation is above 0: what was measured follows the
    /// prediction.
    Follows,
    /// The interval is below 0: it goes the other way.
    Reversed,
    /// The interval holds 0, or there is no correlation.
    Unclear,
}

impl Order {
    /// That of a correlation, if there is one.
    pub fn of(correlation: Option<Correlation>) -> Self {
        match correlation.map(|correlation| correlation.interval) {
            Some([low, _]) if low > 0.0 => Self::Follows,
            Some([_, high]) if high < 0.0 => Self::Reversed,
            _ => Self::Unclear,
        }
    }
}

impl Correlation {
    /// "0.93 (0.60 to 1.00)".
    pub fn words(&self) -> String {
        format!("{:.2} ({:.2} to {:.2})", self.estimate, self.interval[0], self.interval[1])
    }
}

/// The rank correlation of `predicted[i]` with the mean of `measured[i]`, every design having as
/// many runs.
///
/// The bootstrap has two levels: designs are drawn again, and for each of them its runs. So the
/// interval knows both that runs scatter and that a handful of designs is a small sample of a
/// curve. `None` where a correlation has no meaning.
pub fn rank_correlation(predicted: &[f64], measured: &[Vec<f64>], seed: u64) -> Option<Correlation> {
    let (designs, runs) = (measured.len(), measured.first()?.len());
    if predicted.len() != designs || runs == 0 || measured.iter().any(|design| design.len() != runs) {
        return None;
    }
    let means: Vec<f64> = measured.iter().map(|runs| mean(runs.iter().copied())).collect();
    let estimate = spearman(predicted, &means)?;
    if designs < FEWEST {
        return Some(Correlation { estimate, interval: [-1.0, 1.0] });
    }
    // One index below designs x runs holds two independent uniform numbers: which design, and which
    // of its runs.
    let replicates = bootstrap(seed, STREAM, REPLICATES, designs * runs, |indices| {
        let drawn = |indices: &[usize]| {
            let design = indices[0] / runs;
            (predicted[design], mean(indices.iter().map(|index| measured[design][index % runs])))
        };
        let (x, y): (Vec<f64>, Vec<f64>) = indices.chunks_exact(runs).map(drawn).unzip();
        spearman(&x, &y).unwrap_or(f64::NAN)
    });
    // A resample of one design only has no order.
    let replicates: Vec<f64> = replicates.into_iter().filter(|value| !value.is_nan()).collect();
    let Interval { low, high } = Interval::percentile(&replicates, 0.95);
    Some(Correlation { estimate, interval: [low, high] })
}

/// The mean.
pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    values.sum::<f64>() / count as f64
}

/// The standard error of the mean; a single value has none.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;

    /// Eight designs of five runs whose means are `slope` times the prediction plus noise of
    /// deviation 0.1.
    fn designs(slope: f64, seed: u64) -> (Vec<f64>, Vec<Vec<f64>>) {
        let predicted: Vec<f64> = (0..8).map(f64::from).collect();
        let mut rng = Rng::new(seed, 1, 0);
        let runs =
            predicted.iter().map(|x| (0..5).map(|_| slope * x + 0.1 * rng.normal()).collect()).collect();
        (predicted, runs)
    }

    #[test]
    fn three_designs_tell_nothing() {
        let (x, y) = designs(1.0, 3);
        let found = rank_correlation(&x[..3], &y[..3], 0).unwrap();
        assert_eq!((found.estimate, found.interval), (1.0, [-1.0, 1.0]));
        assert_eq!(Order::of(Some(found)), Order::Unclear);
    }

    #[test]
    fn order_is_recognised_both_ways_and_noise_is_not() {
        let of = |slope| {
            let (x, y) = designs(slope, 3);
            rank_correlation(&x, &y, 0).unwrap()
        };
        let (up, down, none) = (of(1.0), of(-1.0), of(0.0));
        // Means differ by ten of their standard errors or more: none can swap, and only designs
        // drawn twice, which tie in the prediction, keep a resample below 1.
        assert!((up.estimate - 1.0).abs() < 1e-12 && up.interval[0] > 0.85, "{up:?}");
        assert!((down.estimate + 1.0).abs() < 1e-12);
        let orders = [up, down, none].map(|correlation| Order::of(Some(correlation)));
        assert_eq!(orders, [Order::Follows, Order::Reversed, Order::Unclear], "{up:?} {down:?} {none:?}");
        assert_eq!(Order::of(None), Order::Unclear);
        let shown = Correlation { estimate: 0.5, interval: [-0.25, 1.0] };
        assert_eq!(shown.words(), "0.50 (-0.25 to 1.00)");
    }

    #[test]
    fn the_interval_covers() {
        // Without any relation the 95 % interval of 8 designs should hold 0 nearly always; a
        // percentile interval of so few is known to be a little narrow. Of 100 data sets, fewer
        // than 80 would be 15 points or 5 standard errors off.
        let covered = (0..100).filter(|&seed| {
            let (x, y) = designs(0.0, 100 + seed);
            let Correlation { interval: [low, high], .. } = rank_correlation(&x, &y, seed).unwrap();
            low <= 0.0 && 0.0 <= high
        });
        assert!(covered.count() >= 80);
    }

    #[test]
    fn what_has_no_order_has_no_correlation() {
        assert_eq!(rank_correlation(&[], &[], 0), None);
        assert_eq!(rank_correlation(&[1.0, 1.0], &[vec![0.1], vec![0.2]], 0), None);
        assert_eq!(rank_correlation(&[1.0, 2.0], &[vec![0.1], vec![0.2, 0.3]], 0), None);
        assert_eq!(rank_correlation(&[1.0], &[vec![0.1], vec![0.2]], 0), None);
    }

    #[test]
    fn standard_errors() {
        assert_eq!((standard_error(&[]), standard_error(&[1.0])), (None, None));
        assert!((standard_error(&[1.0, 2.0, 3.0]).unwrap() - (1.0f64 / 3.0).sqrt()).abs() < 1e-15);
    }
}
