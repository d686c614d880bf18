//! One design per stage, with one width or two per member, as integer designs of the whole network.
//!
//! Cost and score are sums over stages: minimise Σ V_s(n_s)/m_s with Σ m_s c_s(n_s) within the budget, or the other way round. A Lagrange
//! multiplier splits either problem into one per stage, which is solved by looking at every width; bisection on the multiplier meets
//! the budget from below, and what is left is filled up stage by stage. The multiplier also bounds how much better any other
//! choice could be, which the answer tells.

use collegial_arch::{Cost, Spec, StageDesign};
use collegial_ntk::covariance::Images;
use serde::Serialize;

use super::blocks::{BlockInputs, ScoredBlocks};
use crate::Error;

/// Widths per member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberWidths {
    /// One, n: into and out of the member's middle convolution.
    Equal,
    /// Two, n1 and n2.
    Free,
}

/// The best designs, one per stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageDesigns {
    /// One per stage.
    pub designs: Vec<StageDesign>,
    /// The network's name with them, which `info`, `train` and `export` take.
    pub model: String,
    /// Parameters of the whole network.
    pub parameters: u64,
    /// FLOPs of the whole network.
    pub flops: u64,
    /// The mean over blocks of Var/m.
    pub score: f64,
    /// The baseline's score over its own.
    pub score_ratio: f64,
    /// The baseline's cost over its own.
    pub cost_ratio: f64,
    /// How much better, at most, any other designs could be, in score (primal) or in cost (dual): 0.01 is one per cent.
    pub gap: f64,
}

/// Both problems with one design per stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageAnswer {
    /// The baseline's score.
    pub baseline_score: f64,
    /// Lowest score within the budget.
    pub primal: StageDesigns,
    /// Lowest cost at the baseline's score.
    pub dual: StageDesigns,
}

/// A width vector of one stage: its summed variance over the stage's blocks, and the cost of one member in all of them.
#[derive(Clone, Copy, Debug)]
struct Choice {
    widths: [usize; 2],
    variance: f64,
    cost: f64,
}

/// A choice with its number of members.
#[derive(Clone, Copy, Debug)]
struct Pick {
    choice: Choice,
    members: f64,
}

impl Pick {
    fn score(&self) -> f64 {
        self.choice.variance / self.members
    }
    fn cost(&self) -> f64 {
        self.choice.cost * self.members
    }
}

/// Choices whose V c is this many times the best one's cannot be in an optimum that rounding does not decide.
const WORTH_A_LOOK: f64 = 1.5;

/// Free widths are looked for up to this many times the best equal width.
const FREE_REACH: usize = 3;

/// Finds the best designs per stage; `budget` is what the whole network may cost.
///
/// # Errors
///
/// If the model has no stages, or nothing fits the budget.
pub fn stage_designs(
    baseline: &Spec,
    cost: Cost,
    budget: u64,
    (inputs, images): (BlockInputs, &Images),
    member_widths: MemberWidths,
) -> Result<StageAnswer, Error> {
    let blocks = ScoredBlocks::of(baseline, inputs, images)?;
    let count: usize = blocks.list.iter().map(|block| block.count).sum();
    let (fixed, costs) = stage_costs(baseline, cost)?;
    let stages: Vec<Vec<Choice>> =
        (0..costs.len()).map(|stage| choices(&blocks, stage, &costs[stage], member_widths)).collect();
    let target = blocks.score();
    let problem = Problem { stages: &stages };
    let (primal, bound) = problem
        .primal(budget as f64 - fixed)
        .ok_or_else(|| Error::Variance(format!("no designs per stage fit a budget of {budget}")))?;
    let describe = |picks: &[Pick], gap: f64| describe(baseline, cost, (picks, gap), target, count as f64);
    let score: f64 = primal.iter().map(Pick::score).sum();
    let (dual, cheapest) = problem
        .dual(target * count as f64)
        .ok_or_else(|| Error::Variance("no designs per stage reach the baseline's variance".into()))?;
    let spent: f64 = dual.iter().map(Pick::cost).sum();
    Ok(StageAnswer {
        baseline_score: target,
        primal: describe(&primal, (score / bound - 1.0).max(0.0))?,
        dual: describe(&dual, ((fixed + spent) / (fixed + cheapest) - 1.0).max(0.0))?,
    })
}

