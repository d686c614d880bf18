//! The variance of one member at every width, stage by stage.

use collegial_arch::{Design, Module, Spec};
use collegial_core::Monitor;
use collegial_ntk::fit::VarianceSample;

use super::answer::BlockVariance;
use super::blocks::{ScoredBlocks, real};
use super::cost::members;
use crate::error::go_on;
use crate::{Error, VarianceSource};

/// The variances of one member, and the baseline's score.
pub(super) struct Variances {
    pub source: VarianceSource,
    /// Per width what every stage adds to the mean over blocks.
    pub of_width: Vec<Vec<f64>>,
    /// The baseline's score.
    pub baseline: f64,
    blocks: Option<ScoredBlocks>,
}

impl Variances {
    /// By the closed form; the monitor is asked at every width.
    pub fn exact(
        baseline: &Spec,
        blocks: ScoredBlocks,
        widths: &[usize],
        monitor: &dyn Monitor,
    ) -> Result<Self, Error> {
        let of = |&width: &usize| {
            go_on(monitor)?;
            Ok(blocks.stage_variances(&stage_widths(baseline, width)?))
        };
        let of_width = widths.iter().map(of).collect::<Result<_, Error>>()?;
        Ok(Self { source: VarianceSource::Exact, of_width, baseline: blocks.score(), blocks: Some(blocks) })
    }

    /// From draws of a module.
    pub fn sampled(module: &Module, samples: &[VarianceSample], widths: &[usize]) -> Result<Self, Error> {
        let at = |width: usize| {
            let sample = samples.iter().find(|sample| sample.width == width);
            sample.map(|sample| sample.variance).ok_or(Error::NotMeasured { width })
        };
        Ok(Self {
            source: VarianceSource::Measured,
            of_width: widths.iter().map(|&width| Ok(vec![at(width)?])).collect::<Result<_, Error>>()?,
            baseline: at(module.width()?)? / module.members() as f64,
            blocks: None,
        })
    }

    /// The score of any design, where there is a formula.
    pub fn of_design(&self, baseline: &Spec, design: Design) -> Result<f64, Error> {
        let blocks = self.blocks.as_ref().ok_or(Error::NotMeasured { width: design.width })?;
        let variances = blocks.stage_variances(&stage_widths(baseline, design.width)?);
        Ok(score(&variances, members(baseline, design)?))
    }

    /// The baseline's blocks.
    pub fn blocks(&self) -> Vec<BlockVariance> {
        let list = self.blocks.iter().flat_map(|blocks| &blocks.list);
        list.map(|block| BlockVariance {
            stage: block.stage + 1,
            count: block.count,
            inputs: block.inputs,
            width: block.widths.iter().copied().max().unwrap_or(0),
            outputs: block.outputs,
            variance: block.own_variance(),
        })
        .collect()
    }
}

/// The score of m_s members at every stage.
pub(super) fn score(variances: &[f64], members: impl IntoIterator<Item = usize>) -> f64 {
    variances.iter().zip(members).map(|(variance, members)| variance / members as f64).sum()
}

/// The inner widths of a member of width n at every stage.
pub(super) fn stage_widths(baseline: &Spec, width: usize) -> Result<Vec<Vec<f64>>, Error> {
    match baseline.module() {
        Some(module) => Ok(vec![real(&module.scaled_to(width)?.widths())]),
        None => {
            let designs = baseline.stage_designs(Design::new(1, width)?)?;
            Ok(designs.iter().map(|design| real(&design.widths)).collect())
        }
    }
}
