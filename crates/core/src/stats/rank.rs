//! Rank correlation.

/// A sample in its order: all that rank statistics need, of the sample and of its resamples.
///
/// A bootstrap sorts a sample once. A resample is then a count per value, whose ranks take one
/// pass: as many values stand before a value as are counted in the places before its own.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// Per value how many distinct values are smaller.
    places: Vec<usize>,
    /// How many distinct values there are.
    distinct: usize,
}

impl Ordered {
    /// Sorts the values; `None` where one is NaN.
    pub fn new(values: &[f64]) -> Option<Self> {
        if values.iter().any(|value| value.is_nan()) {
            return None;
        }
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
        let (mut places, mut distinct) = (vec![0; values.len()], 0);
        for tied in order.chunk_by(|&i, &j| values[i] == values[j]) {
            tied.iter().for_each(|&i| places[i] = distinct);
            distinct += 1;
        }
        Some(Self { places, distinct })
    }

    /// Per value its rank in the resample with so many of each, ties sharing the average of theirs,
    /// less the mean rank. Multiples of 1/2, so that sums of their products are exact.
    pub fn centred_ranks(&self, counts: &[usize]) -> Vec<f64> {
        let mut of_place = vec![0; self.distinct];
        self.places.iter().zip(counts).for_each(|(&place, &count)| of_place[place] += count);
        let middle = 0.5 * (counts.iter().sum::<usize>() + 1) as f64;
        let mut before = 0;
        let rank = |count: usize| {
            let average = before as f64 + 0.5 * (count + 1) as f64;
            before += count;
            average - middle
        };
        let ranks: Vec<f64> = of_place.into_iter().map(rank).collect();
        self.places.iter().map(|&place| ranks[place]).collect()
    }
}

/// Pearson's correlation of centred values with so many of each; `None` where one side is constant.
pub fn correlation(x: &[f64], y: &[f64], counts: &[usize]) -> Option<f64> {
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for ((x, y), &count) in x.iter().zip(y).zip(counts) {
        xx += count as f64 * x * x;
        xy += count as f64 * x * y;
        yy += count as f64 * y * y;
    }
    let scale = (xx * yy).sqrt();
    (scale > 0.0).then(|| xy / scale)
}

/// Spearman's correlation: Pearson's between average ranks.
///
/// `None` where it has no meaning: lengths that differ, fewer than two values, NaN, or all values
/// of one side equal.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() {
        return None;
    }
    let each = vec![1; x.len()];
    correlation(&Ordered::new(x)?.centred_ranks(&each), &Ordered::new(y)?.centred_ranks(&each), &each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Spearman's correlation of the resample written out, every rank counted by comparing all
    /// pairs.
    fn slow(x: &[f64], y: &[f64]) -> Option<f64> {
        let ranks = |values: &[f64]| -> Vec<f64> {
            let below = |v: f64| values.iter().filter(|&&other| other < v).count() as f64;
            let equal = |v: f64| values.iter().filter(|&&other| other == v).count() as f64;
            values.iter().map(|&v| below(v) + 0.5 * (equal(v) + 1.0)).collect()
        };
        let (x, y) = (ranks(x), ranks(y));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (mx, my) = (mean(&x), mean(&y));
        let sum = |a: &[f64], ma: f64, b: &[f64], mb: f64| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - ma) * (b - mb)).sum()
        };
        let (xx, yy) = (sum(&x, mx, &x, mx), sum(&y, my, &y, my));
        (xx > 0.0 && yy > 0.0).then(|| sum(&x, mx, &y, my) / (xx * yy).sqrt())
    }

    proptest! {
        /// Few distinct values, so that most are tied; -0 and 0 are one value.
        #[test]
        fn resamples_are_counted(
            rows in prop::collection::vec((-2_i8..3, -2_i8..3, 0_usize..4), 1..20),
        ) {
            let x: Vec<f64> = rows.iter().map(|row| -0.5 * f64::from(row.0)).collect();
            let y: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            let counts: Vec<usize> = rows.iter().map(|row| row.2).collect();
            let written = |values: &[f64]| -> Vec<f64> {
                values.iter().zip(&counts).flat_map(|(&v, &count)| vec![v; count]).collect()
            };
            let of = |values: &[f64]| Ordered::new(values).unwrap().centred_ranks(&counts);
            let (fast, slow) = (correlation(&of(&x), &of(&y), &counts), slow(&written(&x), &written(&y)));
            prop_assert_eq!(fast.is_some(), slow.is_some());
            if let (Some(fast), Some(slow)) = (fast, slow) {
                prop_assert!((fast - slow).abs() < 1e-12, "{fast} {slow}");
            }
        }
    }

    #[test]
    fn without_a_meaning() {
        assert_eq!(spearman(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(spearman(&[], &[]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, 2.0, f64::INFINITY], &[3.0, 1.0, 0.0]), Some(-1.0));
    }
}
