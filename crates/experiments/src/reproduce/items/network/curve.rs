//! Designs along a primal curve: their scores, and the drawn variances of their networks.

use collegial_arch::{Design, Spec};
use collegial_core::{Interval, Named, bootstrap, spearman};
use collegial_ntk::NetworkDraws;
use collegial_ntk::covariance::Images;
use collegial_ntk::draws::{DrawStatistics, EntryStatistics};
use collegial_ntk::explicit::{NormPolicy, Options};
use collegial_search::{BlockInputs, ScoredBlocks};
use serde::{Deserialize, Serialize};

use super::{Baseline, Settings, pictures};
use crate::reproduce::{Context, Error};

/// Draws of a result.
const DRAWS_OF_RESULT: u64 = 50;

/// Resamples behind an interval.
pub(super) const REPLICATES: u64 = 4000;

/// The stream of random numbers that is ours ("netw").
const STREAM: u32 = 0x6e65_7477;

/// What a network's variance is predicted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Predictor {
    /// The score with what the blocks see in the network.
    NetworkInputs,
    /// The score with white patches.
    WhiteInputs,
    /// The score with network inputs, every stage with the same weight whatever its number of
    /// blocks.
    StagesAlike,
    /// The score with network inputs of the last stage alone.
    LastStage,
    /// One over the inner width m n of the first stage: Theorem 1's quantity.
    InverseInnerWidth,
}

impl Predictor {
    pub(super) const ALL: [Self; 5] =
        [Self::NetworkInputs, Self::WhiteInputs, Self::StagesAlike, Self::LastStage, Self::InverseInnerWidth];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::NetworkInputs => "score, network inputs",
            Self::WhiteInputs => "score, white inputs",
            Self::StagesAlike => "score, stages weighted alike",
            Self::LastStage => "score of the last stage",
            Self::InverseInnerWidth => "1 / (m n)",
        }
    }
}

/// A drawn variance of a network's kernel.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct Drawn {
    /// Var\[K\] / E\[K\]^2, averaged over the images.
    pub variance: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// One design of a curve.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Member {
    pub design: Design,
    pub parameters: u64,
    /// By [`Predictor::ALL`].
    pub predictors: [f64; 5],
    /// By the settings' norm policies.
    pub drawn: Vec<Drawn>,
}

/// A primal curve.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Curve {
    pub name: String,
    pub baseline: Design,
    pub norms: Vec<NormPolicy>,
    pub designs: Vec<Member>,
}

/// How a predictor goes with the drawn variances of a curve.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Relation {
    pub curve: String,
    pub norms: String,
    pub predictor: Predictor,
    /// Rank correlation over designs.
    pub spearman: f64,
    /// Its 95 % interval, over designs.
    pub interval: [f64; 2],
    /// a of network = a + b x predictor, with its standard error.
    pub intercept: [f64; 2],
    /// b, with its standard error.
    pub slope: [f64; 2],
}

impl Curve {
    /// Draws all designs of a curve; every design and norm policy is a result.
    pub(super) fn draw(base: &Baseline, settings: &Settings, context: &Context) -> Result<Self, Error> {
        let (baseline, designs) = designs(&base.spec, &settings.widths)?;
        let graph = base.spec.graph()?;
        let shape = graph.nodes[0].shape;
        let pictures = pictures::smooth(shape, settings.batch.max(settings.images), context.seed);
        // The covariance of many such images, not of the few that are drawn at.
        let images = Images::measured(shape, &pictures::smooth(shape, 100, context.seed.wrapping_add(1)))?;
        let mut members = vec![];
        for (index, &design) in designs.iter().enumerate() {
            let spec = base.spec.with_design(design)?;
            let mut drawn = vec![];
            for &norms in &settings.norms {
                let share = index as f64 / designs.len() as f64;
                let state = format!("{}: {design}, norms {}", base.name, norms.name());
                context.monitor.progress(share, Some(&state));
                drawn.push(drawn_variance((&spec, norms), settings, &pictures, (context, &state))?);
            }
            let parameters = spec.totals()?.parameters;
            members.push(Member {
                design,
                parameters,
                predictors: predictors(&spec, design, &images)?,
                drawn,
            });
        }
        Ok(Self { name: base.name.clone(), baseline, norms: settings.norms.clone(), designs: members })
    }

