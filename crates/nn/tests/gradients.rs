//! Outputs, running statistics and gradients of whole networks against the definition in f64 and
//! its finite differences.

mod reference;

use collegial_arch::{Activation, Conv, Dense, Graph, MaxPool, Shape, Spec};
use collegial_core::Rng;
use collegial_nn::{Mode, Network, Parametrisation};
use proptest::prelude::*;
use reference::{Loss, forward, normals, randomise, tensors};

/// f32 carries 24 bits; the networks here are up to 30 layers deep, each of which may lose a bit or
/// two of the largest value of its output.
const OUTPUT_TOLERANCE: f64 = 2e-4;

/// The error of a directional derivative, relative to the length of the gradient: the forward
/// error, amplified by the backward pass, plus that of the finite difference (h^2 and rounding:
/// below 1e-6).
const GRADIENT_TOLERANCE: f64 = 2e-3;

/// Step of the finite differences: small, so that few ReLUs change sides within it.
const STEP: f64 = 1e-6;

fn input_for(graph: &Graph, batch: usize) -> Vec<f32> {
    normals(batch * graph.input_shape().elements() as usize, 1)
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, x| x.abs().max(largest))
}

fn assert_close(what: &str, got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let scale = largest(expected).max(1e-3);
    for (got, expected) in got.iter().zip(expected) {
        let error = (f64::from(*got) - expected).abs();
        assert!(error <= OUTPUT_TOLERANCE * scale, "{what}: {got}, expected {expected} (scale {scale})");
    }
}

/// Checks a network in one mode: outputs, statistics, loss, and the gradient of every parameter
/// along two directions, one random and one along its largest entry.
fn check(
    graph: &Graph,
    batch: usize,
    parametrisation: Parametrisation,
    mode: Mode,
    loss: &Loss,
    factor: &dyn Fn(&str) -> f64,
) {
    let mut network = Network::builder(graph)
        .batch(batch)
        .parametrisation(parametrisation)
        .build()
        .expect("the graph is valid");
    randomise(&mut network, 5);
    let input = input_for(graph, batch);
    let before = tensors(&network);
    let mut after = before.clone();
    let expected = forward(graph, &mut after, factor, &wide(&input), batch, mode);
    let outputs = network.forward(&input, mode).expect("whole images").to_vec();
    assert_close("outputs", &outputs, &expected);
    for (name, values) in network.statistics() {
        assert_close(&name, values, &after[&name]);
    }
    let (value, gradient) = loss.engine(&outputs, batch);
    let exact = loss.value(&expected, batch);
    assert!((value - exact).abs() <= 1e-3 * exact.abs().max(1e-2), "the loss is {value}, expected {exact}");
    network.backward(&gradient).expect("a forward pass came before");

    let at = |name: &str, direction: &[f64], step: f64| {
        let mut moved = before.clone();
        let tensor = moved.get_mut(name).expect("a parameter");
        tensor.iter_mut().zip(direction).for_each(|(x, d)| *x += step * d);
        loss.value(&forward(graph, &mut moved, factor, &wide(&input), batch, mode), batch)
    };
    let norm_of_all = network.gradients().iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
    for parameter in network.parameters() {
        let name = &parameter.name;
        let gradient = wide(network.gradient(name).expect("a parameter"));
        let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        // A tensor whose gradient vanishes (weights before a norm of one value's worth of freedom)
        // is measured against the network's whole gradient.
        let scale = length.max(1e-2 * norm_of_all);
        for direction in directions(&gradient, parameter.range.start as u64) {
            let size = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
            let analytic: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
            let numeric = (at(name, &direction, STEP / size) - at(name, &direction, -STEP / size))
                / (2.0 * STEP / size);
            let error = (analytic - numeric).abs() / size;
            assert!(
                error <= GRADIENT_TOLERANCE * scale + 1e-7,
                "{name}: {analytic}, by differences {numeric} (length {length}, of all {norm_of_all})"
            );
        }
    }
}

