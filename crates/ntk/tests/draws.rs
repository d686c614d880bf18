//! Kernels of whole networks over initialisations: single draws by definition, moments against
//! theory.

use std::sync::atomic::{AtomicUsize, Ordering};

use collegial_arch::{Graph, Spec};
use collegial_core::{Monitor, Silent};
use collegial_nn::{Mode, Network};
use collegial_ntk::explicit::{
    ExplicitKernel, NormPolicy, Options, Parametrisation, Readout, drawn_weights, normal_inputs,
};
use collegial_ntk::{NetworkDraws, OnePosition, exact};

fn graph(text: &str) -> Graph {
    Spec::from_toml(text).unwrap().graph().unwrap()
}

fn resnext() -> Graph {
    graph(
        "kind = 'resnext'\nstem = 'small'\nblocks = [1, 1]\ndesign = '2x3d'\nclasses = 3\nimage = 6\noutputs = 8\n\
         stem_channels = 4",
    )
}

const READOUTS: [Readout; 2] = [Readout::Unit(2), Readout::Trace];

#[test]
fn a_draw_without_batch_statistics_is_the_kernel_at_its_weights() {
    let graph = resnext();
    let inputs = normal_inputs(&graph, 3, 5);
    for parametrisation in [Parametrisation::Ntk, Parametrisation::Standard] {
        for norm in [NormPolicy::None, NormPolicy::Frozen] {
            for readout in READOUTS {
                let options = Options { parametrisation, norm, readout };
                let draws = NetworkDraws::new(&graph, options, &inputs).unwrap();
                let kernel = ExplicitKernel::new(&graph, options, &inputs).unwrap();
                for seed in [0, 41] {
                    assert_eq!(draws.at(seed).unwrap(), kernel.at(&draws.weights(seed).unwrap()).unwrap());
                }
            }
        }
    }
}

/// The gradient of one image's output by all parameters, by differences of the outputs along random
/// directions: their inner products with the direction are what a gradient says.
#[test]
fn a_draw_over_a_batch_has_the_derivatives_of_its_logits() {
    let graph = resnext();
    let inputs = normal_inputs(&graph, 4, 7);
    let options = Options { norm: NormPolicy::Batch, readout: Readout::Unit(1), ..Options::default() };
    let draws = NetworkDraws::new(&graph, options, &inputs).unwrap();
    let kernel = draws.at(3).unwrap();
    let images = inputs.concat();
    let mut network = Network::builder(&graph).parametrisation(Parametrisation::Ntk).seed(3).build().unwrap();
    let gradient = |network: &mut Network, image: usize| -> Vec<f64> {
        network.forward(&images, Mode::Train).unwrap();
        let mut seed = vec![0.0; 4 * 3];
        seed[image * 3 + 1] = 1.0;
        network.backward(&seed).unwrap();
        network.gradients().iter().map(|&g| f64::from(g)).collect()
    };
    let first = gradient(&mut network, 0);
    let second = gradient(&mut network, 2);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let close = |got: f64, expected: f64| (got - expected).abs() <= 1e-5 * kernel[0].abs();
    assert!(close(kernel[0], product(&first, &first)) && close(kernel[2], product(&first, &second)));
    // Along its own gradient a logit rises by K(x, x) per step; the other's by K(x, x').
    let start = network.values().to_vec();
    let logits = |network: &mut Network, step: f64| {
        let moved = start.iter().zip(&first).map(|(w, g)| (f64::from(*w) + step * g) as f32);
        network.values_mut().copy_from_slice(&moved.collect::<Vec<f32>>());
        let outputs = network.forward(&images, Mode::Train).unwrap();
        [f64::from(outputs[1]), f64::from(outputs[2 * 3 + 1])]
    };
    let step = 1e-3 / kernel[0].sqrt();
    let (after, before) = (logits(&mut network, step), logits(&mut network, -step));
    let slopes = [0, 1].map(|which| (after[which] - before[which]) / (2.0 * step));
    // Differences of f32 logits of about 1 are good to 1e-7 / 1e-3, and ReLUs that switch to a per
    // cent.
    let scale = kernel[0];
    assert!((slopes[0] - kernel[0]).abs() < 0.02 * scale, "{slopes:?}, {kernel:?}");
    assert!((slopes[1] - kernel[2]).abs() < 0.02 * scale, "{slopes:?}, {kernel:?}");
}

#[test]
fn others_of_a_batch_are_seen_but_have_no_entries() {
    let graph = resnext();
    let inputs = normal_inputs(&graph, 5, 13);
    for norm in [NormPolicy::None, NormPolicy::Batch] {
        let options = Options { norm, ..Options::default() };
        let all = NetworkDraws::new(&graph, options, &inputs).unwrap().at(2).unwrap();
        let some = NetworkDraws::in_batch(&graph, options, &inputs[..2], &inputs[2..]).unwrap();
        let expected = [all[0], all[1], all[5], all[6]];
        for (got, expected) in some.at(2).unwrap().iter().zip(expected) {
            assert!((got - expected).abs() <= 1e-5 * all[0], "{norm:?}: {got} {expected}");
        }
        assert_eq!(some.inputs(), 2);
        let alone = NetworkDraws::new(&graph, options, &inputs[..2]).unwrap().at(2).unwrap();
        let differs = (alone[0] - all[0]).abs() > 1e-3 * all[0];
        assert_eq!(differs, norm == NormPolicy::Batch, "statistics are those of the whole batch");
    }
}

