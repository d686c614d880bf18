//! The same bits on any number of threads.

mod reference;
mod stepper;

use collegial_arch::Spec;
use collegial_nn::UpdateRule;
use stepper::Stepper;

/// Parameters, gradients and statistics after three steps.
fn bits(spec: &Spec, batch: usize, rule: UpdateRule, threads: usize) -> Vec<u32> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool starts");
    pool.install(|| {
        let mut stepper = Stepper::new(spec, batch, rule, (3, 4));
        (0..3).for_each(|_| stepper.step(0.05));
        let network = stepper.network;
        let statistics = network.statistics().flat_map(|(_, values)| values.to_vec());
        let all = network.values().iter().chain(network.gradients()).copied().chain(statistics);
        let bits: Vec<u32> = all.map(f32::to_bits).collect();
        assert!(network.values().iter().all(|x| x.is_finite()));
        bits
    })
}

#[test]
fn steps_do_not_depend_on_threads() {
    let resnext = "kind = \"resnext\"\nstem = \"small\"\nblocks = [2, 2]\nclasses = 7\nimage = 24\nstem_channels = 20\n\
                   outputs = 36\ndesign = \"5x7d\"\n";
    let specs = [
        (Spec::from_toml(resnext).expect("the spec is valid"), 9, UpdateRule::SGD),
        ("fc5-11x37".parse().expect("the name is known"), 70, UpdateRule::ADAM),
        ("wrn10-1".parse().expect("the name is known"), 5, UpdateRule::ADAMW),
    ];
    for (spec, batch, rule) in specs {
        let one = bits(&spec, batch, rule, 1);
        assert!(one == bits(&spec, batch, rule, 2), "{spec} on two threads");
        assert!(one == bits(&spec, batch, rule, 5), "{spec} on five threads");
    }
}
