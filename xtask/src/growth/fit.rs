//! The power of the size with which a cost grows.

/// cost ~ size^exponent, by least squares in logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    pub exponent: f64,
    /// Of the exponent, from the residuals.
    pub standard_error: f64,
    /// The smallest size of those that were fitted; the largest measured one is among them.
    pub from: f64,
    /// How many sizes were fitted.
    pub sizes: usize,
    /// Whether every fitted cost is well above that of the smallest size.
    pub clear: bool,
}

/// So many times the cost of the smallest size is well above it: then what does not depend on the
/// size is at most a tenth of any cost that is fitted.
const CLEAR: f64 = 10.0;

/// The least number of sizes that leaves a residual.
const FEWEST: usize = 3;

/// Fits costs at increasing sizes: those that are well above the first, or the largest three where
/// fewer are. `None` if there are fewer than three in all, or one is not positive.
pub fn power(costs: &[(f64, f64)]) -> Option<Power> {
    if costs.len() < FEWEST || costs.iter().any(|&(size, cost)| size <= 0.0 || cost <= 0.0) {
        return None;
    }
    let least = CLEAR * costs[0].1;
    let above = costs.iter().rev().take_while(|(_, cost)| *cost >= least).count();
    let sizes = above.max(FEWEST);
    let fitted = &costs[costs.len() - sizes..];
    let logarithms: Vec<(f64, f64)> = fitted.iter().map(|(size, cost)| (size.ln(), cost.ln())).collect();
    let (exponent, standard_error) = slope(&logarithms);
    Some(Power { exponent, standard_error, from: fitted[0].0, sizes, clear: above >= FEWEST })
}

/// Slope of the least-squares line, and its standard error: √(Σ residual^2 / (n - 2) / Σ (x - mean)^2).
fn slope(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    let residuals: f64 = points.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    (slope, (residuals / (count - 2.0) / spread).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(cost: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        [10.0, 100.0, 1000.0, 10_000.0, 100_000.0].map(|size| (size, cost(size))).into()
    }

    #[test]
    fn a_pure_power_is_found_without_error() {
        let power = power(&ladder(|size| 3.0 * size.powf(1.5))).unwrap();
        assert!((power.exponent - 1.5).abs() < 1e-12 && power.standard_error < 1e-12, "{power:?}");
        assert_eq!((power.from, power.sizes, power.clear), (100.0, 4, true));
    }

    /// y = 1, 2, 4 at x = 0, 1, 2: slope 3/2, residuals 1/6, -1/3, 1/6, so √(1/6 / 1 / 2).
    #[test]
    fn the_standard_error_is_the_textbooks() {
        let (slope, error) = slope(&[(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)]);
        assert!((slope - 1.5).abs() < 1e-12 && (error - (1.0_f64 / 12.0).sqrt()).abs() < 1e-12, "{error}");
    }

    #[test]
    fn sizes_at_which_the_start_counts_are_left_out() {
        let power = power(&ladder(|size| 4.0 + 0.1 * size)).unwrap();
        assert_eq!((power.from, power.sizes, power.clear), (1000.0, 3, true));
        assert!((power.exponent - 1.0).abs() < 0.02, "{power:?}");
    }

    #[test]
    fn a_cost_that_hardly_grows_is_marked() {
        let power = power(&ladder(|_| 5.0)).unwrap();
        assert_eq!((power.exponent, power.sizes, power.clear), (0.0, 3, false));
    }

    /// Only an unbroken upper part counts.
    #[test]
    fn an_outlier_does_not_bring_small_sizes_back() {
        let costs = [(1.0, 5.0), (10.0, 80.0), (100.0, 40.0), (1e3, 60.0), (1e4, 600.0), (1e5, 6000.0)];
        assert_eq!(power(&costs).unwrap().from, 1e3);
    }

    #[test]
    fn two_sizes_have_no_standard_error() {
        assert_eq!(power(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(power(&[(1.0, 1.0), (2.0, 0.0), (3.0, 3.0)]), None);
    }
}
