//! The blocks of a network, what each sees, and the score.

use collegial_arch::{Block, Bottleneck, Module, Sequence, Spec};
use collegial_ntk::exact::{
    LayerWeights, Nonlinearity, PatchSums, block_second_moment_ratio, weighted_second_moment_ratio,
};
use collegial_ntk::explicit::Parametrisation;
use collegial_ntk::{OnePosition, covariance};
use serde::{Deserialize, Serialize};

use crate::Error;

/// What the patches that a block reads look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum BlockInputs {
    /// Positions are independent, as in the paper's Algorithm 1.
    White,
    /// Positions have the covariance that images have there, carried through the network at
    /// infinite width.
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
    later: Vec<Nonlinearity>,
    /// How much its layers count; `None` where they count alike.
    weights: Option<LayerWeights>,
}

impl ScoredBlock {
    fn new(block: &Block, form: &Form, sums: PatchSums, parametrisation: Parametrisation) -> Self {
        let bottleneck = &block.bottleneck;
        Self {
            stage: block.stage,
            count: block.count,
            inputs: bottleneck.inputs,
            outputs: bottleneck.outputs,
            members: bottleneck.members,
            widths: bottleneck.widths().to_vec(),
            sums,
            later: form.later.clone(),
            weights: weights(parametrisation, || bottleneck.sequence()),
        }
    }

    /// Var of one member's kernel at real widths; in the standard parametrisation it depends on the
    /// number of members as well.
    pub fn variance(&self, widths: &[f64], members: f64) -> f64 {
        let ratio = match &self.weights {
            None => block_second_moment_ratio(&self.sums, widths, &self.later),
            Some(weights) => {
                let weights = weights.at(widths, members);
                weighted_second_moment_ratio(&self.sums, widths, &self.later, |layer| weights[layer])
            }
        };
        ratio - 1.0
    }

    /// Var/m of the baseline's block.
    pub fn own_variance(&self) -> f64 {
        let members = self.members as f64;
        self.variance(&real(&self.widths), members) / members
    }
}

/// In the NTK parametrisation all layers count alike.
fn weights(parametrisation: Parametrisation, chain: impl FnOnce() -> Sequence) -> Option<LayerWeights> {
    (parametrisation != Parametrisation::Ntk).then(|| LayerWeights::of(&chain(), parametrisation))
}

/// What blocks of one kernel, stride and image have in common, whatever their channels.
#[derive(Clone, Debug)]
struct Form {
    /// How many positions of its first layer the unit sees.
    columns: usize,
    /// Of the first layer, and of those behind it.
    nonlinearity: Nonlinearity,
    later: Vec<Nonlinearity>,
}

impl Form {
    fn of(chain: &Sequence) -> Result<Self, Error> {
        let exact = OnePosition::new(chain)?;
        let (nonlinearity, later) = split(exact.nonlinearities());
        Ok(Self { columns: exact.columns(), nonlinearity, later })
    }

    /// Of all blocks, each form worked out once.
    fn of_all(blocks: &[Block]) -> Result<Vec<Self>, Error> {
        let mut known: Vec<([usize; 3], Self)> = vec![];
        let mut of = |bottleneck: &Bottleneck| -> Result<Self, Error> {
            let key = [bottleneck.kernel, bottleneck.stride, bottleneck.image];
            if let Some((_, form)) = known.iter().find(|(other, _)| *other == key) {
                return Ok(form.clone());
            }
            let form = Self::of(&Module::Bottleneck(bottleneck.clone()).member())?;
            known.push((key, form.clone()));
            Ok(form)
        };
        blocks.iter().map(|block| of(&block.bottleneck)).collect()
    }
}

/// All blocks of a network.
#[derive(Clone, Debug)]
pub struct ScoredBlocks {
    pub(super) list: Vec<ScoredBlock>,
}

impl ScoredBlocks {
    /// The blocks of a network, or the one block that a module is, in the NTK parametrisation.
    ///
    /// # Errors
    ///
    /// If a block has no closed form (the layer is named), or the model has no inner width.
    pub fn of(spec: &Spec, inputs: BlockInputs, images: &covariance::Images) -> Result<Self, Error> {
        Self::parametrised(spec, inputs, images, Parametrisation::Ntk)
    }

