//! Both objectives over every width, with a real-valued multiplicity (Eqs. 8 and 10).

use collegial_arch::Module;
use serde::Serialize;

use crate::price::Price;
use crate::variance::{Estimate, Variance};
use crate::{Error, Flat};

/// What one width gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The member's width n.
    pub width: usize,
    /// β(n).
    pub cost_of_member: u64,
    /// Var(n) of one member.
    pub variance: f64,
    /// m^p(n) = β_s / β(n).
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

/// The curve of a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// One point per width, ascending.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// Evaluates both objectives at every width.
    pub fn new(
        baseline: &Module,
        widths: &[usize],
        price: &dyn Price,
        variance: &dyn Variance,
    ) -> Result<Self, Error> {
        let members = baseline.members() as f64;
        let budget = members * price.of_member(baseline)? as f64;
        let target = variance.of(baseline)?;
        let point = |&width: &usize| {
            let member = baseline.scaled_to(width)?;
            let estimate = variance.of(&member)?;
            Ok(point(width, price.of_member(&member)?, estimate, budget, target, members))
        };
        let points = widths.iter().map(point).collect::<Result<_, Error>>()?;
        Ok(Self { points })
    }

    /// The point of lowest primal objective; where several tie, the widest, which needs the fewest members.
    pub fn optimum(&self) -> Option<&CurvePoint> {
        self.points.iter().rev().min_by(|a, b| a.primal_objective.total_cmp(&b.primal_objective))
    }

    /// The point of highest efficiency, by itself: strong duality says it is the same.
    pub fn dual_optimum(&self) -> Option<&CurvePoint> {
        self.points.iter().max_by(|a, b| a.efficiency.total_cmp(&b.efficiency))
    }

    /// The widths around the optimum whose objective is within `tolerance` of it.
    pub fn flat(&self, tolerance: f64) -> Option<Flat> {
        let best = self.optimum()?;
        let at = self.points.iter().position(|point| point.width == best.width)?;
        let limit = best.primal_objective * (1.0 + tolerance);
        let good = |point: &&CurvePoint| point.primal_objective <= limit;
        let low = self.points[..=at].iter().rev().take_while(good).last()?.width;
        let high = self.points[at..].iter().take_while(good).last()?.width;
        Some(Flat { tolerance, low, high })
    }
}

fn point(
    width: usize,
    cost_of_member: u64,
    variance: Estimate,
    budget: f64,
    target: Estimate,
    members: f64,
) -> CurvePoint {
    let cost = cost_of_member as f64;
    let primal_multiplicity = budget / cost;
    let dual = |variance: f64, target: f64| members * variance / target;
    let efficiency = |variance: f64, target: f64| budget / (dual(variance, target) * cost);
    let ends = [efficiency(variance.low, target.low), efficiency(variance.high, target.high)];
    CurvePoint {
        width,
        cost_of_member,
        variance: variance.value,
        primal_multiplicity,
        primal_objective: variance.value / primal_multiplicity,
        dual_multiplicity: dual(variance.value, target.value),
        efficiency: efficiency(variance.value, target.value),
        primal_objective_ci: [variance.low / primal_multiplicity, variance.high / primal_multiplicity],
        efficiency_ci: [ends[0].min(ends[1]), ends[0].max(ends[1])],
    }
}
