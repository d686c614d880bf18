//! `--check`: the kernel of the whole network over initialisations, for the baseline and both
//! optima.
//!
//! The score is of blocks. Stem, shortcuts and head add a part to the network's kernel that no
//! design changes, so that its variance falls by less than the score says; how much, only draws of
//! whole networks tell.

use collegial_arch::{Designs as Named, Spec};
use collegial_core::{Interval, Named as Watch};
use collegial_nn::NormPolicy;
use collegial_search::DesignAnswer;
use serde::Serialize;

use super::super::{Request, called};
use crate::draws::{self, DRAWS};
use crate::{Error, Monitor, ntk};

/// With fewer draws the interval of a ratio spans more than a factor of two or three.
pub(in crate::search) const FEWEST: u64 = 20;

/// The drawn kernel of one network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// The network's name, or its design and whose it is where no name means it.
    pub model: String,
    /// Its design, where it has one; a list where every stage has its own.
    pub design: Option<Named>,
    /// What became of batch norms.
    pub norm: NormPolicy,
    /// How many initialisations.
    pub draws: u64,
    /// The variance of K(x, x) over its mean squared.
    pub variance: f64,
    /// The standard error of that.
    pub standard_error: f64,
    /// The baseline's variance over its own: how many times less.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ratio_ci: [f64; 2],
    /// What the score of the blocks says: the baseline's over its own.
    pub score_ratio: f64,
}

/// What an interval says of a ratio that should be above 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// The whole interval is above 1.
    Holds,
    /// 1 is in it.
    Open,
    /// The whole interval is below 1.
    Fails,
}

impl Checked {
    pub(super) fn agreement(&self) -> Agreement {
        match self.ratio_ci {
            [low, _] if low > 1.0 => Agreement::Holds,
            [_, high] if high < 1.0 => Agreement::Fails,
            _ => Agreement::Open,
        }
    }
}

/// Draws the baseline, the primal and the dual, each with seeds of its own, so that they are
/// independent.
pub(super) fn run(
    request: &Request,
    baseline: &Spec,
    answer: &DesignAnswer,
    monitor: &dyn Monitor,
) -> Result<Vec<Checked>, Error> {
    let draws = request.draws.unwrap_or(DRAWS);
    let norm = request.norm.unwrap_or(NormPolicy::None);
    let mut list: Vec<Checked> = vec![];
    let optima = [
        (answer.primal.design, answer.primal.network.score_ratio),
        (answer.dual.design, answer.dual.network.score_ratio),
    ];
    let mut networks = vec![(baseline.clone(), 1.0)];
    for (design, score_ratio) in optima {
        let network = baseline.with_design(design)?;
        if networks.iter().all(|(known, _)| *known != network) {
            networks.push((network, score_ratio));
        }
    }
    for (index, (network, score_ratio)) in networks.iter().enumerate() {
        let design = design(network);
        let model = match (index, &design) {
            (0, _) | (_, None) => answer.baseline.clone(),
            (_, Some(design)) => {
                let known = called::known(&request.model, network);
                called::other(known.as_deref(), &design.to_string(), &answer.baseline)
            }
        };
        let seed = request.seed.wrapping_add(index as u64 * draws);
        let question = ntk::Request {
            parametrisation: Some(request.parametrisation),
            norm: Some(norm),
            data: request.data.clone(),
            seed,
            ..ntk::Request::default()
        };
        let doing = format!("drawing {model}");
        let drawn = draws::of_spec(&question, network, draws, &Watch::new(monitor, &doing))?;
        let first =
            list.first().map_or((drawn.variance, 0.0), |first| (first.variance, first.standard_error));
        let (ratio, ratio_ci) = match list.is_empty() {
            true => (1.0, [1.0, 1.0]),
            false => ratio(first, (drawn.variance, drawn.standard_error), drawn.draws),
        };
        list.push(Checked {
            model,
            design,
            norm,
            draws: drawn.draws,
            variance: drawn.variance,
            standard_error: drawn.standard_error,
            ratio,
            ratio_ci,
            score_ratio: *score_ratio,
        });
    }
    Ok(list)
}

fn design(network: &Spec) -> Option<Named> {
    match network {
        Spec::Resnext(network) => Some(network.design.clone()),
        Spec::Regnet(network) => Some(network.design.clone()),
        _ => network.module().and_then(|module| {
            let width = module.width().ok()?;
            Some(collegial_arch::Design::new(module.members(), width).ok()?.into())
        }),
    }
}

/// The ratio of two independent variances, and its 95 % interval, on a logarithmic scale: both are
/// positive and skewed.
fn ratio(before: (f64, f64), after: (f64, f64), draws: u64) -> (f64, [f64; 2]) {
    let ratio = before.0 / after.0;
    let error = (before.1 / before.0).hypot(after.1 / after.0);
    let Interval { low, high } = Interval::student(ratio.ln(), error, draws as f64 - 1.0, 0.95);
    (ratio, [low.exp(), high.exp()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;
    use collegial_ntk::draws::DrawStatistics;

    #[test]
    fn a_ratio_and_its_interval() {
        let (value, [low, high]) = ratio((0.4, 0.04), (0.2, 0.02), 1_000_000);
        assert!((value - 2.0).abs() < 1e-12);
        let error = 0.1 * 2f64.sqrt();
        assert!((high / value - (1.96 * error).exp()).abs() < 1e-4 && (low * high - 4.0).abs() < 1e-12);
        let (_, [_, few]) = ratio((0.4, 0.04), (0.2, 0.02), 10);
        assert!(few > high, "few draws know their errors less well");
    }

    /// Log-normal kernels with variances 0.2 and 0.1, a hundred draws each: of 1000 intervals of
    /// their ratio at least 93 % hold it, up to two standard errors of such a share (0.8 %).
    #[test]
    fn intervals_hold_the_ratio() {
        let drawn = |variance: f64, run: u64| {
            let sigma = variance.ln_1p().sqrt();
            let mut rng = Rng::new(run, (1e3 * variance) as u32, 0);
            let kernels: Vec<Vec<f64>> = (0..100).map(|_| vec![(sigma * rng.normal()).exp()]).collect();
            let diagonal = DrawStatistics::of(&kernels).unwrap().diagonal;
            (diagonal.variance, diagonal.standard_error)
        };
        let holds = |&run: &u64| {
            let (_, [low, high]) = ratio(drawn(0.2, run), drawn(0.1, run), 100);
            (low..=high).contains(&2.0)
        };
        let held = (0..1000).filter(holds).count();
        assert!(held >= 914, "{held} of 1000");
    }
}
