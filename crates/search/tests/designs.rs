//! The best integer designs of whole networks: values that were worked out by hand, and every
//! design one after the other.

use std::time::Instant;

use collegial_arch::{Cost, Design, Spec, Totals};
use collegial_core::Silent;
use collegial_ntk::OnePosition;
use collegial_ntk::covariance::Images;
use collegial_ntk::exact::{Nonlinearity, PatchSums, block_second_moment_ratio};
use collegial_ntk::explicit::Parametrisation;
use collegial_ntk::fit::measure_variance;
use collegial_search::{
    BlockInputs, Costs, DesignAnswer, DesignSearch, Edge, Gain, Limits, Problem, Rule, ScoredBlocks,
    VarianceSource,
};
use proptest::prelude::*;

fn spec(name: &str) -> Spec {
    name.parse().unwrap()
}

fn search(name: &str) -> DesignSearch {
    DesignSearch::new(spec(name))
}

fn white(name: &str) -> DesignAnswer {
    search(name).block_inputs(BlockInputs::White).run().unwrap()
}

fn design(text: &str) -> Design {
    text.parse().unwrap()
}

#[test]
fn white_optima_of_the_papers_baselines() {
    for (name, primal, gain, dual, saving) in [
        ("resnext29-1x128d", "102x4d", 2.98, "47x3d", 2.70),
        ("resnext29-1x226d", "279x4d", 4.61, "61x4d", 4.29),
        ("resnext50-1x64d", "44x3d", 1.91, "17x4d", 1.64),
        ("resnext38-1x128d", "139x3d", 2.99, "27x5d", 2.56),
    ] {
        let answer = white(name);
        assert_eq!((answer.primal.design, answer.dual.design), (design(primal), design(dual)), "{name}");
        assert!(
            (answer.primal.network.score_ratio - gain).abs() < 0.006,
            "{name}: {}",
            answer.primal.network.score_ratio
        );
        assert!(
            (answer.dual.network.cost_ratio - saving).abs() < 0.006,
            "{name}: {}",
            answer.dual.network.cost_ratio
        );
        assert_eq!((answer.primal.gain, answer.dual.gain), (Gain::Better, Gain::Better));
        assert_eq!((answer.primal.edge, answer.variance_source), (None, VarianceSource::Exact));
        assert!(answer.primal.network.parameters <= answer.baseline_parameters);
        assert!(answer.dual.network.score <= answer.baseline_score);
    }
}

/// What its authors found by grid search is the optimum at its budget; other splits of the same
/// width are told what is better.
#[test]
fn grouped_baselines_are_searched_up_to_their_inner_width() {
    let answer = white("resnext50-32x4d");
    assert_eq!((answer.primal.design, answer.primal.gain), (design("32x4d"), Gain::BaselineIsBest));
    assert_eq!(answer.curve.last().unwrap().width, 128);
    for name in ["resnext50-2x40d", "resnext50-64x1d"] {
        let answer = white(name);
        assert_eq!(answer.primal.gain, Gain::Better, "{name}");
        assert!((3..=5).contains(&answer.primal.width), "{name}: {}", answer.primal.design);
    }
}