/// What one member costs at a stage: a n1 + b n2 + q n1 n2.
struct StageCost {
    first: f64,
    second: f64,
    product: f64,
    /// The largest width.
    most: usize,
}

/// The cost without members, and that of a member at every stage, read off four counts per stage.
fn stage_costs(baseline: &Spec, cost: Cost) -> Result<(f64, Vec<StageCost>), Error> {
    let blocks = baseline.blocks()?;
    let stages = blocks.iter().map(|block| block.stage).max().map_or(0, |last| last + 1);
    let one = StageDesign { multiplicity: 1, widths: [1, 1] };
    let count = |stage: usize, design: StageDesign| {
        let mut designs = vec![one; stages];
        designs[stage] = design;
        let total = baseline.with_stage_designs(&designs)?.graph()?.counts()?.total;
        Ok::<f64, Error>(total.of(cost) as f64)
    };
    let base = count(0, one)?;
    let mut fixed = base;
    let mut costs = vec![];
    for stage in 0..stages {
        let with = |multiplicity, widths| count(stage, StageDesign { multiplicity, widths });
        let member = with(2, [1, 1])? - base;
        let wide = with(1, [2, 1])? - base;
        let high = with(1, [1, 2])? - base;
        // member = a + b + q, wide = a + q, high = b + q.
        let product = wide + high - member;
        let most = blocks.iter().find(|block| block.stage == stage).map_or(1, |block| {
            block.bottleneck.widths().into_iter().max().unwrap_or(1) * block.bottleneck.members
        });
        costs.push(StageCost { first: wide - product, second: high - product, product, most });
        fixed -= member;
    }
    Ok((fixed, costs))
}

/// The widths of a stage that can be in an optimum.
fn choices(blocks: &ScoredBlocks, stage: usize, costs: &StageCost, widths: MemberWidths) -> Vec<Choice> {
    let choice = |[n1, n2]: [usize; 2]| {
        let real = [n1 as f64, n2 as f64];
        let here = blocks.list.iter().filter(|block| block.stage == stage);
        Choice {
            widths: [n1, n2],
            variance: here.map(|block| block.count as f64 * block.variance(&real)).sum(),
            cost: costs.first * real[0] + costs.second * real[1] + costs.product * real[0] * real[1],
        }
    };
    let value = |choice: &Choice| choice.variance * choice.cost;
    let equal: Vec<Choice> = (1..=costs.most).map(|n| choice([n, n])).collect();
    let best = |list: &[Choice]| list.iter().map(value).fold(f64::INFINITY, f64::min);
    let mut list = equal;
    if widths == MemberWidths::Free {
        let lowest = best(&list);
        let at = list.iter().find(|choice| value(choice) <= lowest).map_or(1, |choice| choice.widths[0]);
        let reach = (FREE_REACH * at).min(costs.most);
        let pairs = (1..=reach).flat_map(|n1| (1..=reach).map(move |n2| [n1, n2]));
        list.extend(pairs.filter(|[n1, n2]| n1 != n2).map(choice));
    }
    let limit = WORTH_A_LOOK * best(&list);
    list.retain(|choice| value(choice) <= limit);
    list
}

struct Problem<'a> {
    stages: &'a [Vec<Choice>],
}