#[test]
fn the_trace_is_the_sum_over_outputs() {
    let graph = resnext();
    let inputs = normal_inputs(&graph, 2, 9);
    for norm in [NormPolicy::None, NormPolicy::Frozen, NormPolicy::Batch] {
        let at = |readout| {
            let options = Options { norm, readout, ..Options::default() };
            NetworkDraws::new(&graph, options, &inputs).unwrap().at(1).unwrap()
        };
        let trace = at(Readout::Trace);
        let units: Vec<Vec<f64>> = (0..3).map(|unit| at(Readout::Unit(unit))).collect();
        for (entry, trace) in trace.iter().enumerate() {
            let sum: f64 = units.iter().map(|unit| unit[entry]).sum();
            assert!((trace - sum).abs() <= 1e-5 * sum.abs().max(1.0), "{norm:?}: {trace} {sum}");
        }
    }
}

#[test]
fn moments_of_fully_connected_networks_are_exact() {
    let graph = graph("kind = 'fully-connected'\ninputs = 9\noutputs = 2\nwidths = [8, 5]");
    let draws = NetworkDraws::new(&graph, Options::default(), &[vec![1.0; 9]]).unwrap();
    let statistics = draws.run(0..20_000, &Silent).unwrap().unwrap();
    let exact = exact::moments(&[8, 5]).unwrap();
    let diagonal = &statistics.diagonal;
    // Two comparisons at 4.5 standard errors; the seeds are fixed.
    assert!((diagonal.mean - exact.mean).abs() <= 4.5 * diagonal.mean_standard_error, "{diagonal:?}");
    let variance = exact.second_moment_ratio - 1.0;
    assert!(
        (diagonal.variance - variance).abs() <= 4.5 * diagonal.standard_error,
        "{diagonal:?}, {variance}"
    );
    assert!(statistics.off_diagonal.is_none() && statistics.draws == 20_000 && diagonal.entries == 1);
}

/// Both parametrisations of members in parallel, against drawn weights of the training engine.
#[test]
fn moments_of_either_parametrisation_are_those_of_draws() {
    let text = "kind = 'fully-connected'\ninputs = 9\noutputs = 2\nmembers = 3\nwidths = [8, 1, 5]";
    let spec = Spec::from_toml(text).unwrap();
    let chain = spec.module().unwrap().member();
    for parametrisation in [Parametrisation::Ntk, Parametrisation::Standard] {
        let exact = OnePosition::parametrised(&chain, parametrisation).unwrap();
        let exact = exact.at_input(&chain, &[1.0; 9]).unwrap();
        let options = Options { parametrisation, ..Options::default() };
        let draws = NetworkDraws::new(&spec.graph().unwrap(), options, &[vec![1.0; 9]]).unwrap();
        let diagonal = draws.run(0..40_000, &Silent).unwrap().unwrap().diagonal;
        // Four comparisons at 4.5 standard errors; the seeds are fixed.
        let close = |found: f64, expected: f64, error: f64| (found - expected).abs() <= 4.5 * error;
        assert!(close(diagonal.mean, exact.mean, diagonal.mean_standard_error), "{diagonal:?} {exact:?}");
        let variance = exact.variance() / 3.0;
        assert!(close(diagonal.variance, variance, diagonal.standard_error), "{diagonal:?} {variance}");
    }
}

