//! Every pass of every convolution against the seven loops of the definition, in f64.

mod convolution;

use collegial_nn::kernels::{Bias, Conv, ConvShape, Isa, ShapeError};
use convolution::{Data, PASSES, available, definition, run, values};
use proptest::prelude::*;

/// A sum by definition: its value, that of its absolute terms, and their number.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    absolute: f64,
    terms: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        self.value += term;
        self.absolute += term.abs();
        self.terms += 1.0;
    }

    /// Rounding errors of n terms behave like a random walk: with unit u = 2^-24 the sum is off by
    /// less than 4 sqrt(n + 1) u times the absolute sum, but for a probability of exp(-8) if the
    /// walk were at its bound all along.
    fn tolerance(&self) -> f64 {
        4.0 * (self.terms + 1.0).sqrt() * f64::from(f32::EPSILON) / 2.0 * self.absolute
    }
}

fn reference(s: &ConvShape, data: &Data) -> [Vec<Sum>; 3] {
    let mut sums = [s.output_len(), s.input_len(), s.weight_len()].map(|len| vec![Sum::default(); len]);
    definition(s, |i, w, o| {
        let [x, weight, g] = data.factors(i, w, o);
        sums[0][o].add(x * weight);
        sums[1][i].add(g * weight);
        sums[2][w].add(g * x);
    });
    sums
}

fn check(s: ConvShape, isa: Isa) {
    let data = Data::new(&s);
    let expected = reference(&s, &data);
    let conv = Conv::with_isa(s, isa).expect("the shape is valid");
    for (pass, got) in run(&conv, &data, 2).iter().enumerate() {
        for (i, (got, sum)) in got.iter().zip(&expected[pass]).enumerate() {
            let close = (f64::from(*got) - sum.value).abs() <= sum.tolerance();
            assert!(close, "{s:?} {isa:?}, {} at {i}: {got}, expected {}", PASSES[pass], sum.value);
        }
    }
}

/// Every instruction set against the reference; wider registers change no bit.
fn check_all(s: ConvShape) {
    available().for_each(|isa| check(s, isa));
    if Isa::Avx512.is_available() && !cfg!(miri) {
        let data = Data::new(&s);
        let bits = |isa| run(&Conv::with_isa(s, isa).expect("the shape is valid"), &data, 2);
        assert_eq!(bits(Isa::Avx512), bits(Isa::Avx2), "{s:?}");
    }
}

prop_compose! {
    /// Odd shapes of 3x3 convolutions.
    fn odd_shapes()(
        batch in 1..4usize,
        groups in 1..4usize,
        inputs in prop_oneof![1..14usize, Just(23)],
        outputs in prop_oneof![1..14usize, Just(23)],
        height in 1..10usize,
        width in 1..18usize,
        stride in 1..3usize,
    ) -> ConvShape {
        ConvShape { batch, groups, inputs, outputs, height, width, kernel: 3, stride, padding: 1 }
    }
}

prop_compose! {
    /// Any kernel, stride and padding that fit.
    fn any_shapes()(
        batch in 1..4usize,
        groups in 1..3usize,
        inputs in 1..6usize,
        outputs in 1..9usize,
        height in 1..13usize,
        width in 1..20usize,
        kernel in 1..8usize,
        stride in 1..5usize,
        padding in 0..5usize,
    ) -> ConvShape {
        let kernel = kernel.min(height.min(width) + 2 * padding);
        ConvShape { batch, groups, inputs, outputs, height, width, kernel, stride, padding }
    }
}