/// A random direction, and that of the largest entry.
fn directions(gradient: &[f64], trial: u64) -> [Vec<f64>; 2] {
    let mut rng = Rng::new(3, 7, trial);
    let random = gradient.iter().map(|_| rng.normal()).collect();
    let mut single = vec![0.0; gradient.len()];
    let peak = gradient.iter().position(|g| g.abs() == largest(gradient)).unwrap_or(0);
    single[peak] = 1.0;
    [random, single]
}

fn graph(toml: &str) -> Graph {
    Spec::from_toml(toml).expect("the spec is valid").graph().expect("the spec is valid")
}

fn squares(graph: &Graph, batch: usize) -> Loss {
    Loss::HalfSquares(normals(batch * graph.output_shape().elements() as usize, 2))
}

fn labels(graph: &Graph, batch: usize) -> Loss {
    Loss::CrossEntropy((0..batch).map(|n| (n * 7 + 1) % graph.output_shape().channels).collect())
}

fn check_standard(graph: &Graph, batch: usize) {
    for mode in [Mode::Train, Mode::Evaluate] {
        check(graph, batch, Parametrisation::Standard, mode, &labels(graph, batch), &|_| 1.0);
    }
}

fn resnext(
    blocks: &str,
    multiplicity: usize,
    width: usize,
    classes: usize,
    image: usize,
    stem: &str,
) -> Graph {
    graph(&format!(
        "kind = \"resnext\"\nstem = \"{stem}\"\nblocks = {blocks}\nclasses = {classes}\nimage = {image}\n\
         stem_channels = 5\noutputs = 6\ndesign = \"{multiplicity}x{width}d\"\n"
    ))
}

#[test]
fn a_small_resnext() {
    check_standard(&resnext("[2, 2]", 3, 2, 4, 8, "small"), 3);
}

#[test]
fn a_resnext_with_odd_sizes() {
    // Width 1, three pixels a side, one class.
    check_standard(&resnext("[1, 2]", 5, 1, 1, 3, "small"), 2);
    check_standard(&resnext("[2]", 1, 7, 3, 5, "small"), 1);
}

#[test]
fn a_resnext_with_the_stem_of_imagenet() {
    check_standard(&resnext("[1, 1]", 2, 3, 3, 17, "imagenet"), 2);
}

#[test]
fn a_small_wide_resnet() {
    let toml = "kind = \"wide-resnet\"\ndepth = 10\nfactor = 1\nstages = 3\nclasses = 5\nimage = 6\n";
    check_standard(&graph(toml), 2);
}

#[test]
fn one_pixel_images() {
    check_standard(&resnext("[1, 1]", 2, 3, 3, 1, "small"), 4);
}

fn ensemble(members: usize, widths: &str, activation: &str) -> Graph {
    graph(&format!(
        "kind = \"fully-connected\"\ninputs = 7\noutputs = 3\nmembers = {members}\nactivation = \"{activation}\"\nwidths = {widths}\n"
    ))
}

#[test]
fn ensembles_of_dense_layers() {
    for activation in ["relu", "erf", "tanh", "gelu"] {
        check_standard(&ensemble(4, "[6, 5, 9]", activation), 5);
    }
    check_standard(&ensemble(1, "[1, 1]", "relu"), 1);
    check_standard(&ensemble(3, "[]", "relu"), 2);
}

#[test]
fn the_ntk_parametrisation() {
    // Eq. 1: sqrt(2 / n) before a ReLU, sqrt(1 / n) for the last layer and before other
    // activations.
    for (activation, gain) in [("relu", 2.0), ("tanh", 1.0)] {
        let graph = ensemble(3, "[6, 5]", activation);
        let factor = |name: &str| match name {
            "fc1" => (gain / 7.0_f64).sqrt(),
            "fc2" => (gain / 6.0_f64).sqrt(),
            "fc3" => (1.0 / 5.0_f64).sqrt(),
            _ => unreachable!("three layers"),
        };
        check(&graph, 4, Parametrisation::Ntk, Mode::Train, &squares(&graph, 4), &factor);
    }
}

