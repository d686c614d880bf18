//! The law sampler against explicit weights, and against the exact moments.

mod reference;

use collegial_arch::{Sequence, Spec};
use collegial_core::{Moments, Rng};
use collegial_ntk::{KernelSampler, Output, exact};

/// Moments of every kernel entry, law and reference side by side.
struct Comparison {
    law: Vec<Moments>,
    reference: Vec<Moments>,
}

fn chain(text: &str) -> Sequence {
    Spec::from_toml(&format!("kind = \"sequence\"\n{text}")).unwrap().module().unwrap().member()
}

fn normal_inputs(chain: &Sequence, count: usize, seed: u64) -> Vec<Vec<f32>> {
    let elements = chain.input.channels * chain.input.pixels();
    let draw = |index: usize| {
        let mut x = vec![0.0; elements];
        Rng::new(seed, 77, index as u64).fill_normal(&mut x);
        x
    };
    (0..count).map(draw).collect()
}

fn compare(chain: &Sequence, output: Output, inputs: &[Vec<f32>], draws: [u64; 2], seed: u64) -> Comparison {
    let entries = inputs.len() * inputs.len();
    let sampler = KernelSampler::at_inputs(chain, output, inputs).unwrap();
    let mut workspace = sampler.workspace();
    let mut kernel = vec![0.0; entries];
    let mut law = vec![Moments::new(); entries];
    for trial in 0..draws[0] {
        sampler.draw(&mut workspace, &mut Rng::new(seed, 1, trial), &mut kernel);
        law.iter_mut().zip(&kernel).for_each(|(moments, &value)| moments.push(value));
    }
    let mut reference = vec![Moments::new(); entries];
    for trial in 0..draws[1] {
        let kernel = reference::kernel(chain, output, inputs, &mut Rng::new(seed, 2, trial));
        reference.iter_mut().zip(&kernel).for_each(|(moments, &value)| moments.push(value));
    }
    Comparison { law, reference }
}

impl Comparison {
    /// Means and second-moment ratios agree within 4.5 standard errors of their difference. Over
    /// the about 100 comparisons of this file that fails once in 1500 by chance, and the seeds are
    /// fixed.
    fn assert_agreement(&self, what: &str) {
        for (entry, (law, reference)) in self.law.iter().zip(&self.reference).enumerate() {
            let gap = law.mean() - reference.mean();
            let error = law.standard_error().hypot(reference.standard_error());
            assert!(gap.abs() <= 4.5 * error, "{what}, entry {entry}: means differ by {gap} +- {error}");
            let gap = law.population_variance() - reference.population_variance();
            let error = variance_error(law).hypot(variance_error(reference));
            assert!(gap.abs() <= 4.5 * error, "{what}, entry {entry}: variances differ by {gap} +- {error}");
        }
    }
}

/// Standard error of a sample variance: sqrt((m4 - s^4) / n).
fn variance_error(moments: &Moments) -> f64 {
    let n = moments.count as f64;
    ((moments.m4 / n - (moments.m2 / n).powi(2)).max(0.0) / n).sqrt()
}

/// 1x1 to n, ReLU, 3x3 to n, ReLU, 1x1 to 2 on a 5 x 5 map of 4 channels.
fn bottleneck(n: usize) -> Sequence {
    chain(&format!(
        "input = {{ channels = 4, height = 5, width = 5 }}
        layers = [
            {{ type = 'conv', width = {n}, kernel = 1, activation = 'relu' }},
            {{ type = 'conv', width = {n}, kernel = 3, activation = 'relu' }},
            {{ type = 'conv', width = 2, kernel = 1 }},
        ]"
    ))
}

#[test]
fn bottleneck_blocks_have_the_law_of_explicit_weights() {
    for (n, draws) in [(1, 40_000), (3, 20_000), (7, 6_000)] {
        let chain = bottleneck(n);
        let inputs = normal_inputs(&chain, 1, 3);
        compare(&chain, Output::Unit, &inputs, [4 * draws, draws], 11).assert_agreement(&format!("n = {n}"));
    }
}

