//! Least squares on several variables.

/// What a quantity is as a linear function of others, by least squares.
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// The change per unit of each variable, the others held fixed.
    pub slopes: Vec<f64>,
    /// Their standard errors.
    pub standard_errors: Vec<f64>,
    /// 1 - residual over total sum of squares.
    pub r_squared: f64,
    /// The same with both divided by their degrees of freedom: below 0 where the variables explain
    /// less than chance would.
    pub adjusted: f64,
    /// Observations minus means and slopes.
    pub freedom: usize,
}

impl Regression {
    /// Fits `y` by `variables`, all of them without their means: one where there is one intercept,
    /// one per group where each group has its own. `means` is how many were taken away.
    ///
    /// `None` where no degree of freedom is left, the variables are linearly dependent, or there is
    /// nothing to explain.
    pub fn centred(y: &[f64], variables: &[Vec<f64>], means: usize) -> Option<Self> {
        let freedom = y.len().checked_sub(means + variables.len()).filter(|&freedom| freedom > 0)?;
        let (basis, triangle) = orthogonal(variables)?;
        let along: Vec<f64> = basis.iter().map(|direction| dot(y, direction)).collect();
        let mut residual = y.to_vec();
        basis.iter().zip(&along).for_each(|(direction, &length)| remove(&mut residual, direction, length));
        let (total, left) = (dot(y, y), dot(&residual, &residual));
        let r_squared = 1.0 - left / total;
        let spread = (left / freedom as f64).sqrt();
        // The covariance of the slopes is spread² (RᵀR)⁻¹: row i of R⁻¹ has their standard errors.
        let inverse = inverse(&triangle);
        let row = |at: usize| inverse.iter().map(move |column| column[at]);
        let slopes =
            (0..along.len()).map(|at| row(at).zip(&along).map(|(entry, length)| entry * length).sum());
        let errors =
            (0..along.len()).map(|at| spread * row(at).map(|entry| entry * entry).sum::<f64>().sqrt());
        r_squared.is_finite().then(|| Self {
            slopes: slopes.collect(),
            standard_errors: errors.collect(),
            r_squared,
            adjusted: 1.0 - (1.0 - r_squared) * (y.len() - means) as f64 / freedom as f64,
            freedom,
        })
    }
}

/// The logarithms of some values minus their mean.
pub fn centred_logs(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    logs.into_iter().map(|log| log - mean).collect()
}

/// A matrix, column by column.
type Columns = Vec<Vec<f64>>;

/// Orthonormal directions that span the variables (Gram and Schmidt), and the upper triangle R with
/// variables = directions R, column by column.
fn orthogonal(variables: &[Vec<f64>]) -> Option<(Columns, Columns)> {
    let (mut basis, mut triangle): (Columns, Columns) = (vec![], vec![]);
    for variable in variables {
        let mut left = variable.clone();
        let mut column = vec![0.0; variables.len()];
        for (at, direction) in basis.iter().enumerate() {
            column[at] = dot(&left, direction);
            remove(&mut left, direction, column[at]);
        }
        let (before, after) = (dot(variable, variable), dot(&left, &left));
        // Also catches NaN.
        if !(before > 0.0 && after > 1e-9 * before) {
            return None;
        }
        let norm = after.sqrt();
        column[basis.len()] = norm;
        left.iter_mut().for_each(|value| *value /= norm);
        basis.push(left);
        triangle.push(column);
    }
    Some((basis, triangle))
}

/// The inverse of an upper triangle, column by column, by substitution from below.
fn inverse(triangle: &[Vec<f64>]) -> Columns {
    let size = triangle.len();
    let column = |at: usize| {
        let mut solution = vec![0.0; size];
        for row in (0..=at).rev() {
            let unit = if row == at { 1.0 } else { 0.0 };
            let known: f64 = (row + 1..=at).map(|k| triangle[k][row] * solution[k]).sum();
            solution[row] = (unit - known) / triangle[row][row];
        }
        solution
    };
    (0..size).map(column).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes away `length` times a direction.
fn remove(values: &mut [f64], direction: &[f64], length: f64) {
    values.iter_mut().zip(direction).for_each(|(value, unit)| *value -= length * unit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn centre(values: &[f64]) -> Vec<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| value - mean).collect()
    }

    /// The normal equations of two variables, solved by Cramer's rule.
    #[test]
    fn two_variables_by_hand() {
        let x = centre(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let z = centre(&[1.0, 0.0, 2.0, 1.0, 4.0, 3.0]);
        let y = centre(&[2.0, 1.0, 4.0, 3.0, 7.0, 8.0]);
        let found = Regression::centred(&y, &[x.clone(), z.clone()], 1).unwrap();
        let (xx, xz, zz, xy, zy) = (dot(&x, &x), dot(&x, &z), dot(&z, &z), dot(&x, &y), dot(&z, &y));
        let det = xx * zz - xz * xz;
        let (a, b) = ((xy * zz - xz * zy) / det, (xx * zy - xz * xy) / det);
        let residual: f64 = (0..6).map(|at| (y[at] - a * x[at] - b * z[at]).powi(2)).sum();
        let error = |square: f64| (residual / 3.0 * square / det).sqrt();
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        near(found.slopes[0], a);
        near(found.slopes[1], b);
        near(found.standard_errors[0], error(zz));
        near(found.standard_errors[1], error(xx));
        near(found.r_squared, 1.0 - residual / dot(&y, &y));
        near(found.adjusted, 1.0 - (residual / 3.0) / (dot(&y, &y) / 5.0));
    }

    /// Slopes of made-up data lie within their standard errors as often as a normal law says: 1000
    /// fits, whose share within one error (Student, 17 degrees of freedom: 0.669) has a standard
    /// error of 0.015.
    #[test]
    fn standard_errors_hold() {
        let within = (0..1000).filter(|&round| {
            let mut rng = Rng::new(3, 1, round);
            let mut draw = || -> Vec<f64> { (0..20).map(|_| rng.normal()).collect() };
            let (x, z, noise) = (draw(), draw(), draw());
            let x: Vec<f64> = x.iter().zip(&z).map(|(x, z)| x + 2.0 * z).collect();
            let y: Vec<f64> = (0..20).map(|at| 0.5 * x[at] - z[at] + noise[at]).collect();
            let found = Regression::centred(&centre(&y), &[centre(&x), centre(&z)], 1).unwrap();
            assert_eq!(found.freedom, 17);
            (found.slopes[0] - 0.5).abs() < found.standard_errors[0]
        });
        let share = within.count() as f64 / 1000.0;
        assert!((share - 0.669).abs() < 0.05, "{share}");
    }

    #[test]
    fn nothing_to_fit() {
        let x = centre(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        let y = centre(&[3.0, 1.0, 2.0, 5.0, 4.0, 6.0]);
        let doubled: Vec<f64> = x.iter().map(|value| 2.0 * value).collect();
        assert_eq!(Regression::centred(&y, &[x.clone(), doubled], 1), None, "dependent");
        assert_eq!(Regression::centred(&y, &[vec![0.0; 6]], 1), None, "the same everywhere");
        assert_eq!(Regression::centred(&[0.0; 6], std::slice::from_ref(&x), 1), None, "nothing to explain");
        assert_eq!(Regression::centred(&y[..2], &[x[..2].to_vec()], 1), None, "too few");
    }
}
