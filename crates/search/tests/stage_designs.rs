//! More freedom than one design for all stages: against one design, against the bound, and against
//! every choice of a small network.

use collegial_arch::{Cost, Spec, StageDesign};
use collegial_ntk::covariance::Images;
use collegial_search::{BlockInputs, DesignSearch, Error, Freedom, Limits, ScoredBlocks, StageAnswer};

fn parameters(spec: &Spec) -> u64 {
    spec.graph().unwrap().counts().unwrap().total.parameters
}

fn score(spec: &Spec, inputs: BlockInputs) -> f64 {
    ScoredBlocks::of(spec, inputs, &Images::natural()).unwrap().score()
}

fn answer(spec: &Spec, inputs: BlockInputs, freedom: Freedom) -> StageAnswer {
    DesignSearch::new(spec.clone()).block_inputs(inputs).stages(freedom).unwrap()
}

#[test]
fn more_freedom_is_never_worse_and_every_name_is_a_model() {
    for name in ["resnext29-1x128d", "resnext50-32x4d", "regnet_x_400mf"] {
        let spec: Spec = name.parse().unwrap();
        for inputs in [BlockInputs::White, BlockInputs::Network] {
            let one = DesignSearch::new(spec.clone()).block_inputs(inputs).run().unwrap();
            let stages = answer(&spec, inputs, Freedom::Stages);
            let free = answer(&spec, inputs, Freedom::StagesAndWidths);
            let moved = stages.moved.as_ref().unwrap();
            assert!(
                moved.primal.network.score <= one.primal.network.score
                    && moved.primal.network.score <= stages.kept.primal.network.score
            );
            assert!(moved.dual.network.cost_ratio >= one.dual.network.cost_ratio);
            assert!(moved.primal.gap < 0.02 && moved.dual.gap < 0.02, "{name}: {moved:?}");
            assert!(free.kept.primal.network.score <= stages.kept.primal.network.score * (1.0 + 1e-9));
            for designs in
                [&stages.kept.primal, &stages.kept.dual, &moved.primal, &moved.dual, &free.kept.primal]
            {
                let model = designs.model.as_deref().unwrap();
                let named: Spec = model.parse().unwrap();
                assert_eq!(parameters(&named), designs.network.parameters, "{model}");
                let own = score(&named, inputs);
                assert!(
                    (own / designs.network.score - 1.0).abs() < 1e-9,
                    "{}: {own} {}",
                    model,
                    designs.network.score
                );
            }
            for one in [&stages.kept.primal, &stages.kept.dual] {
                let numbers = one.members.iter().zip(&one.widths);
                let designs = numbers.map(|(&members, &widths)| StageDesign::new(members, widths).unwrap());
                assert_eq!(designs.collect::<Vec<_>>(), one.designs);
            }
            assert!(stages.kept.primal.network.parameters <= parameters(&spec));
            assert!(stages.kept.dual.network.score <= stages.baseline_score * (1.0 + 1e-9));
        }
    }
}

/// With cost kept no stage costs more than it did; with variance kept none varies more.
#[test]
fn stages_keep_what_they_cost() {
    let spec: Spec = "resnext29-1x128d".parse().unwrap();
    let stages = answer(&spec, BlockInputs::Network, Freedom::Stages);
    for stage in 0..3 {
        let mut designs: Vec<StageDesign> =
            (0..3).map(|s| StageDesign::new(1, [128 << s; 2]).unwrap()).collect();
        designs[stage] = stages.kept.primal.designs[stage];
        let mixed = spec.with_stage_designs(&designs).unwrap();
        assert!(parameters(&mixed) <= parameters(&spec), "stage {}: {}", stage + 1, mixed.name());
        designs[stage] = stages.kept.dual.designs[stage];
        let mixed = spec.with_stage_designs(&designs).unwrap();
        let before = score(&spec, BlockInputs::Network);
        assert!(score(&mixed, BlockInputs::Network) <= before * (1.0 + 1e-9), "stage {}", stage + 1);
    }
}

