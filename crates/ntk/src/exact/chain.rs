//! The chains that have exact moments, and their moments at an input or averaged over inputs.

use collegial_arch::{Activation, Sequence};
use collegial_core::{Moments, Rng};
use collegial_nn::Parametrisation;
use serde::Serialize;

use super::{ExactMoments, LayerWeights, Nonlinearity, PatchSums, weighted_second_moment_ratio};
use crate::error::{Error, Obstacle};
use crate::sampler::{LinearStep, Output, Plan, Step, gram};

/// One output unit of a chain that is seen at a single position behind its first layer, see the
/// [module](super).
#[derive(Clone, Debug)]
pub struct OnePosition {
    plan: Plan,
    /// Widths n_1..n_{L-1}; empty for a chain of one layer, whose kernel is a constant.
    widths: Vec<f64>,
    /// Their nonlinearities.
    nonlinearities: Vec<Nonlinearity>,
    /// λ_l of every layer, by which its contribution to the kernel is multiplied.
    weights: Vec<f64>,
    /// E\[K\] over the sum of the squared lengths of the first layer's patches.
    mean_per_square: f64,
}

/// Moments averaged over standard normal inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AveragedMoments {
    /// The moments: the mean at an input of average length, the ratio averaged over inputs.
    #[serde(flatten)]
    pub moments: ExactMoments,
    /// The standard deviation over inputs of the variance E\[K^2\]/E\[K\]^2 - 1 at one input.
    pub spread: f64,
    /// The standard error of the averaged ratio: 0 where the average is exact.
    pub standard_error: f64,
}

/// The stream that averaging draws from; with a seed of its own, so that the answer depends on no
/// seed.
const AVERAGING: (u64, u32) = (0, 0x00a7_e4a6);

/// Inputs that the spread is estimated from.
const SPREAD_INPUTS: u64 = 200;

/// Inputs at most where the average itself is sampled, and the relative standard error of the
/// variance that is enough.
const MOST_INPUTS: u64 = 100_000;
const ACCURACY: f64 = 2.5e-4;

impl OnePosition {
    /// The chain's unit at the centre of its map (row height / 2, column width / 2), NTK
    /// parametrisation.
    ///
    /// # Errors
    ///
    /// [`Error::NoClosedForm`] names the first layer that does not fit.
    pub fn new(chain: &Sequence) -> Result<Self, Error> {
        Self::parametrised(chain, Parametrisation::Ntk)
    }

    /// The same in either parametrisation. Standard: the weights are the parameters themselves, drawn
    /// as the training engine does ([`LayerWeights`]). The second moment is that of one of the
    /// chain's m members, the mean that of all.
    ///
    /// # Errors
    ///
    /// As those of [`new`](Self::new).
    pub fn parametrised(chain: &Sequence, parametrisation: Parametrisation) -> Result<Self, Error> {
        let plan = Plan::new(chain, Output::Unit, 1)?;
        let refusal = |layer: usize, obstacle: Obstacle| Error::NoClosedForm {
            module: chain.name.clone(),
            layer: layer + 1,
            obstacle,
        };
        let mut steps: Vec<&LinearStep> = vec![];
        for (index, step) in plan.steps.iter().enumerate() {
            match step {
                Step::Linear(step) => steps.push(step),
                Step::Pool { .. } => return Err(refusal(index, Obstacle::Pool)),
            }
        }
        let Some((last, hidden)) = steps.split_last() else {
            return Err(Error::NoParameters { module: chain.name.clone() });
        };
        let mut nonlinearities = vec![];
        for (index, step) in hidden.iter().enumerate() {
            nonlinearities.push(match step.activation {
                Activation::Relu => Nonlinearity::Relu,
                Activation::None => Nonlinearity::Linear,
                other => return Err(refusal(index, Obstacle::Activation(other))),
            });
            if index > 0 && step.positions > 1 {
                return Err(refusal(index, Obstacle::Positions(step.positions)));
            }
        }
        if last.activation != Activation::None {
            return Err(refusal(hidden.len(), Obstacle::OutputActivation(last.activation)));
        }
        let widths: Vec<f64> = hidden.iter().map(|step| step.outputs as f64).collect();
        let layers = LayerWeights::of(chain, parametrisation);
        let (weights, deviations, summed): (Vec<f64>, Vec<f64>, f64) = match parametrisation {
            // Members in parallel have the mean of one: 1/sqrt(m) is part of the scale.
            Parametrisation::Ntk => {
                (vec![1.0; steps.len()], steps.iter().map(|step| step.scale).collect(), 1.0)
            }
            Parametrisation::Standard => {
                let members = chain.members as f64;
                let deviations = layers.deviations(&widths, members);
                (layers.at(&widths, members), deviations, layers.summed(chain.members))
            }
        };
        // E[K] = Σ λ_l σ_L^2 E|c_L|^2, and a layer multiplies E|c|^2 by σ^2 n a.
        let powers = hidden.iter().zip(&nonlinearities).zip(&deviations).map(
            |((step, nonlinearity), deviation): (_, &f64)| {
                deviation * deviation * step.outputs as f64 * nonlinearity.share()
            },
        );
        let powers = powers.product::<f64>();
        let last = deviations.last().copied().unwrap_or(1.0);
        let mean_per_square = weights.iter().sum::<f64>() * last * last * powers * summed;
        Ok(Self { widths, nonlinearities, weights, mean_per_square, plan })
    }