#[test]
fn the_law_is_right_where_it_is_used_at_every_layer() {
    // 40 channels in and 20 inside: no layer is cheaper with explicit weights.
    let chain = chain(
        "input = { channels = 40, height = 3, width = 3 }
        layers = [
            { type = 'conv', width = 20, kernel = 1, activation = 'relu' },
            { type = 'conv', width = 20, kernel = 3, padding = 0, activation = 'relu' },
            { type = 'dense', width = 20, activation = 'relu' },
            { type = 'dense', width = 3 },
        ]",
    );
    let inputs = normal_inputs(&chain, 1, 5);
    compare(&chain, Output::Unit, &inputs, [40_000, 4_000], 13).assert_agreement("deep chain");
}

/// Narrow linear convolutions: what a layer showed on the way forward decides much of what it does
/// on the way back, so a sampler that forgot it would be far off.
#[test]
fn what_was_seen_forward_is_remembered_backward() {
    let chain = chain(
        "input = { channels = 3, height = 3, width = 3 }
        layers = [
            { type = 'conv', width = 2, kernel = 1 },
            { type = 'conv', width = 2, kernel = 3, padding = 0 },
            { type = 'conv', width = 2, kernel = 1 },
            { type = 'conv', width = 1, kernel = 1 },
        ]",
    );
    let inputs = normal_inputs(&chain, 2, 6);
    compare(&chain, Output::Unit, &inputs, [100_000, 50_000], 15).assert_agreement("linear chain");
}

#[test]
fn kernels_between_inputs_have_the_law_of_explicit_weights() {
    let chain = chain(
        "input = { channels = 6 }
        layers = [
            { type = 'dense', width = 12, activation = 'relu' },
            { type = 'dense', width = 10, activation = 'relu' },
            { type = 'dense', width = 1 },
        ]",
    );
    let mut inputs = normal_inputs(&chain, 2, 7);
    // A third input that is a multiple of the first: the columns' Gram matrix is singular behind
    // every layer.
    inputs.push(inputs[0].iter().map(|value| 2.0 * value).collect());
    compare(&chain, Output::Unit, &inputs, [60_000, 30_000], 17).assert_agreement("three inputs");
}

#[test]
fn strides_padding_and_pools_have_the_law_of_explicit_weights() {
    let chain = chain(
        "input = { channels = 3, height = 5, width = 4 }
        layers = [
            { type = 'conv', width = 4, kernel = 3, stride = 2, activation = 'relu' },
            { type = 'conv', width = 3, kernel = 2, padding = 1, activation = 'relu' },
            { type = 'global-average-pool' },
            { type = 'dense', width = 5, activation = 'relu' },
            { type = 'dense', width = 2 },
        ]",
    );
    let inputs = normal_inputs(&chain, 2, 9);
    compare(&chain, Output::Unit, &inputs, [40_000, 20_000], 19).assert_agreement("strided chain");
}

#[test]
fn pooled_outputs_have_the_law_of_explicit_weights() {
    let wide = chain(
        "input = { channels = 30, height = 3, width = 2 }
        layers = [
            { type = 'conv', width = 25, kernel = 1, activation = 'relu' },
            { type = 'conv', width = 2, kernel = 3 },
        ]",
    );
    let inputs = normal_inputs(&wide, 1, 21);
    compare(&wide, Output::PooledUnit, &inputs, [40_000, 6_000], 23).assert_agreement("pooled");
    let padded = bottleneck(2);
    let inputs = normal_inputs(&padded, 1, 25);
    compare(&padded, Output::PooledUnit, &inputs, [20_000, 8_000], 27).assert_agreement("pooled, padded");
}

