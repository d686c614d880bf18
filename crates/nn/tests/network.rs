//! Names, shapes, initial values and errors.

use collegial_arch::Spec;
use collegial_nn::{Error, Mode, Network, Parametrisation, cross_entropy, half_squares};

fn network(name: &str, batch: usize) -> Network {
    let spec: Spec = name.parse().expect("the name is known");
    Network::builder(&spec.graph().expect("the spec is valid"))
        .batch(batch)
        .build()
        .expect("the graph is valid")
}

#[test]
fn names_and_shapes_are_torchvisions() {
    let resnext = network("resnext29-2x3d", 2);
    let find = |name: &str| resnext.parameters().iter().find(|p| p.name == name).map(|p| p.shape.clone());
    assert_eq!(find("layer1.0.conv2.weight"), Some(vec![6, 3, 3, 3]));
    assert_eq!(find("layer2.0.downsample.0.weight"), Some(vec![512, 256, 1, 1]));
    assert_eq!(find("layer2.0.downsample.1.bias"), Some(vec![512]));
    assert_eq!(find("bn1.weight"), Some(vec![64]));
    assert_eq!(find("fc.bias"), Some(vec![10]));
    assert_eq!(resnext.get("bn1.running_var").map(<[f32]>::len), Ok(64));
    let parameters = resnext.graph().counts().expect("counts fit").total.parameters;
    assert_eq!(resnext.values().len() as u64, parameters);

    let ensemble = network("fc3-5x4", 2);
    let second = ensemble.parameters().iter().find(|p| p.name == "fc2.weight").map(|p| p.shape.clone());
    assert_eq!(second, Some(vec![20, 4]), "five blocks of 4 x 4, one below the other");
}

#[test]
fn initial_weights_have_the_variance_of_their_rule() {
    let deviation = |values: &[f32]| {
        (values.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / values.len() as f64).sqrt()
    };
    // The deviation of a sample of k normals is off by 1 / sqrt(2 k) relative; four of those are
    // accepted.
    let check = |values: &[f32], expected: f64| {
        let tolerance = 4.0 * expected / (2.0 * values.len() as f64).sqrt();
        assert!((deviation(values) - expected).abs() < tolerance, "{} against {expected}", deviation(values));
    };
    let mut resnext = network("resnext29-4x8d", 2);
    resnext.initialise(5);
    let get = |name: &str| resnext.get(name).expect("a parameter");
    check(get("layer1.0.conv2.weight"), (2.0 / (32.0 * 9.0_f64)).sqrt());
    check(get("layer1.0.conv3.weight"), (2.0 / 256.0_f64).sqrt());
    check(get("fc.weight"), (1.0 / 1024.0_f64).sqrt());
    assert!(get("bn1.weight").iter().all(|&x| x == 1.0) && get("fc.bias").iter().all(|&x| x == 0.0));

    let spec: Spec = "fc3-5x40".parse().expect("the name is known");
    let graph = spec.graph().expect("the spec is valid");
    let mut ntk = Network::builder(&graph)
        .batch(2)
        .parametrisation(Parametrisation::Ntk)
        .build()
        .expect("the graph is valid");
    ntk.initialise(5);
    check(ntk.get("fc2.weight").expect("a parameter"), 1.0);
    let mut standard = Network::builder(&graph).batch(2).build().expect("the graph is valid");
    standard.initialise(5);
    check(standard.get("fc2.weight").expect("a parameter"), (2.0 / 40.0_f64).sqrt());
    check(standard.get("fc3.weight").expect("a parameter"), (1.0 / 40.0_f64).sqrt());
}

#[test]
fn both_parametrisations_are_the_same_function() {
    // The same numbers drawn, scaled before or on the way.
    let spec: Spec = "fc4-3x7".parse().expect("the name is known");
    let graph = spec.graph().expect("the spec is valid");
    let input: Vec<f32> = (0..3 * 784).map(|i| (i as f32 * 0.37).sin()).collect();
    let outputs = [Parametrisation::Standard, Parametrisation::Ntk].map(|parametrisation| {
        let mut network = Network::builder(&graph)
            .batch(3)
            .parametrisation(parametrisation)
            .build()
            .expect("the graph is valid");
        network.initialise(8);
        network.forward(&input, Mode::Evaluate).expect("whole images").to_vec()
    });
    for (a, b) in outputs[0].iter().zip(&outputs[1]) {
        assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{a}, {b}");
    }
}