/// What blocks see decides the width: all positions of a patch correlated by c, white at c = 0. The
/// score is worked out here, block by block, and the cost by counting whole networks.
#[test]
fn correlated_patches_favour_wider_members() {
    let variance = |c: f64, n: usize| {
        let gram: Vec<f64> = (0..81).map(|at| if at / 9 == at % 9 { 2.0 } else { 2.0 * c }).collect();
        let sums = PatchSums::of_gram(&gram, Nonlinearity::Relu).unwrap();
        block_second_moment_ratio(&sums, &[n as f64; 2], &[Nonlinearity::Relu]) - 1.0
    };
    for (c, times_n) in
        [(0.0, [4.98, 3.93, 3.67, 3.59]), (0.6, [11.3, 6.5, 5.3, 5.0]), (0.9, [16.6, 8.6, 6.6, 6.1])]
    {
        for (n, expected) in [1, 4, 16, 128].into_iter().zip(times_n) {
            let found = n as f64 * variance(c, n);
            assert!((found / expected - 1.0).abs() < 0.01, "c = {c}, n = {n}: {found}");
        }
    }
    // Baseline, its blocks per stage, c, the primal and its gain, the dual.
    for (name, blocks, c, primal, gain, dual) in [
        ("resnext29-1x128d", &[3usize, 3, 3][..], 0.0, "102x4d", 2.98, Some("47x3d")),
        ("resnext29-1x128d", &[3, 3, 3], 0.3, "66x6d", 2.82, Some("20x7d")),
        ("resnext29-1x128d", &[3, 3, 3], 0.6, "66x6d", 2.68, Some("18x8d")),
        ("resnext29-1x128d", &[3, 3, 3], 0.9, "37x10d", 2.58, Some("13x11d")),
        ("resnext50-32x4d", &[3, 4, 6, 3], 0.0, "32x4d", 1.0, None),
        ("resnext50-32x4d", &[3, 4, 6, 3], 0.3, "32x4d", 1.0, None),
        ("resnext50-32x4d", &[3, 4, 6, 3], 0.6, "25x5d", 1.01, None),
        ("resnext50-32x4d", &[3, 4, 6, 3], 0.9, "13x9d", 1.04, None),
    ] {
        let baseline = spec(name);
        let own = white(name).baseline_design.unwrap();
        let parameters = |design: Design| {
            baseline.with_design(design).unwrap().graph().unwrap().counts().unwrap().total.parameters
        };
        let member = |n: usize| {
            let stages = blocks.iter().enumerate();
            let sum: f64 = stages.map(|(s, &count)| count as f64 * variance(c, n << s)).sum();
            sum / blocks.iter().sum::<usize>() as f64
        };
        let score = |design: Design| member(design.width) / design.multiplicity as f64;
        let (budget, target) = (parameters(own), score(own));
        let mut best = (own, target);
        let mut cheapest = (own, budget);
        for n in 2..=32 {
            // Parameters are linear in m.
            let at = |m: usize| Design::new(m, n).unwrap();
            let (one, two) = (parameters(at(1)), parameters(at(2)));
            let within = at((1 + (budget - one) / (two - one)) as usize);
            assert!(parameters(within) <= budget);
            if score(within) < best.1 * (1.0 - 1e-9) {
                best = (within, score(within));
            }
            let enough = at((member(n) / target * (1.0 - 1e-12)).ceil() as usize);
            if parameters(enough) < cheapest.1 {
                cheapest = (enough, parameters(enough));
            }
        }
        assert_eq!(best.0, design(primal), "{name}, c = {c}");
        assert!((target / best.1 - gain).abs() < 0.011, "{name}, c = {c}: {}", target / best.1);
        assert!(dual.is_none_or(|dual| cheapest.0 == design(dual)), "{name}, c = {c}: {}", cheapest.0);
    }
}

/// Stage 1 alone, by parameters: 14.8 members of width 9, or 13.26 of width 10, have the variance
/// of one of width 128.
#[test]
fn the_papers_block_by_itself() {
    let answer = search("bottleneck-128").run().unwrap();
    assert_eq!(answer.block_inputs, BlockInputs::White, "a module sees no network");
    // With a norm on every member's output, as the paper charges, the optimum is 9, and 7 to 12 are
    // within 1 %.
    let charged = |n: f64| 512.0 * n + 9.0 * n * n + 4.0 * n + 512.0;
    let objective = |width: usize| answer.curve[width - 1].variance * charged(width as f64);
    let best = (1..=128).min_by(|&a, &b| objective(a).total_cmp(&objective(b))).unwrap();
    assert_eq!(best, 9);
    assert!((7..=12).all(|width| objective(width) <= 1.01 * objective(9)));
    let at = |width: usize| answer.curve.iter().find(|point| point.width == width).unwrap().dual_multiplicity;
    assert!((at(10) - 13.26).abs() < 0.05 && (at(9) - 14.8).abs() < 0.05, "{} {}", at(10), at(9));
    assert!(answer.other_inputs.is_none());
}

