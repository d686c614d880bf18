//! Every width's best design for either problem, and the best of all.

use collegial_arch::{Cost, Design, MAX_DIMENSION, Spec};
use collegial_core::Monitor;

use super::cost::{CostModel, MemberCosts, members};
use super::describe::baseline_design;
use super::variances::{Variances, score};
use super::width::Width;
use crate::error::go_on;
use crate::timing::nanoseconds;
use crate::{CurvePoint, Error, Problem, Rule, Timings};

/// Rows of other widths per problem.
const NEARBY: usize = 6;

/// Scores that differ by less, relatively, count as equal.
const EQUAL: f64 = 1e-9;

/// One design with its score and what it costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub design: Design,
    pub score: f64,
    pub cost: i128,
}

/// What is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub cost: Cost,
    pub budget: u64,
    pub rule: Rule,
    pub max_multiplicity: usize,
}

/// Both problems' best design of every width.
pub(super) struct Table<'a> {
    pub allowed: Allowed,
    pub baseline_cost: u64,
    pub baseline_score: f64,
    /// By width.
    pub widths: Vec<Width<'a>>,
    primal: Vec<Candidate>,
    dual: Vec<Candidate>,
}

impl<'a> Table<'a> {
    /// Looks at every width, ascending; the monitor is asked at each.
    pub fn new(
        baseline: &'a Spec,
        widths: &[usize],
        variances: &Variances,
        baseline_cost: u64,
        allowed: Allowed,
        monitor: &dyn Monitor,
    ) -> Result<Self, Error> {
        let model = CostModel::new(baseline, allowed.cost)?;
        let target = variances.baseline * (1.0 + EQUAL);
        let (mut list, mut primal, mut dual) = (Vec::with_capacity(widths.len()), vec![], vec![]);
        for (&width, variances) in widths.iter().zip(&variances.of_width) {
            go_on(monitor)?;
            let width = Width::new(baseline, width, variances.clone(), model.of_width(width)?);
            let most = allowed.max_multiplicity;
            primal.extend(width.candidate(width.primal(allowed.budget, allowed.rule, most)?)?);
            dual.extend(width.candidate(width.dual(target, most)?)?);
            list.push(width);
        }
        Ok(Self { allowed, baseline_cost, baseline_score: variances.baseline, widths: list, primal, dual })
    }

    /// Looks at the designs whose time is known, and at the baseline.
    pub fn timed(
        baseline: &'a Spec,
        widths: &[usize],
        variances: &Variances,
        timings: &Timings,
    ) -> Result<Self, Error> {
        let budget = nanoseconds(timings.baseline);
        let allowed =
            Allowed { cost: Cost::Time, budget, rule: Rule::Under, max_multiplicity: MAX_DIMENSION };
        let mut timed: Vec<(Design, f64)> =
            timings.known().map(|timing| (timing.design, timing.ratio)).collect();
        if let Some(own) = baseline_design(baseline)
            && timed.iter().all(|(design, _)| *design != own)
        {
            timed.push((own, 1.0));
        }
        let (mut list, mut all) = (vec![], vec![]);
        for (&width, variances) in widths.iter().zip(&variances.of_width) {
            let mut costs = MemberCosts { fixed: 0, stages: vec![0; variances.len()], alone: 0 };
            for (design, ratio) in timed.iter().filter(|(design, _)| design.width == width) {
                let cost = i128::from(nanoseconds(ratio * timings.baseline));
                let score = score(variances, &members(baseline, *design)?);
                all.push(Candidate { design: *design, score, cost });
                costs.stages[0] = cost / design.multiplicity as i128;
            }
            list.push(Width::new(baseline, width, variances.clone(), costs));
        }
        let target = variances.baseline * (1.0 + EQUAL);
        let within = |candidate: &&Candidate| candidate.cost <= i128::from(budget);
        Ok(Self {
            allowed,
            baseline_cost: budget,
            baseline_score: variances.baseline,
            widths: list,
            primal: all.iter().filter(within).copied().collect(),
            dual: all.iter().filter(|candidate| candidate.score <= target).copied().collect(),
        })
    }

    fn of(&self, problem: Problem) -> &[Candidate] {
        match problem {
            Problem::Primal => &self.primal,
            Problem::Dual => &self.dual,
        }
    }

    /// The lowest score; among equal ones the lowest cost.
    pub fn primal(&self) -> Result<Candidate, Error> {
        let better = |a: &&Candidate, b: &&Candidate| a.score.total_cmp(&b.score).then(a.cost.cmp(&b.cost));
        match self.primal.iter().min_by(better) {
            Some(best) => Ok(*best),
            None if self.allowed.cost == Cost::Time => Err(Error::NothingAsFast),
            None => Err(self.refusal()?),
        }
    }

    /// The refusal of the budget, with the cheapest design that there is.
    fn refusal(&self) -> Result<Error, Error> {
        let singles = self.widths.iter().map(|width| Ok((width.cost(1)?, width.width)));
        let singles = singles.collect::<Result<Vec<(i128, usize)>, Error>>()?;
        let (needs, width) = singles.into_iter().min().unwrap_or((0, 1));
        Ok(Error::Budget {
            budget: self.allowed.budget,
            cost: self.allowed.cost,
            smallest: Design { multiplicity: 1, width },
            needs: u64::try_from(needs).unwrap_or(u64::MAX),
        })
    }

    /// The lowest cost; among equal ones the lowest score.
    pub fn dual(&self) -> Result<Candidate, Error> {
        let better = |a: &&Candidate, b: &&Candidate| a.cost.cmp(&b.cost).then(a.score.total_cmp(&b.score));
        self.dual.iter().min_by(better).copied().ok_or(Error::NoDual)
    }

    /// The best of the other widths, and of those that are kind to hardware; by width.
    pub fn nearby(&self, problem: Problem, best: Candidate) -> Vec<Candidate> {
        let others = self.of(problem).iter().copied();
        let mut others: Vec<Candidate> =
            others.filter(|candidate| candidate.design.width != best.design.width).collect();
        others.sort_by(|a, b| objective(problem, a).total_cmp(&objective(problem, b)));
        let kind = others.iter().copied().filter(|other| other.design.width.is_multiple_of(8)).take(2);
        let mut chosen: Vec<Candidate> = kind.collect();
        for other in others {
            if chosen.len() < NEARBY && chosen.iter().all(|known| known.design != other.design) {
                chosen.push(other);
            }
        }
        chosen.sort_by_key(|candidate| candidate.design.width);
        chosen
    }

    /// The best of the widths that are a multiple of something, where there is one.
    pub fn best_multiple(&self, problem: Problem, multiple_of: usize) -> Option<Candidate> {
        let of_problem = self.of(problem).iter().copied();
        let fitting = of_problem.filter(|candidate| candidate.design.width.is_multiple_of(multiple_of));
        fitting.min_by(|a, b| objective(problem, a).total_cmp(&objective(problem, b)))
    }

    /// Both objectives at every width, with a real-valued m.
    pub fn curve(&self) -> Vec<CurvePoint> {
        let point = |width: &Width| width.point(self.allowed.budget, self.baseline_cost, self.baseline_score);
        self.widths.iter().map(point).collect()
    }
}

/// What a problem minimises.
fn objective(problem: Problem, candidate: &Candidate) -> f64 {
    match problem {
        Problem::Primal => candidate.score,
        Problem::Dual => candidate.cost as f64,
    }
}
