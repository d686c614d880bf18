//! The kernel at given weights against every parameter's gradient by the definition: the f64
//! reference for chains, the engine's backward pass on single images for networks with groups,
//! residual sums and norms.

mod reference;

use collegial_arch::{Graph, Sequence, Spec};
use collegial_core::Rng;
use collegial_core::tensors::safetensors::Archive;
use collegial_core::tensors::{Tensor, TensorTable};
use collegial_nn::{Mode, Network, Parametrisation};
use collegial_ntk::explicit::{ExplicitKernel, NormPolicy, Options, Readout, drawn_weights};
use collegial_ntk::{KernelSampler, Output, exact};
use proptest::prelude::*;

fn chain(text: &str) -> Sequence {
    Spec::from_toml(&format!("kind = \"sequence\"\n{text}")).unwrap().module().unwrap().member()
}

fn graph(text: &str) -> Graph {
    Spec::from_toml(text).unwrap().graph().unwrap()
}

fn inputs(graph: &Graph, count: usize, seed: u64) -> Vec<Vec<f32>> {
    let shape = graph.input_shape();
    let draw = |index: usize| {
        let mut x = vec![0.0; shape.channels * shape.pixels()];
        Rng::new(seed, 77, index as u64).fill_normal(&mut x);
        x
    };
    (0..count).map(draw).collect()
}

/// f32 sums of up to a few thousand terms; the largest entry sets the scale.
fn assert_close(what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    let scale = expected.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    for (entry, (got, expected)) in got.iter().zip(expected).enumerate() {
        let gap = (got - expected).abs();
        assert!(
            gap <= tolerance * scale,
            "{what}, entry {entry}: {got} instead of {expected}, scale {scale}"
        );
    }
}

/// The chain's weights as the reference draws them: layer after layer from one generator.
fn weights_of_reference(graph: &Graph, mut rng: Rng) -> TensorTable {
    let mut weights = drawn_weights(graph, Parametrisation::Ntk, 0).unwrap();
    let names: Vec<String> = weights.names().map(str::to_owned).collect();
    for name in names {
        rng.fill_normal(weights.get_mut(&name).unwrap().values_mut());
    }
    weights
}

fn compare_with_reference(chain: &Sequence, count: usize, seed: u64) {
    let graph = Spec::from(chain.clone()).graph().unwrap();
    let inputs = inputs(&graph, count, seed);
    let weights = weights_of_reference(&graph, Rng::new(seed, 5, 0));
    for (readout, output) in [(Readout::Unit(0), Output::Unit), (Readout::PooledUnit(0), Output::PooledUnit)]
    {
        let expected = reference::kernel(chain, output, &inputs, &mut Rng::new(seed, 5, 0));
        let options = Options { readout, ..Options::default() };
        let kernel = ExplicitKernel::new(&graph, options, &inputs).unwrap().at(&weights).unwrap();
        assert_close(&format!("{chain:?} {readout:?}"), &kernel, &expected, 1e-5);
        // A trial draws the same numbers, and takes its own way at the first layer.
        let alone = ExplicitKernel::new(&graph, options, &inputs[..1]).unwrap();
        let trial = alone.tally(seed, 5, 0..1).unwrap().moments().mean();
        assert_close(&format!("a trial of {chain:?} {readout:?}"), &[trial], &expected[..1], 1e-5);
    }
}

#[test]
fn fully_connected_networks_match_the_definition() {
    for (widths, count) in [("1", 1), ("7", 3), ("40", 50), ("70", 101)] {
        let spec: Spec = format!("fc4-{widths}").parse().unwrap();
        compare_with_reference(&spec.module().unwrap().member(), count, 3);
    }
}

