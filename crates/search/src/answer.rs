//! What a search says; serialised, it is the JSON that scripts read.

use serde::Serialize;

use crate::curve::CurvePoint;
use crate::free_widths::FreeWidths;
use crate::network::Rule;
use crate::stages::StageOptimum;

/// Which of the two problems a design answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Problem {
    /// Lowest variance at the baseline's cost.
    Primal,
    /// Lowest cost at the baseline's variance.
    Dual,
}

/// An optimal design, real at block level and integer on the whole network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Optimum {
    /// n.
    pub width: usize,
    /// The real-valued m of the single block.
    pub multiplicity: f64,
    /// The design after the integer correction: `37x10d`.
    pub design: String,
    /// Parameters of the whole network with it.
    pub parameters: u64,
    /// FLOPs of the whole network with it.
    pub flops: u64,
    /// Variance of the block's kernel with it: Var(n) / m.
    pub variance: f64,
    /// How many times less variance than the baseline.
    pub variance_reduction: f64,
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
    /// `44x8d`.
    pub design: String,
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

/// The widths that are nearly as good as the best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flat {
    /// How nearly.
    pub tolerance: f64,
    /// The narrowest.
    pub low: usize,
    /// The widest.
    pub high: usize,
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
    /// The variance of its block's kernel.
    pub baseline_variance: f64,
    /// Which single block the analysis was made on.
    pub analysed: String,
    /// What a member is charged for: `params`, `flops`, `activations` or `time`.
    pub cost: &'static str,
    /// The same in words, such as `parameters`.
    pub cost_unit: &'static str,
    /// What the whole network may cost.
    pub budget: u64,
    /// How the primal's multiplicity was rounded.
    pub rule: Rule,
    /// `law`, `measured` or `exact`.
    pub variance_source: &'static str,
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
    /// Each stage's own optimum, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_stage: Option<Vec<StageOptimum>>,
    /// The optimum with every layer's width free, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_widths: Option<FreeWidths>,
    /// Both objectives at every width.
    pub curve: Vec<CurvePoint>,
}
