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
