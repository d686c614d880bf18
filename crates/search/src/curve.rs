//! One width's objectives, with a real-valued multiplicity (Eqs. 8 and 10).

use serde::Serialize;

/// What one width gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The member's width n.
    pub width: usize,
    /// β(n).
    pub cost_of_member: u64,
    /// Var(n) of one member.
    pub variance: f64,
    /// m^p(n) = β_s / β(n), β_s being the budget.
    pub primal_multiplicity: f64,
    /// Var(n) / m^p(n): minimised by the primal.
    pub primal_objective: f64,
    /// m^d(n) = Var(n) / Var_s.
    pub dual_multiplicity: f64,
    /// ρ(n) = β_s / (m^d(n) β(n)): maximised by the dual.
    pub efficiency: f64,
    /// 95 % interval of the primal objective, from that of the variance.
    pub primal_objective_ci: [f64; 2],
    /// 95 % interval of ρ, from those of the variances, which move together for a law.
    pub efficiency_ci: [f64; 2],
}

/// The widths that are nearly as good as the best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flat {
    /// How nearly.
    pub tolerance: f64,
    /// The narrowest.
    pub low: usize,
    /// The widest.
    pub high: usize,
}

impl Flat {
    /// The widths around the lowest primal objective that are within `tolerance` of it; widths that
    /// the budget cannot pay for have no objective. Where several are lowest, the widest counts.
    pub fn around(curve: &[CurvePoint], tolerance: f64) -> Option<Self> {
        let points: Vec<&CurvePoint> = curve.iter().filter(|point| point.primal_objective > 0.0).collect();
        let objective = |index: &usize| points[*index].primal_objective;
        let best = (0..points.len()).rev().min_by(|a, b| objective(a).total_cmp(&objective(b)))?;
        let limit = objective(&best) * (1.0 + tolerance);
        let good = |point: &&&CurvePoint| point.primal_objective <= limit;
        let low = points[..=best].iter().rev().take_while(good).last()?.width;
        let high = points[best..].iter().take_while(good).last()?.width;
        Some(Self { tolerance, low, high })
    }
}

/// Widths this near to the best count as just as good.
pub(crate) const FLATNESS: f64 = 0.01;
