//! Every stage by itself: stages differ in n_in, so their blocks have optima of their own.

use collegial_arch::{Cost, Module, Spec};
use serde::Serialize;

use super::curve::Curve;
use super::variance::Variance;
use crate::Error;

/// One stage's optimum beside what the whole network's design gives there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageOptimum {
    /// Counted from 1.
    pub stage: usize,
    /// Channels n_in = n_out of its blocks.
    pub channels: usize,
    /// The baseline's inner width there.
    pub baseline_width: usize,
    /// The optimal width.
    pub width: usize,
    /// m^p at it.
    pub primal_multiplicity: f64,
    /// m^d at it.
    pub dual_multiplicity: f64,
    /// ρ at it.
    pub efficiency: f64,
    /// The width that the one design for all stages has there (n 2^s).
    pub common_width: usize,
    /// ρ at that width.
    pub common_efficiency: f64,
    /// What the stage's own optimum would gain: the ratio of the two, minus 1.
    pub gain: f64,
}

/// Optimises each stage's block; `width` is the width that was found for the first.
pub fn per_stage(
    baseline: &Spec,
    width: usize,
    cost: Cost,
    variance: &dyn Variance,
) -> Result<Vec<StageOptimum>, Error> {
    let Spec::Resnext(network) = baseline else {
        return Err(Error::NoStages { name: baseline.name() });
    };
    (0..network.stages())
        .map(|stage| {
            let block = network.block(stage)?;
            let (channels, base) = (block.inputs, block.width);
            let widths: Vec<usize> = (1..=base).collect();
            let curve = Curve::new(&Module::Bottleneck(block), &widths, cost, variance, 1.0)?;
            let common_width = (width << stage).min(base);
            let (Some(best), Some(common)) = (curve.optimum(), curve.points.get(common_width - 1)) else {
                return Err(Error::Invalid(format!("stage {stage} has no widths", stage = stage + 1)));
            };
            Ok(StageOptimum {
                stage: stage + 1,
                channels,
                baseline_width: base,
                width: best.width,
                primal_multiplicity: best.primal_multiplicity,
                dual_multiplicity: best.dual_multiplicity,
                efficiency: best.efficiency,
                common_width,
                common_efficiency: common.efficiency,
                gain: best.efficiency / common.efficiency - 1.0,
            })
        })
        .collect()
}
