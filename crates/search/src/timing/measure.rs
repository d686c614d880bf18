//! Time measurements on this machine.
//!
//! A design is always timed beside the baseline, step by step in turn, so that whatever else the
//! machine does slows both; the ratio of the two is averaged on a logarithmic scale until its
//! interval is narrow, or the seconds are used and the interval says so.
//!
//! Stopping when an interval is narrow favours moments when it is narrow by chance, so that it
//! holds the truth less often than 95 %: the more often one looks, the less. So it is looked at
//! only when the number of steps has doubled. What is left is shown by a test.

use collegial_arch::{Design, Spec};
use collegial_core::{Instant, Interval, Monitor};

use super::{Loader, PRECISION, Timing, Timings};
use crate::{DesignSearch, Error};

/// Pairs of steps at least, beside a first one that is not counted.
const FEWEST: usize = 8;

/// A pair is not measured for longer than this once it has the fewest steps.
const SECONDS: f64 = 6.0;

/// The share of the baseline's time that the primal's m is chosen for: a little below, for the
/// noise.
const AIM: f64 = 0.98;

/// Times designs of a few widths: for each the one that has the baseline's score, and the one that
/// takes the baseline's time.
///
/// # Errors
///
/// If the runtime cannot run a network, there is no exact score, or the monitor stopped it.
pub fn measure(search: &DesignSearch, loader: &dyn Loader, monitor: &dyn Monitor) -> Result<Timings, Error> {
    let baseline = search.baseline();
    let plan = search.designs_to_time()?;
    let total = (2 * plan.len()) as f64;
    let mut designs: Vec<Timing> = vec![];
    let mut seconds = vec![];
    let mut timed = |design: Design, done: usize| {
        if monitor.stopped() {
            return Err(Error::Interrupted);
        }
        monitor.progress(done as f64 / total, Some(&format!("timing {design}")));
        let (first, timing) = pair(loader, baseline, design)?;
        seconds.push(first);
        Ok(timing)
    };
    for (index, planned) in plan.iter().enumerate() {
        let dual = timed(planned.dual, 2 * index)?;
        designs.push(dual);
        // As if time were proportional to m; what is fixed makes it less than that, so that the
        // second step corrects it.
        let proportional = |timing: &Timing| {
            let real = timing.design.multiplicity as f64 * AIM / timing.ratio;
            (real as usize).clamp(1, planned.most)
        };
        let mut primal = timed(with_members(planned.dual, proportional(&dual)), 2 * index + 1)?;
        if primal.design != dual.design {
            let m = interpolated(&dual, &primal).clamp(1, planned.most);
            if m != primal.design.multiplicity && m != dual.design.multiplicity {
                primal = timed(with_members(planned.dual, m), 2 * index + 1)?;
            }
            designs.push(primal);
        }
    }
    let baseline = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Timings { baseline, designs, measurement: Some(loader.measurement()) })
}

fn with_members(design: Design, multiplicity: usize) -> Design {
    Design { multiplicity, ..design }
}

/// The m at which a line through two timings takes the time that is aimed at.
fn interpolated(a: &Timing, b: &Timing) -> usize {
    let (ma, mb) = (a.design.multiplicity as f64, b.design.multiplicity as f64);
    let slope = (b.ratio - a.ratio) / (mb - ma);
    if slope > 0.0 { (ma + (AIM - a.ratio) / slope).max(1.0) as usize } else { b.design.multiplicity }
}

