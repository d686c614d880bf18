//! Exact moments of single-column chains against the law sampler and explicit weights, on odd
//! shapes.

mod reference;

use collegial_arch::{Sequence, Spec};
use collegial_core::{Moments, Rng};
use collegial_ntk::exact::OnePosition;
use collegial_ntk::{KernelSampler, Output};

fn chain(channels: usize, side: usize, layers: &str) -> Sequence {
    let text = format!(
        "kind = 'sequence'\ninput = {{ channels = {channels}, height = {side}, width = {side} }}\nlayers = [{layers}]"
    );
    Spec::from_toml(&text).unwrap().module().unwrap().member()
}

fn conv(width: usize, kernel: usize, stride: usize, activation: &str) -> String {
    format!(
        "{{ type = 'conv', width = {width}, kernel = {kernel}, stride = {stride}, activation = '{activation}' }},"
    )
}

/// Odd shapes: channels, side of the image, and layers of (width, kernel, stride, activation).
fn grid() -> Vec<(&'static str, Sequence)> {
    let block = |n1, n2, kernel, stride| {
        conv(n1, 1, 1, "relu") + &conv(n2, kernel, stride, "relu") + &conv(3, 1, 1, "none")
    };
    vec![
        ("a bottleneck block", chain(7, 5, &block(6, 6, 3, 1))),
        ("one unit per layer", chain(5, 3, &block(1, 1, 3, 1))),
        ("width 7 and stride 2", chain(6, 5, &block(7, 3, 3, 2))),
        ("a border", chain(4, 2, &block(5, 11, 3, 1))),
        ("one pixel", chain(3, 1, &block(4, 5, 3, 1))),
        ("one channel", chain(1, 3, &block(8, 4, 3, 1))),
        ("a 5x5 kernel", chain(3, 5, &block(3, 4, 5, 1))),
        ("an even kernel", chain(4, 5, &block(5, 4, 2, 1))),
        ("a stride beyond the kernel", chain(3, 8, &block(4, 6, 2, 3))),
        (
            "overlapping patches",
            chain(2, 5, &(conv(6, 3, 1, "relu") + &conv(5, 3, 1, "relu") + &conv(1, 1, 1, "none"))),
        ),
        ("no layer between", chain(5, 3, &(conv(6, 1, 1, "relu") + &conv(1, 3, 1, "none")))),
        (
            "more 1x1 layers behind",
            chain(
                4,
                3,
                &(conv(6, 1, 1, "relu")
                    + &conv(5, 3, 1, "relu")
                    + &conv(7, 1, 1, "relu")
                    + &conv(4, 1, 1, "relu")
                    + &conv(1, 1, 1, "none")),
            ),
        ),
        (
            "linear layers",
            chain(
                4,
                3,
                &(conv(6, 1, 1, "none")
                    + &conv(5, 3, 1, "relu")
                    + &conv(7, 1, 1, "none")
                    + &conv(1, 1, 1, "none")),
            ),
        ),
        (
            "all linear",
            chain(4, 3, &(conv(3, 1, 1, "none") + &conv(4, 3, 1, "none") + &conv(1, 1, 1, "none"))),
        ),
        ("one layer", chain(5, 3, &conv(1, 3, 1, "none"))),
    ]
}

fn normal_input(chain: &Sequence, seed: u64) -> Vec<f32> {
    let mut x = vec![0.0; chain.input.channels * chain.input.pixels()];
    Rng::new(seed, 5, 0).fill_normal(&mut x);
    x
}

/// Mean and E[K^2]/E[K]^2 within 4.5 standard errors: 30 comparisons a test, seeds fixed.
fn assert_drawn(name: &str, exact: (f64, f64), drawn: &Moments) {
    let (mean, ratio) = exact;
    // A single layer's kernel is a constant, the same but for f32's rounding.
    let error = drawn.standard_error().max(1e-6 * mean);
    assert!(
        (drawn.mean() - mean).abs() <= 4.5 * error,
        "{name}: mean {mean}, drawn {} +- {error}",
        drawn.mean()
    );
    let error = drawn.second_moment_ratio_standard_error().max(1e-6);
    let found = drawn.second_moment_ratio();
    assert!((found - ratio).abs() <= 4.5 * error, "{name}: ratio {ratio}, drawn {found} +- {error}");
}

