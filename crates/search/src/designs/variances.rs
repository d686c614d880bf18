//! The variance of one member at every width, stage by stage.

use std::sync::Arc;

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
    /// Of every width.
    pub of_width: Vec<StageVariances>,
    /// The baseline's score.
    pub baseline: f64,
    blocks: Option<Arc<ScoredBlocks>>,
}

/// What every stage adds to the mean over blocks of a member's variance.
#[derive(Clone, Debug)]
pub(super) enum StageVariances {
    /// However many members there are.
    Fixed(Vec<f64>),
    /// Of members of some widths at every stage, by their number.
    ByMembers(Arc<ScoredBlocks>, Vec<Vec<f64>>),
}

impl StageVariances {
    fn new(blocks: &Arc<ScoredBlocks>, widths: Vec<Vec<f64>>) -> Self {
        match blocks.depend_on_members() {
            true => Self::ByMembers(Arc::clone(blocks), widths),
            false => Self::Fixed(blocks.stage_variances(&widths, |_| 1.0)),
        }
    }

    /// The score of m_s members at every stage.
    pub fn score(&self, members: impl IntoIterator<Item = usize>) -> f64 {
        match self {
            Self::Fixed(variances) => score(variances, members),
            Self::ByMembers(blocks, widths) => {
                let members: Vec<usize> = members.into_iter().take(widths.len()).collect();
                score(&blocks.stage_variances(widths, |stage| members[stage] as f64), members)
            }
        }
    }

    /// m times the score of m members, as if m_s = m times the stage's share were real-valued.
    pub fn member(&self, m: f64, shares: &[f64]) -> f64 {
        let sum = |variances: &[f64]| shares.iter().zip(variances).map(|(share, of)| of / share).sum();
        match self {
            Self::Fixed(variances) => sum(variances),
            Self::ByMembers(blocks, widths) => {
                sum(&blocks.stage_variances(widths, |stage| m * shares[stage]))
            }
        }
    }
}

impl Variances {
    /// By the closed form; the monitor is asked at every width.
    pub fn exact(
        baseline: &Spec,
        blocks: ScoredBlocks,
        widths: &[usize],
        monitor: &dyn Monitor,
    ) -> Result<Self, Error> {
        let blocks = Arc::new(blocks);
        let of = |&width: &usize| {
            go_on(monitor)?;
            Ok(StageVariances::new(&blocks, stage_widths(baseline, width)?))
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
        let of = |&width: &usize| Ok(StageVariances::Fixed(vec![at(width)?]));
        Ok(Self {
            source: VarianceSource::Measured,
            of_width: widths.iter().map(of).collect::<Result<_, Error>>()?,
            baseline: at(module.width()?)? / module.members() as f64,
            blocks: None,
        })
    }

    /// The score of any design, where there is a formula.
    pub fn of_design(&self, baseline: &Spec, design: Design) -> Result<f64, Error> {
        let blocks = self.blocks.as_ref().ok_or(Error::NotMeasured { width: design.width })?;
        let variances = StageVariances::new(blocks, stage_widths(baseline, design.width)?);
        Ok(variances.score(members(baseline, design)?))
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
fn score(variances: &[f64], members: impl IntoIterator<Item = usize>) -> f64 {
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