#[test]
fn two_widths_for_all_stages() {
    let spec: Spec = "resnext29-1x128d".parse().unwrap();
    let one = DesignSearch::new(spec.clone()).run().unwrap();
    let free = answer(&spec, BlockInputs::Network, Freedom::Widths);
    assert!(free.moved.is_none() && free.kept.primal.network.score <= one.primal.network.score);
    let first = free.kept.primal.designs[0];
    let last = free.kept.primal.designs[2];
    assert_eq!((last.multiplicity, last.widths), (first.multiplicity, first.widths.map(|width| 4 * width)));
    assert_eq!(
        parameters(&free.kept.primal.model.as_deref().unwrap().parse().unwrap()),
        free.kept.primal.network.parameters
    );
    let eights =
        DesignSearch::new(spec).within(Limits::new().multiple_of(8)).stages(Freedom::Widths).unwrap();
    assert!(eights.kept.primal.designs[0].widths.iter().all(|width| width % 8 == 0));
}

#[test]
fn what_has_no_stages_is_told_so() {
    let stages = |name: &str, freedom| DesignSearch::new(name.parse().unwrap()).stages(freedom).unwrap_err();
    assert!(matches!(stages("bottleneck-64", Freedom::Stages), Error::NoStages { .. }));
    let own = stages("regnet_x_400mf", Freedom::Widths).to_string();
    assert!(own.contains("have widths of their own"), "{own}");
    let small = DesignSearch::new("resnext29-1x128d".parse().unwrap()).within(Limits::new().budget(600_000));
    assert!(
        small.stages(Freedom::Stages).unwrap_err().to_string().contains("no designs per stage fit a budget")
    );
}

/// Two stages of one block: every pair of designs, within the gap that the answer claims.
#[test]
fn no_other_designs_are_better_than_the_gap_says() {
    let toml = "kind = \"resnext\"\nstem = \"small\"\nblocks = [1, 1]\ndesign = \"1x3d\"\nclasses = 4\nimage = 8\nstem_channels = 6\noutputs = 8";
    let spec = Spec::from_toml(toml).unwrap();
    let found = DesignSearch::new(spec.clone())
        .within(Limits::new().cost(Cost::Params))
        .block_inputs(BlockInputs::White)
        .stages(Freedom::Stages)
        .unwrap();
    let moved = found.moved.unwrap();
    assert!(moved.primal.designs.iter().all(|design| design.multiplicity < 40));
    let (mut lowest, mut lowest_kept) = (f64::INFINITY, f64::INFINITY);
    let own = [StageDesign::new(1, [3, 3]).unwrap(), StageDesign::new(1, [6, 6]).unwrap()];
    let designs = |most: usize, widest: usize| {
        (1..=most).flat_map(move |m| (1..=widest).map(move |n| StageDesign::new(m, [n, n]).unwrap()))
    };
    let fits = |designs: [StageDesign; 2]| {
        parameters(&spec.with_stage_designs(&designs).unwrap()) <= parameters(&spec)
    };
    for (a, b) in designs(40, 3).flat_map(|a| designs(40, 6).map(move |b| (a, b))) {
        let candidate = spec.with_stage_designs(&[a, b]).unwrap();
        if fits([a, b]) {
            let score = score(&candidate, BlockInputs::White);
            lowest = lowest.min(score);
            if fits([a, own[1]]) && fits([own[0], b]) {
                lowest_kept = lowest_kept.min(score);
            }
        }
    }
    let primal = &moved.primal;
    assert!(primal.network.score >= lowest * (1.0 - 1e-9), "{} {lowest}", primal.network.score);
    assert!(primal.network.score <= lowest * (1.0 + primal.gap + 1e-9), "{} {lowest}", primal.network.score);
    let kept = &found.kept.primal;
    assert!((kept.network.score / lowest_kept - 1.0).abs() < 1e-9, "{} {lowest_kept}", kept.network.score);
}