prop_compose! {
    /// 1x1 convolutions wide enough to be matrix products, and some that are not.
    fn pointwise_shapes()(
        batch in 1..4usize,
        groups in 1..3usize,
        inputs in 24..150usize,
        outputs in 24..150usize,
        height in 1..9usize,
        width in 1..12usize,
        stride in 1..4usize,
    ) -> ConvShape {
        ConvShape { batch, groups, inputs, outputs, height, width, kernel: 1, stride, padding: 0 }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn odd_3x3_shapes_agree_with_the_definition(shape in odd_shapes()) {
        check_all(shape);
    }

    #[test]
    fn pointwise_shapes_agree_with_the_definition(shape in pointwise_shapes()) {
        check_all(shape);
    }

    #[test]
    fn any_kernel_agrees_with_the_definition(shape in any_shapes()) {
        check_all(shape);
    }
}

#[test]
fn dense_layers_of_ensembles() {
    // A 1x1 convolution of one image whose pixels are the samples; the first is the paper's.
    for (groups, inputs, outputs, samples) in
        [(30, 48, 48, 128), (1, 784, 130, 128), (4, 7, 1, 1), (3, 1, 50, 69)]
    {
        let (kernel, stride, padding) = (1, 1, 0);
        check_all(ConvShape {
            batch: 1,
            groups,
            inputs,
            outputs,
            height: 1,
            width: samples,
            kernel,
            stride,
            padding,
        });
    }
}

#[test]
fn the_networks_own_shapes_agree_with_the_definition() {
    for (groups, width, size, stride) in [
        (2, 10, 32, 1),
        (2, 20, 16, 1),
        (2, 40, 8, 1),
        (2, 20, 32, 2),
        (1, 40, 16, 2),
        (1, 64, 8, 1),
        (3, 1, 56, 1),
    ] {
        check_all(ConvShape::grouped3x3(2, groups, width, size, stride));
    }
    // More channels than one block of taps, and images of more than one chunk of vectors.
    check_all(ConvShape { outputs: 7, ..ConvShape::grouped3x3(1, 1, 90, 7, 1) });
    check_all(ConvShape { inputs: 3, ..ConvShape::grouped3x3(3, 1, 5, 56, 2) });
    // The stem of a ResNet, and projections.
    check_all(ConvShape { inputs: 3, kernel: 7, padding: 3, ..ConvShape::grouped3x3(1, 1, 8, 28, 2) });
    check_all(ConvShape::pointwise(2, 40, 270, 32, 1));
    check_all(ConvShape::pointwise(9, 130, 70, 8, 1));
    check_all(ConvShape::pointwise(2, 64, 70, 57, 2));
    // Products of several blocks in every direction, over images that no panel divides, and a batch
    // that is cut in shares.
    check_all(ConvShape::pointwise(6, 300, 401, 7, 1));
    check_all(ConvShape::pointwise(17, 40, 33, 9, 1));
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    for shape in [
        ConvShape::grouped3x3(5, 3, 10, 9, 1),
        ConvShape::grouped3x3(5, 3, 7, 9, 2),
        ConvShape::grouped3x3(3, 1, 70, 8, 1),
        ConvShape::pointwise(5, 60, 50, 8, 1),
        ConvShape::pointwise(5, 60, 50, 9, 2),
        ConvShape::pointwise(2, 130, 300, 25, 1),
        ConvShape::pointwise(6, 300, 401, 7, 1),
    ] {
        let conv = Conv::new(shape).expect("the shape is valid");
        let bits = |threads: usize| {
            run(&conv, &Data::new(&shape), threads).map(|v| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
        };
        let one = bits(1);
        assert_eq!(one, bits(2), "{shape:?}");
        assert_eq!(one, bits(3), "{shape:?}");
    }
}

/// A bias and a ReLU with the layer are those after it, bit for bit.
#[test]
fn a_bias_with_the_layer_is_a_bias_after_it() {
    for shape in [
        ConvShape::grouped3x3(2, 3, 7, 9, 1),
        ConvShape::grouped3x3(2, 2, 12, 16, 2),
        ConvShape::pointwise(2, 60, 50, 9, 2),
        ConvShape::pointwise(1, 300, 50, 4, 1),
        ConvShape::pointwise(6, 300, 101, 7, 1),
        ConvShape { groups: 3, ..ConvShape::pointwise(1, 48, 48, 8, 1) },
    ] {
        for (isa, floor) in available().flat_map(|isa| [(isa, 0.0), (isa, f32::NEG_INFINITY)]) {
            let conv = Conv::with_isa(shape, isa).expect("the shape is valid");
            let Data { input, weights, .. } = Data::new(&shape);
            let bias = values(shape.groups * shape.outputs, 4);
            let mut scratch = vec![f32::NAN; conv.scratch_len(rayon::current_num_threads())];
            let [mut expected, mut got] = [(); 2].map(|()| vec![f32::NAN; shape.output_len()]);
            conv.forward(&input, &weights, &mut expected, &mut scratch);
            let pixels = shape.out_height() * shape.out_width();
            for (plane, pixels) in expected.chunks_exact_mut(pixels).enumerate() {
                pixels.iter_mut().for_each(|x| *x = (*x + bias[plane % bias.len()]).max(floor));
            }
            conv.forward_with_bias(&input, &weights, Bias { values: &bias, floor }, &mut got, &mut scratch);
            let same = expected.iter().zip(&got).all(|(expected, got)| expected.to_bits() == got.to_bits());
            assert!(same, "{shape:?} {isa:?} {floor}");
        }
    }
}

/// The smallest of every kind: one pixel, one column, groups of 7, kernels as large as the padded
/// image, strides above the kernel, every number of rows of a tile, more than one block of a sum. Miri
/// runs them (`cargo xtask miri`).
#[test]
fn smallest_shapes_agree_with_the_definition() {
    for [batch, groups, inputs, outputs, height, width, kernel, stride, padding] in [
        [1, 1, 1, 1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1, 3, 1, 1],
        [1, 1, 7, 7, 1, 1, 3, 1, 1],
        [2, 1, 1, 2, 1, 2, 5, 1, 2],
        [2, 1, 2, 1, 5, 4, 2, 3, 0],
        [1, 2, 2, 1, 5, 6, 1, 4, 0],
        [1, 2, 1, 5, 3, 1, 3, 2, 1],
        // Tiles of one to six rows, and of every number of vectors.
        [1, 1, 1, 1, 13, 17, 1, 1, 0],
        [1, 1, 1, 2, 8, 13, 1, 1, 0],
        [1, 1, 1, 3, 8, 13, 1, 1, 0],
        [1, 1, 1, 4, 8, 13, 1, 1, 0],
        [1, 1, 1, 11, 8, 13, 1, 1, 0],
        // Two blocks of taps.
        [1, 1, 43, 1, 1, 1, 3, 1, 1],
        // Matrix products: one column, and columns of two images with a stride.
        [1, 1, 32, 33, 1, 1, 1, 1, 0],
        [2, 1, 32, 32, 2, 1, 1, 2, 0],
    ] {
        check_all(ConvShape { batch, groups, inputs, outputs, height, width, kernel, stride, padding });
    }
}

#[test]
fn impossible_shapes_are_refused_with_a_sentence() {
    let zero = ConvShape { groups: 0, ..ConvShape::grouped3x3(1, 1, 1, 8, 1) };
    assert_eq!(Conv::new(zero).err(), Some(ShapeError::Zero("the number of groups")));
    let large = ConvShape { padding: 0, ..ConvShape::grouped3x3(1, 1, 1, 2, 1) };
    let message = Conv::new(large).err().map(|error| error.to_string());
    assert_eq!(message.as_deref(), Some("a kernel of 3 does not fit an image of 2x2 padded by 0"));
}
