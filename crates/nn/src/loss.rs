//! Losses: the mean over the batch, with their gradients.

use crate::Error;
use crate::error::check_lengths;

/// Softmax cross-entropy, averaged over the batch: `-ln softmax(logits)[label]`. Writes its
/// gradient and returns its value.
///
/// # Errors
///
/// If the arrays do not have one row per label, or a label is not a class; the gradient is then as
/// it was.
pub fn cross_entropy(logits: &[f32], labels: &[usize], gradient: &mut [f32]) -> Result<f64, Error> {
    let classes = row_length(logits, labels.len())?;
    check_lengths("gradients", gradient.len(), "outputs", logits.len())?;
    if let Some(&label) = labels.iter().find(|&&label| label >= classes) {
        return Err(Error::Label { label, classes });
    }
    let share = 1.0 / labels.len() as f64;
    let rows = logits.chunks_exact(classes).zip(gradient.chunks_exact_mut(classes));
    let total: f64 = rows
        .zip(labels)
        .map(|((row, gradient), &label)| {
            // The largest logit is subtracted, so that no exponential overflows.
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let shifted = |logit: f32| f64::from(logit) - f64::from(largest);
            let sum: f64 = row.iter().map(|&logit| shifted(logit).exp()).sum();
            for (class, (gradient, &logit)) in gradient.iter_mut().zip(row).enumerate() {
                let target = if class == label { 1.0 } else { 0.0 };
                *gradient = (share * (shifted(logit).exp() / sum - target)) as f32;
            }
            sum.ln() - shifted(row[label])
        })
        .sum();
    Ok(share * total)
}

/// Half the squared distance to the targets, summed over outputs and averaged over the batch:
/// `sum (output - target)^2 / (2 batch)`. Writes its gradient and returns its value.
///
/// # Errors
///
/// If the arrays differ in length or are not made of `batch` rows; the gradient is then as it was.
pub fn half_squares(
    outputs: &[f32],
    targets: &[f32],
    batch: usize,
    gradient: &mut [f32],
) -> Result<f64, Error> {
    row_length(outputs, batch)?;
    check_lengths("targets", targets.len(), "outputs", outputs.len())?;
    check_lengths("gradients", gradient.len(), "outputs", outputs.len())?;
    let share = 1.0 / batch as f64;
    let squares = outputs.iter().zip(targets).zip(gradient).map(|((output, target), gradient)| {
        let difference = f64::from(*output) - f64::from(*target);
        *gradient = (share * difference) as f32;
        difference * difference
    });
    Ok(0.5 * share * squares.sum::<f64>())
}

/// How many outputs every image has.
fn row_length(outputs: &[f32], rows: usize) -> Result<usize, Error> {
    match outputs.len() {
        values if values > 0 && rows > 0 && values.is_multiple_of(rows) => Ok(values / rows),
        values => Err(Error::Rows { values, rows }),
    }
}