#[test]
fn bottleneck_blocks_match_the_definition() {
    // Narrow blocks, and wide ones, whose 3x3 layers are Winograd's.
    for (n, side) in [(1, 1), (3, 4), (10, 8), (33, 1), (64, 8), (70, 5)] {
        let chain = chain(&format!(
            "input = {{ channels = 12, height = {side}, width = {side} }}
            layers = [
                {{ type = 'conv', width = {n}, kernel = 1, activation = 'relu' }},
                {{ type = 'conv', width = {n}, kernel = 3, activation = 'relu' }},
                {{ type = 'conv', width = 5, kernel = 1 }},
            ]"
        ));
        compare_with_reference(&chain, 3, 7);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn chains_of_odd_sizes_match_the_definition(
        channels in 1usize..6,
        (height, width) in (1usize..7, 1usize..7),
        widths in proptest::collection::vec(1usize..9, 3),
        kernels in proptest::collection::vec(1usize..4, 2),
        strides in proptest::collection::vec(1usize..3, 2),
        activation in prop_oneof![Just("relu"), Just("erf"), Just("tanh"), Just("gelu"), Just("none")],
        count in 1usize..5,
        seed in 0u64..1000,
    ) {
        let chain = chain(&format!(
            "input = {{ channels = {channels}, height = {height}, width = {width} }}
            layers = [
                {{ type = 'conv', width = {}, kernel = {}, stride = {}, padding = 1, activation = '{activation}' }},
                {{ type = 'conv', width = {}, kernel = {}, stride = {}, padding = 1, activation = 'relu' }},
                {{ type = 'global-average-pool' }},
                {{ type = 'dense', width = {} }},
            ]",
            widths[0], kernels[0], strides[0], widths[1], kernels[1], strides[1], widths[2]
        ));
        compare_with_reference(&chain, count, seed);
    }
}

/// Parameters away from their initial values: norms and biases, too.
fn unusual_weights(graph: &Graph, parametrisation: Parametrisation, seed: u64) -> TensorTable {
    let mut weights = drawn_weights(graph, parametrisation, seed).unwrap();
    let vectors = weights.iter().filter(|(_, tensor)| tensor.shape().len() == 1);
    let names: Vec<String> = vectors.map(|(name, _)| name.to_owned()).collect();
    for (index, name) in names.iter().enumerate() {
        let values = weights.get_mut(name).unwrap().values_mut();
        let mut noise = vec![0.0; values.len()];
        Rng::new(seed, 99, index as u64).fill_normal(&mut noise);
        // Statistics and scales stay positive.
        values.iter_mut().zip(noise).for_each(|(value, noise)| *value += 0.4 * noise.clamp(-1.5, 1.5));
    }
    weights
}

/// Every parameter's gradient from the engine, image by image.
fn kernel_of_engine(graph: &Graph, options: Options, weights: &TensorTable, inputs: &[Vec<f32>]) -> Vec<f64> {
    let mut network =
        Network::builder(graph).batch(1).parametrisation(options.parametrisation).build().unwrap();
    network.set_tensors(weights).unwrap();
    let norm_parameters: Vec<bool> = network
        .parameters()
        .iter()
        .map(|parameter| {
            let norm = parameter.name.rsplit_once('.').unwrap().0;
            network.get(&format!("{norm}.running_mean")).is_ok()
        })
        .collect();
    if options.norm == NormPolicy::None {
        let statistics: Vec<(String, usize)> =
            network.statistics().map(|(name, values)| (name, values.len())).collect();
        for (name, len) in statistics {
            let norm = name.rsplit_once('.').unwrap().0.to_owned();
            let value = if name.ends_with("mean") { 0.0 } else { 1.0 - 1e-5 };
            network.set(&name, &vec![value; len]).unwrap();
            network.set(&format!("{norm}.weight"), &vec![1.0; len]).unwrap();
            network.set(&format!("{norm}.bias"), &vec![0.0; len]).unwrap();
        }
    }
    let shape = graph.output_shape();
    let elements = shape.channels * shape.pixels();
    let seeds: Vec<Vec<f32>> = match options.readout {
        Readout::Unit(unit) => {
            let mut seed = vec![0.0; elements];
            seed[unit * shape.pixels() + shape.height / 2 * shape.width + shape.width / 2] = 1.0;
            vec![seed]
        }
        Readout::Trace => (0..elements)
            .map(|at| (0..elements).map(|other| f32::from(u8::from(at == other))).collect())
            .collect(),
        _ => unreachable!("not asked for here"),
    };
    let mut kernel = vec![0.0; inputs.len() * inputs.len()];
    for seed in seeds {
        let gradient = |x: &Vec<f32>| {
            network.forward(x, Mode::Evaluate).unwrap();
            network.backward(&seed).unwrap();
            let parameters = network.parameters().iter().zip(&norm_parameters);
            let used = parameters.filter(|(_, norm)| options.norm == NormPolicy::Frozen || !**norm);
            used.flat_map(|(parameter, _)| network.gradients()[parameter.range.clone()].to_vec())
                .map(f64::from)
                .collect::<Vec<f64>>()
        };
        let gradients: Vec<Vec<f64>> = inputs.iter().map(gradient).collect();
        for (entry, kernel) in kernel.iter_mut().enumerate() {
            let (a, b) = (&gradients[entry / inputs.len()], &gradients[entry % inputs.len()]);
            *kernel += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        }
    }
    kernel
}

fn compare_with_engine(graph: &Graph, count: usize, seed: u64) {
    let inputs = inputs(graph, count, seed);
    for parametrisation in [Parametrisation::Ntk, Parametrisation::Standard] {
        let weights = unusual_weights(graph, parametrisation, seed);
        for norm in [NormPolicy::None, NormPolicy::Frozen] {
            for readout in [Readout::Unit(1), Readout::Trace] {
                let options = Options { parametrisation, norm, readout };
                let expected = kernel_of_engine(graph, options, &weights, &inputs);
                let kernel = ExplicitKernel::new(graph, options, &inputs).unwrap().at(&weights).unwrap();
                assert_close(&format!("{options:?}"), &kernel, &expected, 2e-5);
            }
        }
    }
}

#[test]
fn small_resnexts_match_the_engines_gradients() {
    for (design, image, blocks) in [("3x5d", 8, "[1, 2]"), ("1x7d", 5, "[2]"), ("4x2d", 9, "[1, 1]")] {
        compare_with_engine(
            &graph(&format!(
                "kind = 'resnext'\nstem = 'small'\nblocks = {blocks}\ndesign = '{design}'\nclasses = 3
                image = {image}\nstem_channels = 6\noutputs = 12"
            )),
            4,
            11,
        );
    }
}

#[test]
fn max_pools_and_large_stems_match_the_engines_gradients() {
    compare_with_engine(
        &graph(
            "kind = 'resnext'\nstem = 'imagenet'\nblocks = [1, 1]\ndesign = '2x3d'\nclasses = 2
            image = 33\nstem_channels = 5\noutputs = 8",
        ),
        3,
        13,
    );
}

#[test]
fn wide_resnets_match_the_engines_gradients() {
    compare_with_engine(
        &graph("kind = 'wide-resnet'\ndepth = 10\nfactor = 1\nstages = 3\nclasses = 2\nimage = 8"),
        2,
        17,
    );
}

#[test]
fn ensembles_of_dense_networks_match_the_engines_gradients() {
    for (members, widths) in [(1, "[9]"), (5, "[7, 3]"), (3, "[1, 4, 50]")] {
        compare_with_engine(
            &graph(&format!(
                "kind = 'fully-connected'\ninputs = 13\noutputs = 2\nmembers = {members}\nwidths = {widths}"
            )),
            53,
            19,
        );
    }
}

#[test]
fn grouped_blocks_match_the_engines_gradients() {
    for (inputs, shortcut, stride, count) in
        [(10, "identity", 1, 1), (6, "projection", 2, 5), (5, "none", 1, 2)]
    {
        compare_with_engine(
            &graph(&format!(
                "kind = 'bottleneck'\ninputs = {inputs}\noutputs = 10\nwidth = 4\nmembers = 3\nstride = {stride}
                shortcut = '{shortcut}'\nimage = 3"
            )),
            count,
            23,
        );
    }
}

#[test]
fn a_draw_is_what_the_engine_initialises() {
    let graph = graph(
        "kind = 'resnext'\nstem = 'small'\nblocks = [1, 1]\ndesign = '2x3d'\nclasses = 4\nimage = 8\noutputs = 8",
    );
    for parametrisation in [Parametrisation::Ntk, Parametrisation::Standard] {
        let mut network = Network::builder(&graph).batch(2).parametrisation(parametrisation).build().unwrap();
        network.initialise(29);
        assert_eq!(drawn_weights(&graph, parametrisation, 29).unwrap(), network.tensors());
    }
}

#[test]
fn draws_have_the_law_of_the_kernel_sampler() {
    let chain = chain(
        "input = { channels = 4, height = 5, width = 5 }
        layers = [
            { type = 'conv', width = 3, kernel = 1, activation = 'relu' },
            { type = 'conv', width = 3, kernel = 3, activation = 'relu' },
            { type = 'conv', width = 2, kernel = 1 },
        ]",
    );
    let graph = Spec::from(chain.clone()).graph().unwrap();
    let inputs = inputs(&graph, 1, 31);
    for (readout, output) in [(Readout::Unit(0), Output::Unit), (Readout::PooledUnit(0), Output::PooledUnit)]
    {
        let options = Options { readout, ..Options::default() };
        let explicit =
            ExplicitKernel::new(&graph, options, &inputs).unwrap().tally(33, 0, 0..40_000).unwrap();
        let law = KernelSampler::at_inputs(&chain, output, &inputs).unwrap().tally(34, 0, 0..160_000);
        let (explicit, law) = (explicit.moments(), law.moments());
        // Four comparisons at 4.5 standard errors fail by chance once in 37,000; seeds are fixed.
        let gap = explicit.mean() - law.mean();
        assert!(gap.abs() <= 4.5 * explicit.standard_error().hypot(law.standard_error()), "means: {gap}");
        let gap = explicit.second_moment_ratio() - law.second_moment_ratio();
        let error =
            explicit.second_moment_ratio_standard_error().hypot(law.second_moment_ratio_standard_error());
        assert!(gap.abs() <= 4.5 * error, "second moments: {gap} +- {error}");
    }
}

#[test]
fn draws_of_fully_connected_networks_have_the_exact_moments() {
    for widths in [vec![6, 5], vec![8, 8, 8], vec![40, 3, 11]] {
        let text: Vec<String> = widths.iter().map(ToString::to_string).collect();
        let text = text.join(", ");
        let graph = graph(&format!("kind = 'fully-connected'\ninputs = 9\noutputs = 1\nwidths = [{text}]"));
        // |x|^2 = n_0, so that the mean is the number of layers.
        let kernel = ExplicitKernel::new(&graph, Options::default(), &[vec![1.0; 9]]).unwrap();
        let moments = kernel.tally(37, 0, 0..100_000).unwrap().moments();
        let exact = exact::moments(&widths).unwrap();
        assert!((moments.mean() - exact.mean).abs() <= 4.5 * moments.standard_error(), "{widths:?}");
        let gap = moments.second_moment_ratio() - exact.second_moment_ratio;
        assert!(gap.abs() <= 4.5 * moments.second_moment_ratio_standard_error(), "{widths:?}: {gap}");
    }
}

/// The pivots of an elimination without exchanges; none of a positive semidefinite matrix is
/// negative.
fn smallest_pivot(mut matrix: Vec<f64>, n: usize) -> f64 {
    let mut smallest = f64::INFINITY;
    for k in 0..n {
        let pivot = matrix[k * n + k];
        smallest = smallest.min(pivot);
        for row in k + 1..n {
            let factor = matrix[row * n + k] / pivot;
            for column in k..n {
                matrix[row * n + column] -= factor * matrix[k * n + column];
            }
        }
    }
    smallest
}

#[test]
fn kernels_are_symmetric_and_positive_semidefinite() {
    let networks = [
        "kind = 'fully-connected'\ninputs = 5\noutputs = 2\nmembers = 3\nwidths = [6, 4]",
        "kind = 'resnext'\nstem = 'small'\nblocks = [1]\ndesign = '2x3d'\nclasses = 4\nimage = 6\noutputs = 8",
    ];
    for text in networks {
        let graph = graph(text);
        let count = 60;
        let options = Options { norm: NormPolicy::Frozen, readout: Readout::Trace, ..Options::default() };
        let kernel = ExplicitKernel::new(&graph, options, &inputs(&graph, count, 41)).unwrap();
        let mut matrix = kernel.at(&drawn_weights(&graph, Parametrisation::Ntk, 43).unwrap()).unwrap();
        for (row, column) in (0..count).flat_map(|row| (0..count).map(move |column| (row, column))) {
            assert_eq!(matrix[row * count + column].to_bits(), matrix[column * count + row].to_bits());
        }
        // f32 rounding may push a zero eigenvalue below zero, by a millionth of the trace at most.
        let trace: f64 = (0..count).map(|n| matrix[n * count + n]).sum();
        (0..count).for_each(|n| matrix[n * count + n] += 1e-6 * trace);
        assert!(smallest_pivot(matrix, count) > 0.0, "{text}");
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let networks = [
        ("kind = 'fully-connected'\ninputs = 30\noutputs = 2\nwidths = [300, 300]", 70),
        (
            "kind = 'resnext'\nstem = 'small'\nblocks = [1, 1]\ndesign = '3x8d'\nclasses = 2\nimage = 16\noutputs = 32",
            7,
        ),
    ];
    for (text, count) in networks {
        let graph = graph(text);
        let inputs = inputs(&graph, count, 47);
        let weights = drawn_weights(&graph, Parametrisation::Ntk, 47).unwrap();
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let kernel = ExplicitKernel::new(&graph, Options::default(), &inputs).unwrap();
                (kernel.at(&weights).unwrap(), kernel.tally(1, 0, 0..60).unwrap())
            })
        };
        let one = with_threads(1);
        assert!(one == with_threads(2) && one == with_threads(3), "{text}");
    }
}

