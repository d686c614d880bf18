//! Algorithm 2: the optimum of one block with a real-valued m, then the integer correction on the
//! whole network.

use collegial_arch::{Cost, Design, Module, Spec, Totals};
use collegial_core::{Monitor, Silent};

use super::analysed::Analysed;
use super::answer::{Answer, Nearby, Optimum};
use super::correction::{integer_multiplicity, network_cost, refusal};
use super::curve::Curve;
use super::variance::{Exact, Variance};
use crate::curve::FLATNESS;
use crate::error::go_on;
use crate::{CurvePoint, Error, Flat, Limits, Problem, Rule};

/// A question: which design should replace this baseline?
#[derive(Clone, Debug)]
pub struct Search {
    baseline: Spec,
    limits: Limits,
}

impl Search {
    /// By parameters, over every width up to the baseline's, nearest to the baseline's cost.
    pub fn new(baseline: Spec) -> Self {
        Self { baseline, limits: Limits::new() }
    }

    /// Sets which designs may be chosen; their cost must be a count.
    #[must_use]
    pub fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same question about one width.
    #[must_use]
    pub fn at_width(&self, width: usize) -> Self {
        self.clone().within(self.limits.clone().widths(vec![width]))
    }

    /// The cost β that is counted.
    pub fn cost(&self) -> Cost {
        self.limits.costs.first()
    }

    fn rule(&self) -> Rule {
        self.limits.rule.unwrap_or(Rule::Nearest)
    }

    /// The block that is analysed, checked to be wide enough.
    pub fn module(&self) -> Result<Module, Error> {
        let module = self.baseline.analysed_module()?;
        let width = module.width()?;
        if width < 2 {
            return Err(Error::Invalid(format!(
                "the baseline {name} has width {width}; to be split into narrower members it \
                 needs a width of at least 2",
                name = self.baseline.name()
            )));
        }
        Ok(module)
    }

    /// The widths to look at, ascending.
    pub fn candidate_widths(&self) -> Result<Vec<usize>, Error> {
        let width = self.module()?.width()?;
        let (widths, _) = self.limits.candidates(width)?;
        if widths.is_empty() { Err(self.no_widths(width)) } else { Ok(widths) }
    }

    /// The refusal of a list without a feasible width, with the nearest one.
    fn no_widths(&self, width: usize) -> Error {
        let step = self.limits.multiple_of;
        if step > width {
            return Error::Invalid(format!(
                "no width up to the baseline's {width} is a multiple of {step}; the nearest \
                 feasible multiple is {width}"
            ));
        }
        let wanted = self.limits.widths.iter().flatten().copied().min().unwrap_or(1);
        let nearest = (wanted.div_ceil(step) * step).clamp(step, width / step * step);
        Error::Invalid(format!(
            "no width in the list is a multiple of {step} between 1 and the baseline's \
             {width}; the nearest feasible width is {nearest}"
        ))
    }

    /// Finds both optima.
    pub fn run(&self, variance: &dyn Variance) -> Result<Answer, Error> {
        self.run_watched(variance, &Silent)
    }

    /// The same; the monitor can stop it at every width.
    ///
    /// # Errors
    ///
    /// As those of [`run`](Self::run), and [`Error::Interrupted`].
    pub fn run_watched(&self, variance: &dyn Variance, monitor: &dyn Monitor) -> Result<Answer, Error> {
        let module = self.module()?;
        let widths = self.candidate_widths()?;
        let baseline_cost = network_cost(&self.baseline, self.cost())?;
        let exact = Exact.of(&module).ok().map(|exact| exact.value / module.members() as f64);
        let context = Context {
            search: self,
            module: &module,
            baseline_cost,
            budget: self.limits.budget.unwrap_or(baseline_cost),
            exact,
        };
        context.check_budget(widths[0])?;
        let share = context.budget as f64 / baseline_cost as f64;
        let whole = Curve::watched(&module, &widths, self.cost(), variance, share, monitor)?;
        let curve = context.within_members(whole, monitor)?;
        let (Some(&best), Some(&dual)) = (curve.optimum(), curve.dual_optimum()) else {
            return Err(Error::Invalid("there is no width to choose from".into()));
        };
        let baseline = self.baseline.totals()?;
        let primal = context.optimum(&best, Problem::Primal)?;
        let flat = Flat::around(&curve.points, FLATNESS).unwrap_or(Flat {
            tolerance: FLATNESS,
            low: best.width,
            high: best.width,
        });
        Ok(Answer {
            baseline: self.baseline.name(),
            baseline_parameters: baseline.parameters,
            baseline_flops: baseline.flops,
            baseline_width: module.width()?,
            baseline_variance: variance.of(&module)?.value / module.members() as f64,
            baseline_exact_variance: exact,
            analysed: Analysed::of(&self.baseline, &module),
            cost: self.cost(),
            cost_unit: self.cost().unit(),
            budget: context.budget,
            rule: self.rule(),
            variance_source: variance.source(),
            alpha: variance.alpha(),
            alpha_ci: variance.alpha_interval(),
            dual: context.optimum(&best, Problem::Dual)?,
            primal,
            strong_duality: best.width == dual.width || ties(&best, &dual),
            flat,
            nearby: context.nearby(&curve, &best, flat)?,
            per_stage: None,
            free_widths: None,
            curve: curve.points,
        })
    }
}

