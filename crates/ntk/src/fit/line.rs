//! A straight line through points with errors.

use super::{Method, Point};
use crate::Error;

/// ln R = intercept + slope S, with the slope's standard error from the points' own (delta method).
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub slope: f64,
    pub slope_error: f64,
    pub intercept: f64,
    pub r_squared: f64,
}

impl Line {
    /// Least squares. The slope is a weighted sum of the y, so its variance is the sum of squared
    /// weights times theirs.
    pub fn through(points: &[Point], method: Method) -> Result<Self, Error> {
        if points.len() < 2 {
            return Err(Error::Invalid(format!(
                "a fit needs at least two different widths, but {found} was given",
                found = points.len()
            )));
        }
        if let Some(point) = points.iter().find(|point| !point.second_moment_ratio.is_finite()) {
            return Err(Error::Invalid(format!(
                "hardly any of the {trials} kernels drawn at width {width} differs from 0, so its \
                 variance is unknown; take more trials or leave it out",
                width = point.width,
                trials = point.trials
            )));
        }
        let x: Vec<f64> = points.iter().map(|point| point.inverse_fan_in_sum).collect();
        let y: Vec<f64> = points.iter().map(|point| point.second_moment_ratio.ln()).collect();
        let errors: Vec<f64> =
            points.iter().map(|point| point.standard_error / point.second_moment_ratio).collect();
        let weights = weights(&errors, method.weighted);
        let mean = |values: &[f64]| -> f64 { weights.iter().zip(values).map(|(w, v)| w * v).sum() };
        let (x_mean, y_mean) = if method.intercept { (mean(&x), mean(&y)) } else { (0.0, 0.0) };
        let spread: f64 = weights.iter().zip(&x).map(|(w, x)| w * (x - x_mean).powi(2)).sum();
        if spread <= 0.0 {
            return Err(Error::Invalid(
                "all widths given have the same sum of inverse fan-ins; give different widths".into(),
            ));
        }
        let shares: Vec<f64> = weights.iter().zip(&x).map(|(w, x)| w * (x - x_mean) / spread).collect();
        let slope: f64 = shares.iter().zip(&y).map(|(share, y)| share * (y - y_mean)).sum();
        let variance: f64 = shares.iter().zip(&errors).map(|(share, error)| (share * error).powi(2)).sum();
        let intercept = y_mean - slope * x_mean;
        let around = mean(&y);
        let residual: f64 =
            (0..y.len()).map(|i| weights[i] * (y[i] - intercept - slope * x[i]).powi(2)).sum();
        let total: f64 = (0..y.len()).map(|i| weights[i] * (y[i] - around).powi(2)).sum();
        let r_squared = if total > 0.0 { 1.0 - residual / total } else { 1.0 };
        Ok(Self { slope, slope_error: variance.sqrt(), intercept, r_squared })
    }

    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// Weights that sum to 1.
fn weights(errors: &[f64], weighted: bool) -> Vec<f64> {
    // Exact points would have infinite weight: they count as much as the best measured one would at
    // 1e-9.
    let weight = |error: &f64| if weighted { error.max(1e-9).powi(-2) } else { 1.0 };
    let raw: Vec<f64> = errors.iter().map(weight).collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64, error: f64) -> Point {
        let ratio = y.exp();
        Point { standard_error: error * ratio, trials: 10, ..Point::new(1, x, ratio) }
    }

    #[test]
    fn a_line_is_found_exactly_by_every_method() {
        let points = [point(0.1, 0.5, 0.1), point(0.2, 0.8, 0.2), point(0.5, 1.7, 0.1)];
        for (weighted, intercept) in [(false, true), (true, true)] {
            let line = Line::through(&points, Method { weighted, intercept }).unwrap();
            assert!((line.slope - 3.0).abs() < 1e-12 && (line.intercept - 0.2).abs() < 1e-12);
            assert!((line.r_squared - 1.0).abs() < 1e-12);
        }
        let through_origin = [point(0.1, 0.3, 0.1), point(0.4, 1.2, 0.1)];
        let line = Line::through(&through_origin, Method { weighted: false, intercept: false }).unwrap();
        assert!((line.slope - 3.0).abs() < 1e-12 && line.intercept == 0.0);
    }

    #[test]
    fn the_slopes_error_is_the_textbook_one() {
        // Equal errors s: the slope's error is s / sqrt(sum of (x - mean)^2) = 0.1 / sqrt(0.5).
        let points = [point(0.0, 0.0, 0.1), point(0.5, 1.0, 0.1), point(1.0, 2.0, 0.1)];
        let line = Line::through(&points, Method::default()).unwrap();
        assert!((line.slope_error - 0.1 / 0.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        let one = [point(0.1, 0.5, 0.1)];
        assert!(
            Line::through(&one, Method::default())
                .unwrap_err()
                .to_string()
                .contains("at least two different widths")
        );
        let same = [point(0.1, 0.5, 0.1), point(0.1, 0.6, 0.1)];
        assert!(
            Line::through(&same, Method::default()).unwrap_err().to_string().contains("different widths")
        );
    }
}
