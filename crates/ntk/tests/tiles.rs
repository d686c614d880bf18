//! Tiles against the kernel computed whole, and against plain definitions where that has none.

use collegial_arch::{Graph, Spec};
use collegial_core::tensors::TensorTable;
use collegial_core::{Monitor, Silent};
use collegial_nn::{Mode, Network, Parametrisation};
use collegial_ntk::Error;
use collegial_ntk::explicit::{ExplicitKernel, NormPolicy, Options, Readout, drawn_weights, normal_inputs};
use collegial_ntk::tiles::{Cut, Entries, Inputs, TiledKernel};

/// A network with dense layers in groups and a bias-free head.
const ENSEMBLE: &str = "fc4-3x9";

/// Grouped convolutions, strides, residual sums, norms and a dense layer with biases. The last
/// convolutions see few positions with many channels, so that Grams are cheaper than gradients.
const RESIDUAL: &str = "
kind = 'resnext'
stem = 'small'
blocks = [1, 1]
design = '4x3d'
classes = 3
image = 4
stem_channels = 8
outputs = 40
";

fn graph(model: &str) -> Graph {
    let spec = if model.contains('=') { Spec::from_toml(model) } else { model.parse() };
    spec.and_then(|spec| spec.graph()).unwrap()
}

/// Weights with norms and biases that are not the identity.
fn weights(graph: &Graph) -> TensorTable {
    let mut weights = drawn_weights(graph, Parametrisation::Ntk, 5).unwrap();
    let names: Vec<String> = weights.names().map(str::to_owned).collect();
    for name in names.into_iter().filter(|name| name.contains("bn") || name.ends_with("bias")) {
        let values = weights.get_mut(&name).unwrap().values_mut();
        values.iter_mut().enumerate().for_each(|(at, value)| *value += 0.3 + 0.1 * (at % 5) as f32);
    }
    weights
}