    /// The same in either parametrisation.
    ///
    /// # Errors
    ///
    /// As those of [`of`](Self::of).
    pub fn parametrised(
        spec: &Spec,
        inputs: BlockInputs,
        images: &covariance::Images,
        parametrisation: Parametrisation,
    ) -> Result<Self, Error> {
        if let Some(module) = spec.module() {
            return Self::of_module(&module, parametrisation);
        }
        let blocks = spec.blocks()?;
        match inputs {
            BlockInputs::White => {
                Self::with_equal_inputs(&blocks, &Form::of_all(&blocks)?, parametrisation, white)
            }
            BlockInputs::Network => {
                let grams = grams(spec, images)?;
                Self::with_grams(&blocks, &Form::of_all(&blocks)?, parametrisation, grams)
            }
        }
    }

    /// With both kinds of inputs: what the blocks see in the network, and white patches.
    ///
    /// # Errors
    ///
    /// As those of [`of`](Self::of).
    pub fn with_both_inputs(
        spec: &Spec,
        images: &covariance::Images,
        parametrisation: Parametrisation,
    ) -> Result<[Self; 2], Error> {
        if let Some(module) = spec.module() {
            let blocks = Self::of_module(&module, parametrisation)?;
            return Ok([blocks.clone(), blocks]);
        }
        let (blocks, grams) = (spec.blocks()?, grams(spec, images)?);
        let forms = Form::of_all(&blocks)?;
        Ok([
            Self::with_grams(&blocks, &forms, parametrisation, grams)?,
            Self::with_equal_inputs(&blocks, &forms, parametrisation, white)?,
        ])
    }

    fn with_grams(
        blocks: &[Block],
        forms: &[Form],
        parametrisation: Parametrisation,
        grams: Vec<Vec<f64>>,
    ) -> Result<Self, Error> {
        let mut grams = grams.into_iter();
        let mut list: Vec<ScoredBlock> = vec![];
        for (block, form) in blocks.iter().zip(forms) {
            // Equal blocks in a row see different inputs.
            let one = Block { count: 1, ..block.clone() };
            for gram in grams.by_ref().take(block.count) {
                let sums = PatchSums::of_gram(&gram, form.nonlinearity)?;
                list.push(ScoredBlock::new(&one, form, sums, parametrisation));
            }
        }
        Ok(Self { list })
    }

    /// The blocks of a network that all see the same, given the number of positions.
    fn with_equal_inputs(
        blocks: &[Block],
        forms: &[Form],
        parametrisation: Parametrisation,
        sums: impl Fn(usize, Nonlinearity) -> Result<PatchSums, Error>,
    ) -> Result<Self, Error> {
        let scored = |(block, form): (&Block, &Form)| {
            let sums = sums(form.columns, form.nonlinearity)?;
            Ok(ScoredBlock::new(block, form, sums, parametrisation))
        };
        Ok(Self { list: blocks.iter().zip(forms).map(scored).collect::<Result<_, Error>>()? })
    }

    /// The one block that a module is, with white inputs.
    ///
    /// # Errors
    ///
    /// If it has no closed form; the layer is named.
    pub fn of_module(module: &Module, parametrisation: Parametrisation) -> Result<Self, Error> {
        let chain = module.member();
        let form = Form::of(&chain)?;
        let block = ScoredBlock {
            stage: 0,
            count: 1,
            inputs: chain.input.channels,
            outputs: chain.linear_layers().next_back().map_or(1, |layer| layer.width),
            members: module.members(),
            widths: module.widths(),
            sums: white(form.columns, form.nonlinearity)?,
            later: form.later,
            weights: weights(parametrisation, || module.sequence()),
        };
        Ok(Self { list: vec![block] })
    }

    /// Whether the variance of a member depends on how many there are.
    pub(super) fn depend_on_members(&self) -> bool {
        self.list.iter().any(|block| block.weights.is_some())
    }