/// Bottleneck blocks in either parametrisation, members of one channel and groups of seven among
/// them: the engine draws convolutions by the fan-out of all members.
#[test]
fn moments_of_bottleneck_blocks_are_those_of_draws() {
    for (members, width, second, stride) in [(4, 5, 5, 1), (3, 1, 1, 1), (2, 7, 3, 2), (1, 7, 7, 1)] {
        let text = format!(
            "kind = 'bottleneck'\ninputs = 6\noutputs = 5\nwidth = {width}\nsecond_width = {second}\n\
             members = {members}\nstride = {stride}\nnorm = 'none'\nshortcut = 'none'\nimage = 4"
        );
        let spec = Spec::from_toml(&text).unwrap();
        let (graph, chain) = (spec.graph().unwrap(), spec.module().unwrap().sequence());
        let input = normal_inputs(&graph, 1, 7);
        for parametrisation in [Parametrisation::Ntk, Parametrisation::Standard] {
            let exact = OnePosition::parametrised(&chain, parametrisation).unwrap();
            let exact = exact.at_input(&chain, &input[0]).unwrap();
            let options = Options { parametrisation, ..Options::default() };
            let draws = NetworkDraws::new(&graph, options, &input).unwrap();
            let diagonal = draws.run(0..20_000, &Silent).unwrap().unwrap().diagonal;
            // Sixteen comparisons at 4.5 standard errors; the seeds are fixed.
            let close = |found: f64, expected: f64, error: f64| (found - expected).abs() <= 4.5 * error;
            assert!(
                close(diagonal.mean, exact.mean, diagonal.mean_standard_error),
                "{text}: {diagonal:?} {exact:?}"
            );
            let variance = exact.variance() / members as f64;
            assert!(
                close(diagonal.variance, variance, diagonal.standard_error),
                "{text}: {diagonal:?} {variance}"
            );
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let graph = resnext();
    let inputs = normal_inputs(&graph, 3, 11);
    for norm in [NormPolicy::None, NormPolicy::Frozen, NormPolicy::Batch] {
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let options = Options { norm, ..Options::default() };
                let draws = NetworkDraws::new(&graph, options, &inputs).unwrap();
                draws.run(5..17, &Silent).unwrap().unwrap()
            })
        };
        let one = with_threads(1);
        assert!(one == with_threads(2) && one == with_threads(3), "{norm:?}");
        assert_eq!(one.off_diagonal.map(|entries| entries.entries), Some(3));
    }
}

/// Stops everything at once.
struct Stopped;

impl Monitor for Stopped {
    fn progress(&self, _: f64, _: Option<&str>) {}
    fn stopped(&self) -> bool {
        true
    }
}

/// Says stop at its nth question.
struct StopsAt(usize, AtomicUsize);

impl Monitor for StopsAt {
    fn progress(&self, _: f64, _: Option<&str>) {}
    fn stopped(&self) -> bool {
        self.1.fetch_add(1, Ordering::Relaxed) + 1 >= self.0
    }
}

/// Inside a single kernel: an interruption at any layer, and the same bits afterwards.
#[test]
fn a_stop_is_heard_inside_a_kernel() {
    let graph = resnext();
    let inputs = normal_inputs(&graph, 2, 1);
    let options = Options { norm: NormPolicy::Frozen, readout: Readout::Trace, ..Options::default() };
    let kernel = ExplicitKernel::new(&graph, options, &inputs).unwrap();
    let weights = drawn_weights(&graph, options.parametrisation, 3).unwrap();
    let whole = kernel.at(&weights).unwrap();
    let monitor = StopsAt(usize::MAX, AtomicUsize::new(0));
    assert_eq!(kernel.at_watched(&weights, &monitor).unwrap(), whole);
    let questions = monitor.1.into_inner();
    assert!(questions > 2 * kernel.inputs() + 10, "{questions}");
    for nth in [1, 2, questions / 3, questions / 2, questions] {
        let stopped = kernel.at_watched(&weights, &StopsAt(nth, AtomicUsize::new(0))).unwrap_err();
        assert!(stopped.is_interruption(), "{stopped}");
        assert_eq!(kernel.at(&weights).unwrap(), whole);
    }
    // And inside a draw, with every policy.
    for norm in [NormPolicy::None, NormPolicy::Frozen, NormPolicy::Batch] {
        let draws = NetworkDraws::new(&graph, Options { norm, ..Options::default() }, &inputs).unwrap();
        assert!(draws.kernels(0..2, &StopsAt(5, AtomicUsize::new(0))).unwrap().is_none(), "{norm:?}");
    }
}

#[test]
fn bad_questions_are_refused_and_a_stop_is_heard() {
    let graph = resnext();
    let inputs = normal_inputs(&graph, 2, 1);
    let batch = Options { norm: NormPolicy::Batch, ..Options::default() };
    let draws = NetworkDraws::new(&graph, batch, &inputs).unwrap();
    let sentence = "the number of trials is 1; a variance needs at least 2";
    assert_eq!(draws.run(4..5, &Silent).unwrap_err().to_string(), sentence);
    assert_eq!(draws.run(0..1_000_000_000, &Stopped).unwrap(), None);
    let refusal =
        |options, inputs: &[Vec<f32>]| NetworkDraws::new(&graph, options, inputs).err().unwrap().to_string();
    assert!(refusal(batch, &[]).contains("at least one input"));
    assert!(refusal(batch, &[vec![f32::NAN; 108]]).contains("must be finite"));
    let beyond = Options { readout: Readout::Unit(3), ..batch };
    assert!(refusal(beyond, &inputs).contains("output 3 does not exist"));
    let one_pixel = "kind = 'sequence'\ninput = { channels = 3 }\nlayers = [{ type = 'conv', width = 2, kernel = 1, norm = 'batch' }]";
    let single =
        NetworkDraws::new(&self::graph(one_pixel), batch, &[vec![1.0; 3]]).err().unwrap().to_string();
    assert!(single.contains("at least two values per channel"), "{single}");
}