#[test]
fn a_pool_behind_the_last_weights_is_a_pooled_unit() {
    let text = |tail: &str| {
        format!(
            "input = {{ channels = 3, height = 3, width = 3 }}
            layers = [
                {{ type = 'conv', width = 4, kernel = 3, activation = 'relu' }},
                {{ type = 'conv', width = 2, kernel = 1 }},
                {tail}
            ]"
        )
    };
    let (pooled, plain) = (chain(&text("{ type = 'global-average-pool' },")), chain(&text("")));
    let inputs = normal_inputs(&plain, 1, 29);
    let draw = |chain: &Sequence, output| {
        let sampler = KernelSampler::at_inputs(chain, output, &inputs).unwrap();
        let mut kernel = [0.0];
        sampler.draw(&mut sampler.workspace(), &mut Rng::new(31, 0, 0), &mut kernel);
        kernel[0]
    };
    let (a, b) = (draw(&pooled, Output::Unit), draw(&plain, Output::PooledUnit));
    assert!((a - b).abs() <= 1e-6 * a.abs(), "{a} and {b}");
}

#[test]
fn analytic_activations_have_the_law_of_explicit_weights() {
    for activation in ["erf", "tanh", "gelu", "none"] {
        let chain = chain(&format!(
            "input = {{ channels = 9 }}
            layers = [
                {{ type = 'dense', width = 6, activation = '{activation}' }},
                {{ type = 'dense', width = 7, activation = '{activation}' }},
                {{ type = 'dense', width = 1, activation = '{activation}' }},
            ]"
        ));
        let inputs = normal_inputs(&chain, 1, 33);
        compare(&chain, Output::Unit, &inputs, [40_000, 40_000], 35).assert_agreement(activation);
    }
}

#[test]
fn one_pixel_and_one_channel_are_enough() {
    let chain = chain(
        "input = { channels = 1 }
        layers = [
            { type = 'conv', width = 1, kernel = 3, activation = 'relu' },
            { type = 'conv', width = 1, kernel = 3, activation = 'relu' },
            { type = 'conv', width = 1, kernel = 1 },
        ]",
    );
    let comparison = compare(&chain, Output::Unit, &[vec![1.5]], [100_000, 100_000], 37);
    comparison.assert_agreement("one pixel");
    // Either hidden unit is off in half the draws, and the kernel is zero if one is.
    let zeros = share_of_zeros(&chain, &[vec![1.5]], 100_000, 37);
    assert_share(zeros, 0.75, 100_000);
}

/// How many draws of the kernel at an input are zero, as a share.
fn share_of_zeros(chain: &Sequence, inputs: &[Vec<f32>], draws: u64, seed: u64) -> f64 {
    let sampler = KernelSampler::at_inputs(chain, Output::Unit, inputs).unwrap();
    let (mut workspace, mut kernel) = (sampler.workspace(), [0.0]);
    let is_zero = |trial: &u64| {
        sampler.draw(&mut workspace, &mut Rng::new(seed, 0, *trial), &mut kernel);
        assert!(kernel[0].is_finite());
        kernel[0] == 0.0
    };
    (0..draws).filter(is_zero).count() as f64 / draws as f64
}

/// A share of so many draws is its probability within 4.5 standard errors.
fn assert_share(share: f64, probability: f64, draws: u64) {
    let error = (probability * (1.0 - probability) / draws as f64).sqrt();
    assert!((share - probability).abs() <= 4.5 * error, "{share} instead of {probability} +- {error}");
}

#[test]
fn a_dead_layer_gives_a_kernel_of_zero() {
    let dead = bottleneck(1);
    let inputs = normal_inputs(&dead, 1, 3);
    let draws = 20_000;
    let zeros = share_of_zeros(&dead, &inputs, draws, 39);
    // The first layer's unit is off at all nine positions that the output sees where its weights
    // have a negative product with all nine pixels (here found by drawing them 50 times as often,
    // so that its error does not count). Otherwise the second layer's unit is off in half the
    // draws.
    let pixel = |channel: usize, at: usize| inputs[0][25 * channel + at];
    let seen: Vec<usize> = (1..4).flat_map(|row| (1..4).map(move |column| 5 * row + column)).collect();
    let all_off = |trial: &u64| {
        let mut weights = [0.0; 4];
        Rng::new(40, 0, *trial).fill_normal(&mut weights);
        let product = |at: usize| (0..4).map(|c| weights[c] * pixel(c, at)).sum::<f32>();
        seen.iter().all(|&at| product(at) <= 0.0)
    };
    let off = (0..50 * draws).filter(all_off).count() as f64 / (50 * draws) as f64;
    assert_share(zeros, off + 0.5 * (1.0 - off), draws);
}

