//! All designs of one width.

use collegial_arch::{Cost, Design, MAX_DIMENSION, Spec};

use super::cost::{Counts, MemberCosts, has_equal_members, members};
use super::table::{Allowed, Candidate, Limit};
use super::variances::{StageVariances, stage_widths};
use crate::{CurvePoint, Error, Rule};

/// Steps at most to the m of a score.
const MOST_STEPS: usize = 60;

/// Two steps that differ by less, relatively, are its end.
const CLOSE: f64 = 1e-10;

/// A cost as if m were real-valued: fixed + m step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub fixed: f64,
    pub step: f64,
}

/// Members of one width n: what any number m of them costs and scores.
///
/// A stage has m_s members: m, or in a RegNet as many more as the stage has more outputs. For given
/// n the score falls and the cost grows with m, so the best m is at the end of what is allowed.
pub(super) struct Width<'a> {
    baseline: &'a Spec,
    pub width: usize,
    variances: StageVariances,
    costs: MemberCosts,
    shares: Vec<f64>,
    /// m times the score of the m members that the limits pay for, as if m_s were real-valued.
    pub variance: f64,
    /// Every cost that is allowed so much, likewise.
    lines: Vec<Line>,
    /// The most members whose dimensions are in range at all stages.
    room: usize,
}

impl<'a> Width<'a> {
    /// `time` is the time of one member, where it was measured.
    pub fn new(
        (baseline, allowed): (&'a Spec, &Allowed),
        width: usize,
        variances: StageVariances,
        costs: MemberCosts,
        time: Option<f64>,
    ) -> Result<Self, Error> {
        let shares = baseline.stage_shares();
        let sum = |of: &dyn Fn(usize) -> f64| (0..shares.len()).map(of).sum::<f64>();
        let widest = match baseline {
            Spec::Resnext(network) => (width << (network.stages() - 1)) as f64,
            _ => width as f64 * shares.iter().copied().fold(1.0, f64::max),
        };
        let line = |limit: &Limit| match time {
            Some(step) if limit.cost == Cost::Time => Ok(Line { fixed: 0.0, step }),
            _ => {
                let steps = costs.stages.iter().map(|stage| stage.by(limit.cost));
                let steps = steps.collect::<Result<Vec<i128>, Error>>()?;
                let step = sum(&|stage| steps[stage] as f64 * shares[stage]);
                Ok(Line { fixed: costs.fixed.by(limit.cost)? as f64, step })
            }
        };
        let lines = allowed.limits.iter().map(line).collect::<Result<Vec<Line>, Error>>()?;
        let paid = real_primal(&lines, &allowed.limits).clamp(1.0, MAX_DIMENSION as f64);
        let variance = variances.member(paid, &shares);
        Ok(Self {
            baseline,
            width,
            variance,
            lines,
            room: (MAX_DIMENSION as f64 / widest) as usize,
            variances,
            costs,
            shares,
        })
    }

    /// What m members count.
    pub fn counts(&self, m: usize) -> Result<Counts, Error> {
        match has_equal_members(self.baseline) {
            true => Ok(self.costs.of_equal(m)),
            false => Ok(self.costs.of(&self.members(m)?)),
        }
    }

    /// Whether every inner width is a multiple of a step.
    pub fn is_multiple_of(&self, step: usize) -> bool {
        let whole = |width: &f64| width % step as f64 == 0.0;
        stage_widths(self.baseline, self.width).is_ok_and(|stages| stages.iter().flatten().all(whole))
    }

    /// Whether m members are within all limits.
    fn fits(&self, m: usize, limits: &[Limit]) -> Result<bool, Error> {
        let counts = self.counts(m)?;
        limits.iter().try_fold(true, |fits, limit| Ok(fits && limit.holds(&counts)?))
    }

    fn score(&self, m: usize) -> Result<f64, Error> {
        match has_equal_members(self.baseline) {
            true => Ok(self.variances.score(std::iter::repeat(m))),
            false => Ok(self.variances.score(self.members(m)?)),
        }
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
        Ok(Some(Candidate { design, score: self.score(m)?, counts: self.counts(m)?, time: None }))
    }

    /// The m that meets the limits by the rule; 0 where not even one member fits.
    pub fn primal(&self, allowed: &Allowed) -> Result<usize, Error> {
        let (most, m) = (allowed.most.min(self.room), self.most_within(&allowed.limits, allowed.most)?);
        let first = allowed.first();
        let (cost, limit) = (|m| self.counts(m)?.by(first.cost), i128::from(first.most));
        Ok(match allowed.rule {
            Rule::Under => m,
            Rule::Nearest if m == most => m,
            // One member that costs far too much is not near the budget.
            Rule::Nearest if m == 0 => {
                usize::from(cost(1)? - limit < limit - self.costs.fixed.by(first.cost)?)
            }
            Rule::Nearest if cost(m + 1)? - limit < limit - cost(m)? => m + 1,
            Rule::Nearest => m,
        })
    }

    /// The most members, up to `most`, that are within all limits.
    pub fn most_within(&self, limits: &[Limit], most: usize) -> Result<usize, Error> {
        let most = most.min(self.room);
        // Rounding of m_s makes the real-valued guess wrong by a little.
        let guess = (self.real_primal(limits).max(0.0) as usize).min(most);
        let (mut low, mut high) = match guess == 0 || self.fits(guess, limits)? {
            true if guess == most || !self.fits(guess + 1, limits)? => return Ok(guess),
            true => (guess + 1, most + 1),
            false => (0, guess),
        };
        // `low` members fit, `high` do not.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.fits(middle, limits)? { low = middle } else { high = middle }
        }
        Ok(low)
    }