    /// The mean over blocks of Var of one member by itself, with the widths of every stage.
    pub fn mean_variance(&self, widths_of_stage: impl Fn(usize) -> Vec<f64>) -> f64 {
        self.mean(|block| block.variance(&widths_of_stage(block.stage), 1.0))
    }

    /// What every stage adds to the mean variance of one member of so many: the sum over its blocks,
    /// over the number of all blocks.
    pub(super) fn stage_variances(
        &self,
        widths_of_stage: &[Vec<f64>],
        members: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let share = 1.0 / self.count() as f64;
        let mut stages = vec![0.0; widths_of_stage.len()];
        for block in &self.list {
            let variance = block.variance(&widths_of_stage[block.stage], members(block.stage));
            stages[block.stage] += share * block.count as f64 * variance;
        }
        stages
    }

    /// What some stages add to the mean variance of one member by itself, with the widths of every
    /// stage.
    pub(super) fn sum_over(&self, stages: &[usize], widths: impl Fn(usize) -> [f64; 2]) -> f64 {
        let here = self.list.iter().filter(|block| stages.contains(&block.stage));
        here.map(|block| block.count as f64 * block.variance(&widths(block.stage), 1.0)).sum::<f64>()
            / self.count() as f64
    }

    /// What some stages add to the score of the network as it is.
    pub(super) fn score_of(&self, stages: &[usize]) -> f64 {
        let here = self.list.iter().filter(|block| stages.contains(&block.stage));
        here.map(|block| block.count as f64 * block.own_variance()).sum::<f64>() / self.count() as f64
    }

    /// How many blocks there are.
    pub(super) fn count(&self) -> usize {
        self.list.iter().map(|block| block.count).sum()
    }

    /// The score of the network as it is: the mean over blocks of Var/m.
    pub fn score(&self) -> f64 {
        self.mean(ScoredBlock::own_variance)
    }

    /// Var/m of every block with its stage (from 0), in the order of the network.
    pub fn variances(&self) -> Vec<(usize, f64)> {
        let repeated =
            |block: &ScoredBlock| std::iter::repeat_n((block.stage, block.own_variance()), block.count);
        self.list.iter().flat_map(repeated).collect()
    }

    fn mean(&self, of: impl Fn(&ScoredBlock) -> f64) -> f64 {
        self.list.iter().map(|block| block.count as f64 * of(block)).sum::<f64>() / self.count() as f64
    }
}

/// What the blocks of a network read. Only an error needs names.
fn grams(spec: &Spec, images: &covariance::Images) -> Result<Vec<Vec<f64>>, Error> {
    match covariance::block_grams(&spec.graph_without_names()?, images) {
        Ok(grams) => Ok(grams),
        Err(_) => Ok(covariance::block_grams(&spec.graph()?, images)?),
    }
}

pub(super) fn real(widths: &[usize]) -> Vec<f64> {
    widths.iter().map(|&width| width as f64).collect()
}

/// The first layer's nonlinearity and those behind it.
fn split(nonlinearities: &[Nonlinearity]) -> (Nonlinearity, Vec<Nonlinearity>) {
    match nonlinearities.split_first() {
        Some((&first, later)) => (first, later.to_vec()),
        None => (Nonlinearity::Linear, vec![]),
    }
}

/// P independent positions of equal length.
fn white(columns: usize, nonlinearity: Nonlinearity) -> Result<PatchSums, Error> {
    correlated(0.0, columns, nonlinearity)
}

/// P positions of equal length, any two with the same correlation.
fn correlated(correlation: f64, columns: usize, nonlinearity: Nonlinearity) -> Result<PatchSums, Error> {
    let entry = |at: usize| if at / columns == at % columns { 1.0 } else { correlation };
    let gram: Vec<f64> = (0..columns * columns).map(entry).collect();
    Ok(PatchSums::of_gram(&gram, nonlinearity)?)
}