#[test]
fn the_kernel_sampler_agrees() {
    for (name, chain) in grid() {
        let input = normal_input(&chain, 3);
        let exact = OnePosition::new(&chain).unwrap().at_input(&chain, &input).unwrap();
        let sampler = KernelSampler::at_inputs(&chain, Output::Unit, &[input]).unwrap();
        let drawn = sampler.tally(9, 0, 0..200_000).moments();
        assert_drawn(name, (exact.mean, exact.second_moment_ratio), &drawn);
    }
}

#[test]
fn explicit_weights_agree() {
    for (name, chain) in grid() {
        let input = [normal_input(&chain, 4)];
        let exact = OnePosition::new(&chain).unwrap().at_input(&chain, &input[0]).unwrap();
        let draw = |trial| reference::kernel(&chain, Output::Unit, &input, &mut Rng::new(2, 7, trial))[0];
        let drawn: Moments = (0..4_000).map(draw).collect();
        assert_drawn(name, (exact.mean, exact.second_moment_ratio), &drawn);
    }
}

/// The paper's block: values of a million draws, and an average that owes nothing to a seed.
#[test]
fn averages_over_inputs_are_those_of_many_inputs() {
    for (name, chain) in grid() {
        let exact = OnePosition::new(&chain).unwrap();
        let averaged = exact.averaged().unwrap();
        let at = |seed| exact.at_input(&chain, &normal_input(&chain, seed)).unwrap();
        let many: Vec<_> = (100..4100).map(at).collect();
        let ratios: Moments = many.iter().map(|moments| moments.second_moment_ratio).collect();
        let means: Moments = many.iter().map(|moments| moments.mean).collect();
        let error = ratios.standard_error().hypot(averaged.standard_error).max(1e-12);
        let gap = (ratios.mean() - averaged.moments.second_moment_ratio).abs();
        assert!(gap <= 4.5 * error, "{name}: {gap} +- {error}");
        assert!(
            (means.mean() - averaged.moments.mean).abs() <= 4.5 * means.standard_error().max(1e-12),
            "{name}"
        );
        // 200 inputs know a standard deviation to 5 %, more for heavy tails.
        let spread = ratios.variance().sqrt();
        assert!(
            (averaged.spread - spread).abs() <= 0.35 * spread + 1e-12,
            "{name}: {} {spread}",
            averaged.spread
        );
        assert!(averaged.standard_error <= 3e-4 * averaged.moments.variance(), "{name}");
    }
}

#[test]
fn refusals_name_the_layer() {
    let refusal = |layers: String| OnePosition::new(&chain(3, 5, &layers)).unwrap_err().to_string();
    let three = conv(2, 3, 1, "relu");
    let twice = refusal(three.clone() + &three + &conv(1, 3, 1, "none"));
    assert!(twice.contains("its layer 2 is seen at 9 positions"), "{twice}");
    let smooth = refusal(conv(2, 1, 1, "tanh") + &conv(1, 3, 1, "none"));
    assert!(smooth.contains("layer 1 has the activation tanh"), "{smooth}");
    let rectified = refusal(three.clone());
    assert!(rectified.contains("layer 1 puts out relu"), "{rectified}");
    let pooled = refusal(three + "{ type = 'global-average-pool' }, { type = 'dense', width = 1 },");
    assert!(pooled.contains("layer 2 is a pool"), "{pooled}");
    let block = chain(3, 3, &(conv(2, 1, 1, "relu") + &conv(1, 3, 1, "none")));
    let exact = OnePosition::new(&block).unwrap();
    let sentence = |input: &[f32]| exact.at_input(&block, input).unwrap_err().to_string();
    assert!(sentence(&[0.0; 27]).contains("zero"));
    assert!(sentence(&[f32::NAN; 27]).contains("NaN"));
    assert_eq!(sentence(&[1.0; 26]), "input 0 has 26 values, but the module takes 27");
}
