//! Time as the cost: given times decide, measured ones have intervals.

use std::sync::atomic::{AtomicUsize, Ordering};

use collegial_arch::{Cost, Design, Overrides, Spec};
use collegial_core::{Monitor, Silent};
use collegial_search::timing::{Native, Pass, Runtime, measure};
use collegial_search::{DesignSearch, Error, Gain, Limits, Timing, Timings};

fn design(text: &str) -> Design {
    text.parse().unwrap()
}

/// Of designs with given times, the primal is the one of lowest score that is not slower, the dual
/// the fastest that varies no more.
#[test]
fn given_times_decide() {
    let search = DesignSearch::new("resnext29-1x128d".parse().unwrap());
    let times = [("66x6d", 3.0), ("21x16d", 0.99), ("9x16d", 0.4), ("16x9d", 0.5), ("2x8d", 0.1)];
    let times: Vec<(Design, f64)> = times.iter().map(|&(text, time)| (design(text), time)).collect();
    let answer = search.clone().timings(Timings::given(1.0, &times).unwrap()).run().unwrap();
    assert_eq!(
        (answer.cost.first(), answer.primal.design, answer.dual.design),
        (Cost::Time, design("21x16d"), design("9x16d"))
    );
    assert!(
        (answer.dual.network.cost_ratio - 2.5).abs() < 1e-6
            && (answer.primal.network.score_ratio - 2.47).abs() < 0.01
    );
    // Widths and multiples leave timed designs out.
    let within = |limits: Limits| {
        let timings = Timings::given(1.0, &times).unwrap();
        let answer = search.clone().within(limits).timings(timings).run().unwrap();
        (answer.primal.design, answer.left_out)
    };
    assert_eq!(within(Limits::new().widths(vec![9, 6])), (design("16x9d"), vec![]));
    assert_eq!(within(Limits::new().multiple_of(16)), (design("21x16d"), vec![6, 8, 9]));
    // Where all are slower, the baseline is the best.
    let slow = Timings::given(1.0, &[(design("66x6d"), 3.0)]).unwrap();
    let answer = search.clone().timings(slow).run().unwrap();
    assert_eq!((answer.primal.gain, answer.dual.gain), (Gain::BaselineIsBest, Gain::BaselineIsBest));
    assert!(matches!(search.within(Limits::new().cost(Cost::Time)).run().unwrap_err(), Error::NoTimings));
    let refusal = Timings::given(1.0, &[(design("2x2d"), f64::NAN)]).unwrap_err().to_string();
    assert_eq!(refusal, "a time is NaN; times must be positive finite numbers");
}

fn small() -> DesignSearch {
    let image = Overrides { image: Some(8), inputs: Some(32), outputs: Some(32), ..Overrides::default() };
    let block = "bottleneck-32".parse::<Spec>().unwrap().with(&image).unwrap();
    DesignSearch::new(block).within(Limits::new().widths(vec![8, 16]))
}

#[test]
fn measured_times_have_intervals_and_an_answer() {
    let timings = measure(&small(), &Native { batch: 2 }, &Silent).unwrap();
    let how = timings.measurement.clone().unwrap();
    assert_eq!((how.runtime, how.pass, how.batch), (Runtime::Native, Pass::Training, 2));
    assert!(timings.baseline > 0.0);
    // Of every width the fewest members that have the baseline's score come first.
    for width in [8, 16] {
        let fewest = small().within(Limits::new().widths(vec![width])).run().unwrap().dual.design;
        let first = timings.designs.iter().find(|timing| timing.design.width == width).unwrap();
        assert_eq!(first.design, fewest);
    }
    for timing in &timings.designs {
        let [low, high] = timing.ratio_ci.unwrap();
        assert!(0.0 < low && low <= timing.ratio && timing.ratio <= high, "{timing:?}");
        assert!([8, 16].contains(&timing.design.width));
    }
    let answer = small().timings(timings.clone()).run().unwrap();
    let timed = timings.designs.iter().map(|timing| timing.design);
    let designs: Vec<Design> = timed.chain([design("1x32d")]).collect();
    assert!(designs.contains(&answer.primal.design) && designs.contains(&answer.dual.design));
    let ratio = |design| timings.designs.iter().find(|timing| timing.design == design);
    assert!(ratio(answer.primal.design).is_none_or(|timing| timing.ratio <= 1.0), "{answer:?}");
    assert!(answer.dual.network.score_ratio >= 1.0 - 1e-6);
}

/// Designs whose interval is wide are not looked at, however good they seem; where all are, what was
/// measured decides.
#[test]
fn noise_decides_nothing() {
    let timing = |text: &str, ratio: f64, half: f64| Timing {
        design: design(text),
        seconds: ratio,
        ratio,
        ratio_ci: Some([ratio * (1.0 - half), ratio * (1.0 + half)]),
        steps: Some(24),
    };
    let search = DesignSearch::new("resnext29-1x128d".parse().unwrap());
    let designs = vec![timing("66x6d", 0.5, 0.2), timing("21x16d", 0.98, 0.02), timing("9x16d", 0.4, 0.01)];
    let timings = Timings { baseline: 1.0, designs, measurement: None };
    let answer = search.clone().timings(timings.clone()).run().unwrap();
    assert_eq!((answer.primal.design, answer.dual.design), (design("21x16d"), design("9x16d")));
    assert_eq!(answer.timings, Some(timings), "what was measured is shown all the same");
    let noise = Timings { baseline: 1.0, designs: vec![timing("66x6d", 0.5, 0.2)], measurement: None };
    assert!(!noise.any_precise());
    assert_eq!(search.timings(noise).run().unwrap().primal.design, design("66x6d"));
}

/// Stops after the first design.
struct Impatient(AtomicUsize);

impl Monitor for Impatient {
    fn progress(&self, _share: f64, _state: Option<&str>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

#[test]
fn timing_can_be_stopped() {
    let monitor = Impatient(AtomicUsize::new(0));
    assert!(matches!(measure(&small(), &Native { batch: 2 }, &monitor).unwrap_err(), Error::Interrupted));
    assert_eq!(monitor.0.into_inner(), 1);
}
