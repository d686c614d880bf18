//! Regression with a kernel: what a network predicts that is trained in its kernel's regime.
//!
//! Classes are one-hot targets less 1/C, so that every row sums to zero and the centre depends on
//! no data. With y the N x C targets and K the kernel between training inputs, the predictor is
//!
//! f(x) = k(x)^T a,  a = (K + ridge)^-1 y,
//!
//! and the class of x is the largest of f(x). Without its i-th input it predicts
//!
//! y_i - a_i / ((K + ridge)^-1)_ii
//!
//! there, so all N leave-one-out predictions come with the solution. The ridge with the fewest
//! leave-one-out errors is taken, of several the one with the smallest squared error; ridges are
//! tried from 1e-6 to 10 times the mean of the kernel's diagonal, below which f32 kernels have no
//! more digits, two per decade.
//!
//! A Cholesky factor per ridge: N^3 / 3 multiplications each and one copy of the kernel. An
//! eigendecomposition would serve all ridges at once, but costs about as much as all fifteen factors
//! and as much memory again.

mod cholesky;

use collegial_core::Monitor;

use crate::Error;
use cholesky::Factor;

/// Ridges over the mean of the diagonal: powers of ten, two per decade.
const HALF_DECADES: std::ops::RangeInclusive<i32> = -12..=2;

/// How well a ridge does.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Ridge {
    /// What is added to the kernel's diagonal.
    pub ridge: f64,
    /// Share of training inputs whose class is not predicted from the others.
    pub leave_one_out_error: f64,
    /// Mean over inputs of the squared error of that prediction, summed over classes.
    pub squared_error: f64,
}

/// The predictor of a kernel.
#[derive(Clone, Debug)]
pub struct Predictor {
    /// The ridge that was chosen.
    pub best: Ridge,
    /// All that were tried. Those at which the kernel is not positive definite are left out.
    pub tried: Vec<Ridge>,
    /// N x C.
    coefficients: Vec<f64>,
    classes: usize,
}

impl Predictor {
    /// Fits classes by a kernel between N inputs, row by row, with the best ridge.
    ///
    /// # Errors
    ///
    /// If there are fewer than two inputs, the kernel is not positive definite with any ridge, or
    /// the monitor stopped it.
    ///
    /// # Panics
    ///
    /// If the kernel is not N x N, or a label not below `classes`.
    pub fn fit(
        kernel: &[f64],
        labels: &[usize],
        classes: usize,
        monitor: &dyn Monitor,
    ) -> Result<Self, Error> {
        let n = labels.len();
        assert_eq!(kernel.len(), n * n, "a kernel between {n} inputs");
        if n < 2 {
            return Err(Error::Invalid(format!(
                "a regression that leaves one input out needs at least 2, but there are {n}"
            )));
        }
        let mean = (0..n).map(|i| kernel[i * n + i]).sum::<f64>() / n as f64;
        let mut best: Option<(Ridge, Vec<f64>)> = None;
        let mut tried = vec![];
        let count = HALF_DECADES.count();
        for (done, power) in HALF_DECADES.enumerate() {
            monitor.progress(done as f64 / count as f64, Some("choosing the ridge"));
            if monitor.stopped() {
                return Err(Error::Interrupted);
            }
            let ridge = mean * 10f64.powf(f64::from(power) / 2.0);
            let Some((ridge, coefficients)) = with_ridge(kernel, labels, classes, ridge) else { continue };
            tried.push(ridge);
            let order = |ridge: &Ridge| (ridge.leave_one_out_error, ridge.squared_error);
            if best.as_ref().is_none_or(|(best, _)| order(&ridge) < order(best)) {
                best = Some((ridge, coefficients));
            }
        }
        let (best, coefficients) = best.ok_or_else(|| {
            Error::Invalid(
                "the kernel is not positive definite with any ridge up to ten times its mean diagonal".into(),
            )
        })?;
        Ok(Self { best, tried, coefficients, classes })
    }

    /// The class of an input from its kernel with all training inputs.
    pub fn class(&self, kernel: &[f64]) -> usize {
        let mut outputs = vec![0.0; self.classes];
        for (k, coefficients) in kernel.iter().zip(self.coefficients.chunks_exact(self.classes)) {
            outputs.iter_mut().zip(coefficients).for_each(|(output, a)| *output += k * a);
        }
        largest(&outputs)
    }
}

/// What a ridge leads to; `None` if the matrix is not positive definite.
fn with_ridge(kernel: &[f64], labels: &[usize], classes: usize, ridge: f64) -> Option<(Ridge, Vec<f64>)> {
    let n = labels.len();
    let mut matrix = kernel.to_vec();
    (0..n).for_each(|i| matrix[i * n + i] += ridge);
    let factor = Factor::new(matrix, n)?;
    let targets =
        (0..classes).flat_map(|class| labels.iter().map(move |&label| target(class, label, classes)));
    let (coefficients, diagonal) = factor.solve(targets.collect());
    let (mut errors, mut squares) = (0, 0.0);
    for ((&label, a), inverse) in labels.iter().zip(coefficients.chunks_exact(classes)).zip(diagonal) {
        let residuals = a.iter().map(|a| a / inverse);
        squares += residuals.clone().map(|residual| residual * residual).sum::<f64>();
        let predicted: Vec<f64> =
            residuals.enumerate().map(|(class, residual)| target(class, label, classes) - residual).collect();
        errors += usize::from(largest(&predicted) != label);
    }
    let (leave_one_out_error, squared_error) = (errors as f64 / n as f64, squares / n as f64);
    Some((Ridge { ridge, leave_one_out_error, squared_error }, coefficients))
}

/// The target of a class's output at an input with this label.
fn target(class: usize, label: usize, classes: usize) -> f64 {
    assert!(label < classes, "label {label} of {classes} classes");
    f64::from(u8::from(class == label)) - 1.0 / classes as f64
}

/// Where the largest value is, the first of several.
fn largest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best })
}
