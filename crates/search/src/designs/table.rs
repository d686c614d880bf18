//! Every width's best design for either problem, and the best of all.

use collegial_arch::{Cost, Design, Spec};
use collegial_core::Monitor;

use super::cost::{CostModel, Counts, members};
use super::describe::baseline_design;
use super::variances::Variances;
use super::width::Width;
use crate::error::go_on;
use crate::timing::nanoseconds;
use crate::{Costs, CurvePoint, Error, Problem, Rule, Timings};

/// Rows of other widths per problem.
const NEARBY: usize = 6;

/// Scores that differ by less, relatively, count as equal.
pub(super) const EQUAL: f64 = 1e-9;

/// One design with its score and what it costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub design: Design,
    pub score: f64,
    pub counts: Counts,
    /// Nanoseconds, where it was timed.
    pub time: Option<u64>,
}

impl Candidate {
    /// What it costs.
    pub fn cost(&self, cost: Cost) -> Result<i128, Error> {
        match (cost, self.time) {
            (Cost::Time, Some(time)) => Ok(time.into()),
            _ => self.counts.by(cost),
        }
    }

    /// Whether it is within all limits.
    pub fn within(&self, limits: &[Limit]) -> Result<bool, Error> {
        let of = |fits: bool, limit: &Limit| Ok(fits && self.cost(limit.cost)? <= i128::from(limit.most));
        limits.iter().try_fold(true, of)
    }
}

/// What a cost may come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub cost: Cost,
    pub most: u64,
}

impl Limit {
    /// Whether counts are within it.
    pub fn holds(&self, counts: &Counts) -> Result<bool, Error> {
        Ok(counts.by(self.cost)? <= i128::from(self.most))
    }
}

/// What is allowed.
#[derive(Clone, Debug)]
pub(super) struct Allowed {
    pub costs: Costs,
    /// Of every cost, in their order.
    pub limits: Vec<Limit>,
    pub rule: Rule,
    /// The most members.
    pub most: usize,
}

impl Allowed {
    /// The limit that a budget sets.
    pub fn first(&self) -> Limit {
        self.limits[0]
    }
}

/// What the baseline is.
#[derive(Clone, Copy)]
pub(super) struct Baseline {
    pub counts: Counts,
    /// By the first cost.
    pub cost: u64,
    pub score: f64,
}

/// Both problems' best design of every width.
pub(super) struct Table<'a> {
    pub allowed: Allowed,
    pub baseline: Baseline,
    /// By width.
    pub widths: Vec<Width<'a>>,
    /// All designs that there are, where only timed ones are looked at.
    pub timed: Option<Vec<Candidate>>,
    primal: Vec<Candidate>,
    dual: Vec<Candidate>,
}

impl<'a> Table<'a> {
    /// Looks at every width, ascending; the monitor is asked at each.
    pub fn new(
        spec: &'a Spec,
        widths: &[usize],
        variances: &Variances,
        baseline: Baseline,
        allowed: Allowed,
        monitor: &dyn Monitor,
    ) -> Result<Self, Error> {
        let model = CostModel::new(spec)?;
        let target = baseline.score * (1.0 + EQUAL);
        let (mut list, mut primal, mut dual) = (Vec::with_capacity(widths.len()), vec![], vec![]);
        for (&width, variances) in widths.iter().zip(&variances.of_width) {
            go_on(monitor)?;
            let costs = model.of_width(width)?;
            let width = Width::new((spec, &allowed), width, variances.clone(), costs, None)?;
            primal.extend(width.candidate(width.primal(&allowed)?)?);
            if let Some(candidate) = width.candidate(width.dual(target, allowed.most)?)?
                && candidate.within(&allowed.limits[1..])?
            {
                dual.push(candidate);
            }
            list.push(width);
        }
        Ok(Self { allowed, baseline, widths: list, timed: None, primal, dual })
    }

    /// Looks at the designs whose time is known, and at the baseline.
    pub fn timed(
        spec: &'a Spec,
        widths: &[usize],
        variances: &Variances,
        (baseline, timings): (Baseline, &Timings),
        allowed: Allowed,
    ) -> Result<Self, Error> {
        let mut timed: Vec<(Design, f64)> =
            timings.eligible().map(|timing| (timing.design, timing.ratio)).collect();
        if let Some(own) = baseline_design(spec)
            && timed.iter().all(|(design, _)| *design != own)
        {
            timed.push((own, 1.0));
        }
        let (mut list, mut all) = (vec![], vec![]);
        let model = CostModel::new(spec)?;
        for (&width, variances) in widths.iter().zip(&variances.of_width) {
            let costs = model.of_width(width)?;
            let mut of_member = 0.0;
            for &(design, ratio) in timed.iter().filter(|(design, _)| design.width == width) {
                let time = nanoseconds(ratio * timings.baseline);
                let members = members(spec, design)?;
                let (score, counts) = (variances.score(members.iter().copied()), costs.of(&members));
                all.push(Candidate { design, score, counts, time: Some(time) });
                of_member = (time / design.multiplicity as u64) as f64;
            }
            list.push(Width::new((spec, &allowed), width, variances.clone(), costs, Some(of_member))?);
        }
        let target = baseline.score * (1.0 + EQUAL);
        let (mut primal, mut dual) = (vec![], vec![]);
        for candidate in &all {
            if candidate.within(&allowed.limits)? {
                primal.push(*candidate);
            }
            if candidate.score <= target && candidate.within(&allowed.limits[1..])? {
                dual.push(*candidate);
            }
        }
        Ok(Self { allowed, baseline, widths: list, timed: Some(all), primal, dual })
    }