#[test]
fn fully_connected_networks_have_the_exact_moments() {
    for widths in [vec![6, 5], vec![8, 8, 8], vec![1, 3], vec![40, 3, 11, 2], vec![64; 5]] {
        let text: Vec<String> = widths.iter().map(ToString::to_string).collect();
        let spec: Spec = format!("fc{}-{}", widths.len() + 1, text.join(",")).parse().unwrap();
        let member = spec.module().unwrap().member();
        let sampler = KernelSampler::at_normal_input(&member, Output::Unit, 1).unwrap();
        let moments = sampler.tally(41, 0, 0..200_000).moments();
        let exact = exact::moments(&widths).unwrap();
        let gap = moments.second_moment_ratio() - exact.second_moment_ratio;
        let error = moments.second_moment_ratio_standard_error();
        // Heavy tails make the estimated error itself uncertain: 4.5 of them, five seeds fixed.
        assert!(gap.abs() <= 4.5 * error, "{widths:?}: ratio off by {gap} +- {error}");
    }
}

#[test]
fn the_mean_is_the_depth_for_an_input_of_the_dimensions_norm() {
    let member = "fc4-30".parse::<Spec>().unwrap().module().unwrap().member();
    let x = vec![1.0; 784];
    let sampler = KernelSampler::at_inputs(&member, Output::Unit, &[x]).unwrap();
    let moments = sampler.tally(43, 0, 0..100_000).moments();
    let exact = exact::moments(&[30, 30, 30]).unwrap();
    assert!((moments.mean() - exact.mean).abs() < 4.5 * moments.standard_error());
}

#[test]
fn a_hundred_thousand_units_are_no_trouble() {
    let member = "fc4-100000".parse::<Spec>().unwrap().module().unwrap().member();
    let sampler = KernelSampler::at_inputs(&member, Output::Unit, &[vec![1.0; 784]]).unwrap();
    let moments = sampler.tally(45, 0, 0..20).moments();
    // Standard deviation at this width: sqrt(variance) of the exact moments, about 1.2 % of the
    // mean 4.
    let deviation = exact::moments(&[100_000; 3]).unwrap().variance().sqrt() * 4.0;
    assert!((moments.mean() - 4.0).abs() < 4.5 * deviation / 20f64.sqrt(), "{}", moments.mean());
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let chain = bottleneck(5);
    let sampler = KernelSampler::at_normal_input(&chain, Output::Unit, 47).unwrap();
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sampler.tally(47, 5, 0..1234))
    };
    let one = with_threads(1);
    assert_eq!(one, with_threads(2));
    assert_eq!(one, with_threads(3));
}

#[test]
fn receptive_fields_beyond_reason_are_refused() {
    let spec = Spec::from_toml(
        "kind = 'sequence'\ninput = { channels = 3, height = 64, width = 64 }
        layers = [{ type = 'conv', width = 4, kernel = 3, activation = 'relu' }, { type = 'global-average-pool' }, { type = 'dense', width = 1 }]",
    );
    let member = spec.unwrap().module().unwrap().member();
    let refusal = KernelSampler::at_normal_input(&member, Output::Unit, 0).unwrap_err().to_string();
    assert!(refusal.contains("4096 positions"), "{refusal}");
}

#[test]
fn bad_inputs_are_refused_in_a_sentence() {
    let chain = bottleneck(2);
    let refusal =
        |inputs: &[Vec<f32>]| KernelSampler::at_inputs(&chain, Output::Unit, inputs).unwrap_err().to_string();
    assert_eq!(refusal(&[]), "a kernel needs at least one input, but none was given");
    assert_eq!(refusal(&[vec![1.0; 3]]), "input 0 has 3 values, but the module takes 100");
    let mut nan = vec![0.0; 100];
    nan[7] = f32::NAN;
    assert_eq!(refusal(&[nan]), "input 0 contains NaN; inputs must be finite numbers");
}