#[test]
fn network_inputs_favour_wider_members() {
    let answer = search("resnext29-1x128d").run().unwrap();
    assert_eq!(answer.block_inputs, BlockInputs::Network);
    assert!(answer.primal.width > 4, "{}", answer.primal.design);
    assert_eq!(answer.blocks.iter().map(|block| block.count).sum::<usize>(), 9);
    let other = answer.other_inputs.unwrap();
    assert_eq!(
        (other.block_inputs, other.primal, other.dual),
        (BlockInputs::White, design("102x4d"), design("47x3d"))
    );
    assert!(other.primal_distance >= 0.0 && other.score_ratio > 1.0);
}

/// A whole network, every (m, n), both kinds of inputs: the promise is 50 ms, and this machine may
/// be busy and unoptimised.
#[test]
fn a_search_is_quick() {
    let start = Instant::now();
    search("resnext50-32x4d").run().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 2.0, "{seconds} s");
}

/// The group width of a RegNet: what its authors took as 16 in all stages.
#[test]
fn regnets_have_a_group_width_to_choose() {
    for (name, inputs) in [("regnet_x_400mf", BlockInputs::White), ("regnet_y_400mf", BlockInputs::Network)] {
        let answer = search(name).block_inputs(inputs).run().unwrap();
        assert!(answer.primal.network.parameters <= answer.baseline_parameters, "{name}");
        assert!(
            answer.primal.network.score <= answer.baseline_score && answer.dual.network.cost_ratio >= 1.0,
            "{name}"
        );
        let blocks: usize = answer.blocks.iter().map(|block| block.count).sum();
        assert_eq!(blocks, spec(name).blocks().unwrap().iter().map(|block| block.count).sum::<usize>());
        // The design's own score is what a network built with it has.
        let built = spec(name).with_design(answer.primal.design).unwrap();
        let score = ScoredBlocks::of(&built, inputs, &Images::natural()).unwrap().score();
        assert!((score / answer.primal.network.score - 1.0).abs() < 1e-9, "{name}: {score}");
    }
    assert_eq!(search("regnet_x_400mf").run().unwrap().baseline_design, Some(design("2x16d")));
}

