//! The designs of a group of stages, and the best of them for a cost or a variance of their own.

use super::super::blocks::ScoredBlocks;
use super::super::cost::StageCost;
use super::super::search::DesignSearch;
use crate::Error;

/// Widths of a group: what one member adds to the network's score, and what it costs in all blocks
/// of the group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// At the group's first stage; they double at the next ones.
    pub widths: [usize; 2],
    pub variance: f64,
    pub cost: f64,
}

/// A choice with its number of members.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    pub choice: Choice,
    pub members: f64,
}

impl Pick {
    pub fn score(&self) -> f64 {
        self.choice.variance / self.members
    }
    pub fn cost(&self) -> f64 {
        self.choice.cost * self.members
    }
}

/// Stages with one design in common.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub stages: Vec<usize>,
    /// Everything that is looked at.
    pub choices: Vec<Choice>,
    /// What its members may cost together.
    pub budget: f64,
    /// What it adds to the baseline's score.
    pub baseline: f64,
    max_members: f64,
}

/// Different widths are looked for up to this many times the best equal width.
const FREE_REACH: usize = 3;

/// Rounding errors of sums.
const SLACK: f64 = 1e-9;

impl Group {
    /// The group of some stages, with its share of the baseline's cost.
    pub fn new(
        search: &DesignSearch,
        (blocks, costs): (&ScoredBlocks, &[StageCost<i128>]),
        stages: Vec<usize>,
        free_widths: bool,
        share: f64,
    ) -> Result<Self, Error> {
        let at = |widths: [usize; 2], stage: usize| widths.map(|width| width << (stage - stages[0]));
        let choice = |widths: [usize; 2]| Choice {
            widths,
            variance: blocks.sum_over(&stages, |stage| at(widths, stage).map(|width| width as f64)),
            cost: stages.iter().map(|&stage| costs[stage].of(at(widths, stage)) as f64).sum(),
        };
        let (mut spent, mut most) = (0.0, 0);
        let list = search.baseline.blocks()?;
        for &stage in &stages {
            let Some(block) = list.iter().find(|block| block.stage == stage) else { continue };
            let (members, widths) = (block.bottleneck.members, block.bottleneck.widths());
            spent += members as f64 * costs[stage].of(widths) as f64;
            if stage == stages[0] {
                most = members * widths.into_iter().max().unwrap_or(1);
            }
        }
        let step = search.limits.multiple_of.max(1);
        let widths = |most: usize| (1..=most / step).map(move |n| n * step);
        let mut choices: Vec<Choice> = widths(most).map(|n| choice([n, n])).collect();
        if free_widths && let Some(best) = best_product(&choices) {
            let reach = (FREE_REACH * best.widths[0]).min(most);
            let pairs = widths(reach).flat_map(|n1| widths(reach).map(move |n2| [n1, n2]));
            choices.extend(pairs.filter(|[n1, n2]| n1 != n2).map(choice));
        }
        let baseline = blocks.score_of(&stages);
        let max_members = search.max_multiplicity() as f64;
        Ok(Self { stages, choices, budget: share * spent, baseline, max_members })
    }

    /// The lowest score whose cost is at most `budget`.
    pub fn primal(&self, budget: f64) -> Option<Pick> {
        let fill = |&choice: &Choice| {
            let members = (budget / choice.cost * (1.0 + SLACK)).floor().min(self.max_members);
            (members >= 1.0).then_some(Pick { choice, members })
        };
        self.choices.iter().filter_map(fill).min_by(|a, b| a.score().total_cmp(&b.score()))
    }

    /// The lowest cost whose score is at most `target`.
    pub fn dual(&self, target: f64) -> Option<Pick> {
        let fill = |&choice: &Choice| {
            let members = (choice.variance / target * (1.0 - SLACK)).ceil().max(1.0);
            (target > 0.0 && members <= self.max_members).then_some(Pick { choice, members })
        };
        self.choices.iter().filter_map(fill).min_by(|a, b| a.cost().total_cmp(&b.cost()))
    }

    /// The pick that minimises score + λ cost.
    pub fn relaxed(&self, multiplier: f64) -> Option<Pick> {
        let lagrangian = |pick: &Pick| pick.score() + multiplier * pick.cost();
        let picks = self.choices.iter().flat_map(|&choice| {
            let real = (choice.variance / (multiplier * choice.cost)).sqrt();
            [real.floor(), real.ceil()]
                .map(|members| Pick { choice, members: members.clamp(1.0, self.max_members) })
        });
        picks.min_by(|a, b| lagrangian(a).total_cmp(&lagrangian(b)))
    }
}

fn best_product(choices: &[Choice]) -> Option<&Choice> {
    let value = |choice: &&Choice| choice.variance * choice.cost;
    choices.iter().min_by(|a, b| value(a).total_cmp(&value(b)))
}