#[test]
fn weights_that_are_not_the_networks_are_refused() {
    let graph = graph("kind = 'bottleneck'\ninputs = 4\noutputs = 4\nwidth = 2\nmembers = 3\nimage = 3");
    let weights = unusual_weights(&graph, Parametrisation::Standard, 53);
    let options = Options { norm: NormPolicy::Frozen, ..Options::default() };
    let kernel = ExplicitKernel::new(&graph, options, &inputs(&graph, 1, 1)).unwrap();
    let expected = kernel.at(&weights).unwrap();
    // A file gives the same kernel, and tensors of others are left alone.
    let mut read = Archive::from_bytes(&Archive::from(weights.clone()).to_bytes().unwrap()).unwrap().tensors;
    read.insert("other", Tensor::scalar(f32::NAN)).unwrap();
    assert_eq!(kernel.at(&read).unwrap(), expected);
    let refusal = |weights: &TensorTable| kernel.at(weights).unwrap_err().to_string();
    read.get_mut("bn2.weight").unwrap().values_mut()[1] = f32::NAN;
    assert!(refusal(&read).contains("\"bn2.weight\" contains NaN"));
    let wider = drawn_weights(
        &"bottleneck-9".parse::<Spec>().unwrap().graph().unwrap(),
        Parametrisation::Standard,
        1,
    );
    assert!(refusal(&wider.unwrap()).contains("expected [6, 4, 1, 1]"));
    let elsewhere = "fc3-4".parse::<Spec>().unwrap().graph().unwrap();
    let elsewhere = drawn_weights(&elsewhere, Parametrisation::Standard, 1).unwrap();
    let sentence = "the weights cannot be used: there is no tensor \"conv1.weight\"; the first ones are [\"fc1.weight\", \
                    \"fc2.weight\", \"fc3.weight\"]";
    assert_eq!(refusal(&elsewhere), sentence);
}

#[test]
fn bad_questions_are_refused_in_a_sentence() {
    let graph = graph("kind = 'fully-connected'\ninputs = 3\noutputs = 2\nwidths = [4]");
    let refusal = |options: Options, inputs: &[Vec<f32>]| {
        ExplicitKernel::new(&graph, options, inputs).err().unwrap().to_string()
    };
    let usual = Options::default();
    assert_eq!(refusal(usual, &[]), "a kernel needs at least one input, but none was given");
    assert_eq!(refusal(usual, &[vec![1.0; 4]]), "input 0 has 4 values, but the module takes 3");
    assert_eq!(
        refusal(usual, &[vec![1.0; 3], vec![f32::INFINITY; 3]]),
        "input 1 contains inf; inputs must be finite numbers"
    );
    let batch = Options { norm: NormPolicy::Batch, ..usual };
    assert!(refusal(batch, &[vec![1.0; 3]]).contains("none or frozen, not batch"));
    let beyond = Options { readout: Readout::Unit(2), ..usual };
    assert_eq!(
        refusal(beyond, &[vec![1.0; 3]]),
        "output 2 does not exist: the network has 2, counted from 0"
    );
}