#[test]
fn chains_of_every_kind() {
    // A projection around a strided chain without norms; dense layers after a pool; conv after
    // dense on one pixel.
    let block = "kind = \"sequence\"\ninput = { channels = 3, height = 5, width = 4 }\nmembers = 2\nshortcut = \"projection\"\n\
        layers = [{ type = \"conv\", width = 4, kernel = 3, activation = \"gelu\" }, \
                  { type = \"conv\", width = 5, kernel = 3, stride = 2, norm = \"batch\", activation = \"tanh\" }, \
                  { type = \"conv\", width = 6, kernel = 1, norm = \"batch\" }]\n";
    let pooled = "kind = \"sequence\"\ninput = { channels = 2, height = 4, width = 4 }\nmembers = 3\njoin = \"scaled-sum\"\n\
        layers = [{ type = \"conv\", width = 3, kernel = 3, activation = \"relu\" }, { type = \"global-average-pool\" }, \
                  { type = \"dense\", width = 4, norm = \"batch\", activation = \"erf\" }, { type = \"dense\", width = 2 }]\n";
    let mixed = "kind = \"sequence\"\ninput = { channels = 4 }\nshortcut = \"identity\"\n\
        layers = [{ type = \"dense\", width = 5, activation = \"relu\" }, { type = \"conv\", width = 4, kernel = 3, norm = \"batch\" }, \
                  { type = \"dense\", width = 4 }]\n";
    for toml in [block, pooled, mixed] {
        let graph = graph(toml);
        for mode in [Mode::Train, Mode::Evaluate] {
            check(&graph, 3, Parametrisation::Standard, mode, &squares(&graph, 3), &|_| 1.0);
        }
    }
}