#[cfg(test)]
mod tests {
    use super::super::cost::Counts;
    use super::super::table::{Allowed, Baseline, Limit, Table};
    use super::super::variances::Variances;
    use super::*;
    use crate::Rule;
    use collegial_arch::Cost;
    use collegial_core::Silent;

    fn with_correlation(spec: &Spec, correlation: f64) -> ScoredBlocks {
        let blocks = spec.blocks().unwrap();
        let forms = Form::of_all(&blocks).unwrap();
        let sums = |columns, nonlinearity| correlated(correlation, columns, nonlinearity);
        ScoredBlocks::with_equal_inputs(&blocks, &forms, Parametrisation::Ntk, sums).unwrap()
    }

    /// n Var(n) of a block whose positions all have correlation c, worked out by hand.
    #[test]
    fn correlated_positions_cost_thin_members_more() {
        let block: Spec = "bottleneck-128".parse().unwrap();
        for (correlation, expected) in
            [(0.0, [4.98, 3.93, 3.67, 3.59]), (0.6, [11.3, 6.5, 5.3, 5.0]), (0.9, [16.6, 8.6, 6.6, 6.1])]
        {
            let blocks = with_correlation(&block, correlation);
            for (n, expected) in [1.0, 4.0, 16.0, 128.0].into_iter().zip(expected) {
                let value = n * blocks.mean_variance(|_| vec![n, n]);
                let rounding = if correlation == 0.0 { 0.005 } else { 0.05 };
                assert!((value - expected).abs() <= rounding + 1e-9, "c = {correlation}, n = {n}: {value}");
            }
        }
    }

    /// The best designs at the baseline's parameters, and the primal's gain.
    struct Optima {
        primal: String,
        dual: String,
        gain: f64,
    }

    fn optima(name: &str, correlation: f64) -> Optima {
        let spec: Spec = name.parse().unwrap();
        let blocks = with_correlation(&spec, correlation);
        let widths: Vec<usize> = (1..=128).collect();
        let variances = Variances::exact(&spec, blocks, &widths, &Silent).unwrap();
        let counts = Counts::of(&spec).unwrap();
        let [budget, ..] = counts.whole();
        let limits = vec![Limit { cost: Cost::Params, most: budget }];
        let allowed = Allowed { costs: Cost::Params.into(), limits, rule: Rule::Under, most: usize::MAX };
        let baseline = Baseline { counts, cost: budget, score: variances.baseline };
        let table = Table::new(&spec, &widths, &variances, baseline, allowed, &Silent).unwrap();
        let (primal, dual) = (table.primal().unwrap(), table.dual().unwrap());
        Optima {
            primal: primal.design.to_string(),
            dual: dual.design.to_string(),
            gain: variances.baseline / primal.score,
        }
    }

    /// Optima with correlated positions, worked out by hand: the more they are correlated, the
    /// wider the best members.
    #[test]
    fn correlated_positions_move_the_optimum_to_wider_members() {
        for (name, correlation, primal, gain, dual) in [
            ("resnext29-1x128d", 0.0, "102x4d", 2.98, "47x3d"),
            ("resnext29-1x128d", 0.3, "66x6d", 2.82, "20x7d"),
            ("resnext29-1x128d", 0.6, "66x6d", 2.68, "18x8d"),
            ("resnext29-1x128d", 0.9, "37x10d", 2.58, "13x11d"),
        ] {
            let optima = optima(name, correlation);
            assert_eq!((optima.primal.as_str(), optima.dual.as_str()), (primal, dual));
            assert!((optima.gain - gain).abs() < 0.006, "{}", optima.gain);
        }
        // At the budget of ResNeXt-50 32x4d.
        for (correlation, primal) in [(0.0, "32x4d"), (0.3, "32x4d"), (0.6, "25x5d"), (0.9, "13x9d")] {
            let optima = optima("resnext50-32x4d", correlation);
            assert_eq!(optima.primal, primal, "c = {correlation}");
            // Worked out by hand as "within 4 %": it is 4.2 % at c = 0.9.
            assert!(optima.gain < 1.043, "c = {correlation}: {}", optima.gain);
        }
    }
}
