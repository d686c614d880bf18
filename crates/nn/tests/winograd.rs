//! Winograd's convolutions against the definition in f64, and their errors beside the direct
//! kernels'.

mod convolution;

use collegial_nn::kernels::{Bias, Conv, ConvShape, Isa, Method};
use convolution::{Data, PASSES, available, definition, values};
use proptest::prelude::*;

const METHODS: [Method; 2] = [Method::Winograd2, Method::Winograd4];
/// The three passes by the definition.
fn reference(s: &ConvShape, data: &Data) -> [Vec<f64>; 3] {
    let mut sums = [s.output_len(), s.input_len(), s.weight_len()].map(|len| vec![0.0; len]);
    definition(s, |i, w, o| {
        let [x, weight, g] = data.factors(i, w, o);
        sums[0][o] += x * weight;
        sums[1][i] += g * weight;
        sums[2][w] += g * x;
    });
    sums
}

fn run(s: ConvShape, isa: Isa, method: Method, threads: usize, data: &Data) -> [Vec<f32>; 3] {
    let conv = Conv::with_method(s, isa, method).expect("the shape is valid");
    convolution::run(&conv, data, threads)
}

/// Inputs as they are behind a ReLU.
fn rectified(s: &ConvShape) -> Data {
    let mut data = Data::new(s);
    data.input.iter_mut().for_each(|x| *x = x.max(0.0));
    data
}

/// Root mean square and largest error, as shares of the root mean square of what is expected.
fn errors(got: &[f32], expected: &[f64]) -> (f64, f64) {
    let error = |(got, expected): (&f32, &f64)| (f64::from(*got) - expected).abs();
    let mean = |sum: f64| (sum / expected.len() as f64).sqrt();
    let scale = mean(expected.iter().map(|x| x * x).sum()).max(f64::MIN_POSITIVE);
    let squares = got.iter().zip(expected).map(|pair| error(pair).powi(2)).sum();
    // A NaN is the largest error of all.
    let largest = got.iter().zip(expected).map(error).fold(0.0, |most, e| if e <= most { most } else { e });
    (mean(squares) / scale, largest / scale)
}

/// Every method on every instruction set against the definition; wider registers change no bit.
///
/// Every sum that a result is made of takes n products, n the channels (or the tiles) of its group,
/// and rounding errors walk at random over them: the maps multiply them by less than ten, so that
/// with unit u = 2^-24 their standard deviation is below 10 sqrt(n + 16) u of the results' root mean
/// square, and no result is off by six of them.
fn check_all(s: ConvShape) {
    let data = Data::new(&s);
    let expected = reference(&s, &data);
    for method in METHODS {
        for isa in available() {
            let got = run(s, isa, method, 2, &data);
            for (pass, (got, expected)) in got.iter().zip(&expected).enumerate() {
                let (_, largest) = errors(got, expected);
                let terms = [s.inputs, s.outputs, s.batch * s.height * s.width][pass] as f64;
                let tolerance = 60.0 * (terms + 16.0).sqrt() * 2_f64.powi(-24);
                assert!(largest < tolerance, "{s:?} {isa:?} {method:?} {}: {largest:e}", PASSES[pass]);
            }
        }
        if Isa::Avx512.is_available() && !cfg!(miri) {
            let [wide, narrow] = [Isa::Avx512, Isa::Avx2].map(|isa| run(s, isa, method, 2, &data));
            assert_eq!(wide, narrow, "{s:?} {method:?}");
        }
    }
}

