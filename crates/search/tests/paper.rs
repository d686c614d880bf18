//! The paper's optima, in the paper's words.

use collegial_arch::{Cost, Design, Overrides, Spec};
use collegial_search::paper::{Answer, Exact, Law, Search, per_stage};
use collegial_search::{Limits, Rule, VarianceSource};

/// α as fitted in section 5.2.
const ALPHA: f64 = 1.60;

fn spec(name: &str) -> Spec {
    name.parse().unwrap()
}

fn design(text: &str) -> Design {
    text.parse().unwrap()
}

fn search(name: &str) -> Answer {
    Search::new(spec(name)).run(&Law::new(ALPHA).unwrap()).unwrap()
}

fn dual_multiplicity(baseline: &str, width: usize) -> f64 {
    let answer = search(baseline);
    answer.curve.iter().find(|point| point.width == width).unwrap().dual_multiplicity
}

#[test]
fn the_bottleneck_block_of_width_128_has_its_optimum_at_10() {
    let answer = search("bottleneck-128");
    assert_eq!((answer.primal.width, answer.dual.width), (10, 10));
    assert!(answer.strong_duality);
    assert!((answer.primal.multiplicity - 32.56).abs() < 0.01, "{}", answer.primal.multiplicity);
    assert!((answer.dual.multiplicity - 9.93).abs() < 0.01, "{}", answer.dual.multiplicity);
    assert!((answer.dual.efficiency - 3.279).abs() < 0.001, "{}", answer.dual.efficiency);
    assert_eq!(answer.dual.design.to_string(), "10x10d");
}

#[test]
fn every_dual_design_of_the_tables_is_a_rounded_multiplicity() {
    let expected = [
        ("bottleneck-128", 10, 9.93, 10),
        ("bottleneck-128", 12, 8.21, 8),
        ("bottleneck-128", 40, 2.56, 3),
        ("bottleneck-226", 10, 14.21, 14),
        ("bottleneck-226", 25, 5.66, 6),
        ("bottleneck-226", 58, 2.64, 3),
        ("bottleneck-226", 98, 1.74, 2),
        ("bottleneck-96", 10, 8.06, 8),
        ("bottleneck-64", 23, 2.52, 3),
        ("bottleneck-64", 16, 3.60, 4),
        ("bottleneck-64", 12, 4.82, 5),
    ];
    for (baseline, width, real, rounded) in expected {
        let multiplicity = dual_multiplicity(baseline, width);
        assert!((multiplicity - real).abs() < 0.006, "{baseline} at {width}: {multiplicity}");
        assert_eq!(multiplicity.round() as usize, rounded);
    }
}

#[test]
fn network_designs_are_refitted_on_the_whole_network() {
    let designs = |name: &str| {
        let answer = search(name);
        (answer.primal.design.to_string(), answer.dual.design.to_string())
    };
    assert_eq!(designs("resnext29-1x128d"), ("37x10d".into(), "10x10d".into()));
    assert_eq!(designs("resnext29-1x226d"), ("101x10d".into(), "14x10d".into()));
    assert_eq!(designs("resnext50-1x64d").0, "12x10d");
    let under = Search::new(spec("resnext38-1x96d"))
        .within(Limits::new().rule(Rule::Under))
        .run(&Law::new(ALPHA).unwrap())
        .unwrap();
    assert_eq!((under.primal.design, under.dual.design), (design("22x10d"), design("8x10d")));
    assert_eq!(search("resnext38-1x96d").primal.design, design("23x10d"));
}

#[test]
fn the_networks_real_numbers_are_reported() {
    let answer = search("resnext29-1x128d");
    assert_eq!(answer.primal.parameters, 13_743_646);
    assert_eq!(answer.dual.parameters, 4_223_986);
    // "3.3 times fewer parameters"
    assert!((answer.dual.real_efficiency - 13_775_178.0 / 4_223_986.0).abs() < 1e-12);
    assert!((answer.dual.real_efficiency * 10.0).round() == 33.0);
    assert!(answer.primal.variance < answer.baseline_variance);
    // The curve is flat: 8 to 13 are within a few per cent, and 8 is kinder to hardware.
    assert!(answer.flat.low <= 9 && answer.flat.high >= 11, "{:?}", answer.flat);
    assert!(answer.nearby.iter().any(|row| row.width == 8));
}

#[test]
fn by_flops_the_optimum_is_8_and_44x8d_is_in_its_vicinity() {
    let answer = Search::new(spec("resnext29-1x128d"))
        .within(Limits::new().cost(Cost::Flops))
        .run(&Law::new(ALPHA).unwrap())
        .unwrap();
    assert_eq!(answer.primal.width, 8);
    let multiplicity = answer.primal.design.multiplicity;
    // The paper prints 44x8d (4.199 GFLOPs against the baseline's 4.186, so not the nearest but one
    // off at most).
    assert!(multiplicity.abs_diff(44) <= 1, "{}", answer.primal.design);
    assert!(((answer.primal.flops as f64 / 1e9) - 4.19).abs() < 0.1);
}

#[test]
fn figure_3_fully_connected() {
    let overrides = Overrides { inputs: Some(748), outputs: Some(1), ..Overrides::default() };
    let baseline = spec("fc6-500").with(&overrides).unwrap();
    let answer = Search::new(baseline).run(&Law::new(3.03).unwrap()).unwrap();
    assert_eq!((answer.primal.width, answer.dual.width), (48, 48));
    assert!((answer.primal.multiplicity - 30.4).abs() < 0.05, "{}", answer.primal.multiplicity);
    assert!((answer.dual.multiplicity - 12.4).abs() < 0.05, "{}", answer.dual.multiplicity);
    assert!((answer.dual.efficiency - 2.45).abs() < 0.005, "{}", answer.dual.efficiency);
    assert_eq!((answer.primal.design, answer.dual.design), (design("30x48d"), design("12x48d")));
}

#[test]
fn exact_variances_give_nearly_the_same_fully_connected_optimum() {
    let answer = Search::new(spec("fc6-500")).run(&Exact).unwrap();
    assert_eq!(answer.variance_source, VarianceSource::Exact);
    assert!((40..=55).contains(&answer.primal.width), "{}", answer.primal.width);
}

#[test]
fn later_stages_have_optima_of_their_own() {
    let stages = per_stage(&spec("resnext29-1x128d"), 10, Cost::Params, &Law::new(ALPHA).unwrap()).unwrap();
    assert_eq!(stages.len(), 3);
    assert_eq!((stages[0].channels, stages[0].width, stages[0].gain), (256, 10, 0.0));
    assert!(stages.iter().all(|stage| stage.gain >= 0.0));
    assert_eq!((stages[2].channels, stages[2].baseline_width, stages[2].common_width), (1024, 512, 40));
}
