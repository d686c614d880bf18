//! The search over integer designs of a whole network.

use collegial_arch::{Cost, Design, MAX_DIMENSION, Module, Spec};
use collegial_core::{Monitor, Silent};
use collegial_ntk::covariance::Images;
use collegial_ntk::explicit::Parametrisation;
use collegial_ntk::fit::measure_variance;

use super::answer::{DesignAnswer, FriendlyDesign, OtherInputs};
use super::blocks::{BlockInputs, ScoredBlocks};
use super::cost::Counts;
use super::describe::{Describe, baseline_design};
use super::pareto::pareto;
use super::table::{Allowed, Baseline, Limit, Table};
use super::variances::Variances;
use crate::curve::FLATNESS;
use crate::timing::nanoseconds;
use crate::{Costs, Error, Flat, Limits, Problem, Rule, Timings};

/// A question: which integer design should replace this baseline in the whole network?
#[derive(Clone, Debug)]
pub struct DesignSearch {
    pub(super) baseline: Spec,
    pub(super) limits: Limits,
    pub(super) inputs: BlockInputs,
    pub(super) images: Images,
    pub(super) parametrisation: Parametrisation,
    timings: Option<Timings>,
    exact: bool,
    precision: f64,
    seed: u64,
}

impl DesignSearch {
    /// Asks for the best designs of a network or module.
    pub fn new(baseline: Spec) -> Self {
        Self {
            baseline,
            limits: Limits::new(),
            inputs: BlockInputs::Network,
            images: Images::natural(),
            parametrisation: Parametrisation::Ntk,
            timings: None,
            exact: false,
            precision: 0.01,
            seed: 0,
        }
    }

    /// Sets which designs may be chosen. By default those of at most the baseline's parameters.
    #[must_use]
    pub fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets time as the cost, unless it is one of several, with the designs that were timed: only
    /// they and the baseline are looked at.
    #[must_use]
    pub fn timings(self, timings: Timings) -> Self {
        let timed = self.limits.costs.has(Cost::Time);
        let limits = if timed { self.limits } else { self.limits.cost(Cost::Time) };
        Self { limits, timings: Some(timings), ..self }
    }

    /// Sets what the blocks see. By default what images look like there in the network; a module by
    /// itself sees white patches.
    #[must_use]
    pub fn block_inputs(self, inputs: BlockInputs) -> Self {
        Self { inputs, ..self }
    }

    /// Sets the images that come in. By default natural ones.
    #[must_use]
    pub fn images(self, images: Images) -> Self {
        Self { images, ..self }
    }

    /// Sets by which weights gradients are taken. By default those of the NTK parametrisation, by
    /// which all layers count alike. With the standard ones the variance of a convolutional member
    /// depends on m as well.
    #[must_use]
    pub fn parametrisation(self, parametrisation: Parametrisation) -> Self {
        Self { parametrisation, ..self }
    }

    /// Insists on the closed form, which is an error that names the layer where there is none. By
    /// default what has no closed form is sampled.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Sets how well sampled variances are known, as a relative standard error, and from which
    /// seed, where there is no closed form. By default 1 % from seed 0.
    #[must_use]
    pub fn sampling(self, precision: f64, seed: u64) -> Self {
        Self { precision, seed, ..self }
    }

    /// Finds both optima.
    ///
    /// # Errors
    ///
    /// If the baseline has nothing to split, no width is allowed, or no design fits the budget.
    pub fn run(&self) -> Result<DesignAnswer, Error> {
        self.run_watched(&Silent)
    }