/// Every (m, n) of a small network with its real counts and its own score, one after the other.
#[test]
fn nothing_beats_the_optimum() {
    let toml = "kind = \"resnext\"\nstem = \"small\"\nblocks = [1, 2]\ndesign = \"2x6d\"\nclasses = 10\nimage = 8\nstem_channels = 8\noutputs = 16";
    let baseline = Spec::from_toml(toml).unwrap();
    for cost in [Cost::Params, Cost::Flops] {
        let budget = baseline.graph().unwrap().counts().unwrap().total.of(cost).unwrap();
        let answer = DesignSearch::new(baseline.clone())
            .block_inputs(BlockInputs::White)
            .within(Limits::new().cost(cost))
            .run()
            .unwrap();
        let score = |design: Design| {
            ScoredBlocks::of(&baseline.with_design(design).unwrap(), BlockInputs::White, &Images::natural())
                .unwrap()
                .score()
        };
        let price = |design: Design| {
            baseline.with_design(design).unwrap().graph().unwrap().counts().unwrap().total.of(cost).unwrap()
        };
        let target = score(design("2x6d")) * (1.0 + 1e-9);
        let (mut lowest, mut cheapest) = (f64::INFINITY, u64::MAX);
        for (m, n) in (1..60).flat_map(|m| (1..=12).map(move |n| (m, n))) {
            let candidate = Design::new(m, n).unwrap();
            if price(candidate) <= budget {
                lowest = lowest.min(score(candidate));
            }
            if score(candidate) <= target {
                cheapest = cheapest.min(price(candidate));
            }
        }
        assert!((answer.primal.network.score / lowest - 1.0).abs() < 1e-12, "{:?} {lowest}", answer.primal);
        assert_eq!(price(answer.dual.design), cheapest, "{:?}", answer.dual);
        assert!((score(answer.primal.design) / answer.primal.network.score - 1.0).abs() < 1e-12);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Several costs, none of which may rise by more than the tolerance: every (m, n) by brute
    /// force. Nothing that is looked at beats an optimum, or a design of the fronts by its cost.
    #[test]
    fn no_cost_rises_and_nothing_beats_the_optimum(
        members in 1usize..4, width in 3usize..8, second in 0usize..2, flops_first: bool, tolerance in 0.0f64..0.3,
    ) {
        let toml = format!("kind = \"resnext\"\nstem = \"small\"\nblocks = [1, 2]\ndesign = \"{members}x{width}d\"\nclasses = 10\nimage = 8\nstem_channels = 8\noutputs = 16");
        let baseline = Spec::from_toml(&toml).unwrap();
        let first = if flops_first { Cost::Flops } else { Cost::Params };
        let other = [if flops_first { Cost::Params } else { Cost::Flops }, Cost::Activations][second];
        let costs: Costs = format!("{first},{other}").parse().unwrap();
        let limits = Limits::new().cost(costs.clone()).tolerance(tolerance);
        let search = DesignSearch::new(baseline.clone()).block_inputs(BlockInputs::White).within(limits);
        let answer = search.run().unwrap();
        let totals = |spec: &Spec| spec.graph().unwrap().counts().unwrap().total;
        let own = totals(&baseline);
        let fits = |totals: &Totals, cost: Cost| {
            let own = own.of(cost).unwrap();
            totals.of(cost).unwrap() <= own + (own as f64 * tolerance) as u64
        };
        let target = answer.baseline_score * (1.0 + 1e-9);
        let mut all = vec![];
        for (m, n) in (1..80).flat_map(|m| (1..=members * width).map(move |n| (m, n))) {
            let built = baseline.with_design(Design::new(m, n).unwrap()).unwrap();
            let score = ScoredBlocks::of(&built, BlockInputs::White, &Images::natural()).unwrap().score();
            all.push((score, totals(&built)));
        }
        let allowed: Vec<_> = all.iter().filter(|(_, totals)| costs.iter().all(|cost| fits(totals, cost))).collect();
        let lowest = allowed.iter().map(|(score, _)| *score).fold(f64::INFINITY, f64::min);
        prop_assert!((answer.primal.network.score / lowest - 1.0).abs() < 1e-9);
        let good = all.iter().filter(|(score, totals)| *score <= target && fits(totals, other));
        let cheapest = good.map(|(_, totals)| totals.of(first).unwrap()).min();
        let dual = totals(&baseline.with_design(answer.dual.design).unwrap());
        prop_assert_eq!(dual.of(first), cheapest);
        prop_assert_eq!(dual.activations, answer.dual.network.activations);
        prop_assert!(fits(&dual, other));
        prop_assert_eq!(answer.pareto.iter().filter(|row| row.primal).count(), 1);
        prop_assert_eq!(answer.pareto.iter().filter(|row| row.dual).count(), 1);
        for row in &answer.pareto {
            let cost = |cost: Cost| match cost {
                Cost::Params => row.network.parameters,
                Cost::Flops => row.network.flops,
                _ => row.network.activations,
            };
            for &by in &row.fronts {
                let beaten = allowed.iter().filter(|(_, totals)| fits(totals, by)).any(|(score, totals)| {
                    let (score, price) = (score / row.network.score, totals.of(by).unwrap());
                    (score < 1.0 - 1e-9 && price <= cost(by)) || (score <= 1.0 + 1e-12 && price < cost(by))
                });
                prop_assert!(!beaten, "{:?}", row);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_row_of_the_table_is_better(which in 0usize..7, share in 0.3f64..2.0, nearest: bool, flops: bool) {
        let name = ["resnext29-1x128d", "resnext29-3x64d", "fc6-100", "bottleneck-1x30d", "fc3-20,50", "regnet_x_400mf", "regnet_y_400mf"][which];
        let cost = if flops { Cost::Flops } else { Cost::Params };
        let total = spec(name).graph().unwrap().counts().unwrap().total.of(cost).unwrap();
        let budget = (share * total as f64) as u64;
        let rule = if nearest { Rule::Nearest } else { Rule::Under };
        let answer = search(name).within(Limits::new().cost(cost).budget(budget).rule(rule)).run().unwrap();
        for row in &answer.nearby {
            prop_assert!(row.distance >= 0.0, "{:?} beats {:?}", row, answer.primal);
            if row.problem == Problem::Dual {
                prop_assert!(row.network.score_ratio >= 1.0 - 1e-9);
            }
        }
        if rule == Rule::Under {
            let counts = spec(name).with_design(answer.primal.design).unwrap().graph().unwrap().counts().unwrap();
            prop_assert!(counts.total.of(cost).unwrap() <= budget);
        }
        prop_assert!(answer.dual.network.score <= answer.baseline_score * (1.0 + 1e-9));
    }
}

/// Members as wide as a grouped baseline's whole inner width cost several times its budget: the
/// nearest m to the budget is then none at all.
#[test]
fn the_nearest_design_costs_about_the_budget() {
    for name in ["resnext50-32x4d", "resnext29-8x16d", "bottleneck-144x1d"] {
        let answer = search(name).within(Limits::new().rule(Rule::Nearest)).run().unwrap();
        assert!((0.6..1.6).contains(&answer.primal.network.cost_ratio), "{name}: {:?}", answer.primal);
    }
}

#[test]
fn edges_and_lists_are_told() {
    let answer = search("resnext29-1x128d").within(Limits::new().widths(vec![20, 30, 500])).run().unwrap();
    assert_eq!((answer.primal.width, answer.primal.edge), (20, Some(Edge::Narrowest)));
    assert_eq!(answer.left_out, [500]);
    let few = search("resnext29-1x128d").within(Limits::new().max_multiplicity(4)).run().unwrap();
    assert!(few.primal.design.multiplicity <= 4 && few.primal.width > 30, "{}", few.primal.design);
    assert_eq!(
        search("resnext29-1x128d").within(Limits::new().multiple_of(8)).run().unwrap().primal.width % 8,
        0
    );
    let refusal =
        search("resnext29-1x128d").within(Limits::new().budget(1000)).run().unwrap_err().to_string();
    assert!(refusal.contains("no design fits a budget of 1000") && refusal.contains("1x1d"), "{refusal}");
    let none = search("bottleneck-8").within(Limits::new().multiple_of(16)).run().unwrap_err().to_string();
    assert!(none.contains("inner width 8"), "{none}");
    assert!(search("bottleneck-1").run().unwrap_err().to_string().contains("at least 2"));
    assert!(search("wrn28-10").run().is_err());
    assert!(
        search("resnext29-1x128d").within(Limits::new().widths(vec![200])).run().is_err(),
        "200 is above the inner width"
    );
}

/// Modules without a closed form are sampled, to the requested precision.
#[test]
fn modules_without_a_formula_are_sampled() {
    let toml = "kind = \"sequence\"\ninput = { channels = 6 }\nlayers = [{ type = \"dense\", width = 12, activation = \"tanh\" }, \
                { type = \"dense\", width = 12, activation = \"tanh\" }, { type = \"dense\", width = 1 }]\n";
    let baseline = Spec::from_toml(toml).unwrap();
    let widths = vec![2, 6, 12];
    let answer = DesignSearch::new(baseline.clone())
        .sampling(0.05, 3)
        .within(Limits::new().widths(widths.clone()))
        .run()
        .unwrap();
    assert_eq!(answer.variance_source, VarianceSource::Measured);
    assert!(answer.blocks.is_empty());
    // The draws themselves, and every design one after the other.
    let module = baseline.module().unwrap();
    let samples = measure_variance(&module, &widths, 0.05, 3, &Silent).unwrap();
    assert_eq!(answer.baseline_score, samples[2].variance);
    let cost = |design| baseline.with_design(design).unwrap().graph().unwrap().counts().unwrap().total;
    let within = |&(_, design): &(f64, Design)| cost(design).parameters <= answer.budget;
    let designs = samples.iter().flat_map(|sample| {
        let design = |multiplicity| Design { multiplicity, width: sample.width };
        (1..=40).map(move |m| (sample.variance / m as f64, design(m)))
    });
    let best = designs.filter(within).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert_eq!((answer.primal.network.score, answer.primal.design), best);
    let refusal = DesignSearch::new(Spec::from_toml(toml).unwrap()).exact().run().unwrap_err().to_string();
    assert!(refusal.contains("tanh") && refusal.contains("layer"), "{refusal}");
}

/// The friendly designs are those of a search that is restricted to such widths.
#[test]
fn friendly_designs_are_the_best_of_their_multiples() {
    for name in ["resnext29-1x128d", "resnext50-1x64d", "bottleneck-7", "fc6-200"] {
        let answer = DesignSearch::new(name.parse().unwrap()).run().unwrap();
        for friendly in &answer.friendly {
            let limits = Limits::new().multiple_of(friendly.multiple_of);
            let restricted = DesignSearch::new(name.parse().unwrap()).within(limits).run().unwrap();
            let best = match friendly.design.problem {
                Problem::Primal => restricted.primal,
                Problem::Dual => restricted.dual,
            };
            assert_eq!(
                (friendly.design.design, friendly.design.network),
                (best.design, best.network),
                "{name}"
            );
            assert!(friendly.design.distance >= 0.0);
        }
        let of_primal = answer.friendly.iter().filter(|other| other.design.problem == Problem::Primal);
        let listed: Vec<Design> = of_primal.map(|other| other.design.design).collect();
        let own = answer.primal.design.width;
        let widest = answer.curve.last().unwrap().width;
        let steps = [8, 16].into_iter().filter(|step| !own.is_multiple_of(*step) && widest >= *step);
        let best =
            |step| DesignSearch::new(spec(name)).within(Limits::new().multiple_of(step)).run().unwrap();
        let mut expected: Vec<Design> = steps.map(|step| best(step).primal.design).collect();
        expected.dedup();
        assert_eq!(listed, expected, "{name}");
    }
    // Multiple of 8 and of 16 are the same design of fc6-100.
    let answer = DesignSearch::new(spec("fc6-100")).run().unwrap();
    let listed = answer.friendly.iter().filter(|other| other.design.problem == Problem::Primal);
    assert_eq!(listed.map(|other| other.multiple_of).collect::<Vec<_>>(), [16]);
}

/// Both widths of a block scale together: what is announced is what the network counts, and widths
/// that suit hardware do so twice.
#[test]
fn blocks_of_two_widths_cost_what_is_announced() {
    for name in ["bottleneck-2x32_48d", "bottleneck-3x24_8d"] {
        let baseline = spec(name);
        let answer = DesignSearch::new(baseline.clone()).run().unwrap();
        let friendly = answer.friendly.iter().map(|other| &other.design);
        let others = answer.nearby.iter().chain(friendly.clone());
        let optima = [&answer.primal, &answer.dual].map(|best| (best.design, best.network));
        for (design, network) in others.map(|other| (other.design, other.network)).chain(optima) {
            let own = baseline.with_design(design).unwrap();
            let totals = own.totals().unwrap();
            assert_eq!([network.parameters, network.flops], [totals.parameters, totals.flops], "{own}");
            let score = ScoredBlocks::of(&own, BlockInputs::White, &Images::natural()).unwrap().score();
            assert!((score / network.score - 1.0).abs() < 1e-12, "{own}");
        }
        for design in friendly.map(|other| other.design) {
            let widths = baseline.with_design(design).unwrap().module().unwrap().widths();
            assert!(widths.iter().all(|width| width.is_multiple_of(8)), "{name}: {widths:?}");
        }
        assert_eq!(baseline.with_design(answer.baseline_design.unwrap()).unwrap(), baseline);
    }
}

/// Between whole widths: the variance is a polynomial in 1/n, which the whole widths fix, and the
/// objectives follow from it and from a cost that is quadratic in n.
#[test]
fn the_fine_curve_meets_the_whole_widths_and_is_smooth_between_them() {
    for name in ["resnext29-1x128d", "resnext50-32x4d", "regnet_x_400mf", "fc6-100", "bottleneck-1x30d"] {
        let search = DesignSearch::new(spec(name));
        let (curve, fine) = (search.run().unwrap().curve, search.fine_curve().unwrap());
        assert_eq!(fine.len(), 33, "{name}");
        // Newton's interpolation through whole widths, in 1/n.
        let nodes: Vec<(f64, f64)> =
            curve[..9].iter().map(|point| (1.0 / point.width as f64, point.variance)).collect();
        let polynomial = |x: f64| -> f64 {
            let term = |&(own, value): &(f64, f64)| {
                let others = nodes.iter().filter(|(other, _)| *other != own);
                others.fold(value, |product, (other, _)| product * (x - other) / (own - other))
            };
            nodes.iter().map(term).sum()
        };
        for point in &fine {
            let expected = polynomial(1.0 / point.width);
            assert!((point.variance / expected - 1.0).abs() < 1e-6, "{name}: {point:?}, {expected}");
            if let Some(whole) = curve.iter().find(|whole| whole.width as f64 == point.width) {
                for (fine, whole) in [
                    (point.variance, whole.variance),
                    (point.primal_objective, whole.primal_objective),
                    (point.efficiency, whole.efficiency),
                ] {
                    assert!((fine / whole - 1.0).abs() < 1e-12, "{name}: {point:?}");
                }
            }
        }
        for (left, right) in fine.iter().zip(&fine[1..]) {
            assert!(left.variance > right.variance, "{name}: {left:?} {right:?}");
        }
    }
    // Where widths are left out there is nothing to put points between.
    let coarse = DesignSearch::new(spec("resnext29-1x128d")).within(Limits::new().multiple_of(8));
    assert_eq!(coarse.fine_curve().unwrap(), []);
}

/// In the standard parametrisation the curve and the scores are the variances of the moments, and
/// no design that fits is better.
#[test]
fn standard_variances_are_those_of_the_moments() {
    let variance = |network: &Spec| {
        let chain = network.module().unwrap().sequence();
        let exact = OnePosition::parametrised(&chain, Parametrisation::Standard).unwrap();
        exact.white().unwrap().variance()
    };
    let standard =
        |network: &Spec| DesignSearch::new(network.clone()).parametrisation(Parametrisation::Standard);
    let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected;

    let dense = spec("fc6-200");
    let limits = Limits::new().widths(vec![1, 3, 24, 45, 200]);
    for point in standard(&dense).within(limits).run().unwrap().curve {
        let expected = variance(&dense.with_design(Design::new(2, point.width).unwrap()).unwrap());
        assert!(close(point.variance, expected), "{}: {} {expected}", point.width, point.variance);
    }

    // Convolutions are drawn by the fan-out of all members.
    let block = spec("bottleneck-24");
    let answer = standard(&block).run().unwrap();
    assert_eq!(answer.parametrisation, Parametrisation::Standard);
    let own = variance(&block);
    assert!(close(answer.baseline_score, own), "{} {own}", answer.baseline_score);
    let (mut least, mut cheapest) = (f64::INFINITY, u64::MAX);
    for (n, m) in (1..=24).flat_map(|n| (1..=60).map(move |m| (n, m))) {
        let network = block.with_design(Design::new(m, n).unwrap()).unwrap();
        let (score, cost) = (variance(&network) / m as f64, network.totals().unwrap().parameters);
        if cost <= answer.baseline_parameters {
            least = least.min(score);
        }
        if score <= own * (1.0 + 1e-9) {
            cheapest = cheapest.min(cost);
        }
    }
    let (primal, dual) = (&answer.primal.network, &answer.dual.network);
    assert!(close(primal.score, least), "{} {least}", primal.score);
    assert_eq!(dual.parameters, cheapest);
    let point = answer.curve.iter().find(|point| point.width == answer.dual.width).unwrap();
    let m = point.dual_multiplicity;
    assert!((m.floor()..=m.ceil() + 1.0).contains(&(answer.dual.design.multiplicity as f64)), "{m}");

    let refusal = standard(&spec("resnext29-1x128d")).stages(collegial_search::Freedom::Stages).unwrap_err();
    assert!(refusal.to_string().contains("NTK parametrisation"), "{refusal}");
}