/// Equal but for rounding: the dual's objective is the primal's turned over.
fn ties(a: &CurvePoint, b: &CurvePoint) -> bool {
    (a.primal_objective - b.primal_objective).abs() <= 1e-12 * a.primal_objective
}

/// What every design is compared with.
struct Context<'a> {
    search: &'a Search,
    /// The block that is analysed.
    module: &'a Module,
    /// What the baseline costs.
    baseline_cost: u64,
    budget: u64,
    /// The baseline's variance by the closed form, where there is one.
    exact: Option<f64>,
}

/// A design after the integer correction, with its whole network's counts.
struct Corrected {
    design: Design,
    totals: Totals,
    real_efficiency: f64,
}

impl Context<'_> {
    /// Refuses a budget that one member of the narrowest width already exceeds.
    fn check_budget(&self, narrowest: usize) -> Result<(), Error> {
        match refusal(&self.search.baseline, narrowest, self.search.cost(), self.budget)? {
            Error::Budget { needs, .. } if needs <= self.budget => Ok(()),
            refusal => Err(refusal),
        }
    }

    /// The widths whose whole network needs no more members than allowed.
    fn within_members(&self, curve: Curve, monitor: &dyn Monitor) -> Result<Curve, Error> {
        let Some(most) = self.search.limits.max_multiplicity else { return Ok(curve) };
        let (mut points, mut fewest) = (vec![], usize::MAX);
        for point in curve.points {
            go_on(monitor)?;
            let needed = self.integer(point.width, usize::MAX).map_or(1, |design| design.multiplicity);
            fewest = fewest.min(needed);
            if needed <= most {
                points.push(point);
            }
        }
        if points.is_empty() {
            return Err(Error::Invalid(format!(
                "every width needs more than {most} members to spend the budget; the fewest \
                 possible is {fewest}"
            )));
        }
        Ok(Curve { points })
    }

    /// The integer correction of the primal's m, with at most so many members.
    fn integer(&self, width: usize, most: usize) -> Result<Design, Error> {
        let Search { baseline, limits } = self.search;
        integer_multiplicity(baseline, width, limits.costs.first(), self.budget, self.search.rule(), most)
    }

    fn corrected(&self, point: &CurvePoint, problem: Problem) -> Result<Corrected, Error> {
        let Search { baseline, limits } = self.search;
        let most = limits.max_multiplicity.unwrap_or(usize::MAX);
        let design = match problem {
            Problem::Primal => self.integer(point.width, most)?,
            Problem::Dual => {
                Design::new((point.dual_multiplicity.round() as usize).clamp(1, most), point.width)?
            }
        };
        let network = baseline.with_design(design)?;
        let real_efficiency =
            self.baseline_cost as f64 / network_cost(&network, limits.costs.first())? as f64;
        Ok(Corrected { design, totals: network.totals()?, real_efficiency })
    }

    fn optimum(&self, point: &CurvePoint, problem: Problem) -> Result<Optimum, Error> {
        let Corrected { design, totals, real_efficiency } = self.corrected(point, problem)?;
        let variance = point.variance / design.multiplicity as f64;
        let target = point.variance / point.dual_multiplicity;
        let exact = Exact.of(&self.module.scaled_to(point.width)?).ok();
        let exact_variance = exact.map(|exact| exact.value / design.multiplicity as f64);
        Ok(Optimum {
            width: point.width,
            multiplicity: match problem {
                Problem::Primal => point.primal_multiplicity,
                Problem::Dual => point.dual_multiplicity,
            },
            design,
            members: design.multiplicity,
            parameters: totals.parameters,
            flops: totals.flops,
            variance,
            variance_reduction: target / variance,
            exact_variance,
            exact_variance_reduction: self.exact.zip(exact_variance).map(|(before, after)| before / after),
            efficiency: match problem {
                Problem::Primal => 1.0,
                Problem::Dual => point.efficiency,
            },
            real_efficiency,
        })
    }

    /// The optimum's neighbours, the ends of the flat region, and the multiples of 4 and 8 in and
    /// around it.
    fn nearby(&self, curve: &Curve, best: &CurvePoint, flat: Flat) -> Result<Vec<Nearby>, Error> {
        let around = best.width.saturating_sub(2)..=best.width + 2;
        let kind = |width: usize| width.is_multiple_of(4) && width * 2 >= flat.low && width <= flat.high * 2;
        let chosen = curve.points.iter().filter(|point| {
            let width = point.width;
            around.contains(&width) || width == flat.low || width == flat.high || kind(width)
        });
        let nearest: Vec<&CurvePoint> = {
            let mut points: Vec<&CurvePoint> = chosen.filter(|point| point.width != best.width).collect();
            points.sort_by(|a, b| a.primal_objective.total_cmp(&b.primal_objective));
            points.truncate(6);
            points.sort_by_key(|point| point.width);
            points
        };
        let mut rows = vec![];
        for problem in [Problem::Primal, Problem::Dual] {
            for point in &nearest {
                // A budget too small for one member of this width leaves the row out; the optimum
                // has its own refusal.
                let Ok(Corrected { design, totals, real_efficiency }) = self.corrected(point, problem) else {
                    continue;
                };
                rows.push(Nearby {
                    problem,
                    design,
                    members: design.multiplicity,
                    width: point.width,
                    parameters: totals.parameters,
                    flops: totals.flops,
                    variance: point.variance / design.multiplicity as f64,
                    real_efficiency,
                    distance: point.primal_objective / best.primal_objective - 1.0,
                });
            }
        }
        Ok(rows)
    }
}
