//! Predictors of a network's errors, from its spec alone.

use collegial_arch::{Module, Spec};
use collegial_ntk::covariance::Images;
use collegial_ntk::explicit::Parametrisation;
use collegial_report::significant;
use collegial_search::ScoredBlocks;
use collegial_search::paper::{Law, Variance};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The paper's α of the bottleneck block (section 4.1), for the law's column.
const ALPHA: f64 = 1.60;

/// The predictors of one network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predictors {
    /// The mean over its blocks of Var(n)/m, exact, with what the blocks see in the network.
    pub score: f64,
    /// The same with white patches, as in the paper.
    pub white_score: f64,
    /// The mean over its blocks of (e^{α S} - 1)/m: the paper's law with α = 1.60.
    pub law: f64,
    /// Parameters of the whole network.
    pub parameters: u64,
    /// FLOPs of the whole network.
    pub flops: u64,
    /// The harmonic mean over its blocks of the inner width m n: Theorem 1's quantity.
    pub inner_width: f64,
}

impl Predictors {
    /// The cells of a table, in the order of the fields, with so many digits.
    pub fn cells(&self, digits: usize) -> [String; 6] {
        let Self { score, white_score, law, parameters, flops, inner_width } = *self;
        let number = |value| significant(value, digits);
        let [parameters, flops] = [parameters, flops].map(|count| count.to_string());
        [number(score), number(white_score), number(law), parameters, flops, number(inner_width)]
    }
}

/// Which of the predictors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictor {
    /// The exact score with what the blocks see.
    Score,
    /// The exact score with white patches.
    WhiteScore,
    /// The paper's law.
    Law,
    /// Parameters.
    Parameters,
    /// FLOPs.
    Flops,
    /// Inner width m n.
    Width,
}

impl Predictor {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Score, Self::WhiteScore, Self::Law, Self::Parameters, Self::Flops, Self::Width];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::WhiteScore => "score, white inputs",
            Self::Law => "law",
            Self::Parameters => "parameters",
            Self::Flops => "FLOPs",
            Self::Width => "inner width m n",
        }
    }

    /// Its value, turned so that more means a larger error is expected: variances as they are,
    /// sizes negative.
    pub(super) fn expectation(self, of: &Predictors) -> f64 {
        match self {
            Self::Score => of.score,
            Self::WhiteScore => of.white_score,
            Self::Law => of.law,
            Self::Parameters => -(of.parameters as f64),
            Self::Flops => -(of.flops as f64),
            Self::Width => -of.inner_width,
        }
    }

    /// Its value as it is.
    pub fn value(self, of: &Predictors) -> f64 {
        self.expectation(of).abs()
    }
}

impl Predictors {
    /// Computes all of a network with bottleneck blocks, or of a module, in the NTK parametrisation.
    ///
    /// # Errors
    ///
    /// If the network has no blocks with an inner width, or a block has no closed form.
    pub fn of(spec: &Spec) -> Result<Self, Error> {
        Self::parametrised(spec, Parametrisation::Ntk)
    }

    /// The same with scores in either parametrisation.
    ///
    /// # Errors
    ///
    /// As those of [`of`](Self::of).
    pub fn parametrised(spec: &Spec, parametrisation: Parametrisation) -> Result<Self, Error> {
        let images = Images::natural();
        let total = spec.totals()?;
        let law = Law::new(ALPHA)?;
        let modules: Vec<(usize, Module)> = match spec.module() {
            Some(module) => vec![(1, module)],
            None => {
                let blocks = spec.blocks()?;
                blocks.into_iter().map(|block| (block.count, Module::Bottleneck(block.bottleneck))).collect()
            }
        };
        let count: f64 = modules.iter().map(|(count, _)| *count as f64).sum();
        let (mut sum, mut inverse) = (0.0, 0.0);
        for (times, module) in &modules {
            let members = module.members() as f64;
            let share = *times as f64 / count;
            sum += share * law.of(module)?.value / members;
            inverse += share / (members * module.width()? as f64);
        }
        let [network, white] = ScoredBlocks::with_both_inputs(spec, &images, parametrisation)?;
        Ok(Self {
            score: network.score(),
            white_score: white.score(),
            law: sum,
            parameters: total.parameters,
            flops: total.flops,
            inner_width: 1.0 / inverse,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variances that were worked out apart from this code, to their three digits.
    #[test]
    fn standard_scores_of_fully_connected_networks() {
        for (model, score) in [
            ("fc6-1x200", 0.085),
            ("fc6-7x45", 0.077),
            ("fc6-15x24", 0.089),
            ("fc6-78x5", 0.380),
            ("fc6-132x3", 0.986),
        ] {
            let spec: Spec = model.parse().unwrap();
            let found = Predictors::parametrised(&spec, Parametrisation::Standard).unwrap();
            assert!((found.score - score).abs() <= 5.1e-4, "{model}: {found:?}");
            assert_eq!(found.score, found.white_score);
        }
    }
}