fn layer() -> impl Strategy<Value = String> {
    let norm = prop_oneof![Just("none"), Just("batch")];
    let activation = prop_oneof![
        Just("none"),
        Just("relu"),
        Just("relu"),
        Just("relu"),
        Just("erf"),
        Just("tanh"),
        Just("gelu")
    ];
    (1..6usize, 1..4usize, 1..3usize, norm, activation).prop_map(|(width, kernel, stride, norm, activation)| {
        format!(
            "{{ type = \"conv\", width = {width}, kernel = {kernel}, stride = {stride}, padding = 1, norm = \"{norm}\", \
             activation = \"{activation}\" }}"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_chains(
        layers in prop::collection::vec(layer(), 1..4),
        members in 1..4usize,
        channels in 1..4usize,
        height in 1..6usize,
        width in 1..6usize,
        batch in 2..4usize,
        sum in any::<bool>(),
        train in any::<bool>(),
    ) {
        let join = if sum { "scaled-sum" } else { "last-layer" };
        let toml = format!(
            "kind = \"sequence\"\ninput = {{ channels = {channels}, height = {height}, width = {width} }}\nmembers = {members}\n\
             join = \"{join}\"\nlayers = [{}]\n",
            layers.join(", ")
        );
        if let Ok(spec) = Spec::from_toml(&toml) {
            let graph = spec.graph().expect("the spec was checked");
            let mode = if train { Mode::Train } else { Mode::Evaluate };
            check(&graph, batch, Parametrisation::Standard, mode, &squares(&graph, batch), &|_| 1.0);
        }
    }
}

/// A graph that no spec describes: every choice adds the layer it stands for to the last node, if
/// it fits there. Sums reach back to any earlier node of equal shape.
fn improvised(side: usize, choices: &[(u8, u8)]) -> Graph {
    let mut graph = Graph::new(Shape::image(4, side)).expect("a small image");
    for (index, &(layer, place)) in choices.iter().enumerate() {
        let name = format!("layer{index}");
        let from = graph.output();
        let earlier = usize::from(place) % (from + 1);
        // What does not fit is left out.
        let _ = match layer % 12 {
            0 => graph.conv(name, from, Conv::new(4, 3)),
            1 => graph.conv(name, from, Conv::new(8, 3).stride(2).groups(2)),
            2 => graph.conv(name, from, Conv::new(4, 1)),
            3 => graph.batch_norm(name, from),
            4 => graph.activation(name, from, Activation::Relu),
            5 => graph.activation(name, from, Activation::ALL[usize::from(place) % Activation::ALL.len()]),
            6 => graph.max_pool(name, from, MaxPool::new(3).stride(2).padding(1)),
            7 => graph.member_sum(name, from, 2),
            8 => gated(&mut graph, name, from),
            9 => graph.conv(name, from, Conv::new(6, 3).groups(2).bias(true)),
            10 => graph.average_pool(name, from, 2 + usize::from(place) % 2),
            _ => graph.add(name, from, earlier),
        };
    }
    let pooled = graph.global_average_pool("pool", graph.output()).expect("an image");
    graph.dense("fc", pooled, Dense::new(3).bias(true)).expect("a vector");
    graph
}

/// Squeeze-and-excitation with two hidden channels.
fn gated(graph: &mut Graph, name: String, from: usize) -> Result<usize, collegial_arch::Error> {
    let channels = graph.nodes[from].shape.channels;
    let means = graph.global_average_pool(format!("{name}.pool"), from)?;
    let first = graph.conv(format!("{name}.fc1"), means, Conv::new(2, 1).bias(true))?;
    let active = graph.activation(format!("{name}.act"), first, Activation::Silu)?;
    let second = graph.conv(format!("{name}.fc2"), active, Conv::new(channels, 1).bias(true))?;
    let gate = graph.activation(format!("{name}.gate"), second, Activation::Sigmoid)?;
    graph.scale(name, from, gate)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_graph_that_can_be_built_is_computed(
        side in 1usize..6,
        choices in prop::collection::vec((any::<u8>(), any::<u8>()), 1..9),
        // A norm of two single pixels that are nearly equal divides by next to nothing, and what
        // cancels in front of it is rounding alone.
        batch in 4usize..6,
    ) {
        let graph = improvised(side, &choices);
        for mode in [Mode::Train, Mode::Evaluate] {
            check(&graph, batch, Parametrisation::Standard, mode, &squares(&graph, batch), &|_| 1.0);
        }
    }
}

/// Values of the definitions that were worked out apart from this code, to ten digits: φ(1/2) and
/// φ(-2) of every activation, and φ(7) of those with a second kink.
#[test]
fn activations_have_their_published_values() {
    use Activation::{Erf, Gelu, HardSwish, LeakyRelu, None, Relu, Relu6, Sigmoid, Silu, Tanh};
    let values = [
        (None, [0.5, -2.0]),
        (Relu, [0.5, 0.0]),
        (Erf, [0.520_499_877_8, -0.995_322_265_0]),
        (Tanh, [0.462_117_157_3, -0.964_027_580_1]),
        (Gelu, [0.345_731_230_6, -0.045_500_263_9]),
        (Sigmoid, [0.622_459_331_2, 0.119_202_922_0]),
        (Silu, [0.311_229_665_6, -0.238_405_844_0]),
        (HardSwish, [0.291_666_666_7, -0.333_333_333_3]),
        (Relu6, [0.5, 0.0]),
        (LeakyRelu, [0.5, -0.02]),
    ];
    assert_eq!(values.len(), Activation::ALL.len());
    for (activation, [at_half, at_minus_two]) in values {
        for (x, expected) in [(0.5, at_half), (-2.0, at_minus_two)] {
            let found = reference::phi(activation, x);
            assert!((found - expected).abs() < 1e-10, "{activation} at {x}: {found}, expected {expected}");
        }
    }
    assert_eq!((reference::phi(Relu6, 7.0), reference::phi(HardSwish, 7.0)), (6.0, 7.0));
}
