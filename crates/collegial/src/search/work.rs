//! The work of a search, estimated from its question alone.

use collegial_arch::{Module, Spec};
use collegial_ntk::fit::default_widths;
use collegial_ntk::{KernelSampler, Output};
use collegial_search::paper::Search;
use collegial_search::{ScoredBlocks, VarianceSource};

use super::{Request, paper};
use crate::Error;

/// What looking at a width takes beside the formulas of its layers, in units of one layer's.
const PER_WIDTH: f64 = 7.0;

/// What a draw takes beside its multiplications, in units of one.
const PER_DRAW: f64 = 1000.0;

/// The fewest draws of a measured variance.
const FEWEST_DRAWS: f64 = 2000.0;

/// More widths than any search takes.
const MOST_WIDTHS: usize = 100_000;

/// Widths of which the work of a draw is looked at; those between have that of the next.
const PROBES: usize = 16;

/// What a search takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Work {
    /// Evaluations of a layer's formula.
    pub formulas: f64,
    /// Multiplications of all draws.
    pub multiplications: f64,
    /// Widths that are free at once, where they are.
    pub free: usize,
}

impl Work {
    /// Of a search whose cost is a count, without a check.
    ///
    /// # Errors
    ///
    /// Where the baseline has nothing to split, or cannot be sampled.
    pub fn of(request: &Request, baseline: &Spec) -> Result<Self, Error> {
        if super::verdicts::apply(baseline) {
            return Ok(Self::default());
        }
        if request.as_printed(baseline) {
            return Self::of_paper(request, baseline);
        }
        // Members can be as wide as all of them together.
        let (inner, layers) = match baseline.module() {
            Some(module) => (module.width()?.saturating_mul(module.members()), module.widths().len()),
            None => {
                let blocks = baseline.blocks()?;
                let inner =
                    blocks.first().map_or(0, |block| block.bottleneck.width * block.bottleneck.members);
                let layers = |block: &collegial_arch::Block| block.count * block.bottleneck.widths().len();
                // The other kind of block inputs is looked at as well.
                (inner, 2 * blocks.iter().map(layers).sum::<usize>())
            }
        };
        let step = request.multiple_of.max(1);
        let count = request.widths.as_ref().map_or(inner / step, |widths| widths.0.len());
        let formulas = count as f64 * (PER_WIDTH + layers as f64);
        if count > MOST_WIDTHS {
            // The search itself refuses them.
            return Ok(Self { formulas, ..Self::default() });
        }
        let sampled = baseline
            .module()
            .filter(|module| ScoredBlocks::of_module(module, request.parametrisation).is_err());
        let multiplications = match sampled {
            Some(module) => {
                let mut widths = match &request.widths {
                    Some(widths) => widths.0.clone(),
                    None => (1..=inner / step).map(|index| index * step).collect(),
                };
                widths.retain(|&width| width <= inner);
                measured(&module, widths, request)?
            }
            None => 0.0,
        };
        Ok(Self { formulas, multiplications, free: 0 })
    }

    fn of_paper(request: &Request, baseline: &Spec) -> Result<Self, Error> {
        let question = Search::new(baseline.clone()).within(request.limits());
        let module = question.module()?;
        let widths = question.candidate_widths()?;
        let formulas = widths.len() as f64 * (PER_WIDTH + module.widths().len() as f64);
        let source = paper::source(request, baseline);
        if source == VarianceSource::Exact {
            ScoredBlocks::of_module(&module, request.parametrisation)?;
        }
        let multiplications = match (source, request.alpha) {
            (VarianceSource::Measured, _) => measured(&module, widths, request)?,
            (VarianceSource::Law, None) => {
                let draws = request.trials.unwrap_or(paper::TRIALS) as f64;
                drawn(&module, &default_widths(&module)?, |_| draws)?
            }
            _ => 0.0,
        };
        let free = if request.free_widths { module.widths().len() } else { 0 };
        Ok(Self { formulas, multiplications, free })
    }
}

/// Of variances that are measured to a precision, the baseline's own too.
fn measured(module: &Module, mut widths: Vec<usize>, request: &Request) -> Result<f64, Error> {
    widths.push(module.width()?);
    widths.sort_unstable();
    widths.dedup();
    let precision = request.precision.unwrap_or(super::designs::PRECISION);
    // The kernel's fourth moment, which is large for narrow members, as it was found for bottleneck
    // blocks and fully connected networks.
    let spread = |width: usize| 2.5 + 40.0 / width as f64;
    drawn(module, &widths, |width| (spread(width) / precision.powi(2)).max(FEWEST_DRAWS))
}

/// Of so many draws at every width, which ascend.
fn drawn(module: &Module, widths: &[usize], draws: impl Fn(usize) -> f64) -> Result<f64, Error> {
    let mut sum = 0.0;
    for chunk in widths.chunks(widths.len().div_ceil(PROBES).max(1)) {
        let widest = chunk.last().copied().unwrap_or(1);
        let (input, draw) = KernelSampler::foreseen_work(&module.scaled_to(widest)?.member(), Output::Unit)?;
        sum += chunk.iter().map(|&width| input + draws(width) * (draw + PER_DRAW)).sum::<f64>();
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(json: &str) -> Work {
        let request: Request = crate::request(json).unwrap();
        Work::of(&request, &request.model.spec().unwrap()).unwrap()
    }

    #[test]
    fn work_grows_with_widths_layers_draws_and_precision() {
        let exact = work(r#"{"model": "fc6-500"}"#);
        assert_eq!(exact, Work { formulas: 500.0 * (PER_WIDTH + 5.0), multiplications: 0.0, free: 0 });
        assert_eq!(work(r#"{"model": "fc6-5x100"}"#), exact, "members can be as wide as all together");
        assert_eq!(work(r#"{"model": "fc6-500", "multiple_of": 10}"#).formulas, exact.formulas / 10.0);
        assert_eq!(work(r#"{"model": "fc6-500", "widths": [4, 5]}"#).formulas, exact.formulas / 250.0);
        assert!(work(r#"{"model": "resnext50-1x64d"}"#).formulas > 64.0 * (PER_WIDTH + 2.0 * 16.0));
        let drawn = |options: &str| {
            work(&format!(r#"{{"model": "bottleneck-64", "paper": true, {options}}}"#)).multiplications
        };
        assert!((drawn(r#""trials": 4000"#) / drawn(r#""trials": 1000"#) - 4.0).abs() < 0.01);
        let measured =
            |precision: f64| drawn(&format!(r#""variance": "measured", "precision": {precision}"#));
        assert!((measured(0.005) / measured(0.01) - 4.0).abs() < 0.01);
        assert_eq!(drawn(r#""alpha": 1.6"#), 0.0);
        assert_eq!(work(r#"{"model": "fc6-500", "free_widths": true}"#).free, 5);
    }

    /// The widest of them is not made to be looked at.
    #[test]
    fn what_fits_no_memory_can_be_foreseen() {
        let asked =
            r#"{"model": "bottleneck-16000000", "paper": true, "variance": "measured", "widths": [4, 8]}"#;
        assert!(work(asked).multiplications > 1e12);
    }
}
