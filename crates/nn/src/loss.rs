//! Losses: the mean over the batch, with their gradients.

/// Softmax cross-entropy, averaged over the batch: `-ln softmax(logits)[label]`. Writes its
/// gradient and returns its value.
///
/// # Panics
///
/// If the arrays do not have one row per label, or a label is not a class.
pub fn cross_entropy(logits: &[f32], labels: &[usize], gradient: &mut [f32]) -> f64 {
    assert!(!labels.is_empty() && logits.len().is_multiple_of(labels.len()), "one row of logits per label");
    assert_eq!(logits.len(), gradient.len(), "the gradient has the logits' size");
    let (classes, share) = (logits.len() / labels.len(), 1.0 / labels.len() as f64);
    let rows = logits.chunks_exact(classes).zip(gradient.chunks_exact_mut(classes));
    let total: f64 = rows
        .zip(labels)
        .map(|((row, gradient), &label)| {
            assert!(label < classes, "the label {label} is not one of {classes} classes");
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
    share * total
}

/// Half the squared distance to the targets, summed over outputs and averaged over the batch:
/// `sum (output - target)^2 / (2 batch)`. Writes its gradient and returns its value.
///
/// # Panics
///
/// If the arrays differ in size or are not made of `batch` rows.
pub fn half_squares(outputs: &[f32], targets: &[f32], batch: usize, gradient: &mut [f32]) -> f64 {
    assert!(batch > 0 && outputs.len().is_multiple_of(batch), "one row of outputs per sample");
    assert!(outputs.len() == targets.len() && outputs.len() == gradient.len(), "arrays of one size");
    let share = 1.0 / batch as f64;
    let squares = outputs.iter().zip(targets).zip(gradient).map(|((output, target), gradient)| {
        let difference = f64::from(*output) - f64::from(*target);
        *gradient = (share * difference) as f32;
        difference * difference
    });
    0.5 * share * squares.sum::<f64>()
}
