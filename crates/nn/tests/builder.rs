//! Networks as the builder makes them: any number of images, every norm policy, errors, both
//! instruction sets.

mod reference;

use collegial_arch::{Graph, Spec};
use collegial_nn::kernels::Method;
use collegial_nn::{Error, Layout, Mode, Network, NormPolicy, Observed, Observer, Parametrisation};
use reference::{normals, randomise};

fn graph(text: &str) -> Graph {
    let spec = if text.contains('=') { Spec::from_toml(text) } else { text.parse() };
    spec.and_then(|spec| spec.graph()).expect("the spec is valid")
}

const RESNEXT: &str = "kind = 'resnext'\nstem = 'small'\nblocks = [1, 2]\nclasses = 3\nimage = 8\nstem_channels = 6\n\
                       outputs = 12\ndesign = '3x5d'\n";

fn networks() -> [Graph; 3] {
    [
        graph(RESNEXT),
        graph("fc3-4x9"),
        graph("kind = 'wide-resnet'\ndepth = 10\nfactor = 1\nstages = 3\nclasses = 2\nimage = 5"),
    ]
}

fn images(graph: &Graph, count: usize) -> Vec<f32> {
    normals(count * graph.input_shape().elements() as usize, 3)
}

fn close(got: &[f32], expected: &[f32], tolerance: f32) -> bool {
    let largest = expected.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    got.len() == expected.len()
        && got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() <= tolerance * largest)
}

#[test]
fn evaluation_takes_any_number_of_images() {
    for graph in networks() {
        let all = images(&graph, 11);
        let mut whole = Network::builder(&graph).batch(11).build().expect("a network");
        randomise(&mut whole, 4);
        let table = whole.tensors();
        let expected = whole.forward(&all, Mode::Evaluate).expect("images").to_vec();
        let (len, outputs) = (all.len() / 11, expected.len() / 11);
        for batch in [Some(1), Some(4), Some(64), None] {
            let builder = Network::builder(&graph).weights(&table);
            let builder = batch.into_iter().fold(builder, collegial_nn::NetworkBuilder::batch);
            let mut network = builder.build().expect("a network");
            for count in [11, 1, 5] {
                let got = network.forward(&all[..count * len], Mode::Evaluate).expect("images");
                assert!(close(got, &expected[..count * outputs], 1e-5), "{batch:?} {count}");
            }
        }
    }
}

#[test]
fn training_plans_anew_for_another_number_of_images() {
    for graph in networks() {
        let mut fixed = Network::builder(&graph).batch(5).seed(2).build().expect("a network");
        let mut open = Network::builder(&graph).seed(2).build().expect("a network");
        let outputs = graph.output_shape().elements() as usize;
        // The open one sees another batch first, whose statistics it forgets again.
        open.forward(&images(&graph, 3), Mode::Train).expect("images");
        open.set_tensors(&fixed.tensors()).expect("the same network");
        let x = images(&graph, 5);
        let gradient = normals(5 * outputs, 9);
        for network in [&mut fixed, &mut open] {
            network.forward(&x, Mode::Train).expect("images");
            network.backward(&gradient).expect("a forward pass came before");
        }
        assert_eq!(fixed.gradients(), open.gradients());
        assert_eq!(fixed.tensors(), open.tensors());
    }
}