    /// Every predictor against every norm policy.
    pub(super) fn relations(&self, seed: u64) -> Vec<Relation> {
        let relation = |(index, &norms): (usize, &NormPolicy)| {
            let drawn: Vec<Drawn> = self.designs.iter().map(|member| member.drawn[index]).collect();
            Predictor::ALL.iter().enumerate().filter_map(move |(at, &predictor)| {
                if self.repeats(at) {
                    return None;
                }
                let x: Vec<f64> = self.designs.iter().map(|member| member.predictors[at]).collect();
                let variances: Vec<f64> = drawn.iter().map(|drawn| drawn.variance).collect();
                let (intercept, slope) = line(&x, &drawn)?;
                Some(Relation {
                    curve: self.name.clone(),
                    norms: norms.name().to_owned(),
                    predictor,
                    spearman: spearman(&x, &variances)?,
                    interval: interval(&x, &drawn, seed),
                    intercept,
                    slope,
                })
            })
        };
        self.norms.iter().enumerate().flat_map(relation).collect()
    }
}

impl Curve {
    /// Whether a predictor is the score itself: stages of equally many blocks weigh alike already.
    pub(super) fn repeats(&self, predictor: usize) -> bool {
        let same = |member: &Member| {
            let [score, other] = [member.predictors[0], member.predictors[predictor]];
            (score - other).abs() <= 1e-9 * score
        };
        predictor > 0 && self.designs.iter().all(same)
    }
}

/// The baseline and, for every width, the most members whose network has no more parameters; from
/// the widest on.
fn designs(spec: &Spec, widths: &[usize]) -> Result<(Design, Vec<Design>), Error> {
    let module = spec.analysed_module()?;
    let baseline = Design::new(module.members(), module.width()?)?;
    let parameters = |design: Design| Ok::<u64, Error>(spec.with_design(design)?.totals()?.parameters);
    let budget = parameters(baseline)?;
    let mut designs = vec![baseline];
    for &width in widths.iter().rev().filter(|&&width| width < baseline.width) {
        let mut members = 1;
        while parameters(Design::new(members + 1, width)?)? <= budget {
            members += 1;
        }
        designs.push(Design::new(members, width)?);
    }
    Ok((baseline, designs))
}

/// Draws a network in parts, so that more draws of the same design go on where fewer ended.
fn drawn_variance(
    (spec, norm): (&Spec, NormPolicy),
    settings: &Settings,
    pictures: &[Vec<f32>],
    (context, state): (&Context, &str),
) -> Result<Drawn, Error> {
    let (inputs, others) = pictures.split_at(settings.images);
    let mut kernels: Vec<Vec<f64>> = vec![];
    for first in (0..settings.draws).step_by(DRAWS_OF_RESULT as usize) {
        let draws = first..settings.draws.min(first + DRAWS_OF_RESULT);
        let key = (spec, norm, &draws, inputs.len(), pictures.len());
        kernels.extend(context.cached("network.kernels", &key, || {
            let options = Options { norm, ..Options::default() };
            let network = NetworkDraws::in_batch(&spec.graph()?, options, inputs, others)?;
            let seeds = context.seed.saturating_add(draws.start)..context.seed.saturating_add(draws.end);
            let drawn = network.kernels(seeds, &Named::new(context.monitor, state))?;
            drawn.ok_or(Error::Interrupted)
        })?);
    }
    let EntryStatistics { variance, standard_error, .. } = DrawStatistics::of(&kernels)?.diagonal;
    Ok(Drawn { variance, standard_error })
}