    /// The fewest members, up to `most`, whose score is at most `target`; 0 where there are none.
    pub fn dual(&self, target: f64, most: usize) -> Result<usize, Error> {
        let most = most.min(self.room);
        let mut m = self.real_dual(target).ceil().clamp(1.0, most.max(1) as f64) as usize;
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

    /// The real-valued m that limits pay for, of those that the width has a line of.
    pub fn real_primal(&self, limits: &[Limit]) -> f64 {
        real_primal(&self.lines, limits)
    }

    /// The real-valued m of this score.
    pub fn real_dual(&self, score: f64) -> f64 {
        let mut m = self.variance / score;
        if let StageVariances::ByMembers(..) = self.variances {
            // The variance of a member changes far less than m does, so that this converges.
            for _ in 0..MOST_STEPS {
                let next = self.variances.member(m, &self.shares) / score;
                let close = (next / m - 1.0).abs() <= CLOSE;
                m = next;
                if close {
                    break;
                }
            }
        }
        m
    }

    /// ρ: the baseline's cost over that of the real-valued m that has the baseline's score.
    pub fn efficiency(&self, baseline_cost: u64, baseline_score: f64) -> f64 {
        self.saving(baseline_cost, self.real_dual(baseline_score))
    }

    /// The same of that m.
    fn saving(&self, baseline_cost: u64, dual_multiplicity: f64) -> f64 {
        let Line { fixed, step } = self.lines[0];
        baseline_cost as f64 / (fixed + dual_multiplicity * step)
    }

    /// What a member costs, by every cost that is allowed so much.
    pub fn steps(&self) -> impl Iterator<Item = f64> {
        self.lines.iter().map(|line| line.step)
    }

    /// Both objectives of members that vary and cost like this, beside what is fixed for all widths.
    pub fn objectives(
        &self,
        limits: &[Limit],
        (baseline_cost, baseline_score): (u64, f64),
        variance: f64,
        steps: &[f64],
    ) -> (f64, f64) {
        let lines = self.lines.iter().zip(steps).map(|(line, &step)| Line { step, ..*line }).collect();
        let other = Self {
            variance,
            lines,
            variances: StageVariances::Fixed(vec![]),
            costs: self.costs.clone(),
            shares: vec![],
            ..*self
        };
        (variance / other.real_primal(limits), other.efficiency(baseline_cost, baseline_score))
    }

    /// Both objectives with a real-valued m.
    pub fn point(&self, limits: &[Limit], baseline_cost: u64, baseline_score: f64) -> CurvePoint {
        let primal_multiplicity = self.real_primal(limits);
        let primal_objective = self.variance / primal_multiplicity;
        let dual_multiplicity = self.real_dual(baseline_score);
        let efficiency = self.saving(baseline_cost, dual_multiplicity);
        CurvePoint {
            width: self.width,
            cost_of_member: self.lines[0].step.round() as u64,
            variance: self.variance,
            primal_multiplicity,
            primal_objective,
            dual_multiplicity,
            efficiency,
            primal_objective_ci: [primal_objective; 2],
            efficiency_ci: [efficiency; 2],
        }
    }
}

/// The real-valued m that all limits pay for.
fn real_primal(lines: &[Line], limits: &[Limit]) -> f64 {
    let paid = lines.iter().zip(limits).map(|(line, limit)| (limit.most as f64 - line.fixed) / line.step);
    paid.fold(f64::INFINITY, f64::min)
}
