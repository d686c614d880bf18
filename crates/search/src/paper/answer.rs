//! The result of Algorithm 2; serialised, it is the JSON that scripts read.

use collegial_arch::{Cost, Design};
use serde::Serialize;

use super::analysed::Analysed;
use super::free_widths::FreeWidths;
use super::stages::StageOptimum;
use crate::{CurvePoint, Flat, Problem, Rule, VarianceSource};

/// An optimal design, real at block level and integer on the whole network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Optimum {
    /// n.
    pub width: usize,
    /// The real-valued m of the single block.
    pub multiplicity: f64,
    /// The design after the integer correction.
    pub design: Design,
    /// m of the design, as a number beside the name.
    pub members: usize,
    /// Parameters of the whole network with it.
    pub parameters: u64,
    /// FLOPs of the whole network with it.
    pub flops: u64,
    /// Variance of the block's kernel with it: Var(n) / m.
    pub variance: f64,
    /// How many times less variance than the baseline.
    pub variance_reduction: f64,
    /// The same block's variance by the closed form at white patches, where there is one.
    pub exact_variance: Option<f64>,
    /// How many times less variance than the baseline, by the closed form.
    pub exact_variance_reduction: Option<f64>,
    /// ρ of the single block with the real-valued m, as on the curve and in the paper.
    pub efficiency: f64,
    /// ρ of the design on the whole network: the baseline's cost divided by the design's.
    pub real_efficiency: f64,
}

/// A design worth trying too.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nearby {
    /// For which problem.
    pub problem: Problem,
    /// m x n.
    pub design: Design,
    /// m, as a number beside the name.
    pub members: usize,
    /// n.
    pub width: usize,
    /// Parameters of the whole network.
    pub parameters: u64,
    /// FLOPs of the whole network.
    pub flops: u64,
    /// Variance of the block's kernel.
    pub variance: f64,
    /// ρ on the whole network.
    pub real_efficiency: f64,
    /// How much worse the width's objective is than the optimum's: 0.01 is one per cent.
    pub distance: f64,
}

/// Everything a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The baseline's name.
    pub baseline: String,
    /// Its parameters.
    pub baseline_parameters: u64,
    /// Its FLOPs.
    pub baseline_flops: u64,
    /// The width of its members.
    pub baseline_width: usize,
    /// The variance of its block's kernel.
    pub baseline_variance: f64,
    /// The same by the closed form, where there is one.
    pub baseline_exact_variance: Option<f64>,
    /// Which single block the analysis was made on.
    pub analysed: Analysed,
    /// The cost β of a member.
    pub cost: Cost,
    /// The same in words, such as `parameters`.
    pub cost_unit: &'static str,
    /// What the whole network may cost.
    pub budget: u64,
    /// How the primal's multiplicity was rounded.
    pub rule: Rule,
    /// Where the variances come from.
    pub variance_source: VarianceSource,
    /// The law's α.
    pub alpha: Option<f64>,
    /// Its 95 % interval, where it was fitted.
    pub alpha_ci: Option<[f64; 2]>,
    /// The best design at the baseline's cost.
    pub primal: Optimum,
    /// The smallest design at the baseline's variance.
    pub dual: Optimum,
    /// Whether primal and dual have the same width, as theory says.
    pub strong_duality: bool,
    /// Widths within 1 % of the optimum.
    pub flat: Flat,
    /// Other designs worth trying.
    pub nearby: Vec<Nearby>,
    /// Each stage's own optimum, where requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_stage: Option<Vec<StageOptimum>>,
    /// The optimum with every layer's width free, where requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_widths: Option<FreeWidths>,
    /// Both objectives at every width.
    pub curve: Vec<CurvePoint>,
}