fn predictors(spec: &Spec, design: Design, images: &Images) -> Result<[f64; 5], Error> {
    let network = ScoredBlocks::of(spec, BlockInputs::Network, images)?;
    let white = ScoredBlocks::of(spec, BlockInputs::White, images)?;
    let blocks = network.variances();
    let stages = blocks.iter().map(|&(stage, _)| stage).max().map_or(0, |last| last + 1);
    let stage_mean = |wanted: usize| {
        let of: Vec<f64> =
            blocks.iter().filter(|&&(stage, _)| stage == wanted).map(|&(_, variance)| variance).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    let alike = (0..stages).map(stage_mean).sum::<f64>() / stages as f64;
    let inner = (design.multiplicity * design.width) as f64;
    Ok([network.score(), white.score(), alike, stage_mean(stages - 1), 1.0 / inner])
}

/// Weighted least squares of the variances on a predictor: (a, its standard error), (b, its
/// standard error). The errors are those of the draws, made larger where the points scatter more
/// than that around the line.
fn line(x: &[f64], drawn: &[Drawn]) -> Option<([f64; 2], [f64; 2])> {
    let weights: Vec<f64> = drawn.iter().map(|drawn| drawn.standard_error.powi(-2)).collect();
    let sum = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(|at| weights[at] * f(at)).sum::<f64>();
    let (s, sx, sxx) = (sum(&|_| 1.0), sum(&|at| x[at]), sum(&|at| x[at] * x[at]));
    let (sy, sxy) = (sum(&|at| drawn[at].variance), sum(&|at| x[at] * drawn[at].variance));
    let determinant = s * sxx - sx * sx;
    let (slope, intercept) = ((s * sxy - sx * sy) / determinant, (sxx * sy - sx * sxy) / determinant);
    let misfit = sum(&|at| (drawn[at].variance - intercept - slope * x[at]).powi(2)) / (x.len() as f64 - 2.0);
    let scale = misfit.max(1.0);
    let errors = [(scale * sxx / determinant).sqrt(), (scale * s / determinant).sqrt()];
    let finite = [intercept, slope, errors[0], errors[1]].iter().all(|value| value.is_finite());
    finite.then_some(([intercept, errors[0]], [slope, errors[1]]))
}

/// Designs are drawn again. Their variances hold the noise of their draws already, which makes rank
/// correlations smaller than endless draws would; it is not added a second time.
fn interval(x: &[f64], drawn: &[Drawn], seed: u64) -> [f64; 2] {
    let replicates = bootstrap(seed, STREAM, REPLICATES, drawn.len(), |indices| {
        let pairs = indices.iter().map(|&index| (x[index], drawn[index].variance));
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
        spearman(&x, &y).unwrap_or(f64::NAN)
    });
    let values: Vec<f64> = replicates.into_iter().filter(|value| !value.is_nan()).collect();
    let Interval { low, high } = Interval::percentile(&values, 0.95);
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;

    fn points(a: f64, b: f64, noise: f64) -> (Vec<f64>, Vec<Drawn>) {
        let x: Vec<f64> = (1..=12).map(f64::from).collect();
        let mut rng = Rng::new(5, 9, 0);
        let drawn = x
            .iter()
            .map(|x| Drawn { variance: a + b * x + noise * rng.normal(), standard_error: noise })
            .collect();
        (x, drawn)
    }

    #[test]
    fn a_line_is_found_within_its_errors() {
        let (x, drawn) = points(3.0, 0.5, 0.2);
        let ([a, error_of_a], [b, error_of_b]) = line(&x, &drawn).unwrap();
        assert!((a - 3.0).abs() < 3.0 * error_of_a && (b - 0.5).abs() < 3.0 * error_of_b, "{a} {b}");
        assert!(error_of_a < 0.3 && error_of_b < 0.04, "{error_of_a} {error_of_b}");
    }

    #[test]
    fn intervals_tell_an_order_from_none() {
        let of = |slope| {
            let (x, drawn) = points(1.0, slope, 0.3);
            interval(&x, &drawn, 2)
        };
        assert!(of(1.0)[0] > 0.8);
        assert!(of(-1.0)[1] < -0.8);
        let none = of(0.0);
        assert!(none[0] < 0.0 && none[1] > 0.0, "{none:?}");
    }

    #[test]
    fn designs_fit_the_baseline_and_one_more_member_would_not() {
        let spec: Spec = "resnext29-1x128d".parse().unwrap();
        let (baseline, designs) = designs(&spec, &[10, 64, 128]).unwrap();
        assert_eq!((baseline.to_string(), designs.len()), ("1x128d".into(), 3));
        assert_eq!(designs[2].to_string(), "37x10d");
    }
}
