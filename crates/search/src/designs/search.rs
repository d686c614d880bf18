//! The search over all integer designs.

use collegial_arch::{Cost, Design, MAX_DIMENSION, Module, Spec, Totals};
use collegial_ntk::covariance::Images;
use collegial_ntk::fit::{VarianceSample, measure_variance};
use collegial_stats::{Monitor, Silent};

use super::answer::{
    BlockVariance, DesignAnswer, DesignOptimum, Edge, Gain, NearbyDesign, OtherInputs, VarianceSource,
};
use super::blocks::{BlockInputs, ScoredBlocks, real};
use super::cost::{CostModel, MemberCosts};
use crate::curve::CurvePoint;
use crate::{Error, Problem, Rule};

/// Rows of other widths per problem.
const NEARBY: usize = 6;

/// Scores that differ by less, relatively, count as equal.
const EQUAL: f64 = 1e-9;

/// A question: which integer design should replace this baseline in the whole network?
#[derive(Clone, Debug)]
pub struct DesignSearch {
    baseline: Spec,
    cost: Cost,
    rule: Rule,
    inputs: BlockInputs,
    images: Images,
    budget: Option<u64>,
    widths: Option<Vec<usize>>,
    multiple_of: usize,
    max_multiplicity: usize,
    precision: f64,
    seed: u64,
}

impl DesignSearch {
    /// Asks for the best designs of a network or module.
    pub fn new(baseline: Spec) -> Self {
        Self {
            baseline,
            cost: Cost::Params,
            rule: Rule::Under,
            inputs: BlockInputs::Network,
            images: Images::natural(),
            budget: None,
            widths: None,
            multiple_of: 1,
            max_multiplicity: MAX_DIMENSION,
            precision: 0.01,
            seed: 0,
        }
    }

    /// Sets what is charged for. By default parameters.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    /// Sets how the primal meets the budget. By default it stays within it.
    #[must_use]
    pub fn rule(self, rule: Rule) -> Self {
        Self { rule, ..self }
    }

    /// Sets what the blocks see. By default what images look like there in the network; a module by itself sees white patches.
    #[must_use]
    pub fn block_inputs(self, inputs: BlockInputs) -> Self {
        Self { inputs, ..self }
    }

    /// Sets the images that come in. By default natural ones.
    #[must_use]
    pub fn images(self, images: Images) -> Self {
        Self { images, ..self }
    }

    /// Sets what the whole network may cost. By default what the baseline costs.
    #[must_use]
    pub fn budget(self, budget: u64) -> Self {
        Self { budget: Some(budget), ..self }
    }

    /// Sets which widths to look at. By default all up to the whole inner width m n of the baseline.
    #[must_use]
    pub fn widths(self, widths: Vec<usize>) -> Self {
        Self { widths: Some(widths), ..self }
    }

    /// Keeps to widths that are a multiple of this (8 is kind to hardware). By default of 1.
    #[must_use]
    pub fn multiple_of(self, multiple_of: usize) -> Self {
        Self { multiple_of, ..self }
    }

    /// Sets the largest number of members. By default there is no limit.
    #[must_use]
    pub fn max_multiplicity(self, most: usize) -> Self {
        Self { max_multiplicity: most, ..self }
    }

    /// Sets how well sampled variances are known, as a relative standard error, and from which seed, where there is no closed form. By
    /// default 1 % from seed 0.
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

    /// As [`run`](Self::run); sampling, where it is needed, reports to the monitor and can be stopped.
    ///
    /// # Errors
    ///
    /// As those of [`run`](Self::run), and of sampling.
    pub fn run_watched(&self, monitor: &dyn Monitor) -> Result<DesignAnswer, Error> {
        let network = matches!(self.baseline, Spec::Resnext(_));
        let inputs = if network { self.inputs } else { BlockInputs::White };
        let (widths, left_out) = self.candidates()?;
        let variances = self.variances(inputs, &widths, monitor)?;
        let table = self.table(&widths, &variances)?;
        let mut answer = self.answer(&table, &variances, inputs, left_out)?;
        if network {
            let other = match inputs {
                BlockInputs::White => BlockInputs::Network,
                BlockInputs::Network => BlockInputs::White,
            };
            answer.other_inputs = Some(self.compare(&answer, other, &widths)?);
        }
        Ok(answer)
    }

