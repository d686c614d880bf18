//! Designs to train: a few along the primal or the dual curve, from the baseline to very thin
//! members.

use collegial_arch::{Design, Module, Spec};
use collegial_core::Named;
use collegial_ntk::Fit;
use collegial_ntk::fit::{Measurements, Method, Sampling, default_widths};
use collegial_search::Problem;
use collegial_search::paper::{Answer, Optimum, Search, Variance};
use serde::Serialize;

use crate::{Context, Error};

/// A design on a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// `37x10d`.
    pub design: Design,
    /// Its network.
    #[serde(skip)]
    pub spec: Spec,
    /// Parameters of the whole network.
    pub parameters: u64,
    /// The kernel's variance, predicted.
    pub variance: f64,
    /// m n, Theorem 1's quantity.
    pub inner_width: usize,
    /// What it costs, as a share of the baseline.
    pub cost: f64,
    /// How far the integer m leaves it from the curve: 0 is on it.
    #[serde(skip)]
    pub distance: f64,
    /// Var(n) / m(n) on the curve of the module, which both problems minimise.
    #[serde(skip)]
    pub objective: f64,
}

/// A design this near to the curve counts as on it.
const ON_CURVE: f64 = 0.05;

fn best(candidates: &[Candidate]) -> Option<&Candidate> {
    let on_curve = candidates.iter().filter(|candidate| candidate.distance <= ON_CURVE);
    on_curve.min_by(|a, b| a.objective.total_cmp(&b.objective))
}

/// Which designs to take.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The baseline, made to measure for the data.
    pub baseline: &'a Spec,
    /// How cost is counted and rounded.
    pub search: &'a Search,
    /// Where Var(n) comes from.
    pub variance: &'a dyn Variance,
    /// The thinnest members to take.
    pub thinnest: usize,
    /// Designs that cost more than so many baselines are left out (the dual's thin end).
    pub most_expensive: f64,
}

impl Line<'_> {
    /// `count` designs from the baseline down, the optimum among them, at widths that are about
    /// evenly spaced in ln n. Around each such width the one is taken whose whole number of members
    /// is nearest to the curve: with m = 1 or 2 most miss it by far.
    ///
    /// # Errors
    ///
    /// If a width cannot be searched.
    pub fn choose(&self, problem: Problem, count: usize) -> Result<Vec<Candidate>, Error> {
        let widest = self.search.module()?.width()? as f64;
        let candidates = self.candidates(problem)?;
        let thinnest = candidates.first().map_or(widest, |candidate| candidate.design.width as f64);
        let step = (widest / thinnest).ln() / count.saturating_sub(1).max(1) as f64;
        let mut chosen = vec![self.baseline()?];
        for index in 1..count {
            let target = widest.ln() - step * index as f64;
            let off = |candidate: &Candidate| ((candidate.design.width as f64).ln() - target).abs();
            // Half a step to either side belongs to this target; half a unit of width keeps thin
            // ends from being empty.
            let near = |candidate: &&Candidate| {
                off(candidate) <= 0.5 * step || (candidate.design.width as f64 - target.exp()).abs() <= 0.5
            };
            // Being off the curve by one per cent is as bad as being off the target by a quarter of
            // a step.
            let badness = |candidate: &Candidate| candidate.distance + 0.04 * off(candidate) / step.max(1e-9);
            let fresh = |candidate: &&Candidate| {
                chosen.iter().all(|other: &Candidate| other.design != candidate.design)
            };
            let best =
                candidates.iter().filter(near).filter(fresh).min_by(|a, b| badness(a).total_cmp(&badness(b)));
            chosen.extend(best.cloned());
        }
        // The optimum takes the place of the design next to it, but never of the baseline.
        if let Some(optimum) = best(&candidates)
            && chosen.iter().all(|candidate| candidate.design != optimum.design)
        {
            let width = optimum.design.width as f64;
            let apart = |candidate: &Candidate| (candidate.design.width as f64 / width).ln().abs();
            if let Some(nearest) = chosen[1..].iter_mut().min_by(|a, b| apart(a).total_cmp(&apart(b))) {
                *nearest = optimum.clone();
            }
        }
        chosen.sort_by_key(|candidate| std::cmp::Reverse(candidate.design.width));
        Ok(chosen)
    }

    /// The best design of a problem: of those that a whole number of members leaves on the curve,
    /// the one of lowest objective. `None` where that is the baseline.
    ///
    /// # Errors
    ///
    /// As [`choose`](Self::choose).
    pub fn optimum(&self, problem: Problem) -> Result<Option<Candidate>, Error> {
        Ok(best(&self.candidates(problem)?).cloned())
    }

    /// One design per width below the baseline's, from the thinnest.
    fn candidates(&self, problem: Problem) -> Result<Vec<Candidate>, Error> {
        let widest = self.search.module()?.width()?;
        let mut candidates = vec![];
        for width in self.thinnest.clamp(1, widest)..widest {
            let candidate = self.candidate(width, problem)?;
            if candidate.cost <= self.most_expensive {
                candidates.push(candidate);
            }
        }
        Ok(candidates)
    }

    fn baseline(&self) -> Result<Candidate, Error> {
        let module = self.search.module()?;
        let design = Design::new(module.members(), module.width()?)?;
        let variance = self.variance.of(&module)?.value / module.members() as f64;
        let parameters = self.baseline.totals()?.parameters;
        let spec = self.baseline.clone();
        Ok(Candidate {
            design,
            spec,
            parameters,
            variance,
            inner_width: design.multiplicity * design.width,
            cost: 1.0,
            distance: 0.0,
            objective: variance,
        })
    }

    fn candidate(&self, width: usize, problem: Problem) -> Result<Candidate, Error> {
        let answer: Answer = self.search.at_width(width).run(self.variance)?;
        let Optimum { design, parameters, variance, real_efficiency, variance_reduction, .. } = match problem
        {
            Problem::Primal => &answer.primal,
            Problem::Dual => &answer.dual,
        };
        let off = match problem {
            Problem::Primal => *real_efficiency,
            Problem::Dual => *variance_reduction,
        };
        Ok(Candidate {
            design: *design,
            spec: self.baseline.with_design(*design)?,
            parameters: *parameters,
            variance: *variance,
            inner_width: design.multiplicity * design.width,
            cost: 1.0 / real_efficiency,
            distance: off.ln().abs(),
            objective: answer.curve.first().map_or(f64::INFINITY, |point| point.primal_objective),
        })
    }
}

