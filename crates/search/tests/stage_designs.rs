//! One design per stage: against one design for all, against the bound, and against every choice of a small network.

use collegial_arch::{Cost, Spec, StageDesign};
use collegial_ntk::covariance::Images;
use collegial_search::{BlockInputs, DesignSearch, MemberWidths, ScoredBlocks, StageAnswer, stage_designs};

fn budget(spec: &Spec) -> u64 {
    spec.graph().unwrap().counts().unwrap().total.parameters
}

fn per_stage(spec: &Spec, inputs: BlockInputs, widths: MemberWidths) -> StageAnswer {
    stage_designs(spec, Cost::Params, budget(spec), (inputs, &Images::natural()), widths).unwrap()
}

#[test]
fn designs_per_stage_are_at_least_as_good_as_one_for_all() {
    for name in ["resnext29-1x128d", "resnext50-32x4d"] {
        let spec: Spec = name.parse().unwrap();
        for inputs in [BlockInputs::White, BlockInputs::Network] {
            let one = DesignSearch::new(spec.clone()).block_inputs(inputs).run().unwrap();
            let answer = per_stage(&spec, inputs, MemberWidths::Equal);
            assert!(
                answer.primal.score <= one.primal.score,
                "{name}: {} {}",
                answer.primal.score,
                one.primal.score
            );
            assert!(
                answer.primal.parameters <= budget(&spec) && answer.dual.parameters <= one.dual.parameters
            );
            assert!(answer.dual.score <= answer.baseline_score * (1.0 + 1e-9));
            assert!(answer.primal.gap < 0.01 && answer.dual.gap < 0.01, "{answer:?}");
            // The name is a model whose counts and score are those that were told.
            let named: Spec = answer.primal.model.parse().unwrap();
            assert_eq!(budget(&named), answer.primal.parameters);
            let score = ScoredBlocks::of(&named, inputs, &Images::natural()).unwrap().score();
            assert!((score / answer.primal.score - 1.0).abs() < 1e-9, "{score} {}", answer.primal.score);
            let free = per_stage(&spec, inputs, MemberWidths::Free);
            assert!(free.primal.score <= answer.primal.score * (1.0 + 1e-9));
        }
    }
}

/// Two stages of one block: every pair of designs, within the gap that the answer claims.
#[test]
fn no_other_designs_are_better_than_the_gap_says() {
    let toml = "kind = \"resnext\"\nstem = \"small\"\nblocks = [1, 1]\ndesign = \"1x3d\"\nclasses = 4\nimage = 8\nstem_channels = 6\noutputs = 8";
    let spec = Spec::from_toml(toml).unwrap();
    let answer = per_stage(&spec, BlockInputs::White, MemberWidths::Equal);
    assert!(answer.primal.designs.iter().all(|design| design.multiplicity < 40));
    let mut lowest = f64::INFINITY;
    let designs = |most: usize, widest: usize| {
        (1..=most).flat_map(move |m| (1..=widest).map(move |n| StageDesign::new(m, [n, n]).unwrap()))
    };
    for (a, b) in designs(40, 3).flat_map(|a| designs(40, 6).map(move |b| (a, b))) {
        let candidate = spec.with_stage_designs(&[a, b]).unwrap();
        if budget(&candidate) <= budget(&spec) {
            let score = ScoredBlocks::of(&candidate, BlockInputs::White, &Images::natural()).unwrap().score();
            lowest = lowest.min(score);
        }
    }
    assert!(answer.primal.score >= lowest * (1.0 - 1e-9), "{} {lowest}", answer.primal.score);
    assert!(
        answer.primal.score <= lowest * (1.0 + answer.primal.gap + 1e-9),
        "{} {lowest}",
        answer.primal.score
    );
}
