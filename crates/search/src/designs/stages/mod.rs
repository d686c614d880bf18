//! One design per stage, or two widths per member, as integer designs of the whole network.
//!
//! Cost and score are sums over stages. By default every stage keeps what it costs in the baseline
//! (primal) or its own variance (dual): then stages are independent, and looking at every width
//! finds the optimum. Where cost may move between stages, much more can be gained by the score, but
//! it moves to the early stages, whose members are cheap in parameters and dear in FLOPs; the
//! answer has both.

mod choices;
mod moved;

use collegial_arch::{Designs, Spec, StageDesign};
use collegial_ntk::explicit::Parametrisation;
use serde::{Deserialize, Serialize};

use super::answer::Redesigned;
use super::blocks::{BlockInputs, ScoredBlocks};
use super::cost::{Counts, stage_costs};
use super::search::DesignSearch;
use crate::Error;
use choices::{Group, Pick};

/// What may differ from the one m x n for all stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Freedom {
    /// Every stage has a design of its own.
    Stages,
    /// The widths n1 and n2 into and out of a member's middle convolution differ.
    Widths,
    /// Both.
    StagesAndWidths,
}

impl Freedom {
    fn widths(self) -> bool {
        self != Self::Stages
    }
    fn stages(self) -> bool {
        self != Self::Widths
    }
}

/// The designs of all stages, and what the network with them is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageDesigns {
    /// One per stage.
    pub designs: Vec<StageDesign>,
    /// The multiplicity m of every stage.
    pub members: Vec<usize>,
    /// The widths n1 and n2 of a member of every stage.
    pub widths: Vec<[usize; 2]>,
    /// The network's name with them, which `info`, `train` and `export` take, with the class count
    /// and image size that the baseline has; `None` where no name means this network.
    pub model: Option<String>,
    /// The whole network with them.
    #[serde(flatten)]
    pub network: Redesigned,
    /// How much better, at most, any other choice could be, in score (primal) or in cost (dual):
    /// 0.01 is one per cent.
    pub gap: f64,
}

/// Designs that answer both problems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BothProblems {
    /// Lowest score within the budget.
    pub primal: StageDesigns,
    /// Lowest cost at the baseline's score.
    pub dual: StageDesigns,
}

/// Both problems with more freedom than one design for all stages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageAnswer {
    /// What may differ.
    pub freedom: Freedom,
    /// The baseline's score.
    pub baseline_score: f64,
    /// Every stage keeps its share of the cost (primal), or its variance (dual).
    #[serde(flatten)]
    pub kept: BothProblems,
    /// Cost may move between stages, where stages have designs of their own.
    pub moved: Option<BothProblems>,
}

impl DesignSearch {
    /// Finds the best designs with more freedom. The rule is always to stay within the budget; a
    /// list of widths is not looked at.
    ///
    /// # Errors
    ///
    /// If the model has no blocks or, where it needs them, no stages, or nothing fits the budget.
    pub fn stages(&self, freedom: Freedom) -> Result<StageAnswer, Error> {
        let problem = StageProblem::new(self, freedom)?;
        let kept = problem.both(
            problem.each(|group| group.primal(group.budget)).map(|picks| (picks, 0.0)),
            problem.each(|group| group.dual(group.baseline)).map(|picks| (picks, 0.0)),
        )?;
        let moved = match freedom.stages() {
            true => Some(problem.both(problem.moved_primal(), problem.moved_dual())?),
            false => None,
        };
        Ok(StageAnswer { freedom, baseline_score: problem.target, kept, moved })
    }
}

/// Groups of stages that share a design, each with its part of cost and score.
struct StageProblem<'a> {
    search: &'a DesignSearch,
    groups: Vec<Group>,
    /// Cost without members.
    fixed: f64,
    /// Cost of the baseline, and what the whole network may cost.
    cost: f64,
    budget: f64,
    /// The baseline's score.
    target: f64,
}