#[test]
fn frozen_norms_train_as_they_evaluate_and_absent_ones_are_gone() {
    let graph = &networks()[0];
    let x = images(graph, 2);
    let mut usual = Network::builder(graph).build().expect("a network");
    randomise(&mut usual, 8);
    let table = usual.tensors();
    let expected = usual.forward(&x, Mode::Evaluate).expect("images").to_vec();
    let mut frozen =
        Network::builder(graph).norm(NormPolicy::Frozen).weights(&table).build().expect("a network");
    assert_eq!(frozen.forward(&x, Mode::Train).expect("images"), expected);
    assert_eq!(frozen.tensors(), table, "running statistics stay");
    // Norms that are the identity, up to the epsilon under the root: of 1e-5, three norms deep on
    // every path.
    let mut without = Network::builder(graph).norm(NormPolicy::None).seed(3).build().expect("a network");
    assert!(without.statistics().next().is_none() && without.get("bn1.weight").is_err());
    let mut identity = Network::builder(graph).norm(NormPolicy::Frozen).seed(3).build().expect("a network");
    // The seed draws by place among the parameters; the same weights are needed.
    for parameter in without.parameters() {
        identity
            .set(&parameter.name, without.get(&parameter.name).expect("its own"))
            .expect("the same shape");
    }
    let expected = without.forward(&x, Mode::Train).expect("images").to_vec();
    assert!(close(identity.forward(&x, Mode::Train).expect("images"), &expected, 1e-3));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let graph = graph("fc3-4x9");
    let mut network = Network::builder(&graph).batch(2).build().expect("a network");
    let x = images(&graph, 3);
    assert_eq!(network.forward(&[], Mode::Train).err(), Some(Error::Images { found: 0, expected: 784 }));
    let cut = network.forward(&x[1..], Mode::Evaluate).err().map(|error| error.to_string());
    let sentence = "2351 values were given, but the network takes images of 784 values each, at least one";
    assert_eq!(cut.as_deref(), Some(sentence));
    assert_eq!(network.backward(&[0.0; 20]), Err(Error::NoForwardPass));
    network.forward(&x, Mode::Evaluate).expect("images");
    assert_eq!(network.backward(&[0.0; 30]), Err(Error::NoForwardPass), "three images in batches of two");
    network.forward(&x[..784], Mode::Evaluate).expect("images");
    assert_eq!(network.backward(&[0.0; 20]), Err(Error::Gradient { found: 20, expected: 10 }));
    let mut inference = network.inference(1).expect("a network");
    assert_eq!(inference.forward(&x, Mode::Train).err(), Some(Error::WrongPurpose));
    inference.forward(&x[..784], Mode::Evaluate).expect("images");
    assert_eq!(inference.backward(&[0.0; 10]), Err(Error::WrongPurpose));
    assert_eq!(network.load(&x), Err(Error::WrongPurpose));
    assert_eq!(network.observe(None, &[], &mut |_: Observed<'_>| ()), Err(Error::NoForwardPass));
    let mut table = network.tensors();
    table.get_mut("fc2.weight").expect("a tensor").values_mut()[3] = f32::INFINITY;
    let refusal = Network::builder(&graph).weights(&table).build().err().map(|error| error.to_string());
    assert_eq!(refusal.as_deref(), Some("\"fc2.weight\" contains inf; only finite numbers are taken"));
    table.remove("fc1.weight").expect("a tensor");
    let refusal = Network::builder(&graph).weights(&table).build().err().map(|error| error.to_string());
    assert!(refusal.is_some_and(|said| said.starts_with("there is no tensor \"fc1.weight\"")));
}

/// Wide 3x3 layers by Winograd's algorithm and by the definition.
#[test]
fn methods_of_convolution_agree_to_rounding() {
    let graph = graph("resnext29-1x32d");
    let x = images(&graph, 2);
    let gradient = normals(2 * graph.output_shape().elements() as usize, 6);
    let [fastest, direct] = [Method::Fastest, Method::Direct].map(|method| {
        let builder = Network::builder(&graph).norm(NormPolicy::None).seed(5);
        let mut network = builder.convolutions(method).build().expect("a network");
        let outputs = network.forward(&x, Mode::Train).expect("images").to_vec();
        network.backward(&gradient).expect("a forward pass came before");
        (outputs, network.gradients().to_vec())
    });
    assert!(fastest.0 != direct.0, "both methods have the same bits");
    // As for instruction sets, nine blocks deep.
    assert!(close(&fastest.0, &direct.0, 1e-4) && close(&fastest.1, &direct.1, 1e-3));
}

#[test]
fn instruction_sets_agree_to_rounding() {
    for graph in networks() {
        let x = images(&graph, 4);
        let gradient = normals(4 * graph.output_shape().elements() as usize, 6);
        let [best, portable] = [false, true].map(|portable| {
            let builder = Network::builder(&graph).parametrisation(Parametrisation::Ntk).seed(5);
            let mut network = builder.portable(portable).build().expect("a network");
            let outputs = network.forward(&x, Mode::Train).expect("images").to_vec();
            network.backward(&gradient).expect("a forward pass came before");
            (outputs, network.gradients().to_vec())
        });
        // Sums of a few hundred terms, ten layers deep, one rounded once and the other twice per
        // term.
        assert!(close(&best.0, &portable.0, 1e-4) && close(&best.1, &portable.1, 1e-3));
    }
}

/// The gradients of all parameters at one image, put together from what an observer sees.
fn observed_gradients(network: &mut Network, x: &[f32], gradient: &[f32]) -> Vec<(&'static str, Vec<f32>)> {
    let layers: Vec<_> = network.layers().map(|layer| (layer.shape, layer.layout)).collect();
    let mut seen = vec![];
    let mut observer = |observed: Observed<'_>| match observed {
        Observed::Linear { index, inputs, cotangents } => {
            let (shape, layout) = layers[index];
            assert!(layout == Layout::Images || shape.batch == 1, "one image lies the same in both layouts");
            let conv = collegial_nn::kernels::Conv::new(shape).expect("a planned shape");
            let mut weights = vec![0.0; shape.weight_len()];
            conv.weight_gradient(inputs, cotangents, &mut weights, &mut vec![0.0; conv.scratch_len(1)]);
            seen.push(("weight", weights));
        }
        Observed::Bias { extent, cotangents } => {
            let sums = cotangents.chunks(extent.pixels).map(|plane| plane.iter().sum()).collect();
            seen.push(("bias", sums));
        }
        Observed::Norm { extent, inputs, cotangents, mean, inverse_deviation } => {
            let planes = inputs.chunks(extent.pixels).zip(cotangents.chunks(extent.pixels)).enumerate();
            let scale = planes.map(|(c, (x, d))| {
                let terms = x.iter().zip(d).map(|(x, d)| d * (x - mean[c]) * inverse_deviation[c]);
                terms.sum()
            });
            seen.push(("scale", scale.collect()));
            let shift = cotangents.chunks(extent.pixels).map(|plane| plane.iter().sum());
            seen.push(("shift", shift.collect()));
        }
    };
    network.load(x).expect("images");
    network.observe(None, &[gradient.to_vec()], &mut observer).expect("loaded images");
    seen
}

#[test]
fn observers_see_what_gradients_are_made_of() {
    for graph in networks() {
        let x = images(&graph, 1);
        let gradient = normals(graph.output_shape().elements() as usize, 7);
        let mut trained = Network::builder(&graph).build().expect("a network");
        randomise(&mut trained, 12);
        let table = trained.tensors();
        trained.forward(&x, Mode::Evaluate).expect("images");
        trained.backward(&gradient).expect("a forward pass came before");
        let mut observed = Network::builder(&graph).observation().weights(&table).build().expect("a network");
        // Twice, since a pass can be repeated.
        let first = observed_gradients(&mut observed, &x, &gradient);
        let again = observed_gradients(&mut observed, &x, &gradient);
        assert_eq!(first, again);
        // Lent weights are used instead of its own, and must be all of them.
        let own: Vec<&[f32]> =
            observed.layers().map(|layer| table.get(layer.weight).expect("a tensor").values()).collect();
        let mut blank = Network::builder(&graph).observation().weights(&table).build().expect("a network");
        let weights: Vec<std::ops::Range<usize>> = blank
            .parameters()
            .iter()
            .filter(|entry| entry.is_weight())
            .map(|entry| entry.range.clone())
            .collect();
        weights.into_iter().for_each(|range| blank.values_mut()[range].fill(f32::NAN));
        let mut count = 0;
        let mut finite = |seen: Observed<'_>| {
            let (Observed::Linear { cotangents, .. }
            | Observed::Bias { cotangents, .. }
            | Observed::Norm { cotangents, .. }) = seen;
            assert!(cotangents.iter().all(|d| d.is_finite()));
            count += 1;
        };
        blank.load(&x).expect("images");
        blank.observe(Some(&own), std::slice::from_ref(&gradient), &mut finite).expect("images");
        assert!(count >= own.len());
        let refusal =
            blank.observe(Some(&own[1..]), std::slice::from_ref(&gradient), &mut |_: Observed<'_>| ());
        assert!(matches!(refusal, Err(Error::WrongLength { .. })));
        // Every parameter's gradient is among what was seen, and nothing else.
        assert_eq!(first.len(), trained.parameters().len());
        for parameter in trained.parameters() {
            let expected = trained.gradient(&parameter.name).expect("a parameter");
            let found = first.iter().any(|(_, got)| close(got, expected, 1e-4));
            assert!(found, "the gradient of {} was not seen", parameter.name);
        }
    }
}

/// Says stop at its nth question.
struct StopsAt(usize, std::sync::atomic::AtomicUsize);

impl StopsAt {
    fn nth(n: usize) -> Self {
        Self(n, std::sync::atomic::AtomicUsize::new(0))
    }
}

impl Observer for StopsAt {
    fn see(&mut self, _: Observed<'_>) {}

    fn stopped(&self) -> bool {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1 == self.0
    }
}

/// Wherever passes are stopped, forward or back, the network computes on as if nothing had been.
#[test]
fn passes_stop_between_any_two_steps() {
    for graph in networks() {
        let x = images(&graph, 2);
        let gradient = normals(2 * graph.output_shape().elements() as usize, 7);
        let mut network = Network::builder(&graph).observation().seed(3).build().expect("a network");
        network.load(&x).expect("images");
        let mut never = StopsAt::nth(usize::MAX);
        network.observe(None, std::slice::from_ref(&gradient), &mut never).expect("loaded images");
        let questions = never.1.into_inner();
        let whole = network.forward(&x, Mode::Evaluate).expect("images").to_vec();
        let mut forward = 0;
        for nth in 1..=questions {
            network.load(&x).expect("images");
            let stopped =
                network.observe(None, std::slice::from_ref(&gradient), &mut StopsAt::nth(nth)).unwrap_err();
            assert!(stopped.is_interruption());
            let stops = StopsAt::nth(nth);
            match network.forward_until(&x, Mode::Evaluate, &|| stops.stopped()) {
                Err(error) => {
                    assert!(error.is_interruption());
                    assert_eq!(network.backward(&gradient), Err(Error::NoForwardPass));
                    forward += 1;
                }
                Ok(outputs) => assert_eq!(outputs, whole),
            }
        }
        assert!(0 < forward && forward < questions, "{forward} of {questions}");
        assert_eq!(network.forward(&x, Mode::Evaluate).expect("images"), whole);
    }
}
