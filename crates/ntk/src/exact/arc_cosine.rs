//! Expectations over a pair of standard normals (u, v) of correlation c = cos θ behind a ReLU: the
//! arc-cosine kernels.

use std::f64::consts::PI;

/// The four expectations that second moments of a kernel need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArcCosine {
    /// P(u > 0 and v > 0), which is E[φ'(u) φ'(v)].
    pub derivative: f64,
    /// E[φ(u) φ(v)].
    pub value: f64,
    /// E[φ(u)^2 φ(v)^2].
    pub square: f64,
    /// E[φ'(u) φ(v)^2].
    pub mixed: f64,
}

impl ArcCosine {
    /// Behind ReLUs, for a correlation between -1 and 1; what rounding puts beyond counts as the
    /// end.
    pub fn relu(correlation: f64) -> Self {
        let cos = correlation.clamp(-1.0, 1.0);
        // √((1 - c)(1 + c)) keeps the digits that √(1 - c^2) loses near ±1.
        let sin = ((1.0 - cos) * (1.0 + cos)).sqrt();
        let rest = PI - libm::atan2(sin, cos);
        let turn = 2.0 * PI;
        Self {
            derivative: rest / turn,
            value: (sin + rest * cos) / turn,
            square: (3.0 * sin * cos + rest * (1.0 + 2.0 * cos * cos)) / turn,
            mixed: (rest + sin * cos) / turn,
        }
    }

    /// Without a non-linearity.
    pub fn linear(correlation: f64) -> Self {
        let cos = correlation.clamp(-1.0, 1.0);
        Self { derivative: 1.0, value: cos, square: 1.0 + 2.0 * cos * cos, mixed: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the trapezium rule in polar coordinates: u = r cos ψ, v = r cos(ψ - θ), where E[r^2] = 2
    /// and E[r^4] = 8.
    #[test]
    fn the_formulas_are_the_integrals() {
        let steps = 200_000;
        for correlation in [-1.0, -0.7, 0.0, 0.31, 0.95, 1.0f64] {
            let theta = correlation.acos();
            let mut sums = [0.0; 4];
            for step in 0..steps {
                let angle = 2.0 * PI * (f64::from(step) + 0.5) / f64::from(steps);
                let (u, v) = (angle.cos(), (angle - theta).cos());
                if u > 0.0 && v > 0.0 {
                    let terms = [1.0, 2.0 * u * v, 8.0 * u * u * v * v, 2.0 * v * v];
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term / f64::from(steps));
                }
            }
            let ArcCosine { derivative, value, square, mixed } = ArcCosine::relu(correlation);
            for (formula, integral) in [derivative, value, square, mixed].into_iter().zip(sums) {
                assert!((formula - integral).abs() < 2e-5, "{correlation}: {formula} {integral}");
            }
        }
    }
}