impl<'a> StageProblem<'a> {
    fn new(search: &'a DesignSearch, freedom: Freedom) -> Result<Self, Error> {
        let baseline = &search.baseline;
        let inputs = if baseline.module().is_some() { BlockInputs::White } else { search.inputs };
        let Some(by) = search.limits.costs.only() else {
            return Err(Error::Invalid(format!(
                "designs per stage and two widths keep one cost; ask for one of {costs}",
                costs = search.limits.costs
            )));
        };
        if search.parametrisation != Parametrisation::Ntk {
            return Err(Error::Invalid(format!(
                "designs per stage and two widths are for the NTK parametrisation, in which the variance of a \
                 member does not depend on m; it is {given}",
                given = search.parametrisation
            )));
        }
        let (fixed, costs) = stage_costs(baseline)?;
        let costs = costs.iter().map(|stage| stage.by(by)).collect::<Result<Vec<_>, Error>>()?;
        let blocks = ScoredBlocks::of(baseline, inputs, &search.images)?;
        let stages: Vec<usize> = (0..costs.len()).collect();
        if freedom.stages() && stages.len() < 2 {
            return Err(Error::NoStages { name: baseline.name() });
        }
        if !freedom.stages() && matches!(baseline, Spec::Regnet(_)) {
            return Err(Error::Invalid(format!(
                "the stages of {name} have widths of their own; ask for designs per stage as well",
                name = baseline.name()
            )));
        }
        let (cost, fixed) = (Counts::of(baseline)?.by(by)? as f64, fixed.by(by)? as f64);
        let budget =
            search.limits.budget.map_or(cost, |budget| budget as f64) * (1.0 + search.limits.tolerance);
        let share = ((budget - fixed) / (cost - fixed)).max(0.0);
        let parts: Vec<Vec<usize>> = match freedom.stages() {
            true => stages.into_iter().map(|stage| vec![stage]).collect(),
            false => vec![stages],
        };
        let group = |part: Vec<usize>| Group::new(search, (&blocks, &costs), part, freedom.widths(), share);
        let groups = parts.into_iter().map(group).collect::<Result<_, Error>>()?;
        Ok(Self { search, groups, fixed, cost, budget, target: blocks.score() })
    }

    /// One pick per group, if all have one.
    fn each(&self, of: impl Fn(&Group) -> Option<Pick>) -> Option<Vec<Pick>> {
        self.groups.iter().map(of).collect()
    }

    fn both(
        &self,
        primal: Option<(Vec<Pick>, f64)>,
        dual: Option<(Vec<Pick>, f64)>,
    ) -> Result<BothProblems, Error> {
        let (picks, gap) = primal.ok_or_else(|| {
            Error::Invalid(format!(
                "no designs per stage fit a budget of {budget} {}; allow more",
                self.search.limits.costs.first().unit(),
                budget = self.budget as u64
            ))
        })?;
        let primal = self.describe(&picks, gap)?;
        let (picks, gap) = dual.ok_or(Error::NoDual)?;
        Ok(BothProblems { primal, dual: self.describe(&picks, gap)? })
    }

    fn describe(&self, picks: &[Pick], gap: f64) -> Result<StageDesigns, Error> {
        let baseline = &self.search.baseline;
        let mut designs = vec![];
        for (group, pick) in self.groups.iter().zip(picks) {
            let first = StageDesign::new(pick.members as usize, pick.choice.widths)?;
            for stage in 0..group.stages.len() {
                designs.push(Designs::Doubling(first).stage(stage)?);
            }
        }
        let spec = baseline.with_stage_designs(&designs)?;
        let total = spec.totals()?;
        let score = picks.iter().map(Pick::score).sum::<f64>();
        let cost = self.fixed + picks.iter().map(Pick::cost).sum::<f64>();
        Ok(StageDesigns {
            members: designs.iter().map(|design| design.multiplicity).collect(),
            widths: designs.iter().map(|design| design.widths).collect(),
            designs,
            model: spec.settings_beside_name().map(|_| spec.name()),
            network: Redesigned {
                parameters: total.parameters,
                flops: total.flops,
                activations: total.activations,
                time_share: None,
                score,
                variance: score,
                score_ratio: self.target / score,
                cost_ratio: self.cost / cost,
            },
            gap,
        })
    }
}