#[test]
fn impossible_requests_are_refused_with_a_sentence() {
    let spec: Spec = "resnext29-2x3d".parse().expect("the name is known");
    let graph = spec.graph().expect("the spec is valid");
    assert_eq!(Network::builder(&graph).batch(0).build().err(), Some(Error::EmptyBatch));
    let one_pixel = "kind = \"sequence\"\ninput = { channels = 3 }\nlayers = [{ type = \"conv\", width = 2, kernel = 1, norm = \"batch\" }]\n";
    let graph = Spec::from_toml(one_pixel).and_then(|spec| spec.graph()).expect("the spec is valid");
    let error = Network::builder(&graph).batch(1).build().err().map(|error| error.to_string());
    assert_eq!(
        error.as_deref(),
        Some(
            "bn1 cannot be trained on a batch of 1: a norm needs at least two values per channel, and there is one"
        )
    );
    let mut network = Network::builder(&graph).batch(2).build().expect("two values are enough");
    assert!(network.inference(1).is_ok(), "inference needs no statistics of the batch");
    assert!(matches!(
        network.set("conv1.weight", &[0.0]),
        Err(Error::WrongLength { expected: 6, given: 1, .. })
    ));
    assert!(matches!(network.gradient("conv9.weight"), Err(Error::UnknownTensor { .. })));
    assert!(matches!(network.get("bn1.running"), Err(Error::UnknownTensor { .. })));
}

#[test]
fn divergence_shows() {
    let mut network = network("resnext29-1x2d", 2);
    network.initialise(1);
    let input = vec![f32::NAN; 2 * 3 * 32 * 32];
    assert!(network.forward(&input, Mode::Train).expect("whole images").iter().all(|x| x.is_nan()));
}

#[test]
fn losses_of_known_logits() {
    let mut gradient = [0.0; 4];
    // ln(1 + e^-1) and ln 2, averaged.
    let loss = cross_entropy(&[1.0, 0.0, 5.0, 5.0], &[0, 1], &mut gradient).expect("two rows");
    assert!((loss - (0.313_261_687_518_222_8 + std::f64::consts::LN_2) / 2.0).abs() < 1e-12);
    assert_eq!(gradient[2], 0.25);
    // Logits that would overflow an exponential.
    assert!(cross_entropy(&[1e4, 0.0], &[0], &mut gradient[..2]).expect("one row").abs() < 1e-12);
    let squares = half_squares(&[1.0, 2.0, 3.0, 4.0], &[0.0, 2.0, 3.0, 2.0], 2, &mut gradient);
    assert_eq!(squares, Ok(1.25));
    assert_eq!(gradient, [0.5, 0.0, 0.0, 1.0]);
}

#[test]
fn losses_of_arrays_that_do_not_belong_together() {
    let mut gradient = [7.0; 4];
    let mut entropy = |outputs: &[f32], labels: &[usize]| cross_entropy(outputs, labels, &mut gradient);
    assert_eq!(entropy(&[0.0; 4], &[0, 2]), Err(Error::Label { label: 2, classes: 2 }));
    assert_eq!(entropy(&[0.0; 4], &[0, 0, 0]), Err(Error::Rows { values: 4, rows: 3 }));
    assert_eq!(entropy(&[], &[]), Err(Error::Rows { values: 0, rows: 0 }));
    let said = entropy(&[0.0; 6], &[0, 0]).unwrap_err().to_string();
    assert_eq!(said, "there are 4 gradients, but 6 outputs");
    let said = half_squares(&[0.0; 4], &[0.0; 3], 2, &mut gradient).unwrap_err().to_string();
    assert_eq!(said, "there are 3 targets, but 4 outputs");
    assert_eq!(half_squares(&[0.0; 4], &[0.0; 4], 0, &mut gradient), Err(Error::Rows { values: 4, rows: 0 }));
    assert_eq!(gradient, [7.0; 4], "nothing is written");
}
