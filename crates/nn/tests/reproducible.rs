//! The same bits on any number of threads.

mod reference;
mod stepper;

use collegial_arch::{Activation, Conv, Dense, Graph, MaxPool, Shape, Spec};
use collegial_nn::{Mode, Network, Optimiser, UpdateRule};
use reference::normals;
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

/// Every kind of layer, narrow and wide, small enough for Miri (`cargo xtask miri`).
fn every_layer() -> Graph {
    let mut graph = Graph::new(Shape::image(2, 3)).expect("a small image");
    let build = |graph: &mut Graph| -> Result<(), collegial_arch::Error> {
        let first = graph.conv("conv1", 0, Conv::new(4, 3))?;
        let norm = graph.batch_norm("bn1", first)?;
        let relu = graph.activation("relu", norm, Activation::Relu)?;
        let second = graph.conv("conv2", relu, Conv::new(4, 3).groups(2))?;
        let norm = graph.batch_norm("bn2", second)?;
        let sum = graph.add("sum", norm, first)?;
        let relu = graph.activation("relu2", sum, Activation::Relu)?;
        let pooled = graph.max_pool("max", relu, MaxPool::new(3).stride(2).padding(1))?;
        let means = graph.global_average_pool("means", pooled)?;
        let gate = graph.conv("gate", means, Conv::new(4, 1).bias(true))?;
        let gate = graph.activation("sigmoid", gate, Activation::Sigmoid)?;
        let scaled = graph.scale("scale", pooled, gate)?;
        let members = graph.member_sum("members", scaled, 2)?;
        let pooled = graph.average_pool("average", members, 2)?;
        // Channels for two tasks, and a matrix product with norms before and behind it.
        let wide = graph.conv("wide1", pooled, Conv::new(66, 1))?;
        let norm = graph.batch_norm("bn3", wide)?;
        let relu = graph.activation("relu3", norm, Activation::Relu)?;
        let wide = graph.conv("wide2", relu, Conv::new(32, 1))?;
        let norm = graph.batch_norm("bn4", wide)?;
        let erf = graph.activation("erf", norm, Activation::Erf)?;
        let pooled = graph.global_average_pool("pool", erf)?;
        graph.dense("fc", pooled, Dense::new(3).bias(true))?;
        Ok(())
    };
    build(&mut graph).expect("shapes that fit");
    graph
}

#[test]
fn smallest_layers_give_the_same_bits_on_two_threads() {
    let graph = every_layer();
    let input = normals(2 * graph.input_shape().elements() as usize, 4);
    let bits = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool starts");
        pool.install(|| {
            let mut network = Network::builder(&graph).batch(2).seed(3).build().expect("a network");
            let mut optimiser = Optimiser::new(UpdateRule::ADAMW, network.values().len());
            let outputs = network.forward(&input, Mode::Train).expect("whole images").to_vec();
            network.backward(&outputs).expect("a forward pass came before");
            network.update(&mut optimiser, 0.05).expect("an optimiser of this network");
            let mut folded = network.folded_inference(2).expect("the network is valid");
            let logits = folded.forward(&input, Mode::Evaluate).expect("whole images").to_vec();
            let all = outputs.iter().chain(network.values()).chain(network.gradients()).chain(&logits);
            let bits: Vec<u32> = all.map(|x| x.to_bits()).collect();
            bits
        })
    };
    // Miri, which is slow, looks for races rather than bits.
    let two = bits(2);
    assert!(cfg!(miri) || bits(1) == two);
}