    /// As [`run`](Self::run); the monitor can stop it at every width, and hears of sampling, where
    /// that is needed.
    ///
    /// # Errors
    ///
    /// As those of [`run`](Self::run), those of sampling, and [`Error::Interrupted`].
    pub fn run_watched(&self, monitor: &dyn Monitor) -> Result<DesignAnswer, Error> {
        self.check()?;
        let network = self.baseline.module().is_none();
        let inputs = if network { self.inputs } else { BlockInputs::White };
        let (widths, left_out) = self.candidates()?;
        let variances = self.variances(inputs, &widths, monitor)?;
        let table = self.table(&widths, &variances, monitor)?;
        let mut answer = self.answer(&table, &variances, inputs, left_out)?;
        if network {
            let other = match inputs {
                BlockInputs::White => BlockInputs::Network,
                BlockInputs::Network => BlockInputs::White,
            };
            answer.other_inputs = Some(self.compare(&answer, other, &widths, monitor)?);
        }
        Ok(answer)
    }

    /// Whether only designs that were timed are looked at.
    pub(super) fn is_timed(&self) -> bool {
        self.timings.is_some()
    }

    /// Refuses what has no answer.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Limits { costs, tolerance, rule, .. } = &self.limits;
        match () {
            () if costs.has(Cost::Time) && self.timings.is_none() => Err(Error::NoTimings),
            () if !(0.0..=1.0).contains(tolerance) => Err(Error::Invalid(format!(
                "the tolerance is {tolerance}; it must be a share from 0 to 1, such as 0.02"
            ))),
            () if *rule == Some(Rule::Nearest) && (costs.only().is_none() || *tolerance > 0.0) => {
                Err(Error::Invalid(format!(
                    "nearest is for one cost without a tolerance; take under, or one of {costs}"
                )))
            }
            () => Ok(()),
        }
    }

    /// The same question with other inputs.
    fn compare(
        &self,
        answer: &DesignAnswer,
        inputs: BlockInputs,
        widths: &[usize],
        monitor: &dyn Monitor,
    ) -> Result<OtherInputs, Error> {
        let variances = self.variances(inputs, widths, monitor)?;
        let table = self.table(widths, &variances, monitor)?;
        let (primal, dual) = (table.primal()?, table.dual()?);
        let score = |design: Design| variances.of_design(&self.baseline, design);
        Ok(OtherInputs {
            block_inputs: inputs,
            primal: primal.design,
            dual: dual.design,
            primal_distance: score(answer.primal.design)? / primal.score - 1.0,
            score_ratio: variances.baseline / score(answer.primal.design)?,
            dual_score_ratio: variances.baseline / score(answer.dual.design)?,
        })
    }

    /// The whole inner width m n, at the first stage: members can be as wide as that.
    fn inner_width(&self) -> Result<usize, Error> {
        match self.baseline.module() {
            Some(module) => Ok(module.width()?.saturating_mul(module.members())),
            None => {
                let blocks = self.baseline.blocks()?;
                let inner = |block: &collegial_arch::Block| block.bottleneck.width * block.bottleneck.members;
                Ok(blocks.first().map_or(0, inner))
            }
        }
    }

    /// The widths to look at, ascending, and requested ones that are not allowed.
    pub(super) fn candidates(&self) -> Result<(Vec<usize>, Vec<usize>), Error> {
        let most = self.inner_width()?;
        if most < 2 {
            return Err(Error::Invalid(format!(
                "the baseline {name} has width {most}; to be split into narrower members it \
                 needs a width of at least 2",
                name = self.baseline.name()
            )));
        }
        let step = self.limits.step()?;
        if let Some(timings) = &self.timings {
            let asked = |width: &usize| self.limits.widths.as_ref().is_none_or(|all| all.contains(width));
            let allowed = |width: &usize| *width <= most && width.is_multiple_of(step);
            let timed = timings.widths().into_iter().filter(asked);
            let (mut widths, left_out): (Vec<usize>, Vec<usize>) = timed.partition(allowed);
            let own = baseline_design(&self.baseline).map(|design| design.width);
            widths.extend(own);
            widths.sort_unstable();
            widths.dedup();
            return Ok((widths, left_out.into_iter().filter(|width| Some(*width) != own).collect()));
        }
        let (inside, left_out) = self.limits.candidates(most)?;
        if inside.is_empty() {
            let nearest = (most / step * step).max(1);
            return Err(Error::Invalid(format!(
                "no width asked for is a multiple of {step} between 1 and the baseline's inner \
                 width {most}; {nearest} would be"
            )));
        }
        Ok((inside, left_out))
    }

    fn variances(
        &self,
        inputs: BlockInputs,
        widths: &[usize],
        monitor: &dyn Monitor,
    ) -> Result<Variances, Error> {
        let blocks = ScoredBlocks::parametrised(&self.baseline, inputs, &self.images, self.parametrisation);
        // Draws know the NTK parametrisation only.
        let exact = self.exact || self.parametrisation != Parametrisation::Ntk;
        match (blocks, self.baseline.module()) {
            (Ok(blocks), _) => Variances::exact(&self.baseline, blocks, widths, monitor),
            (Err(_), Some(module)) if !exact => self.sampled(&module, widths, monitor),
            (Err(error), _) => Err(error),
        }
    }

    fn sampled(&self, module: &Module, widths: &[usize], monitor: &dyn Monitor) -> Result<Variances, Error> {
        let mut measured = widths.to_vec();
        measured.push(module.width()?);
        measured.sort_unstable();
        measured.dedup();
        let samples = measure_variance(module, &measured, self.precision, self.seed, monitor)?;
        Variances::sampled(module, &samples, widths)
    }

    pub(super) fn table(
        &self,
        widths: &[usize],
        variances: &Variances,
        monitor: &dyn Monitor,
    ) -> Result<Table<'_>, Error> {
        let counts = Counts::of(&self.baseline)?;
        let Limits { costs, rule, .. } = &self.limits;
        let own = |cost: Cost| -> Result<u64, Error> {
            match (cost, &self.timings) {
                (Cost::Time, Some(timings)) => Ok(nanoseconds(timings.baseline)),
                _ => Ok(u64::try_from(counts.by(cost)?).unwrap_or(u64::MAX)),
            }
        };
        let limit = |cost: Cost| {
            let budget = self.limits.budget.filter(|_| cost == costs.first());
            Ok(Limit { cost, most: self.limits.limit(budget.map_or_else(|| own(cost), Ok)?) })
        };
        let allowed = Allowed {
            costs: costs.clone(),
            limits: costs.iter().map(limit).collect::<Result<_, Error>>()?,
            rule: rule.unwrap_or(Rule::Under),
            most: self.max_multiplicity(),
        };
        let baseline = Baseline { counts, cost: own(costs.first())?, score: variances.baseline };
        match &self.timings {
            Some(timings) => Table::timed(&self.baseline, widths, variances, (baseline, timings), allowed),
            None => Table::new(&self.baseline, widths, variances, baseline, allowed, monitor),
        }
    }

    fn answer(
        &self,
        table: &Table,
        variances: &Variances,
        inputs: BlockInputs,
        left_out: Vec<usize>,
    ) -> Result<DesignAnswer, Error> {
        let (primal, dual) = (table.primal()?, table.dual()?);
        let [baseline_parameters, baseline_flops, baseline_activations] = table.baseline.counts.whole();
        let baseline_time = self.timings.as_ref().map(|timings| nanoseconds(timings.baseline));
        let describe = Describe { baseline: &self.baseline, table, baseline_time };
        let (mut nearby, mut friendly) = (vec![], vec![]);
        for (problem, best) in [(Problem::Primal, primal), (Problem::Dual, dual)] {
            for candidate in table.nearby(problem, best, baseline_design(&self.baseline)) {
                nearby.push(describe.nearby(problem, candidate, best));
            }
            let mut kind: Vec<FriendlyDesign> = vec![];
            for multiple_of in FRIENDLY.into_iter().filter(|step| !table.is_multiple_of(&best, *step)) {
                if let Some(candidate) = table.best_multiple(problem, multiple_of) {
                    let design = describe.nearby(problem, candidate, best);
                    // The best multiple of 8 may be one of 16.
                    kind.retain(|other| other.design.design != candidate.design);
                    kind.push(FriendlyDesign { multiple_of, design });
                }
            }
            friendly.extend(kind);
        }
        let curve = table.curve();
        Ok(DesignAnswer {
            baseline: self.baseline.name(),
            baseline_design: baseline_design(&self.baseline),
            baseline_members: baseline_design(&self.baseline).map(|design| design.multiplicity),
            baseline_width: baseline_design(&self.baseline).map(|design| design.width),
            baseline_parameters,
            baseline_flops,
            baseline_activations,
            baseline_score: variances.baseline,
            baseline_variance: variances.baseline,
            cost: self.limits.costs.clone(),
            costs: self.limits.costs.iter().collect(),
            tolerance: self.limits.tolerance,
            budget: self.limits.budget.unwrap_or(table.baseline.cost),
            rule: self.limits.rule.unwrap_or(Rule::Under),
            variance_source: variances.source,
            block_inputs: inputs,
            parametrisation: self.parametrisation,
            alpha: None,
            primal: describe.optimum(Problem::Primal, primal),
            dual: describe.optimum(Problem::Dual, dual),
            strong_duality: primal.design.width == dual.design.width,
            flat: Flat::around(&curve, FLATNESS),
            nearby,
            friendly,
            pareto: pareto(&describe, &self.limits, primal, dual)?,
            blocks: variances.blocks(),
            other_inputs: None,
            left_out,
            timings: self.timings.clone(),
            curve,
        })
    }

    /// The most members there can be.
    pub(super) fn max_multiplicity(&self) -> usize {
        self.limits.max_multiplicity.unwrap_or(MAX_DIMENSION)
    }

    /// The baseline.
    pub(crate) fn baseline(&self) -> &Spec {
        &self.baseline
    }

    /// Designs whose times are worth knowing: per width the one that has the baseline's score. The
    /// widths are the requested ones, or a few powers of two and the best by parameters.
    pub(crate) fn designs_to_time(&self) -> Result<Vec<Planned>, Error> {
        // What is counted limits what is worth timing, and what is not limited may cost anything.
        let counts: Vec<Cost> = self.limits.costs.iter().filter(|cost| *cost != Cost::Time).collect();
        let counting = counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let limits = self.limits.clone().cost(counting.parse::<Costs>().unwrap_or_default());
        let counted = Self { limits, timings: None, ..self.clone() };
        let inputs = if self.baseline.module().is_none() { self.inputs } else { BlockInputs::White };
        let (all, _) = counted.candidates()?;
        let variances = counted.variances(inputs, &all, &Silent)?;
        let table = counted.table(&all, &variances, &Silent)?;
        let best = table.primal()?.design.width;
        let (low, high) = TIMED_WIDTHS;
        let worth =
            |width: usize| width == best || (width.is_power_of_two() && (low..=high).contains(&width));
        let mut plan = vec![];
        for width in &table.widths {
            if self.limits.widths.is_none() && !worth(width.width) {
                continue;
            }
            let most = match counts.is_empty() {
                true => width.most(self.max_multiplicity()),
                false => width.most_within(&table.allowed.limits, self.max_multiplicity())?,
            };
            let m = width.dual(variances.baseline, self.max_multiplicity())?.min(most);
            if m > 0 {
                plan.push(Planned { dual: Design { multiplicity: m, width: width.width }, most });
            }
        }
        if plan.is_empty() { Err(Error::NoDual) } else { Ok(plan) }
    }
}

/// Widths that vector units and tensor cores fill are multiples of these.
const FRIENDLY: [usize; 2] = [8, 16];

/// Powers of two that are timed unless widths are given.
const TIMED_WIDTHS: (usize, usize) = (4, 32);

/// A width to time.
pub(crate) struct Planned {
    /// The fewest members that have the baseline's score.
    pub dual: Design,
    /// The most members there can be.
    pub most: usize,
}
