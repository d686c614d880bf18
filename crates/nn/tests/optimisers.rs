//! Update rules against their formulas in f64, and a network that learns.

use collegial_arch::Spec;
use collegial_core::Rng;
use collegial_nn::{AdamConstants, Error, Mode, Network, Optimiser, UpdateRule, cross_entropy};
use proptest::prelude::*;

fn normals(len: usize, trial: u64) -> Vec<f32> {
    let mut values = vec![0.0; len];
    Rng::new(9, 1, trial).fill_normal(&mut values);
    values
}

/// One parameter by PyTorch's formulas, as its documentation prints them.
fn reference(rule: UpdateRule, rate: f64, start: f64, gradients: &[f64]) -> f64 {
    let (mut p, mut first, mut second) = (start, 0.0, 0.0);
    for (step, &g) in gradients.iter().enumerate() {
        match rule {
            UpdateRule::Sgd { momentum, weight_decay, nesterov } => {
                let g = g + weight_decay * p;
                first = if step == 0 { g } else { momentum * first + g };
                p -= rate * if nesterov { g + momentum * first } else { first };
            }
            UpdateRule::Adam(constants) | UpdateRule::AdamW(constants) => {
                let AdamConstants { betas: [b1, b2], epsilon, weight_decay: decay } = constants;
                let decoupled = matches!(rule, UpdateRule::AdamW(_));
                let g = if decoupled { g } else { g + decay * p };
                if decoupled {
                    p -= rate * decay * p;
                }
                first = b1 * first + (1.0 - b1) * g;
                second = b2 * second + (1.0 - b2) * g * g;
                let t = step as i32 + 1;
                let (mean, square) = (first / (1.0 - b1.powi(t)), second / (1.0 - b2.powi(t)));
                p -= rate * mean / (square.sqrt() + epsilon);
            }
        }
    }
    p
}

fn rules() -> impl Strategy<Value = UpdateRule> {
    let sgd = (prop_oneof![Just(0.0), Just(0.9)], prop_oneof![Just(0.0), Just(5e-4)], any::<bool>())
        .prop_map(|(momentum, weight_decay, nesterov)| UpdateRule::Sgd {
            momentum,
            weight_decay,
            nesterov: nesterov && momentum > 0.0,
        });
    let adam = (prop_oneof![Just(0.0), Just(0.1)], any::<bool>()).prop_map(|(weight_decay, decoupled)| {
        let constants = AdamConstants { weight_decay, ..AdamConstants::USUAL };
        if decoupled { UpdateRule::AdamW(constants) } else { UpdateRule::Adam(constants) }
    });
    prop_oneof![sgd, adam]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn updates_follow_the_formulas(
        rule in rules(),
        len in prop_oneof![1..40usize, Just(16_384), Just(40_001)],
        steps in 1..6usize,
    ) {
        let rate = 0.01_f32;
        let start = normals(len, 0);
        let gradients: Vec<Vec<f32>> = (0..steps).map(|step| normals(len, 1 + step as u64)).collect();
        let mut values = start.clone();
        let mut optimiser = Optimiser::new(rule, len);
        for gradient in &gradients {
            optimiser.step(rate, &mut values, gradient).expect("as many as planned");
        }
        prop_assert_eq!(optimiser.steps(), steps as u64);
        for at in [0, len / 3, len / 2, len - 1] {
            let history: Vec<f64> = gradients.iter().map(|gradient| f64::from(gradient[at])).collect();
            let expected = reference(rule, f64::from(rate), f64::from(start[at]), &history);
            // Each step rounds a handful of times at 6e-8 of values of the order of 1.
            let error = (f64::from(values[at]) - expected).abs();
            prop_assert!(error <= 2e-6 * (1.0 + expected.abs()), "{:?}: {}, expected {}", rule, values[at], expected);
        }
    }
}

