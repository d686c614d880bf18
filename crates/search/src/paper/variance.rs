//! Sources of Var(n): the fitted law, theory, or measurement.

use std::collections::BTreeMap;

use collegial_arch::{Activation, Module};
use collegial_ntk::exact;
use collegial_ntk::explicit::Parametrisation;
use collegial_ntk::fit::VarianceSample;

use crate::designs::ScoredBlocks;
use crate::{Error, VarianceSource};

/// A variance with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Var\[K\] / E\[K\]^2 of one member.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// Half the interval's width, as a share of the value.
    pub(crate) fn relative_error(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.value)
    }

    fn certain(value: f64) -> Self {
        Self { value, low: value, high: value }
    }
}

/// A variance as a function of real-valued widths.
pub type Relaxed<'a> = Box<dyn Fn(&[f64]) -> f64 + 'a>;

/// The variance of one member's kernel as a function of its widths.
pub trait Variance {
    /// Where it comes from.
    fn source(&self) -> VarianceSource;
    /// The variance of one member of `module`, whatever its multiplicity.
    fn of(&self, module: &Module) -> Result<Estimate, Error>;
    /// Whether the ends of two intervals belong together, as they do for a law whose α is
    /// uncertain.
    fn moves_together(&self) -> bool {
        false
    }
    /// The same variance as a function of real-valued widths, where a formula is known.
    fn relaxed<'a>(&'a self, _module: &Module) -> Result<Option<Relaxed<'a>>, Error> {
        Ok(None)
    }
    /// The law's α, where there is one.
    fn alpha(&self) -> Option<f64> {
        None
    }
    /// Its 95 % interval, where it was fitted.
    fn alpha_interval(&self) -> Option<[f64; 2]> {
        None
    }
}

/// The law e^{α S(n)} - 1 (Eq. 5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    alpha: f64,
    interval: Option<[f64; 2]>,
}

impl Law {
    /// With α given.
    pub fn new(alpha: f64) -> Result<Self, Error> {
        if alpha.is_finite() && alpha > 0.0 {
            Ok(Self { alpha, interval: None })
        } else {
            Err(Error::Invalid(format!("alpha is {alpha}; it must be a positive finite number, such as 1.6")))
        }
    }

    /// With α fitted, and its interval.
    pub fn fitted(fit: &collegial_ntk::Fit) -> Result<Self, Error> {
        let law = Self::new(fit.alpha)?;
        Ok(Self { interval: Some([fit.alpha_ci.low, fit.alpha_ci.high]), ..law })
    }
}

impl Variance for Law {
    fn source(&self) -> VarianceSource {
        VarianceSource::Law
    }
    fn of(&self, module: &Module) -> Result<Estimate, Error> {
        let sum = module.inverse_fan_in_sum();
        let at = |alpha: f64| (alpha * sum).exp_m1();
        let [low, high] = self.interval.unwrap_or([self.alpha; 2]);
        Ok(Estimate { value: at(self.alpha), low: at(low), high: at(high) })
    }
    /// S is a constant plus a multiple of every inverse width; the multiples are read off widths 1
    /// and 2.
    fn relaxed<'a>(&'a self, module: &Module) -> Result<Option<Relaxed<'a>>, Error> {
        let count = module.widths().len();
        let ones = vec![1; count];
        let at_ones = module.with_widths(&ones)?.inverse_fan_in_sum();
        let mut multiples = Vec::with_capacity(count);
        for layer in 0..count {
            let mut widths = ones.clone();
            widths[layer] = 2;
            multiples.push(2.0 * (at_ones - module.with_widths(&widths)?.inverse_fan_in_sum()));
        }
        let constant = at_ones - multiples.iter().sum::<f64>();
        Ok(Some(Box::new(move |widths| {
            let sum: f64 = multiples.iter().zip(widths).map(|(multiple, width)| multiple / width).sum();
            (self.alpha * (constant + sum)).exp_m1()
        })))
    }
    fn alpha(&self) -> Option<f64> {
        Some(self.alpha)
    }
    fn alpha_interval(&self) -> Option<[f64; 2]> {
        self.interval
    }
    fn moves_together(&self) -> bool {
        true
    }
}

/// The exact variance of chains that have a closed form, at standard normal inputs (white patches):
/// fully connected ReLU networks and bottleneck blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact;

impl Variance for Exact {
    fn source(&self) -> VarianceSource {
        VarianceSource::Exact
    }
    fn relaxed<'a>(&'a self, module: &Module) -> Result<Option<Relaxed<'a>>, Error> {
        if has_width_formula(module) {
            return Ok(Some(Box::new(|widths| exact::second_moment_ratio(widths) - 1.0)));
        }
        let blocks = ScoredBlocks::of_module(module, Parametrisation::Ntk)?;
        Ok(Some(Box::new(move |widths| blocks.mean_variance(|_| widths.to_vec()))))
    }
    fn of(&self, module: &Module) -> Result<Estimate, Error> {
        match module {
            Module::FullyConnected(network) if has_width_formula(module) => {
                Ok(Estimate::certain(exact::moments(&network.widths)?.variance()))
            }
            _ => {
                let widths: Vec<f64> = module.widths().into_iter().map(|width| width as f64).collect();
                let blocks = ScoredBlocks::of_module(module, Parametrisation::Ntk)?;
                Ok(Estimate::certain(blocks.mean_variance(|_| widths.clone())))
            }
        }
    }
}

/// Whether the widths alone say the variance.
fn has_width_formula(module: &Module) -> bool {
    matches!(module, Module::FullyConnected(network) if network.activation == Activation::Relu)
}

/// Variances measured beforehand, one per width.
#[derive(Clone, Debug)]
pub struct Measured {
    by_width: BTreeMap<usize, Estimate>,
}

impl Measured {
    /// From samples of the module at every width of interest, the baseline's included.
    pub fn new(samples: &[VarianceSample]) -> Self {
        let estimate = |sample: &VarianceSample| {
            let half = 1.96 * sample.standard_error;
            let value = sample.variance;
            (sample.width, Estimate { value, low: value - half, high: value + half })
        };
        Self { by_width: samples.iter().map(estimate).collect() }
    }
}

impl Variance for Measured {
    fn source(&self) -> VarianceSource {
        VarianceSource::Measured
    }
    fn of(&self, module: &Module) -> Result<Estimate, Error> {
        let width = module.width()?;
        self.by_width.get(&width).copied().ok_or(Error::NotMeasured { width })
    }
}