/// Seconds of the baseline's step per image, and the design beside it.
fn pair(loader: &dyn Loader, baseline: &Spec, design: Design) -> Result<(f64, Timing), Error> {
    let mut first = loader.load(baseline)?;
    let mut second = loader.load(&baseline.with_design(design)?)?;
    let start = Instant::now();
    let (mut before, mut after) = (vec![], vec![]);
    // Neither first pass counts: memory is touched, and kernels are chosen, for the first time.
    first.pass()?;
    second.pass()?;
    let logarithms = sampled(
        || {
            let (a, b) = (first.pass()?, second.pass()?);
            before.push(a);
            after.push(b);
            Ok((b / a).ln())
        },
        || start.elapsed().as_secs_f64() > SECONDS,
    )?;
    let [low, high] = interval(&logarithms).map(f64::exp);
    let (seconds, own) = (median(&mut before), median(&mut after));
    let ratio = mean(&logarithms).exp();
    let timing =
        Timing { design, seconds: own, ratio, ratio_ci: Some([low, high]), steps: Some(logarithms.len()) };
    Ok((seconds, timing))
}

/// Samples until the interval of their mean is narrow, looked at when their number has doubled, or
/// the time is used.
fn sampled(
    mut sample: impl FnMut() -> Result<f64, Error>,
    used: impl Fn() -> bool,
) -> Result<Vec<f64>, Error> {
    let mut values = vec![];
    let mut look = FEWEST;
    loop {
        values.push(sample()?);
        if values.len() == look {
            let [low, high] = interval(&values);
            if (high - low) / 2.0 <= PRECISION {
                return Ok(values);
            }
            look *= 2;
        }
        if values.len() >= FEWEST && used() {
            return Ok(values);
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The 95 % interval of a mean.
fn interval(values: &[f64]) -> [f64; 2] {
    let (count, middle) = (values.len() as f64, mean(values));
    let square = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (count - 1.0);
    let interval = Interval::student(middle, (square / count).sqrt(), count - 1.0, 0.95);
    [interval.low, interval.high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;

    fn timing(multiplicity: usize, ratio: f64) -> Timing {
        let design = Design { multiplicity, width: 4 };
        Timing { design, seconds: ratio, ratio, ratio_ci: Some([0.9 * ratio, 1.1 * ratio]), steps: Some(6) }
    }

    #[test]
    fn the_line_through_two_times_meets_the_aim() {
        // 0.2 + 0.04 m = 0.98 at m = 19.5.
        assert_eq!(interpolated(&timing(5, 0.4), &timing(10, 0.6)), 19);
        assert_eq!(interpolated(&timing(5, 0.4), &timing(10, 0.4)), 10, "no slope to go by");
        assert!(!timing(5, 0.4).precise());
    }

    #[test]
    fn a_network_beside_itself_takes_the_same_time() {
        let spec: Spec = "fc6-64".parse().unwrap();
        let (seconds, timing) =
            pair(&crate::timing::Native { batch: 2 }, &spec, Design { multiplicity: 1, width: 64 }).unwrap();
        assert!(seconds > 0.0 && timing.steps.is_some_and(|steps| steps >= FEWEST));
        let [low, high] = timing.ratio_ci.unwrap();
        assert!(low <= timing.ratio && timing.ratio <= high && low > 0.0);
    }

    /// Noise of 10 %, which takes some 50 steps: the interval becomes narrow, unless the time is
    /// used first. Of 2000 intervals at least 92 % hold the truth, two standard errors (0.5 % each)
    /// allowed; looked at in every step it would be fewer.
    #[test]
    fn looking_at_doublings_keeps_intervals_nearly_honest() {
        let held = |used: fn() -> bool| {
            let of = |run: u64| {
                let mut rng = Rng::new(run, 7, 0);
                let values = sampled(|| Ok(0.1 * rng.normal()), used).unwrap();
                let [low, high] = interval(&values);
                (low <= 0.0 && 0.0 <= high, high - low <= 2.0 * PRECISION, values.len())
            };
            (0..2000).map(of).collect::<Vec<_>>()
        };
        let patient = held(|| false);
        assert!(patient.iter().all(|run| run.1), "all become narrow");
        let share = patient.iter().filter(|run| run.0).count() as f64 / 2000.0;
        assert!(share >= 0.91, "{share}");
        let hasty = held(|| true);
        assert!(hasty.iter().all(|run| run.2 == FEWEST) && hasty.iter().any(|run| !run.1));
    }
}
