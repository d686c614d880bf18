//! The blocks of a network, what each sees, and the score.

use collegial_arch::{Module, Spec};
use collegial_ntk::exact::{Gate, PatchSums, block_second_moment_ratio};
use collegial_ntk::{SingleColumn, covariance};
use serde::{Deserialize, Serialize};

use crate::Error;

/// What the patches that a block reads look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum BlockInputs {
    /// Positions are independent, as in the paper's Algorithm 1.
    White,
    /// Positions have the covariance that images have there, carried through the network at infinite width.
    #[default]
    Network,
}

/// Equal blocks in a row, with all that the variance of a member needs.
#[derive(Clone, Debug)]
pub(super) struct ScoredBlock {
    pub stage: usize,
    pub count: usize,
    pub inputs: usize,
    pub outputs: usize,
    /// Of the baseline.
    pub members: usize,
    pub widths: Vec<usize>,
    sums: PatchSums,
    later: Vec<Gate>,
}

impl ScoredBlock {
    /// Var of one member's kernel at real widths.
    pub fn variance(&self, widths: &[f64]) -> f64 {
        block_second_moment_ratio(&self.sums, widths, &self.later) - 1.0
    }
}

/// All blocks of a network.
#[derive(Clone, Debug)]
pub struct ScoredBlocks {
    pub(super) list: Vec<ScoredBlock>,
}

impl ScoredBlocks {
    /// The blocks of a network, or the one block that a module is.
    ///
    /// # Errors
    ///
    /// If a block has no closed form (the layer is named), or the model has no inner width.
    pub fn of(spec: &Spec, inputs: BlockInputs, images: &covariance::Images) -> Result<Self, Error> {
        let (Spec::Resnext(_) | Spec::Regnet(_)) = spec else {
            return Ok(Self { list: vec![Self::module(&spec.analysed_module()?)?] });
        };
        let mut grams = match inputs {
            BlockInputs::White => vec![],
            BlockInputs::Network => covariance::block_grams(&spec.graph()?, images)?,
        }
        .into_iter();
        let mut list: Vec<ScoredBlock> = vec![];
        for block in spec.blocks()? {
            let chain = Module::Bottleneck(block.bottleneck.clone()).member();
            let exact = SingleColumn::new(&chain)?;
            let (gate, later) = split(exact.gates());
            let scored = |sums: PatchSums, count: usize| ScoredBlock {
                stage: block.stage,
                count,
                inputs: block.bottleneck.inputs,
                outputs: block.bottleneck.outputs,
                members: block.bottleneck.members,
                widths: block.bottleneck.widths().to_vec(),
                sums,
                later: later.clone(),
            };
            match inputs {
                BlockInputs::White => {
                    list.push(scored(white(exact.columns(), gate)?, block.count));
                }
                // Equal blocks in a row see different inputs.
                BlockInputs::Network => {
                    for gram in grams.by_ref().take(block.count) {
                        list.push(scored(PatchSums::of_gram(&gram, gate)?, 1));
                    }
                }
            }
        }
        Ok(Self { list })
    }

    fn module(module: &Module) -> Result<ScoredBlock, Error> {
        let chain = module.member();
        let exact = SingleColumn::new(&chain)?;
        let (gate, later) = split(exact.gates());
        Ok(ScoredBlock {
            stage: 0,
            count: 1,
            inputs: chain.input.channels,
            outputs: chain.linear_layers().next_back().map_or(1, |layer| layer.width),
            members: module.members(),
            widths: module.widths(),
            sums: white(exact.columns(), gate)?,
            later,
        })
    }

    /// Whether a chain has a closed form at all.
    pub fn exist_for(module: &Module) -> bool {
        SingleColumn::new(&module.member()).is_ok()
    }

    /// The mean over blocks of Var of one member, with the widths of every stage.
    pub fn mean_variance(&self, widths_of_stage: impl Fn(usize) -> Vec<f64>) -> f64 {
        self.mean(|block| block.variance(&widths_of_stage(block.stage)))
    }

    /// The score of the network as it is: the mean over blocks of Var/m.
    pub fn score(&self) -> f64 {
        self.mean(|block| block.variance(&real(&block.widths)) / block.members as f64)
    }

    /// Var/m of every block with its stage (from 0), in the order of the network.
    pub fn variances(&self) -> Vec<(usize, f64)> {
        let of = |block: &ScoredBlock| block.variance(&real(&block.widths)) / block.members as f64;
        let repeated = |block: &ScoredBlock| std::iter::repeat_n((block.stage, of(block)), block.count);
        self.list.iter().flat_map(repeated).collect()
    }

    fn mean(&self, of: impl Fn(&ScoredBlock) -> f64) -> f64 {
        let count: usize = self.list.iter().map(|block| block.count).sum();
        self.list.iter().map(|block| block.count as f64 * of(block)).sum::<f64>() / count as f64
    }
}

pub(super) fn real(widths: &[usize]) -> Vec<f64> {
    widths.iter().map(|&width| width as f64).collect()
}

/// The first layer's gate and those behind it.
fn split(gates: &[Gate]) -> (Gate, Vec<Gate>) {
    match gates.split_first() {
        Some((&first, later)) => (first, later.to_vec()),
        None => (Gate::Linear, vec![]),
    }
}

/// P independent positions of equal length.
fn white(columns: usize, gate: Gate) -> Result<PatchSums, Error> {
    let entry = |at: usize| if at / columns == at % columns { 1.0 } else { 0.0 };
    let gram: Vec<f64> = (0..columns * columns).map(entry).collect();
    Ok(PatchSums::of_gram(&gram, gate)?)
}