    /// P: how many positions of the first layer the unit sees.
    pub fn columns(&self) -> usize {
        match self.plan.steps.first() {
            Some(Step::Linear(step)) => step.positions,
            _ => 1,
        }
    }

    /// The widths n_1..n_{L-1}, which the formula takes as real numbers.
    pub fn widths(&self) -> &[f64] {
        &self.widths
    }

    /// The nonlinearities of the layers 1..L-1.
    pub fn nonlinearities(&self) -> &[Nonlinearity] {
        &self.nonlinearities
    }

    /// The moments where the first layer's patches have the given Gram matrix (P x P, without the
    /// layer's scale).
    ///
    /// # Errors
    ///
    /// If it is not the matrix of some patches, or all zeros.
    pub fn at_gram(&self, gram: &[f64]) -> Result<ExactMoments, Error> {
        let size = self.columns();
        if gram.len() != size * size {
            return Err(Error::Gram { entries: gram.len() });
        }
        let nonlinearity = self.nonlinearities.first().copied().unwrap_or(Nonlinearity::Linear);
        let sums = PatchSums::of_gram(gram, nonlinearity)?;
        let square: f64 = (0..size).map(|p| gram[p * size + p]).sum();
        Ok(self.with(&sums, square))
    }

    /// The moments where the patches are white: orthogonal and of equal length, the limit of
    /// standard normal inputs with many channels.
    ///
    /// # Errors
    ///
    /// None that this chain can cause.
    pub fn white(&self) -> Result<ExactMoments, Error> {
        let size = self.columns();
        let gram: Vec<f64> = (0..size * size).map(|at| f64::from(at % (size + 1) == 0)).collect();
        self.at_gram(&gram)
    }

    /// The moments at an input of channels x height x width values.
    ///
    /// # Errors
    ///
    /// If its length is wrong, if a value is not finite, or if all that the unit sees of it is
    /// zero.
    pub fn at_input(&self, chain: &Sequence, input: &[f32]) -> Result<ExactMoments, Error> {
        let pixels = chain.input.pixels();
        let expected = chain.input.channels * pixels;
        if input.len() != expected {
            return Err(Error::InputLength { index: 0, found: input.len(), expected });
        }
        if let Some(&value) = input.iter().find(|value| !value.is_finite()) {
            return Err(Error::InputNotFinite { index: 0, value });
        }
        let channel = |pixel: usize| (0..self.plan.channels).map(move |at| input[at * pixels + pixel]);
        let columns: Vec<f32> = self.plan.pixels.iter().flat_map(|&pixel| channel(pixel)).collect();
        self.at_columns(&columns)
    }

