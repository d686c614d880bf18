//! Rank correlation.

/// The ranks 1..=n of the values, ties sharing the average of theirs.
pub fn average_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let average = before as f64 + 0.5 * (tied.len() + 1) as f64;
        tied.iter().for_each(|&i| ranks[i] = average);
        before += tied.len();
    }
    ranks
}

/// Spearman's correlation: Pearson's between average ranks.
///
/// `None` where it has no meaning: lengths that differ, fewer than two values, NaN, or all values
/// of one side equal.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.iter().chain(y).any(|v| v.is_nan()) {
        return None;
    }
    let middle = 0.5 * (x.len() + 1) as f64;
    let (x, y) = (average_ranks(x), average_ranks(y));
    let product =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    (scale > 0.0).then(|| product(&x, &y) / scale)
}
