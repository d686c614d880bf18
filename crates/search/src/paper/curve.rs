//! Both objectives over every width, with a real-valued multiplicity (Eqs. 8 and 10).

use collegial_arch::{Cost, Module};
use collegial_core::{Monitor, Silent};

use super::variance::{Estimate, Variance};
use crate::error::go_on;
use crate::{CurvePoint, Error};

/// The curve of a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// One point per width, ascending.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// Evaluates both objectives at every width; `budget` is what all members may cost together, as
    /// a share of the baseline's.
    pub fn new(
        baseline: &Module,
        widths: &[usize],
        cost: Cost,
        variance: &dyn Variance,
        budget: f64,
    ) -> Result<Self, Error> {
        Self::watched(baseline, widths, cost, variance, budget, &Silent)
    }

    /// The same; the monitor is asked at every width.
    pub(super) fn watched(
        baseline: &Module,
        widths: &[usize],
        cost: Cost,
        variance: &dyn Variance,
        budget: f64,
        monitor: &dyn Monitor,
    ) -> Result<Self, Error> {
        let members = baseline.members() as f64;
        let reference = Reference {
            members,
            cost: members * baseline.member_cost(cost)? as f64,
            budget,
            variance: variance.of(baseline)?,
            moves_together: variance.moves_together(),
        };
        let point = |&width: &usize| {
            go_on(monitor)?;
            let member = baseline.scaled_to(width)?;
            Ok(reference.point(width, member.member_cost(cost)?, variance.of(&member)?))
        };
        let points = widths.iter().map(point).collect::<Result<_, Error>>()?;
        Ok(Self { points })
    }

    /// The point of lowest primal objective; where several tie, the widest, which needs the fewest
    /// members.
    pub fn optimum(&self) -> Option<&CurvePoint> {
        self.points.iter().rev().min_by(|a, b| a.primal_objective.total_cmp(&b.primal_objective))
    }

    /// The point of highest efficiency, by itself: strong duality says it is the same.
    pub fn dual_optimum(&self) -> Option<&CurvePoint> {
        self.points.iter().max_by(|a, b| a.efficiency.total_cmp(&b.efficiency))
    }
}

/// The baseline that every width is compared with.
struct Reference {
    members: f64,
    cost: f64,
    budget: f64,
    variance: Estimate,
    moves_together: bool,
}

impl Reference {
    fn point(&self, width: usize, cost_of_member: u64, variance: Estimate) -> CurvePoint {
        let cost = cost_of_member as f64;
        let primal_multiplicity = self.budget * self.cost / cost;
        let dual = |variance: f64, target: f64| self.members * variance / target;
        let efficiency = |variance: f64, target: f64| self.cost / (dual(variance, target) * cost);
        let value = efficiency(variance.value, self.variance.value);
        let ends = if self.moves_together {
            [efficiency(variance.low, self.variance.low), efficiency(variance.high, self.variance.high)]
        } else {
            let error = variance.relative_error().hypot(self.variance.relative_error());
            [value * (1.0 - error), value * (1.0 + error)]
        };
        CurvePoint {
            width,
            cost_of_member,
            variance: variance.value,
            primal_multiplicity,
            primal_objective: variance.value / primal_multiplicity,
            dual_multiplicity: dual(variance.value, self.variance.value),
            efficiency: value,
            primal_objective_ci: [variance.low / primal_multiplicity, variance.high / primal_multiplicity],
            efficiency_ci: [ends[0].min(ends[1]), ends[0].max(ends[1])],
        }
    }
}