    /// The moments averaged over standard normal inputs, and how far they vary from input to input.
    ///
    /// Exact where the first layer's patches do not overlap (1x1 kernels, fully connected
    /// networks); elsewhere from fixed draws, until the variance is known to 0.025 %.
    pub fn averaged(&self) -> Result<AveragedMoments, Error> {
        match self.exact_average()? {
            Some(moments) => {
                let spread = self.ratios(0..SPREAD_INPUTS)?.variance().sqrt();
                Ok(AveragedMoments { moments, spread, standard_error: 0.0 })
            }
            None => self.sampled(),
        }
    }

    /// The same average without its spread, which takes draws even where the average takes none.
    pub(crate) fn average(&self) -> Result<ExactMoments, Error> {
        self.exact_average()?.map_or_else(|| Ok(self.sampled()?.moments), Ok)
    }

    /// The average in closed form: where patches do not overlap.
    fn exact_average(&self) -> Result<Option<ExactMoments>, Error> {
        let Some(Step::Linear(first)) = self.plan.steps.first() else {
            return Err(Error::NoInputs);
        };
        if first.taps > 1 && first.positions > 1 {
            return Ok(None);
        }
        let entries = if first.positions == 1 { self.plan.pixels.len() * first.inputs } else { first.inputs };
        let nonlinearity = self.nonlinearities.first().copied().unwrap_or(Nonlinearity::Linear);
        let sums = PatchSums::of_normal_patches(first.positions, entries, nonlinearity);
        Ok(Some(self.with(&sums, average_square(first))))
    }

    /// The average by draws.
    fn sampled(&self) -> Result<AveragedMoments, Error> {
        let Some(Step::Linear(first)) = self.plan.steps.first() else {
            return Err(Error::NoInputs);
        };
        let mut ratios = Moments::new();
        while ratios.count < MOST_INPUTS {
            ratios = ratios.merge(self.ratios(ratios.count..ratios.count + SPREAD_INPUTS)?);
            if ratios.standard_error() <= ACCURACY * (ratios.mean() - 1.0) {
                break;
            }
        }
        let mean = self.mean_per_square * average_square(first);
        let moments = ExactMoments { mean, second_moment_ratio: ratios.mean() };
        Ok(AveragedMoments {
            moments,
            spread: ratios.variance().sqrt(),
            standard_error: ratios.standard_error(),
        })
    }

    /// The ratios at drawn inputs.
    fn ratios(&self, inputs: std::ops::Range<u64>) -> Result<Moments, Error> {
        let mut columns = vec![0.0; self.plan.pixels.len() * self.plan.channels];
        let mut ratios = Moments::new();
        for trial in inputs {
            Rng::new(AVERAGING.0, AVERAGING.1, trial).fill_normal(&mut columns);
            ratios.push(self.at_columns(&columns)?.second_moment_ratio);
        }
        Ok(ratios)
    }

    /// How many values of the input the unit sees.
    pub(crate) fn entries(&self) -> usize {
        self.plan.pixels.len() * self.plan.channels
    }

    /// The moments where the pixels that the unit sees have the given values, position by position.
    fn at_columns(&self, values: &[f32]) -> Result<ExactMoments, Error> {
        self.at_gram(&self.patch_gram(values)?)
    }

    /// The Gram matrix of the patches there.
    pub(crate) fn patch_gram(&self, values: &[f32]) -> Result<Vec<f64>, Error> {
        let Some(Step::Linear(first)) = self.plan.steps.first() else {
            return Err(Error::NoInputs);
        };
        let count = self.plan.pixels.len();
        let (mut gram, mut patches) = (vec![0.0; count * count], vec![]);
        gram::of_input(values, self.plan.channels, &mut gram);
        first.patch_gram(1, &gram, &mut patches);
        Ok(patches)
    }

    fn with(&self, sums: &PatchSums, square: f64) -> ExactMoments {
        let mean = self.mean_per_square * square;
        let second_moment_ratio = match self.nonlinearities.split_first() {
            Some((_, later)) => {
                weighted_second_moment_ratio(sums, &self.widths, later, |layer| self.weights[layer])
            }
            None => 1.0,
        };
        ExactMoments { mean, second_moment_ratio }
    }
}

/// The sum of the squared lengths of the first layer's patches, averaged over standard normal
/// inputs.
fn average_square(first: &LinearStep) -> f64 {
    (first.source.iter().flatten().count() * first.inputs) as f64
}
