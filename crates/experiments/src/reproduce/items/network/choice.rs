//! The choice of the default score, by a rule that is written down.
//!
//! Every predictor gets the mean of its rank correlations over all curves and norm policies. The
//! default is the score with network inputs, which means what it says: the blocks with what they
//! see. Another predictor takes its place only if its mean is higher beyond the 95 % interval of
//! the difference, and of several such the highest. Designs of a curve are resampled for all
//! predictors and norm policies together, so that the differences are paired.

use collegial_core::{Interval, Rng, spearman};
use collegial_ntk::explicit::NormPolicy;
use serde::Serialize;

use super::curve::{Curve, Predictor, REPLICATES};

/// The stream of random numbers that is ours ("netc").
const STREAM: u32 = 0x6e65_7463;

/// How a predictor does over all curves and norm policies, beside the default.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Standing {
    pub predictor: Predictor,
    /// The mean of its rank correlations.
    pub mean: f64,
    /// The same minus that of the default.
    pub difference: f64,
    /// The 95 % interval of the difference; none for the default itself.
    pub interval: Option<[f64; 2]>,
}

/// The standings with one norm policy, or with all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Standings {
    /// The policy; `None` for all.
    pub norms: Option<NormPolicy>,
    /// Every predictor, the default first.
    pub predictors: Vec<Standing>,
}

/// With all norm policies together, on which the rule decides, and with each of them.
pub(super) fn all(curves: &[Curve], seed: u64) -> Vec<Standings> {
    let policies: Vec<NormPolicy> = curves.first().map_or(vec![], |curve| curve.norms.clone());
    let wanted = [None].into_iter().chain(policies.into_iter().map(Some));
    wanted.map(|norms| Standings { norms, predictors: standings(curves, norms, seed) }).collect()
}

fn standings(curves: &[Curve], norms: Option<NormPolicy>, seed: u64) -> Vec<Standing> {
    let count = curves.iter().map(|curve| curve.designs.len()).max().unwrap_or(0);
    let everything: Vec<usize> = (0..count).collect();
    let found = means(curves, norms, &everything);
    let replicates = resampled(curves, norms, count, seed);
    let standing = |(at, &predictor): (usize, &Predictor)| {
        let differences: Vec<f64> = replicates
            .iter()
            .map(|means| means[at] - means[0])
            .filter(|difference| difference.is_finite())
            .collect();
        let interval = (at > 0 && !differences.is_empty()).then(|| {
            let Interval { low, high } = Interval::percentile(&differences, 0.95);
            [low, high]
        });
        Standing { predictor, mean: found[at], difference: found[at] - found[0], interval }
    };
    Predictor::ALL.iter().enumerate().map(standing).collect()
}

/// The means over resampled designs. A replicate's indices serve every curve; those beyond a
/// shorter curve are passed over there.
fn resampled(curves: &[Curve], norms: Option<NormPolicy>, count: usize, seed: u64) -> Vec<[f64; 5]> {
    (0..REPLICATES)
        .map(|replicate| {
            let mut rng = Rng::new(seed, STREAM, replicate);
            let drawn: Vec<usize> = (0..count).map(|_| (rng.uniform() * count as f64) as usize).collect();
            means(curves, norms, &drawn)
        })
        .collect()
}

/// The predictor that the rule makes the default.
pub(super) fn chosen(standings: &[Standing]) -> Predictor {
    let clear = standings.iter().filter(|standing| standing.is_clear());
    let best = clear.max_by(|a, b| a.difference.total_cmp(&b.difference));
    best.map_or(Predictor::NetworkInputs, |standing| standing.predictor)
}

impl Standing {
    /// Whether it is better than the default beyond its interval.
    pub(super) fn is_clear(&self) -> bool {
        self.interval.is_some_and(|[low, _]| low > 0.0)
    }
}

/// The mean rank correlation of every predictor, over the drawn designs.
fn means(curves: &[Curve], norms: Option<NormPolicy>, drawn: &[usize]) -> [f64; 5] {
    let mut sums = [0.0; 5];
    let mut terms = 0.0;
    for curve in curves {
        let designs: Vec<_> = drawn
            .iter()
            .filter(|&&index| index < curve.designs.len())
            .map(|&index| &curve.designs[index])
            .collect();
        for (norm, _) in
            curve.norms.iter().enumerate().filter(|(_, of)| norms.is_none_or(|norms| norms == **of))
        {
            let variances: Vec<f64> = designs.iter().map(|member| member.drawn[norm].variance).collect();
            for (at, sum) in sums.iter_mut().enumerate() {
                let x: Vec<f64> = designs.iter().map(|member| member.predictors[at]).collect();
                *sum += spearman(&x, &variances).unwrap_or(f64::NAN);
            }
            terms += 1.0;
        }
    }
    sums.map(|sum| sum / terms)
}

#[cfg(test)]
mod tests {
    use super::super::curve::{Drawn, Member};
    use super::*;
    use collegial_arch::Design;

    /// A curve whose variances are the predictor at `at` plus noise; the predictors are random.
    fn curve(at: usize, noise: f64, seed: u64) -> Curve {
        let mut rng = Rng::new(seed, 3, 0);
        let mut member = || {
            let predictors: [f64; 5] = std::array::from_fn(|_| rng.normal());
            let drawn = Drawn { variance: predictors[at] + noise * rng.normal(), standard_error: noise };
            let design = Design { multiplicity: 1, width: 1 };
            Member { design, parameters: 1, predictors, drawn: vec![drawn] }
        };
        let designs = (0..12).map(|_| member()).collect();
        let baseline = Design { multiplicity: 1, width: 1 };
        Curve { name: "c".into(), baseline, norms: vec![NormPolicy::None], designs }
    }

    fn chosen_where(at: usize, noise: f64) -> Predictor {
        chosen(&standings(&[curve(at, noise, 1), curve(at, noise, 2), curve(at, noise, 3)], None, 0))
    }

    /// The default is right, another one is right, and noise decides nothing.
    #[test]
    fn only_a_clear_difference_changes_the_default() {
        assert_eq!(chosen_where(0, 0.1), Predictor::NetworkInputs);
        assert_eq!(chosen_where(1, 0.1), Predictor::WhiteInputs);
        assert_eq!(chosen_where(1, 100.0), Predictor::NetworkInputs);
    }

    #[test]
    fn a_predictor_that_equals_the_default_does_not_differ() {
        let mut same = curve(0, 0.5, 4);
        for member in &mut same.designs {
            member.predictors[2] = member.predictors[0];
        }
        let standing = &all(&[same], 0)[0].predictors[2];
        assert_eq!((standing.difference, standing.interval), (0.0, Some([0.0, 0.0])));
    }
}