impl Problem<'_> {
    /// The picks that minimise score + λ cost, and that minimum.
    fn relaxed(&self, multiplier: f64) -> (Vec<Pick>, f64) {
        let lagrangian = |pick: &Pick| pick.score() + multiplier * pick.cost();
        let best = |choices: &Vec<Choice>| {
            let picks = choices.iter().flat_map(|&choice| {
                let real = (choice.variance / (multiplier * choice.cost)).sqrt();
                [real.floor().max(1.0), real.ceil().max(1.0)].map(|members| Pick { choice, members })
            });
            picks.min_by(|a, b| lagrangian(a).total_cmp(&lagrangian(b)))
        };
        let picks: Vec<Pick> = self.stages.iter().filter_map(best).collect();
        let value = picks.iter().map(lagrangian).sum();
        (picks, value)
    }

    /// The multiplier at which the relaxed picks just satisfy `fits`, which large multipliers do (or, `falling`, small ones).
    fn multiplier(&self, fits: impl Fn(&[Pick]) -> bool, falling: bool) -> Option<f64> {
        let (mut low, mut high) = (1e-30f64, 1e30f64);
        let good = |multiplier: f64| fits(&self.relaxed(multiplier).0);
        if !good(if falling { low } else { high }) {
            return None;
        }
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if good(middle) == falling { low = middle } else { high = middle }
        }
        Some(if falling { low } else { high })
    }

    /// The lowest score within a cost, and a bound below which no score is.
    fn primal(&self, budget: f64) -> Option<(Vec<Pick>, f64)> {
        let cost = |picks: &[Pick]| picks.iter().map(Pick::cost).sum::<f64>();
        let multiplier = self.multiplier(|picks| cost(picks) <= budget, false)?;
        let (mut picks, value) = self.relaxed(multiplier);
        let bound = value - multiplier * budget;
        // Each stage in turn takes the best that the others leave room for.
        self.improve(&mut picks, |picks, stage| {
            let others = cost(picks) - picks[stage].cost();
            let fill = |&choice: &Choice| {
                let members = ((budget - others) / choice.cost * (1.0 + 1e-12)).floor();
                (members >= 1.0).then_some(Pick { choice, members })
            };
            let filled = self.stages[stage].iter().filter_map(fill);
            filled
                .min_by(|a, b| a.score().total_cmp(&b.score()))
                .filter(|pick| pick.score() < picks[stage].score())
        });
        Some((picks, bound))
    }

    /// The lowest cost with a score of at most `target`, and a bound below which no cost is.
    fn dual(&self, target: f64) -> Option<(Vec<Pick>, f64)> {
        let score = |picks: &[Pick]| picks.iter().map(Pick::score).sum::<f64>();
        let multiplier = self.multiplier(|picks| score(picks) <= target, true)?;
        let (mut picks, value) = self.relaxed(multiplier);
        let bound = (value - target) / multiplier;
        self.improve(&mut picks, |picks, stage| {
            let room = target * (1.0 + 1e-12) - (score(picks) - picks[stage].score());
            let fill = |&choice: &Choice| {
                (room > 0.0).then(|| Pick { choice, members: (choice.variance / room).ceil().max(1.0) })
            };
            let filled = self.stages[stage].iter().filter_map(fill);
            filled
                .min_by(|a, b| a.cost().total_cmp(&b.cost()))
                .filter(|pick| pick.cost() < picks[stage].cost())
        });
        Some((picks, bound))
    }

    fn improve(&self, picks: &mut [Pick], better: impl Fn(&[Pick], usize) -> Option<Pick>) {
        loop {
            let mut improved = false;
            for stage in 0..self.stages.len() {
                if let Some(pick) = better(picks, stage) {
                    picks[stage] = pick;
                    improved = true;
                }
            }
            if !improved {
                return;
            }
        }
    }
}

fn describe(
    baseline: &Spec,
    cost: Cost,
    (picks, gap): (&[Pick], f64),
    target: f64,
    blocks: f64,
) -> Result<StageDesigns, Error> {
    let design = |pick: &Pick| StageDesign::new(pick.members as usize, pick.choice.widths);
    let designs: Vec<StageDesign> = picks.iter().map(design).collect::<Result<_, _>>()?;
    let spec = baseline.with_stage_designs(&designs)?;
    let (total, before) = (spec.graph()?.counts()?.total, baseline.graph()?.counts()?.total);
    let score = picks.iter().map(Pick::score).sum::<f64>() / blocks;
    Ok(StageDesigns {
        designs,
        model: spec.name(),
        parameters: total.parameters,
        flops: total.flops,
        score,
        score_ratio: target / score,
        cost_ratio: before.of(cost) as f64 / total.of(cost) as f64,
        gap,
    })
}