    /// The same question with other inputs.
    fn compare(
        &self,
        answer: &DesignAnswer,
        inputs: BlockInputs,
        widths: &[usize],
    ) -> Result<OtherInputs, Error> {
        let variances = self.variances(inputs, widths, &Silent)?;
        let table = self.table(widths, &variances)?;
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

    /// The widths to look at, ascending, and those that were asked for in vain.
    fn candidates(&self) -> Result<(Vec<usize>, Vec<usize>), Error> {
        let module = self.baseline.analysed_module()?;
        let most = module.width()?.saturating_mul(module.members());
        if most < 2 {
            return Err(Error::NarrowBaseline { name: self.baseline.name(), width: most });
        }
        if self.multiple_of == 0 {
            return Err(Error::NoWidths("widths cannot be a multiple of 0; give 1 or more".into()));
        }
        let mut widths = self.widths.clone().unwrap_or_else(|| (1..=most).collect());
        widths.sort_unstable();
        widths.dedup();
        let allowed = |width: &usize| *width > 0 && *width <= most && width.is_multiple_of(self.multiple_of);
        let (inside, outside): (Vec<usize>, Vec<usize>) = widths.into_iter().partition(allowed);
        let left_out = if self.widths.is_some() { outside } else { vec![] };
        if inside.is_empty() {
            let nearest = (most / self.multiple_of * self.multiple_of).max(1);
            return Err(Error::NoWidths(format!(
                "no width asked for is a multiple of {} between 1 and the baseline's inner width {most}; {nearest} would be",
                self.multiple_of
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
        let module = self.baseline.analysed_module()?;
        if matches!(self.baseline, Spec::Resnext(_)) || ScoredBlocks::exist_for(&module) {
            let blocks = ScoredBlocks::of(&self.baseline, inputs, &self.images)?;
            return Variances::exact(&self.baseline, blocks, widths);
        }
        let mut measured = widths.to_vec();
        measured.push(module.width()?);
        measured.sort_unstable();
        measured.dedup();
        let samples = measure_variance(&module, &measured, self.precision, self.seed, monitor)?;
        Variances::sampled(&module, &samples, widths)
    }

    /// Both problems' best design of every width.
    fn table(&self, widths: &[usize], variances: &Variances) -> Result<Table, Error> {
        let model = CostModel::new(&self.baseline, self.cost)?;
        let baseline_cost = self.baseline.graph()?.counts()?.total.of(self.cost);
        let budget = self.budget.unwrap_or(baseline_cost);
        let stages = match &self.baseline {
            Spec::Resnext(network) => network.stages(),
            _ => 1,
        };
        let mut rows = Vec::with_capacity(widths.len());
        for (&width, &variance) in widths.iter().zip(&variances.of_width) {
            let costs = model.of_width(width)?;
            // No dimension of any stage may pass the limit.
            let room = MAX_DIMENSION / (width << (stages - 1)).max(1);
            let most = self.max_multiplicity.min(room);
            let primal = primal_multiplicity(&costs, i128::from(budget), self.rule).min(most);
            let needed = (variance / variances.baseline * (1.0 - EQUAL)).ceil().max(1.0);
            let dual = if needed <= most as f64 { needed as usize } else { 0 };
            let candidate = |multiplicity: usize| {
                let design = Design { multiplicity, width };
                let score = variance / multiplicity as f64;
                (multiplicity > 0).then(|| Candidate { design, score, cost: costs.of(multiplicity) })
            };
            rows.push(Row { width, variance, costs, primal: candidate(primal), dual: candidate(dual) });
        }
        Ok(Table { rows, budget, baseline_cost, baseline_score: variances.baseline, cost: self.cost })
    }

    fn answer(
        &self,
        table: &Table,
        variances: &Variances,
        inputs: BlockInputs,
        left_out: Vec<usize>,
    ) -> Result<DesignAnswer, Error> {
        let (primal, dual) = (table.primal()?, table.dual()?);
        let baseline = self.baseline.graph()?.counts()?.total;
        let describe = Describe { baseline: &self.baseline, table };
        let mut nearby = vec![];
        for (problem, best) in [(Problem::Primal, primal), (Problem::Dual, dual)] {
            for candidate in table.nearby(problem, best) {
                nearby.push(describe.nearby(problem, candidate, best)?);
            }
        }
        Ok(DesignAnswer {
            baseline: self.baseline.name(),
            baseline_design: baseline_design(&self.baseline),
            baseline_parameters: baseline.parameters,
            baseline_flops: baseline.flops,
            baseline_score: variances.baseline,
            baseline_variance: variances.baseline,
            cost: self.cost,
            budget: table.budget,
            rule: self.rule,
            variance_source: variances.source,
            block_inputs: inputs,
            alpha: None,
            primal: describe.optimum(Problem::Primal, primal)?,
            dual: describe.optimum(Problem::Dual, dual)?,
            strong_duality: primal.design.width == dual.design.width,
            nearby,
            blocks: variances.blocks(),
            other_inputs: None,
            left_out,
            curve: table.rows.iter().map(|row| table.point(row)).collect(),
        })
    }
}

/// The m x n of a baseline, where it is one.
fn baseline_design(spec: &Spec) -> Option<Design> {
    match spec {
        Spec::Resnext(network) => network.design.design(),
        _ => {
            let module = spec.module()?;
            Some(Design { multiplicity: module.members(), width: module.width().ok()? })
        }
    }
}

/// The m of a width by the rule; 0 where not even one member fits.
fn primal_multiplicity(costs: &MemberCosts, budget: i128, rule: Rule) -> usize {
    let within = costs.largest_within(budget);
    match rule {
        Rule::Under => within,
        Rule::Nearest if within == 0 => 1,
        Rule::Nearest => {
            let above = costs.of(within + 1) - budget;
            if above < budget - costs.of(within) { within + 1 } else { within }
        }
    }
}

/// The variance of one member at every width, and the baseline's score.
struct Variances {
    source: VarianceSource,
    of_width: Vec<f64>,
    baseline: f64,
    blocks: Option<ScoredBlocks>,
}

impl Variances {
    fn exact(baseline: &Spec, blocks: ScoredBlocks, widths: &[usize]) -> Result<Self, Error> {
        let of = |&width: &usize| member_variance(baseline, &blocks, width);
        let of_width = widths.iter().map(of).collect::<Result<_, Error>>()?;
        Ok(Self { source: VarianceSource::Exact, of_width, baseline: blocks.score(), blocks: Some(blocks) })
    }

    fn sampled(module: &Module, samples: &[VarianceSample], widths: &[usize]) -> Result<Self, Error> {
        let at = |width: usize| {
            let sample = samples.iter().find(|sample| sample.width == width);
            sample
                .map(|sample| sample.variance)
                .ok_or_else(|| Error::Variance(format!("the variance was not measured at width {width}")))
        };
        Ok(Self {
            source: VarianceSource::Measured,
            of_width: widths.iter().map(|&width| at(width)).collect::<Result<_, Error>>()?,
            baseline: at(module.width()?)? / module.members() as f64,
            blocks: None,
        })
    }

    /// The score of another design, where there is a formula.
    fn of_design(&self, baseline: &Spec, design: Design) -> Result<f64, Error> {
        let blocks = self
            .blocks
            .as_ref()
            .ok_or_else(|| Error::Variance("there is no formula for the variance".into()))?;
        Ok(member_variance(baseline, blocks, design.width)? / design.multiplicity as f64)
    }

    fn blocks(&self) -> Vec<BlockVariance> {
        let list = self.blocks.iter().flat_map(|blocks| &blocks.list);
        list.map(|block| BlockVariance {
            stage: block.stage + 1,
            count: block.count,
            inputs: block.inputs,
            width: block.widths.iter().copied().max().unwrap_or(0),
            outputs: block.outputs,
            variance: block.variance(&real(&block.widths)) / block.members as f64,
        })
        .collect()
    }
}

/// The mean over blocks of the variance of one member of width n (n 2^s at stage s).
fn member_variance(baseline: &Spec, blocks: &ScoredBlocks, width: usize) -> Result<f64, Error> {
    match baseline {
        Spec::Resnext(_) => Ok(blocks.mean_variance(|stage| vec![(width << stage) as f64; 2])),
        _ => {
            let widths = real(&baseline.analysed_module()?.scaled_to(width)?.widths());
            Ok(blocks.mean_variance(|_| widths.clone()))
        }
    }
}

/// One design of one width.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    design: Design,
    score: f64,
    cost: i128,
}

struct Row {
    width: usize,
    variance: f64,
    costs: MemberCosts,
    primal: Option<Candidate>,
    dual: Option<Candidate>,
}

struct Table {
    rows: Vec<Row>,
    budget: u64,
    baseline_cost: u64,
    baseline_score: f64,
    cost: Cost,
}

impl Table {
    fn of(&self, problem: Problem) -> impl Iterator<Item = Candidate> + '_ {
        self.rows.iter().filter_map(move |row| match problem {
            Problem::Primal => row.primal,
            Problem::Dual => row.dual,
        })
    }

    /// The lowest score; among equal ones the lowest cost.
    fn primal(&self) -> Result<Candidate, Error> {
        let best =
            self.of(Problem::Primal).min_by(|a, b| a.score.total_cmp(&b.score).then(a.cost.cmp(&b.cost)));
        best.ok_or_else(|| {
            let cheapest = self.rows.iter().min_by_key(|row| row.costs.of(1));
            let (width, needs) = cheapest.map_or((1, 0), |row| (row.width, row.costs.of(1)));
            Error::Budget {
                budget: self.budget,
                cost: crate::price::Price::unit(&self.cost),
                smallest: Design { multiplicity: 1, width }.to_string(),
                needs: u64::try_from(needs).unwrap_or(u64::MAX),
            }
        })
    }

    /// The lowest cost; among equal ones the lowest score.
    fn dual(&self) -> Result<Candidate, Error> {
        let best =
            self.of(Problem::Dual).min_by(|a, b| a.cost.cmp(&b.cost).then(a.score.total_cmp(&b.score)));
        best.ok_or_else(|| {
            Error::NoWidths("no allowed design has as little variance as the baseline; allow more members or other widths".into())
        })
    }

    /// The best of the other widths, and of those that are kind to hardware; by width.
    fn nearby(&self, problem: Problem, best: Candidate) -> Vec<Candidate> {
        let objective = |candidate: &Candidate| match problem {
            Problem::Primal => candidate.score,
            Problem::Dual => candidate.cost as f64,
        };
        let mut others: Vec<Candidate> =
            self.of(problem).filter(|candidate| candidate.design.width != best.design.width).collect();
        others.sort_by(|a, b| objective(a).total_cmp(&objective(b)));
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

    fn real_primal(&self, row: &Row) -> f64 {
        (i128::from(self.budget) - row.costs.fixed()) as f64 / row.costs.per_member() as f64
    }

    fn efficiency(&self, row: &Row) -> f64 {
        let members = row.variance / self.baseline_score;
        self.baseline_cost as f64 / (row.costs.fixed() as f64 + members * row.costs.per_member() as f64)
    }

    fn point(&self, row: &Row) -> CurvePoint {
        let primal_multiplicity = self.real_primal(row);
        let primal_objective = row.variance / primal_multiplicity;
        let efficiency = self.efficiency(row);
        CurvePoint {
            width: row.width,
            cost_of_member: u64::try_from(row.costs.per_member()).unwrap_or(u64::MAX),
            variance: row.variance,
            primal_multiplicity,
            primal_objective,
            dual_multiplicity: row.variance / self.baseline_score,
            efficiency,
            primal_objective_ci: [primal_objective; 2],
            efficiency_ci: [efficiency; 2],
        }
    }
}

/// Turns candidates into what the answer says of them.
struct Describe<'a> {
    baseline: &'a Spec,
    table: &'a Table,
}

impl Describe<'_> {
    fn totals(&self, design: Design) -> Result<Totals, Error> {
        Ok(self.baseline.with_design(design)?.graph()?.counts()?.total)
    }

    fn ratios(&self, candidate: Candidate) -> (f64, f64) {
        let table = self.table;
        (table.baseline_score / candidate.score, table.baseline_cost as f64 / candidate.cost as f64)
    }

    fn optimum(&self, problem: Problem, best: Candidate) -> Result<DesignOptimum, Error> {
        let totals = self.totals(best.design)?;
        let (score_ratio, cost_ratio) = self.ratios(best);
        let rows = &self.table.rows;
        let width = best.design.width;
        let at = rows.partition_point(|row| row.width < width);
        let row = &rows[at];
        let edge = match () {
            // One is as narrow as members get.
            () if at == 0 && width > 1 => Some(Edge::Narrowest),
            () if at + 1 == rows.len() && best.design.multiplicity > 1 => Some(Edge::Widest),
            () => None,
        };
        let gained = match problem {
            Problem::Primal => score_ratio,
            Problem::Dual => cost_ratio,
        };
        let gain = match () {
            () if baseline_design(self.baseline) == Some(best.design) => Gain::BaselineIsBest,
            () if gained >= 1.0 => Gain::Better,
            () => Gain::Worse,
        };
        Ok(DesignOptimum {
            width,
            multiplicity: match problem {
                Problem::Primal => self.table.real_primal(row),
                Problem::Dual => row.variance / self.table.baseline_score,
            },
            design: best.design,
            parameters: totals.parameters,
            flops: totals.flops,
            score: best.score,
            variance: best.score,
            score_ratio,
            cost_ratio,
            efficiency: self.table.efficiency(row),
            gain,
            edge,
        })
    }

    fn nearby(&self, problem: Problem, candidate: Candidate, best: Candidate) -> Result<NearbyDesign, Error> {
        let totals = self.totals(candidate.design)?;
        let (score_ratio, cost_ratio) = self.ratios(candidate);
        let distance = match problem {
            Problem::Primal => candidate.score / best.score - 1.0,
            Problem::Dual => candidate.cost as f64 / best.cost as f64 - 1.0,
        };
        Ok(NearbyDesign {
            problem,
            design: candidate.design,
            width: candidate.design.width,
            parameters: totals.parameters,
            flops: totals.flops,
            score: candidate.score,
            variance: candidate.score,
            score_ratio,
            cost_ratio,
            distance,
        })
    }
}