/// The whole kernel from its tiles, and how often each entry was written.
fn assembled(kernel: &mut TiledKernel<'_>) -> Vec<f64> {
    let (rows, columns) = kernel.plan().shape();
    let (mut matrix, mut times) = (vec![f64::NAN; rows * columns], vec![0; rows * columns]);
    let tiles = kernel.plan().tiles();
    kernel
        .run(tiles, &Silent, &mut |tile, values| {
            let width = tile.columns.len();
            for (at, &value) in values.iter().enumerate() {
                let (row, column) = (tile.rows.start + at / width, tile.columns.start + at % width);
                let mut put = |place: usize| (matrix[place], times[place]) = (value, times[place] + 1);
                put(row * columns + column);
                if tile.mirrored {
                    put(column * columns + row);
                }
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    assert!(times.iter().all(|&times| times == 1), "every entry once");
    matrix
}

/// f32 sums; the largest entry sets the scale.
fn assert_close(what: &str, got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= 2e-6 * scale, "{what}, entry {at}: {got} instead of {expected}");
    }
}

fn options(readout: Readout, norm: NormPolicy) -> Options {
    Options { parametrisation: Parametrisation::Ntk, norm, readout }
}

const ROOM: u64 = 1 << 30;

#[test]
fn tiles_are_pieces_of_the_whole_kernel() {
    for (model, norm) in
        [(ENSEMBLE, NormPolicy::None), (RESIDUAL, NormPolicy::None), (RESIDUAL, NormPolicy::Frozen)]
    {
        let graph = graph(model);
        let (weights, inputs) = (weights(&graph), normal_inputs(&graph, 15, 2));
        for readout in [Readout::Unit(1), Readout::Trace, Readout::PooledUnit(2), Readout::PooledTrace] {
            let options = options(readout, norm);
            let expected = ExplicitKernel::new(&graph, options, &inputs).unwrap().at(&weights).unwrap();
            for (side, pass) in [(1, 1), (7, 3), (7, 7), (15, 4), (15, 15)] {
                let what = format!("{model} {norm:?} {readout} {side} {pass}");
                let cut = Some(Cut { side, pass });
                let inputs = Inputs::square(&inputs);
                let new = |entries| TiledKernel::new(&graph, options, entries, inputs, &weights, ROOM, cut);
                let matrix = assembled(&mut new(Entries::default()).unwrap());
                assert_close(&what, &matrix, &expected);
                for (row, column) in (0..15 * 15).map(|at| (at / 15, at % 15)) {
                    assert_eq!(matrix[row * 15 + column], matrix[column * 15 + row], "{what}: symmetric");
                }
                let diagonal = Entries { diagonal: true, ..Entries::default() };
                let diagonal = assembled(&mut new(diagonal).unwrap());
                let expected: Vec<f64> = (0..15).map(|n| expected[n * 16]).collect();
                assert_close(&format!("the diagonal of {what}"), &diagonal, &expected);
            }
        }
    }
}

/// The gradient of every output by every parameter, one image and one backward pass at a time.
fn jacobian(graph: &Graph, options: Options, weights: &TensorTable, inputs: &[Vec<f32>]) -> Vec<Vec<f64>> {
    let builder = Network::builder(graph).norm(options.norm).parametrisation(options.parametrisation);
    let mut network = builder.batch(1).weights(weights).build().unwrap();
    let mut rows = vec![];
    for input in inputs {
        let outputs = network.forward(input, Mode::Evaluate).unwrap().len();
        for output in 0..outputs {
            network.forward(input, Mode::Evaluate).unwrap();
            let gradient: Vec<f32> = (0..outputs).map(|at| f32::from(u8::from(at == output))).collect();
            network.backward(&gradient).unwrap();
            rows.push(network.gradients().iter().map(|&value| f64::from(value)).collect());
        }
    }
    rows
}

#[test]
fn kernels_between_all_outputs_are_grams_of_the_jacobian() {
    for (model, norm) in [(ENSEMBLE, NormPolicy::None), (RESIDUAL, NormPolicy::Frozen)] {
        let graph = graph(model);
        let (weights, inputs) = (weights(&graph), normal_inputs(&graph, 5, 3));
        let options = options(Readout::Trace, norm);
        let rows = jacobian(&graph, options, &weights, &inputs);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let expected: Vec<f64> = rows.iter().flat_map(|a| rows.iter().map(|b| product(a, b))).collect();
        for side in [1, 2, 5] {
            let cut = Some(Cut { side, pass: side });
            let new = |entries| {
                TiledKernel::new(&graph, options, entries, Inputs::square(&inputs), &weights, ROOM, cut)
            };
            let each = Entries { by_output: true, ..Entries::default() };
            assert_close(&format!("{model}, side {side}"), &assembled(&mut new(each).unwrap()), &expected);
            let diagonal = assembled(&mut new(Entries { diagonal: true, ..each }).unwrap());
            let expected: Vec<f64> = (0..rows.len()).map(|n| expected[n * (rows.len() + 1)]).collect();
            assert_close(&format!("the diagonal of {model}, side {side}"), &diagonal, &expected);
        }
    }
}

#[test]
fn rows_without_columns_are_the_rest_of_a_larger_kernel() {
    let graph = graph(ENSEMBLE);
    let (weights, inputs) = (weights(&graph), normal_inputs(&graph, 11, 3));
    let options = Options::default();
    let whole = ExplicitKernel::new(&graph, options, &inputs).unwrap().at(&weights).unwrap();
    let expected: Vec<f64> = whole.chunks_exact(11).flat_map(|row| row[..6].to_vec()).collect();
    for side in [1, 4, 11] {
        let inputs = Inputs { all: &inputs, columns: 6 };
        let cut = Some(Cut { side, pass: side });
        let new = TiledKernel::new(&graph, options, Entries::default(), inputs, &weights, ROOM, cut);
        let mut kernel = new.unwrap();
        assert_eq!(kernel.plan().shape(), (11, 6));
        assert_close(&format!("side {side}"), &assembled(&mut kernel), &expected);
    }
}

/// With room for two blocks only, features are computed again and again; the bits stay.
#[test]
fn bits_do_not_depend_on_memory_or_on_which_tiles_are_asked_for() {
    let graph = graph(RESIDUAL);
    let (weights, inputs) = (weights(&graph), normal_inputs(&graph, 13, 2));
    let options = options(Readout::Trace, NormPolicy::Frozen);
    let cut = Some(Cut { side: 3, pass: 2 });
    let new = |memory| {
        let inputs = Inputs::square(&inputs);
        TiledKernel::new(&graph, options, Entries::default(), inputs, &weights, memory, cut)
    };
    let mut roomy = new(ROOM).unwrap();
    assert_eq!(roomy.plan().kept, 5);
    let expected = assembled(&mut roomy);
    let Err(Error::TileMemory { needed, allowed: 0, side: 3 }) = new(0) else { panic!("no room at all") };
    let mut narrow = new(needed).unwrap();
    assert_eq!((narrow.plan().kept, narrow.plan().bytes), (2, needed));
    assert_eq!(assembled(&mut narrow), expected);
    assert!(matches!(new(needed - 1), Err(Error::TileMemory { .. })), "one byte less is refused");
    for tile in roomy.plan().tiles().into_iter().rev() {
        let place = tile.rows.start * 13 + tile.columns.start;
        let run = narrow.run(vec![tile], &Silent, &mut |_, values| {
            assert_eq!(values[0], expected[place]);
            Ok::<(), Error>(())
        });
        run.unwrap();
    }
}

#[test]
fn plans_keep_to_their_memory() {
    for (model, count) in [(ENSEMBLE, 4000), ("fc4-1000", 2000), (RESIDUAL, 700)] {
        let graph = graph(model);
        let (weights, inputs) = (weights(&graph), normal_inputs(&graph, count, 2));
        let mut sides = vec![];
        for memory in [90, 120, 200, 400, 1000].map(|mebibytes: u64| mebibytes << 20) {
            for by_output in [false, true] {
                let readout = if by_output { Readout::Trace } else { Readout::Unit(0) };
                let options = options(readout, NormPolicy::None);
                let (entries, inputs) = (Entries { by_output, diagonal: false }, Inputs::square(&inputs));
                match TiledKernel::new(&graph, options, entries, inputs, &weights, memory, None) {
                    Ok(kernel) => {
                        assert!(kernel.plan().bytes <= memory, "{model} {memory} {:?}", kernel.plan());
                        sides.push(kernel.plan().cut.side);
                    }
                    Err(error) => assert!(matches!(error, Error::TileMemory { .. }), "{error}"),
                }
            }
        }
        assert!(sides.len() >= 6 && sides.iter().max() > Some(&100), "{model}: {sides:?}");
    }
}

struct StopAfter(std::sync::atomic::AtomicUsize);

impl Monitor for StopAfter {
    fn progress(&self, _: f64, _: Option<&str>) {}
    fn stopped(&self) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn a_stop_is_heard_and_bad_questions_are_refused() {
    let graph = graph(ENSEMBLE);
    let (weights, inputs) = (weights(&graph), normal_inputs(&graph, 9, 2));
    let new = |options, entries, weights| {
        let cut = Some(Cut { side: 2, pass: 2 });
        TiledKernel::new(&graph, options, entries, Inputs::square(&inputs), weights, ROOM, cut)
    };
    let mut kernel = new(Options::default(), Entries::default(), &weights).unwrap();
    let tiles = kernel.plan().tiles();
    let mut seen = 0;
    let stop = StopAfter(100.into());
    let run = kernel.run(tiles, &stop, &mut |_, _| {
        seen += 1;
        Ok::<(), Error>(())
    });
    assert!(run.unwrap_err().is_interruption() && seen > 0 && seen < 15, "{seen} tiles");
    let each = Entries { by_output: true, diagonal: false };
    let refusal = new(Options::default(), each, &weights).err().unwrap().to_string();
    assert_eq!(refusal, "a kernel between all outputs needs all of them, not output 0 alone");
    let batch = options(Readout::Trace, NormPolicy::Batch);
    assert!(matches!(new(batch, Entries::default(), &weights), Err(Error::BatchNorms)));
    let mut infinite = weights.clone();
    infinite.get_mut("fc1.weight").unwrap().values_mut()[3] = f32::INFINITY;
    let mut kernel = new(Options::default(), Entries::default(), &infinite).unwrap();
    let tiles = kernel.plan().tiles();
    let error = kernel.run(tiles, &Silent, &mut |_, _| Ok::<(), Error>(())).unwrap_err();
    assert!(matches!(error, Error::Weights(_)), "{error}");
}
