//! Block-diagonal dense layers against the definition in f64.

use collegial_nn::kernels::{EnsembleDense, EnsembleShape, Isa};
use proptest::prelude::*;

/// Values in [-1, 1) that repeat only after thousands of elements.
fn values(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 8191) as f32 / 4095.5 - 1.0).collect()
}

/// The three passes, with results and scratch full of NaN beforehand: neither may be read before it is written.
fn run(layer: &EnsembleDense, threads: usize) -> [Vec<f32>; 3] {
    let s = layer.shape();
    let (input, weights, out_grad) =
        (values(s.input_len(), 1), values(s.weight_len(), 2), values(s.output_len(), 3));
    let mut results = [s.output_len(), s.input_len(), s.weight_len()].map(|len| vec![f32::NAN; len]);
    let mut scratch = vec![f32::NAN; layer.scratch_len(threads)];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool starts");
    pool.install(|| {
        let [output, in_grad, weight_grad] = &mut results;
        layer.forward(&input, &weights, output, &mut scratch);
        scratch.fill(f32::NAN);
        layer.data_gradient(&out_grad, &weights, in_grad, &mut scratch);
        scratch.fill(f32::NAN);
        layer.weight_gradient(&input, &out_grad, weight_grad, &mut scratch);
    });
    results
}

fn definition(s: &EnsembleShape) -> [Vec<f64>; 3] {
    let (input, weights, out_grad) =
        (values(s.input_len(), 1), values(s.weight_len(), 2), values(s.output_len(), 3));
    let mut sums = [s.output_len(), s.input_len(), s.weight_len()].map(|len| vec![0.0; len]);
    for member in 0..s.members {
        for (o, i) in (0..s.outputs).flat_map(|o| (0..s.inputs).map(move |i| (o, i))) {
            let w = (member * s.outputs + o) * s.inputs + i;
            for sample in 0..s.batch {
                let x = (member * s.inputs + i) * s.batch + sample;
                let y = (member * s.outputs + o) * s.batch + sample;
                sums[0][y] += f64::from(weights[w]) * f64::from(input[x]);
                sums[1][x] += f64::from(weights[w]) * f64::from(out_grad[y]);
                sums[2][w] += f64::from(input[x]) * f64::from(out_grad[y]);
            }
        }
    }
    sums
}

fn check(s: EnsembleShape) {
    let expected = definition(&s);
    // n terms below 1: n roundings of partial sums below n, as a random walk 4 sqrt(n) u n with u = 2^-24.
    let tolerance = [s.inputs, s.outputs, s.batch]
        .map(|n| 4.0 * (n as f64 + 1.0).powf(1.5) * f64::from(f32::EPSILON) / 2.0);
    for isa in [Isa::detect(), Isa::Portable] {
        let layer = EnsembleDense::with_isa(s, isa).expect("the shape is valid");
        for (pass, got) in run(&layer, 2).iter().enumerate() {
            for (at, (got, expected)) in got.iter().zip(&expected[pass]).enumerate() {
                let close = (f64::from(*got) - expected).abs() <= tolerance[pass];
                assert!(close, "{s:?} {isa:?}, pass {pass} at {at}: {got}, expected {expected}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn odd_layers_agree_with_the_definition(
        members in 1..5usize,
        inputs in 1..50usize,
        outputs in 1..50usize,
        batch in 1..70usize,
    ) {
        check(EnsembleShape { members, inputs, outputs, batch });
    }
}

#[test]
fn the_papers_ensemble_agrees_with_the_definition() {
    check(EnsembleShape { members: 30, inputs: 48, outputs: 48, batch: 128 });
    check(EnsembleShape { members: 1, inputs: 784, outputs: 130, batch: 128 });
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    let layer = EnsembleDense::new(EnsembleShape { members: 5, inputs: 48, outputs: 37, batch: 100 });
    let layer = layer.expect("the shape is valid");
    let bits =
        |threads: usize| run(&layer, threads).map(|v| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    assert_eq!(bits(1), bits(2));
    assert_eq!(bits(1), bits(3));
}
