//! The same bits on any number of threads.

mod reference;
mod stepper;

use collegial_arch::Spec;
use collegial_nn::{Mode, Network, UpdateRule};
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

#[test]
fn networks_that_stay_on_one_thread_give_the_same_bits() {
    let block = "kind = 'bottleneck'\ninputs = 9\noutputs = 9\nwidth = 70\nimage = 7\nnorm = 'none'";
    let graph = Spec::from_toml(block).and_then(|spec| spec.graph()).expect("the spec is valid");
    let image: Vec<f32> = (0..9 * 49).map(|x| (x % 23) as f32 / 11.0 - 1.0).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool starts");
    let bits = |alone: bool| {
        pool.install(|| {
            let builder = Network::builder(&graph).batch(1).seed(5);
            let mut network = if alone { builder.one_thread() } else { builder }.build().expect("a network");
            let output = network.forward(&image, Mode::Evaluate).expect("an image").to_vec();
            network.backward(&output).expect("a gradient");
            let all = output.iter().chain(network.gradients());
            all.map(|x| x.to_bits()).collect::<Vec<u32>>()
        })
    };
    assert!(bits(true) == bits(false));
}