    fn of(&self, problem: Problem) -> &[Candidate] {
        match problem {
            Problem::Primal => &self.primal,
            Problem::Dual => &self.dual,
        }
    }

    /// The lowest score; among equal ones the lowest cost.
    pub fn primal(&self) -> Result<Candidate, Error> {
        let better = |a: &&Candidate, b: &&Candidate| {
            a.score.total_cmp(&b.score).then(self.first_cost(a).total_cmp(&self.first_cost(b)))
        };
        match self.primal.iter().min_by(better) {
            Some(best) => Ok(*best),
            None if self.timed.is_some() => Err(Error::Invalid(
                "no design that was timed takes at most the baseline's time; time smaller ones".into(),
            )),
            None => Err(self.refusal()?),
        }
    }

    /// The refusal of the budget, with the cheapest design that there is.
    fn refusal(&self) -> Result<Error, Error> {
        let smallest = |limit: &Limit| {
            let singles = self.widths.iter().map(|width| Ok((width.counts(1)?.by(limit.cost)?, width.width)));
            let singles = singles.collect::<Result<Vec<(i128, usize)>, Error>>()?;
            Ok((*limit, singles.into_iter().min().unwrap_or((0, 1))))
        };
        let smallest = self.allowed.limits.iter().map(smallest).collect::<Result<Vec<_>, Error>>()?;
        let too_much = smallest.iter().find(|(limit, (needs, _))| *needs > i128::from(limit.most));
        let (limit, (needs, width)) = *too_much.unwrap_or(&smallest[0]);
        Ok(Error::Budget {
            budget: limit.most,
            cost: limit.cost,
            smallest: Design { multiplicity: 1, width },
            needs: u64::try_from(needs).unwrap_or(u64::MAX),
        })
    }

    /// The lowest cost; among equal ones the lowest score.
    pub fn dual(&self) -> Result<Candidate, Error> {
        let costs = &self.allowed.costs;
        let best = cheapest(costs.first(), self.dual.iter().copied());
        best.ok_or_else(|| match costs.only() {
            Some(_) => Error::NoDual,
            None => Error::Invalid(format!(
                "no allowed design has as little variance as the baseline without more {}; \
                 allow a tolerance, or name fewer costs",
                costs.words()
            )),
        })
    }

    /// The best of the other widths, and of those that are kind to hardware; by width. The baseline
    /// is not among them.
    pub fn nearby(&self, problem: Problem, best: Candidate, baseline: Option<Design>) -> Vec<Candidate> {
        let other = |design: Design| design.width != best.design.width && baseline != Some(design);
        let others = self.of(problem).iter().copied();
        let mut others: Vec<Candidate> = others.filter(|candidate| other(candidate.design)).collect();
        others.sort_by(|a, b| self.objective(problem, a).total_cmp(&self.objective(problem, b)));
        let kind = others.iter().filter(|other| self.is_multiple_of(other, 8)).take(2);
        let mut chosen: Vec<Candidate> = kind.copied().collect();
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
        let fitting = of_problem.filter(|candidate| self.is_multiple_of(candidate, multiple_of));
        fitting.min_by(|a, b| self.objective(problem, a).total_cmp(&self.objective(problem, b)))
    }

    /// Whether every inner width of a member is a multiple of a step.
    pub fn is_multiple_of(&self, candidate: &Candidate, step: usize) -> bool {
        let width = self.widths.iter().find(|width| width.width == candidate.design.width);
        width.is_some_and(|width| width.is_multiple_of(step))
    }

    /// Both objectives at every width, with a real-valued m.
    pub fn curve(&self) -> Vec<CurvePoint> {
        let Baseline { cost, score, .. } = self.baseline;
        let point = |width: &Width| width.point(&self.allowed.limits, cost, score);
        self.widths.iter().map(point).collect()
    }

    /// What a problem minimises.
    fn objective(&self, problem: Problem, candidate: &Candidate) -> f64 {
        match problem {
            Problem::Primal => candidate.score,
            Problem::Dual => self.first_cost(candidate),
        }
    }

    /// By the first cost.
    pub fn first_cost(&self, candidate: &Candidate) -> f64 {
        candidate.cost(self.allowed.costs.first()).map_or(f64::INFINITY, |cost| cost as f64)
    }
}

/// The lowest cost; among equal ones the lowest score.
pub(super) fn cheapest(by: Cost, candidates: impl Iterator<Item = Candidate>) -> Option<Candidate> {
    let cost = |candidate: &Candidate| candidate.cost(by).unwrap_or(i128::MAX);
    candidates.min_by(|a, b| cost(a).cmp(&cost(b)).then(a.score.total_cmp(&b.score)))
}