/// A group steps as an optimiser of its own would, with its own rate.
#[test]
fn parameter_groups_have_rates_of_their_own() {
    for rule in [UpdateRule::SGD, UpdateRule::ADAM, UpdateRule::ADAMW] {
        let gradients: Vec<Vec<f32>> = (1..4).map(|trial| normals(50, trial)).collect();
        let groups = vec![(0..1, 2.0), (1..1, 3.0), (1..38, 1.0), (38..50, 0.25)];
        let mut together = normals(50, 0);
        let mut apart = together.clone();
        let mut optimiser = Optimiser::new(rule, 50).groups(groups.clone()).unwrap();
        for gradient in &gradients {
            optimiser.step(0.01, &mut together, gradient).unwrap();
        }
        for (range, factor) in groups {
            let mut own = Optimiser::new(rule, range.len());
            for gradient in &gradients {
                own.step(0.01 * factor, &mut apart[range.clone()], &gradient[range.clone()]).unwrap();
            }
        }
        assert_eq!(together, apart, "{rule:?}");
        for wrong in [vec![], vec![(0..49, 1.0)], vec![(0..10, 1.0), (11..50, 1.0)]] {
            assert!(Optimiser::new(rule, 50).groups(wrong).is_err());
        }
    }
}

#[test]
fn restored_state_continues_exactly() {
    let (mut a, gradient) = (normals(100, 0), normals(100, 1));
    let mut first = Optimiser::new(UpdateRule::ADAM, 100);
    first.step(0.1, &mut a, &gradient).expect("as many as planned");
    let mut second = Optimiser::new(UpdateRule::ADAM, 100);
    for ((name, to), (other, from)) in second.state_mut().zip(first.state()) {
        assert_eq!(name, other);
        to.copy_from_slice(from);
    }
    second.set_steps(first.steps());
    let mut b = a.clone();
    first.step(0.1, &mut a, &gradient).expect("as many as planned");
    second.step(0.1, &mut b, &gradient).expect("as many as planned");
    assert_eq!(a, b);
}

#[test]
fn arrays_of_other_lengths_change_nothing() {
    for rule in [UpdateRule::SGD, UpdateRule::Sgd { momentum: 0.0, weight_decay: 0.0, nesterov: false }] {
        let mut optimiser = Optimiser::new(rule, 4);
        let mut values = [1.0; 4];
        let said = optimiser.step(0.1, &mut values[..3], &[1.0; 3]).unwrap_err().to_string();
        assert_eq!(said, "there are 3 parameters, but the optimiser was made for 4");
        let said = optimiser.step(0.1, &mut values, &[1.0; 5]).unwrap_err().to_string();
        assert_eq!(said, "there are 5 gradients, but 4 parameters");
        assert_eq!((values, optimiser.steps()), ([1.0; 4], 0));
    }
    let spec: Spec = "fc3-4x16".parse().expect("the name is known");
    let mut network = Network::builder(&spec.graph().expect("the spec is valid")).build().unwrap();
    let error = network.update(&mut Optimiser::new(UpdateRule::SGD, 7), 0.1).unwrap_err();
    let parameters = network.values().len();
    assert_eq!(error, Error::Optimiser { found: parameters, planned: 7 });
}

#[test]
fn a_small_ensemble_learns_its_batch() {
    let spec: Spec = "fc3-4x16".parse().expect("the name is known");
    let mut network = Network::builder(&spec.graph().expect("the spec is valid"))
        .batch(16)
        .build()
        .expect("the graph is valid");
    network.initialise(2);
    let mut optimiser = Optimiser::new(UpdateRule::ADAM, network.values().len());
    let (input, labels) = (normals(16 * 784, 3), (0..16).map(|n| n % 10).collect::<Vec<_>>());
    let mut gradient = vec![0.0; 160];
    let mut losses = Vec::new();
    for _ in 0..30 {
        let outputs = network.forward(&input, Mode::Train).expect("whole images");
        losses.push(cross_entropy(outputs, &labels, &mut gradient).expect("one row per label"));
        network.backward(&gradient).expect("a forward pass came before");
        network.update(&mut optimiser, 1e-3).expect("an optimiser of this network");
    }
    // Random labels on 16 random inputs: an over-parametrised network fits them; chance would be ln
    // 10 = 2.3.
    assert!(losses[29] < 0.1, "{losses:?}");
}
