//! The result of a search over designs; serialised, it is the JSON that scripts read.

use collegial_arch::{Cost, Design};
use collegial_ntk::explicit::Parametrisation;
use serde::Serialize;

use super::BlockInputs;
use crate::{Costs, CurvePoint, Flat, Problem, Rule, Timings, VarianceSource};

/// At which end of the widths that were looked at an optimum lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Edge {
    /// The narrowest: narrower members might be better.
    Narrowest,
    /// The widest: wider members might be better.
    Widest,
}

/// What a design gains over the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// It is better.
    Better,
    /// The baseline is itself the best design.
    BaselineIsBest,
    /// No allowed design is as good as the baseline: other widths or more members would have to be
    /// allowed.
    Worse,
}

/// The whole network with another design, beside the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Redesigned {
    /// Its parameters.
    pub parameters: u64,
    /// Its FLOPs.
    pub flops: u64,
    /// Its activations.
    pub activations: u64,
    /// Its time over the baseline's, where designs were timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_share: Option<f64>,
    /// Its score: the mean over blocks of Var(n)/m.
    pub score: f64,
    /// The same, under its older name.
    pub variance: f64,
    /// The baseline's score over its own: how many times less.
    pub score_ratio: f64,
    /// The baseline's cost over its own, by the first cost: how many times cheaper.
    pub cost_ratio: f64,
}

/// The best design of one problem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DesignOptimum {
    /// n, at the first stage.
    pub width: usize,
    /// The real-valued m that the budget pays for (primal) or the baseline's score asks for (dual).
    pub multiplicity: f64,
    /// m x n.
    pub design: Design,
    /// m, as a number beside the name.
    pub members: usize,
    /// The whole network with it.
    #[serde(flatten)]
    pub network: Redesigned,
    /// ρ of this width: the baseline's cost over that of the real-valued m that has the baseline's
    /// score.
    pub efficiency: f64,
    /// What it gains.
    pub gain: Gain,
    /// The end of the widths at which it lies, where it does.
    pub edge: Option<Edge>,
}

/// The best design of another width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NearbyDesign {
    /// For which problem.
    pub problem: Problem,
    /// m x n.
    pub design: Design,
    /// m, as a number beside the name.
    pub members: usize,
    /// n.
    pub width: usize,
    /// The whole network with it.
    #[serde(flatten)]
    pub network: Redesigned,
    /// How much worse than the optimum, in score (primal) or in cost (dual): 0.01 is one per cent.
    pub distance: f64,
}

/// The best design whose width is a multiple that hardware likes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FriendlyDesign {
    /// What the width is a multiple of: 8 or 16.
    pub multiple_of: usize,
    /// The design, and how far it is from the optimum.
    #[serde(flatten)]
    pub design: NearbyDesign,
}

/// A design that nothing allowed beats: whatever has less variance costs more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParetoDesign {
    /// m x n.
    pub design: Design,
    /// m, as a number beside the name.
    pub members: usize,
    /// n.
    pub width: usize,
    /// The whole network with it.
    #[serde(flatten)]
    pub network: Redesigned,
    /// The costs by which nothing beats it; none for an optimum that something beats by the other
    /// costs alone.
    pub fronts: Vec<Cost>,
    /// Whether it is the primal optimum.
    pub primal: bool,
    /// Whether it is the dual optimum.
    pub dual: bool,
}

/// One kind of block of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockVariance {
    /// Counted from 1.
    pub stage: usize,
    /// How many such blocks there are.
    pub count: usize,
    /// Channels in.
    pub inputs: usize,
    /// The inner width of one member.
    pub width: usize,
    /// Channels out.
    pub outputs: usize,
    /// Var/m of the baseline's block.
    pub variance: f64,
}

/// The same question with the other kind of block inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OtherInputs {
    /// Which.
    pub block_inputs: BlockInputs,
    /// The primal optimum with them.
    pub primal: Design,
    /// The dual optimum with them.
    pub dual: Design,
    /// How much higher, with them, this answer's primal scores than theirs: 0.01 is one per cent.
    pub primal_distance: f64,
    /// The baseline's score over that of this answer's primal, with them.
    pub score_ratio: f64,
    /// The baseline's score over that of this answer's dual, with them.
    pub dual_score_ratio: f64,
}

/// Everything a search over designs found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DesignAnswer {
    /// The baseline's name.
    pub baseline: String,
    /// Its design, where it is one m x n.
    pub baseline_design: Option<Design>,
    /// m of that design.
    pub baseline_members: Option<usize>,
    /// n of that design.
    pub baseline_width: Option<usize>,
    /// Its parameters.
    pub baseline_parameters: u64,
    /// Its FLOPs.
    pub baseline_flops: u64,
    /// Its activations.
    pub baseline_activations: u64,
    /// Its score.
    pub baseline_score: f64,
    /// The same, under its older name.
    pub baseline_variance: f64,
    /// The costs that may not rise, as text: `params`, or `params,flops`. The first is the one that
    /// the dual saves.
    pub cost: Costs,
    /// The same as a list.
    pub costs: Vec<Cost>,
    /// By which share a design may cost more than is allowed.
    pub tolerance: f64,
    /// What the whole network may cost, by the first cost.
    pub budget: u64,
    /// How the primal meets the budget.
    pub rule: Rule,
    /// Where the variances come from.
    pub variance_source: VarianceSource,
    /// What the blocks see.
    pub block_inputs: BlockInputs,
    /// By which weights gradients are taken.
    pub parametrisation: Parametrisation,
    /// The law's α: none here.
    pub alpha: Option<f64>,
    /// The lowest score within the budget.
    pub primal: DesignOptimum,
    /// The lowest cost at the baseline's score.
    pub dual: DesignOptimum,
    /// Whether both have the same width.
    pub strong_duality: bool,
    /// Widths within 1 % of the lowest objective, with a real-valued m.
    pub flat: Option<Flat>,
    /// Other widths' best designs.
    pub nearby: Vec<NearbyDesign>,
    /// The best designs of either problem with n a multiple of 8 and of 16, where n is not one and
    /// such widths were looked at.
    pub friendly: Vec<FriendlyDesign>,
    /// Designs that nothing allowed beats in both variance and a cost, by parameters.
    pub pareto: Vec<ParetoDesign>,
    /// The baseline's blocks.
    pub blocks: Vec<BlockVariance>,
    /// What the other kind of block inputs would say, for networks.
    pub other_inputs: Option<OtherInputs>,
    /// Requested widths that were not looked at: above the inner width, or not a multiple of
    /// what was requested.
    pub left_out: Vec<usize>,
    /// The times, where they are the cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timings: Option<Timings>,
    /// Both objectives at every width, with real-valued m.
    pub curve: Vec<CurvePoint>,
}