prop_compose! {
    /// Odd sides, widths that no vector divides, lone images, channels and pixels.
    fn odd_shapes()(
        batch in 1..4usize,
        groups in 1..4usize,
        inputs in prop_oneof![1..14usize, Just(23), Just(33)],
        outputs in prop_oneof![1..14usize, Just(23), Just(33)],
        height in 1..14usize,
        width in 1..20usize,
        stride in 1..3usize,
    ) -> ConvShape {
        ConvShape { batch, groups, inputs, outputs, height, width, stride, ..ConvShape::grouped3x3(1, 1, 1, 1, 1) }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn odd_shapes_agree_with_the_definition(shape in odd_shapes()) {
        check_all(shape);
    }
}

#[test]
fn corner_cases_agree_with_the_definition() {
    let shape = |batch, groups, width, side| ConvShape::grouped3x3(batch, groups, width, side, 1);
    // One pixel, one channel; groups of 7; a row and a column of pixels.
    check_all(shape(1, 1, 1, 1));
    check_all(shape(2, 3, 7, 5));
    check_all(ConvShape { height: 1, ..shape(1, 2, 8, 17) });
    check_all(ConvShape { width: 1, ..shape(3, 1, 9, 11) });
    // Several blocks of the depth, of outputs, of tiles, and parts of a lone image's outputs.
    check_all(ConvShape { outputs: 40, ..shape(1, 1, 270, 8) });
    check_all(ConvShape { inputs: 20, ..shape(2, 1, 270, 7) });
    check_all(shape(3, 1, 24, 30));
    check_all(ConvShape { inputs: 17, ..shape(9, 1, 140, 11) });
    check_all(shape(1, 1, 140, 6));
    check_all(ConvShape { stride: 2, ..shape(2, 1, 140, 9) });
    check_all(ConvShape { stride: 2, ..shape(3, 2, 24, 32) });
}

/// The smallest of every kind: one pixel, rows and columns, groups of 7, images that no tile divides,
/// a stride. Miri runs them (`cargo xtask miri`).
#[test]
fn smallest_shapes_agree_with_the_definition() {
    for [batch, groups, inputs, outputs, height, width, stride] in [
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 7, 7, 1, 1, 1],
        [2, 2, 1, 2, 1, 5, 1],
        [1, 2, 1, 3, 3, 5, 2],
        [3, 1, 9, 1, 6, 1, 1],
    ] {
        let unit = ConvShape::grouped3x3(1, 1, 1, 1, 1);
        check_all(ConvShape { batch, groups, inputs, outputs, height, width, stride, ..unit });
    }
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    for shape in [
        ConvShape::grouped3x3(5, 3, 10, 9, 1),
        ConvShape::grouped3x3(3, 1, 70, 8, 1),
        ConvShape::grouped3x3(2, 1, 130, 16, 1),
        ConvShape::grouped3x3(5, 1, 40, 16, 2),
    ] {
        let data = Data::new(&shape);
        for method in METHODS {
            let bits = |threads: usize| {
                run(shape, Isa::detect(), method, threads, &data)
                    .map(|values| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
            };
            let one = bits(1);
            assert_eq!(one, bits(2), "{shape:?} {method:?}");
            assert_eq!(one, bits(3), "{shape:?} {method:?}");
        }
    }
}

/// Errors against f64 are at most four times the direct kernels', the largest and on average, for
/// inputs of both signs and for those behind a ReLU.
#[test]
fn errors_are_at_most_four_times_the_direct_kernels() {
    for shape in [
        ConvShape::grouped3x3(2, 1, 32, 32, 1),
        ConvShape::grouped3x3(2, 1, 64, 32, 1),
        ConvShape::grouped3x3(2, 1, 128, 16, 1),
        ConvShape::grouped3x3(4, 1, 256, 8, 1),
        ConvShape::grouped3x3(16, 1, 32, 8, 1),
        ConvShape::grouped3x3(4, 1, 32, 16, 1),
        ConvShape::grouped3x3(16, 1, 32, 16, 1),
        ConvShape::grouped3x3(16, 1, 32, 32, 1),
        ConvShape::grouped3x3(2, 1, 64, 32, 2),
        ConvShape::grouped3x3(2, 1, 128, 16, 2),
    ] {
        for data in [Data::new(&shape), rectified(&shape)] {
            let expected = reference(&shape, &data);
            let direct = run(shape, Isa::detect(), Method::Direct, 2, &data);
            for method in METHODS {
                let got = run(shape, Isa::detect(), method, 2, &data);
                for pass in 0..PASSES.len() {
                    let (mean, largest) = errors(&got[pass], &expected[pass]);
                    let (direct_mean, direct_largest) = errors(&direct[pass], &expected[pass]);
                    let what = format!(
                        "{} channels @{} {method:?} {}: {mean:.1e} and {largest:.1e}, direct {direct_mean:.1e} and {direct_largest:.1e}",
                        shape.inputs, shape.height, PASSES[pass]
                    );
                    println!("{what}");
                    assert!(mean <= 4.0 * direct_mean && largest <= 4.0 * direct_largest, "{what}");
                }
            }
        }
    }
}

/// A bias and a ReLU with the layer are those after it, bit for bit.
#[test]
fn a_bias_with_the_layer_is_a_bias_after_it() {
    for shape in [ConvShape::grouped3x3(2, 3, 7, 9, 1), ConvShape::grouped3x3(2, 1, 40, 16, 1)] {
        let data = Data::new(&shape);
        let bias = values(shape.groups * shape.outputs, 4);
        for (isa, method) in available().flat_map(|isa| METHODS.map(|method| (isa, method))) {
            let conv = Conv::with_method(shape, isa, method).expect("the shape is valid");
            let mut scratch = vec![f32::NAN; conv.scratch_len(rayon::current_num_threads())];
            let [mut expected, mut got] = [(); 2].map(|()| vec![f32::NAN; shape.output_len()]);
            conv.forward(&data.input, &data.weights, &mut expected, &mut scratch);
            for (plane, pixels) in expected.chunks_exact_mut(shape.height * shape.width).enumerate() {
                pixels.iter_mut().for_each(|x| *x = (*x + bias[plane % bias.len()]).max(0.0));
            }
            conv.forward_with_bias(
                &data.input,
                &data.weights,
                Bias { values: &bias, floor: 0.0 },
                &mut got,
                &mut scratch,
            );
            assert!(expected == got, "{shape:?} {isa:?} {method:?}");
        }
    }
}

/// By default narrow groups have the direct kernels' bits, and wide ones those of the tiles that the
/// rule names for a pass, whatever the batch.
#[test]
fn the_rule_goes_by_width_and_image() {
    use Method::{Direct, Winograd2, Winograd4};
    for (width, side, forward, gradients) in [
        (31, 8, Direct, Direct),
        (32, 8, Winograd4, Winograd4),
        (128, 4, Winograd4, Winograd4),
        (130, 12, Winograd4, Winograd4),
        (130, 8, Winograd2, Winograd4),
    ] {
        for batch in [1, 3] {
            let shape = ConvShape::grouped3x3(batch, 1, width, side, 1);
            let data = Data::new(&shape);
            let of = |method| run(shape, Isa::detect(), method, 2, &data);
            let [output, data_gradient, weight_gradient] = of(Method::Fastest);
            assert!(output == of(forward)[0], "{shape:?}");
            assert!([data_gradient, weight_gradient] == of(gradients)[1..], "{shape:?}");
        }
    }
}