/// Algorithm 1 on a module, kept in the cache: the law's alpha.
///
/// # Errors
///
/// If the module cannot be sampled, or the monitor stops it.
pub fn fitted_alpha(module: &Module, context: &Context) -> Result<f64, Error> {
    let spec = Spec::from(module.clone());
    context.cached("alpha", &spec, || {
        let watch = Named::new(context.monitor, "fitting alpha");
        let draws = Sampling::paper(context.seed);
        let measurements = Measurements::take(module, &default_widths(module)?, &draws, &watch)?;
        context.go_on()?;
        Ok(Fit::new(&measurements, Method::default())?.alpha)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_search::paper::{Exact, Law};

    fn chosen(model: &str, variance: &dyn Variance, problem: Problem) -> Vec<Candidate> {
        let baseline: Spec = model.parse().unwrap();
        let search = Search::new(baseline.clone());
        let line = Line { baseline: &baseline, search: &search, variance, thinnest: 4, most_expensive: 3.0 };
        line.choose(problem, 8).unwrap()
    }

    #[test]
    fn primal_designs_cost_the_same() {
        for (model, variance) in
            [("fc6-200", &Exact as &dyn Variance), ("resnext29-1x128d", &Law::new(1.6).unwrap())]
        {
            let designs = chosen(model, variance, Problem::Primal);
            assert_eq!(designs.len(), 8, "{model}");
            assert_eq!(designs[0].design.multiplicity, 1);
            assert!(designs.windows(2).all(|pair| pair[0].design.width > pair[1].design.width));
            for candidate in &designs {
                assert!((candidate.cost - 1.0).abs() < 0.08, "{model}: {candidate:?}");
                let parameters = candidate.spec.graph().unwrap().counts().unwrap().total.parameters;
                assert_eq!(parameters, candidate.parameters);
            }
        }
    }

    #[test]
    fn dual_designs_have_one_variance_and_a_bounded_cost() {
        let designs = chosen("fc6-200", &Exact, Problem::Dual);
        let baseline = designs[0].variance;
        assert!(designs.len() >= 7);
        assert!(designs.iter().any(|candidate| candidate.design.to_string() == "5x45d"));
        for candidate in &designs {
            assert!((candidate.variance / baseline).ln().abs() < 0.12, "{candidate:?}");
            assert!(candidate.cost <= 3.0);
        }
        assert!(designs.iter().any(|candidate| candidate.cost < 0.75));
        assert!(designs.iter().any(|candidate| candidate.cost > 1.5));
    }
}
