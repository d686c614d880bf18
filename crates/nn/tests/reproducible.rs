//! The same bits on any number of threads.

mod reference;

use collegial_arch::Spec;
use collegial_nn::{Mode, Network, Optimiser, UpdateRule, cross_entropy};
use reference::normals;

/// Parameters, gradients and statistics after three steps.
fn bits(spec: &Spec, batch: usize, rule: UpdateRule, threads: usize) -> Vec<u32> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool starts");
    pool.install(|| {
        let graph = spec.graph().expect("the spec is valid");
        let mut network = Network::builder(&graph).batch(batch).build().expect("the graph is valid");
        network.initialise(3);
        let mut optimiser = Optimiser::new(rule, network.values().len());
        let input = normals(batch * graph.input_shape().elements() as usize, 4);
        let labels: Vec<usize> = (0..batch).map(|n| n % graph.output_shape().channels).collect();
        let mut gradient = vec![0.0; batch * graph.output_shape().channels];
        for _ in 0..3 {
            cross_entropy(
                network.forward(&input, Mode::Train).expect("whole images"),
                &labels,
                &mut gradient,
            )
            .expect("one row per label");
            network.backward(&gradient).expect("a forward pass came before");
            network.update(&mut optimiser, 0.05).expect("an optimiser of this network");
        }
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
