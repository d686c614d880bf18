//! Networks for inference, folded or not, agree with the trained networks.

mod reference;

use collegial_arch::Spec;
use collegial_nn::{Error, Mode, Network, NormPolicy};
use reference::{normals, randomise};

fn network(spec: &Spec, batch: usize) -> Network {
    let mut network = Network::builder(&spec.graph().expect("the spec is valid"))
        .batch(batch)
        .build()
        .expect("the graph is valid");
    randomise(&mut network, 11);
    network
}

fn specs() -> Vec<Spec> {
    let resnext = "kind = \"resnext\"\nstem = \"imagenet\"\nblocks = [2, 2]\nclasses = 7\nimage = 19\nstem_channels = 8\n\
                   outputs = 12\ndesign = \"3x5d\"\n";
    let resnext = Spec::from_toml(resnext).expect("the spec is valid");
    vec![resnext, "wrn10-1".parse().expect("a name"), "fc3-4x9".parse().expect("a name")]
}

/// Folding rounds every weight once more: 1e-5 of the largest logit for some ten layers.
const TOLERANCE: f32 = 1e-4;

#[test]
fn folded_and_unfolded_logits_agree() {
    for spec in specs() {
        let mut trained = network(&spec, 4);
        let input = normals(4 * trained.graph().input_shape().elements() as usize, 6);
        let expected = trained.forward(&input, Mode::Evaluate).expect("whole images").to_vec();
        let largest = expected.iter().fold(0.0_f32, |largest, x| x.abs().max(largest));
        for folded in [false, true] {
            let copy = if folded { trained.folded_inference(4) } else { trained.inference(4) };
            let mut copy = copy.expect("the network is valid");
            for (got, expected) in
                copy.forward(&input, Mode::Evaluate).expect("whole images").iter().zip(&expected)
            {
                assert!(
                    (got - expected).abs() <= TOLERANCE * largest,
                    "{spec}, folded {folded}: {got}, {expected}"
                );
            }
            assert!(copy.bytes() < trained.bytes(), "{spec}: activations share memory");
        }
    }
}

#[test]
fn a_folded_network_has_biases_for_norms() {
    let spec = &specs()[0];
    let folded = network(spec, 2).folded_inference(1).expect("the network is valid");
    assert_eq!(folded.statistics().count(), 0);
    assert!(folded.get("layer1.0.conv2.bias").is_ok());
    assert!(matches!(folded.get("layer1.0.bn2.weight"), Err(Error::UnknownTensor { .. })));
}

/// With norms removed there is nothing to fold.
#[test]
fn a_network_without_norms_folds_to_itself() {
    let graph = specs()[0].graph().expect("the spec is valid");
    let mut network =
        Network::builder(&graph).batch(2).norm(NormPolicy::None).seed(3).build().expect("the graph is valid");
    let input = normals(2 * graph.input_shape().elements() as usize, 6);
    let expected = network.forward(&input, Mode::Evaluate).expect("whole images").to_vec();
    let mut folded = network.folded_inference(2).expect("the network is valid");
    assert_eq!(folded.forward(&input, Mode::Evaluate).expect("whole images"), expected);
}

#[test]
fn images_of_a_batch_do_not_see_each_other() {
    let mut trained = network(&specs()[0], 3);
    let input = normals(3 * trained.graph().input_shape().elements() as usize, 8);
    let all = trained.forward(&input, Mode::Evaluate).expect("whole images").to_vec();
    let mut one = trained.inference(1).expect("the network is valid");
    for (image, expected) in input.chunks(input.len() / 3).zip(all.chunks(all.len() / 3)) {
        for (got, expected) in one.forward(image, Mode::Evaluate).expect("whole images").iter().zip(expected)
        {
            assert!((got - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{got}, {expected}");
        }
    }
}

/// The cache of prepared weights is refilled after every way to change them.
#[test]
fn changed_weights_count_from_the_next_pass_on() {
    let spec = &specs()[0];
    let trained = network(spec, 2);
    let input = normals(trained.graph().input_shape().elements() as usize, 8);
    let mut folded = trained.folded_inference(1).expect("the network is valid");
    let logits = |network: &mut Network| {
        network
            .forward(&input, Mode::Evaluate)
            .expect("one image")
            .iter()
            .map(|x| x.to_bits())
            .collect::<Vec<_>>()
    };
    let before = logits(&mut folded);
    assert_eq!(before, logits(&mut folded), "prepared weights give the same bits again");
    let name = "layer1.0.conv2.weight";
    let weights = folded.get(name).expect("a layer").to_vec();
    let doubled: Vec<f32> = weights.iter().map(|weight| 2.0 * weight).collect();
    folded.set(name, &doubled).expect("as many weights");
    let changed = logits(&mut folded);
    assert_ne!(before, changed);
    folded.set(name, &weights).expect("as many weights");
    assert_eq!(before, logits(&mut folded));
    let all = folded.values().to_vec();
    folded.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    assert_ne!(before, logits(&mut folded));
    folded.values_mut().copy_from_slice(&all);
    assert_eq!(before, logits(&mut folded));
}

/// Every kind of layer, also where images are single pixels, on one thread and on two.
#[test]
fn folded_logits_have_the_same_bits_on_any_number_of_threads() {
    for spec in specs() {
        let trained = network(&spec, 3);
        let input = normals(3 * trained.graph().input_shape().elements() as usize, 9);
        let bits = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool starts");
            pool.install(|| {
                let mut folded = trained.folded_inference(3).expect("the network is valid");
                let logits = folded.forward(&input, Mode::Evaluate).expect("whole images");
                logits.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            })
        };
        assert_eq!(bits(1), bits(2), "{spec}");
    }
}
