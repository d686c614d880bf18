//! All designs of one width.

use collegial_arch::{Design, MAX_DIMENSION, Spec};

use super::cost::{MemberCosts, members};
use super::table::Candidate;
use super::variances::score;
use crate::{CurvePoint, Error, Rule};

/// Members of one width n: what any number m of them costs and scores.
///
/// A stage has m_s members: m, or in a RegNet as many more as the stage has more outputs. For given
/// n the score falls and the cost grows with m, so the best m is at the end of what is allowed.
pub(super) struct Width<'a> {
    baseline: &'a Spec,
    pub width: usize,
    variances: Vec<f64>,
    costs: MemberCosts,
    /// The score of one member, as if m_s were real-valued.
    pub variance: f64,
    /// What one more member costs, likewise.
    step: f64,
    /// The most members whose dimensions are in range at all stages.
    room: usize,
}

impl<'a> Width<'a> {
    pub fn new(baseline: &'a Spec, width: usize, variances: Vec<f64>, costs: MemberCosts) -> Self {
        let shares = baseline.stage_shares();
        let sum = |of: &dyn Fn(usize) -> f64| (0..shares.len()).map(of).sum::<f64>();
        let widest = match baseline {
            Spec::Resnext(network) => (width << (network.stages() - 1)) as f64,
            _ => width as f64 * shares.iter().copied().fold(1.0, f64::max),
        };
        Self {
            baseline,
            width,
            variance: sum(&|stage| variances[stage] / shares[stage]),
            step: sum(&|stage| costs.stages[stage] as f64 * shares[stage]),
            room: (MAX_DIMENSION as f64 / widest) as usize,
            variances,
            costs,
        }
    }

    /// What m members cost.
    pub fn cost(&self, m: usize) -> Result<i128, Error> {
        Ok(self.costs.of(&self.members(m)?))
    }

    fn score(&self, m: usize) -> Result<f64, Error> {
        Ok(score(&self.variances, &self.members(m)?))
    }

    fn members(&self, m: usize) -> Result<Vec<usize>, Error> {
        members(self.baseline, Design { multiplicity: m, width: self.width })
    }

    /// The design of m members; none of no members.
    pub fn candidate(&self, m: usize) -> Result<Option<Candidate>, Error> {
        if m == 0 {
            return Ok(None);
        }
        let design = Design { multiplicity: m, width: self.width };
        Ok(Some(Candidate { design, score: self.score(m)?, cost: self.cost(m)? }))
    }

    /// The m that meets the budget by the rule, up to `most`; 0 where not even one member fits.
    pub fn primal(&self, budget: u64, rule: Rule, most: usize) -> Result<usize, Error> {
        let (most, limit) = (most.min(self.room), i128::from(budget));
        // Rounding of m_s makes the real-valued guess wrong by a little.
        let mut m = (self.real_primal(budget).max(0.0) as usize).min(most);
        while m < most && self.cost(m + 1)? <= limit {
            m += 1;
        }
        while m > 0 && self.cost(m)? > limit {
            m -= 1;
        }
        Ok(match rule {
            Rule::Under => m,
            Rule::Nearest if m == most => m,
            // One member that costs far too much is not near the budget.
            Rule::Nearest if m == 0 => usize::from(self.cost(1)? - limit < limit - self.costs.fixed),
            Rule::Nearest if self.cost(m + 1)? - limit < limit - self.cost(m)? => m + 1,
            Rule::Nearest => m,
        })
    }

    /// The fewest members, up to `most`, whose score is at most `target`; 0 where there are none.
    pub fn dual(&self, target: f64, most: usize) -> Result<usize, Error> {
        let most = most.min(self.room);
        let mut m = (self.variance / target).ceil().clamp(1.0, most.max(1) as f64) as usize;
        while m < most && self.score(m)? > target {
            m += 1;
        }
        while m > 1 && self.score(m - 1)? <= target {
            m -= 1;
        }
        Ok(if most > 0 && self.score(m)? <= target { m } else { 0 })
    }

    /// The most members that are allowed.
    pub fn most(&self, max_multiplicity: usize) -> usize {
        max_multiplicity.min(self.room).max(1)
    }

    /// The real-valued m that a budget pays for.
    pub fn real_primal(&self, budget: u64) -> f64 {
        (i128::from(budget) - self.costs.fixed) as f64 / self.step
    }

    /// ρ: the baseline's cost over that of the real-valued m that has the baseline's score.
    pub fn efficiency(&self, baseline_cost: u64, baseline_score: f64) -> f64 {
        let m = self.variance / baseline_score;
        baseline_cost as f64 / (self.costs.fixed as f64 + m * self.step)
    }

    /// Both objectives with a real-valued m.
    pub fn point(&self, budget: u64, baseline_cost: u64, baseline_score: f64) -> CurvePoint {
        let primal_multiplicity = self.real_primal(budget);
        let primal_objective = self.variance / primal_multiplicity;
        let efficiency = self.efficiency(baseline_cost, baseline_score);
        CurvePoint {
            width: self.width,
            cost_of_member: self.step.round() as u64,
            variance: self.variance,
            primal_multiplicity,
            primal_objective,
            dual_multiplicity: self.variance / baseline_score,
            efficiency,
            primal_objective_ci: [primal_objective; 2],
            efficiency_ci: [efficiency; 2],
        }
    }
}
