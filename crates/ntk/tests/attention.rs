//! The law of attention heads against weights, drawn here and differentiated by loops.

use collegial_arch::Activation;
use collegial_core::{Moments, Rng, Silent};
use collegial_ntk::attention::{Head, Logits, Tokens};
use collegial_ntk::feed_forward::{constant, mean};
use rayon::prelude::*;

/// A matrix of standard normal weights.
fn weights(rows: usize, columns: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    (0..rows).map(|_| (0..columns).map(|_| rng.normal()).collect()).collect()
}

fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// What is drawn: token vectors, their query token last, and heads that share keys and values.
struct Explicit {
    tokens: Vec<Vec<f64>>,
    query: usize,
    width: usize,
    sharing: usize,
    logits: Logits,
}

impl Explicit {
    /// Vectors of T + 1 features with |x|^2 = d and the same correlation between all.
    fn equal(count: usize, correlation: f64, width: usize) -> Self {
        let features = count + 1;
        let scale = (features as f64).sqrt();
        let token = |t: usize| {
            let mut x = vec![0.0; features];
            (x[t], x[count]) = (scale * (1.0 - correlation).sqrt(), scale * correlation.sqrt());
            x
        };
        let tokens = (0..count).map(token).collect();
        Self { tokens, query: 0, width, sharing: 1, logits: Logits::InverseRoot }
    }

    /// W x / √d of every token.
    fn projected(&self, matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let root = (self.tokens[0].len() as f64).sqrt();
        self.tokens.iter().map(|x| matrix.iter().map(|row| inner(row, x) / root).collect()).collect()
    }

    /// K: all weights are drawn, and the squares of all derivatives of the output added up.
    fn kernel(&self, rng: &mut Rng) -> f64 {
        let (n, d, heads) = (self.width, self.tokens[0].len(), self.sharing);
        let (root, feature_root) = ((n as f64).sqrt(), (d as f64).sqrt());
        let divisor = if self.logits == Logits::InverseRoot { root } else { n as f64 };
        let keys = self.projected(&weights(n, d, rng));
        let values = self.projected(&weights(n, d, rng));
        let x = &self.tokens[self.query];
        let shared = 1.0 / (heads as f64).sqrt();
        let (mut by_value, mut by_key) = (vec![vec![0.0; d]; n], vec![vec![0.0; d]; n]);
        let mut kernel = 0.0;
        for _ in 0..heads {
            let query: Vec<f64> = weights(n, d, rng).iter().map(|row| inner(row, x) / feature_root).collect();
            let output = &weights(1, n, rng)[0];
            let exponentials: Vec<f64> =
                keys.iter().map(|key| (inner(&query, key) / divisor).exp()).collect();
            let sum: f64 = exponentials.iter().sum();
            let attention: Vec<f64> = exponentials.iter().map(|e| e / sum).collect();
            let of_token: Vec<f64> =
                values.iter().map(|value| shared * inner(output, value) / root).collect();
            let mean = inner(&attention, &of_token);
            let slopes: Vec<f64> = attention.iter().zip(&of_token).map(|(a, y)| a * (y - mean)).collect();
            let mut query_side = vec![0.0; n];
            for i in 0..n {
                let attended: f64 = attention.iter().zip(&values).map(|(a, value)| a * value[i]).sum();
                kernel += (shared * attended / root).powi(2);
                query_side[i] = slopes.iter().zip(&keys).map(|(b, key)| b * key[i]).sum::<f64>() / divisor;
            }
            for j in 0..d {
                let attended: f64 = attention.iter().zip(&self.tokens).map(|(a, x)| a * x[j]).sum();
                let moved: f64 = slopes.iter().zip(&self.tokens).map(|(b, x)| b * x[j]).sum();
                for i in 0..n {
                    by_value[i][j] += shared * output[i] / root * attended / feature_root;
                    by_key[i][j] += query[i] / divisor * moved / feature_root;
                    kernel += (query_side[i] * x[j] / feature_root).powi(2);
                }
            }
        }
        kernel + by_value.iter().chain(&by_key).flatten().map(|entry| entry * entry).sum::<f64>()
    }

    /// The law of the same head, its tokens by their Gram matrix.
    fn law(&self) -> Head {
        let d = self.tokens[0].len() as f64;
        let gram =
            self.tokens.iter().flat_map(|x| self.tokens.iter().map(move |y| inner(x, y) / d)).collect();
        Head::new(Tokens::of_gram(gram).unwrap(), self.width)
            .query(self.query)
            .sharing(self.sharing)
            .logits(self.logits)
    }

    /// Mean and variance agree within three standard errors of both.
    fn compare(&self, law: &Head, draws: u64, seed: u64) {
        let kernels: Vec<f64> =
            (0..draws).into_par_iter().map(|draw| self.kernel(&mut Rng::new(seed, 1, draw))).collect();
        let explicit: Moments = kernels.into_iter().collect();
        let law = law.moments(seed, 2, 4 * draws, &Silent).unwrap();
        let means = (explicit.mean() - law.mean()) / explicit.standard_error().hypot(law.standard_error());
        let error =
            explicit.second_moment_ratio_standard_error().hypot(law.second_moment_ratio_standard_error());
        let ratios = (explicit.second_moment_ratio() - law.second_moment_ratio()) / error;
        let Self { width, sharing, logits, .. } = self;
        let name = format!("T = {}, n = {width}, r = {sharing}, {logits:?}", self.tokens.len());
        println!("{name}: z {means:.2} {ratios:.2}, variance {:.4}", law.second_moment_ratio() - 1.0);
        assert!(means.abs() < 3.0 && ratios.abs() < 3.0, "{name}: z {means} of means, {ratios} of variances");
    }
}

/// Draws that take about as long for every size.
fn draws(tokens: usize, width: usize) -> u64 {
    (1.0e8 / (tokens * tokens * width) as f64).clamp(400.0, 20_000.0) as u64
}

#[test]
fn heads_have_the_law_of_explicit_weights() {
    let sizes = [
        (1, 1),
        (1, 16),
        (2, 1),
        (2, 4),
        (4, 2),
        (4, 128),
        (16, 1),
        (16, 8),
        (16, 64),
        (64, 4),
        (64, 32),
        (256, 2),
    ];
    for (index, (count, width)) in sizes.into_iter().enumerate() {
        for (step, correlation) in [0.0, 0.5, 0.9].into_iter().enumerate() {
            let explicit = Explicit::equal(count, correlation, width);
            let law = Head::new(Tokens::correlated(count, correlation).unwrap(), width);
            explicit.compare(&law, draws(count, width), (10 * index + step) as u64);
        }
    }
}

/// Token vectors drawn anew, fewer features than tokens (a Gram matrix without full rank), any query.
#[test]
fn any_tokens_have_the_law_of_explicit_weights() {
    for (features, count, width, query) in [(3, 7, 4, 2), (8, 5, 1, 4), (16, 24, 8, 0), (1, 3, 3, 1)] {
        let tokens = weights(count, features, &mut Rng::new(7, features as u32, 0));
        let explicit = Explicit { tokens, query, ..Explicit::equal(1, 0.0, width) };
        explicit.compare(&explicit.law(), 10_000, 70 + features as u64);
    }
}

/// Tokens behind the query do not count.
#[test]
fn causal_heads_see_what_came_before() {
    let drawn = weights(9, 6, &mut Rng::new(8, 0, 0));
    for position in [0, 3, 8] {
        let seen = drawn[..=position].to_vec();
        let explicit = Explicit { tokens: seen, query: position, ..Explicit::equal(1, 0.0, 4) };
        let all = Explicit { tokens: drawn.clone(), ..Explicit::equal(1, 0.0, 4) };
        explicit.compare(&all.law().causal(position), 10_000, 80 + position as u64);
    }
}

#[test]
fn logits_over_the_width_have_the_law_of_explicit_weights() {
    for (count, width) in [(4, 1), (16, 8), (32, 16)] {
        let explicit = Explicit { logits: Logits::InverseWidth, ..Explicit::equal(count, 0.3, width) };
        explicit.compare(&explicit.law(), draws(count, width), 90 + width as u64);
    }
}

/// More heads than width included, where the queries span less than their number.
#[test]
fn heads_that_share_keys_and_values_have_the_law_of_explicit_weights() {
    for (sharing, count, width) in [(2, 8, 1), (2, 16, 8), (4, 8, 2), (3, 5, 3), (8, 16, 16), (4, 4, 6)] {
        let explicit = Explicit { sharing, ..Explicit::equal(count, 0.4, width) };
        explicit.compare(&explicit.law(), draws(count, width * sharing), 100 + (sharing * width) as u64);
    }
}

/// Output and value matrices alone: Var = (1 + c)(1 + 1/n) - 1 with c = Var[A] / E[A]^2, for one
/// token 1/n.
#[test]
fn one_token_has_the_variance_of_two_linear_layers() {
    for width in [1, 3, 50] {
        let head = Head::new(Tokens::white(1).unwrap(), width);
        let moments = head.moments(3, 0, 40_000, &Silent).unwrap();
        let (found, error) = (moments.second_moment_ratio(), moments.second_moment_ratio_standard_error());
        assert!((found - 1.0 - 1.0 / width as f64).abs() < 3.0 * error, "{width}: {found} +- {error}");
    }
}

/// Var[K] / E[K]^2 of a head on white tokens, and its standard error.
fn variance(tokens: usize, width: usize, draws: u64) -> (f64, f64) {
    let head = Head::new(Tokens::white(tokens).unwrap(), width);
    let moments = head.moments(7, width as u32, draws, &Silent).unwrap();
    (moments.second_moment_ratio() - 1.0, moments.second_moment_ratio_standard_error())
}

/// Var = A_0 + B_0/n + C_0/n^2 with A_0 > 0: attention weights stay random however wide a head is.
/// There K = 2 (A + B) with A = Σ_t a_t², B = Σ_t a_t² (g_t - a·g)² and a_t ∝ exp(z_t). For many
/// white tokens the sums over exp(z_t) are nearly normal, and by the delta method T A_0 tends to
/// 3/2 e^4 - 4 e^2 + 4 e - 1 = 62.2. Within three standard errors and 10 % for the finite T.
#[test]
fn wide_heads_keep_a_variance_that_falls_like_one_over_the_tokens() {
    let e = std::f64::consts::E;
    let limit = 1.5 * e.powi(4) - 4.0 * e.powi(2) + 4.0 * e - 1.0;
    for (tokens, draws) in [(16_384, 1500), (65_536, 400)] {
        let (found, error) = variance(tokens, 1_000_000, draws);
        let (found, error) = (tokens as f64 * found, tokens as f64 * error);
        println!("T = {tokens}: T A_0 = {found} +- {error}");
        assert!((found - limit).abs() < 3.0 * error + 0.1 * limit, "T = {tokens}: {found} +- {error}");
    }
}

/// At fixed m n the least n Var is at n = sqrt(C_0/A_0): 1 to 4 for 16 white tokens, 4 to 8 for 64.
/// No width outside is better by three standard errors, and those that are too wide by a factor of
/// two, or too narrow by four, are worse by three.
#[test]
fn white_tokens_have_the_best_head_widths_of_the_paper_s_notes() {
    for (tokens, draws, between) in [(16, 200_000, 1..=4), (64, 600_000, 4..=8)] {
        let of = |width: usize| {
            let (found, error) = variance(tokens, width, draws);
            (width, width as f64 * found, width as f64 * error)
        };
        let all = [1, 2, 4, 8, 16].map(of);
        println!("T = {tokens}: {all:?}");
        let inside = |point: &&(usize, f64, f64)| between.contains(&point.0);
        let best = all.iter().filter(inside).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        for other in all.iter().filter(|point| !inside(point)) {
            let (worse, error) = (other.1 - best.1, other.2.hypot(best.2));
            assert!(worse > -3.0 * error, "T = {tokens}: {all:?}");
            let far = other.0 >= 2 * between.end() || 4 * other.0 <= *between.start();
            assert!(!far || worse > 3.0 * error, "T = {tokens}: {all:?}");
        }
    }
}

#[test]
fn draws_do_not_depend_on_the_number_of_threads() {
    let head = Head::new(Tokens::correlated(9, 0.2).unwrap(), 5).sharing(2);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| head.moments(1, 0, 1000, &Silent).unwrap())
    };
    assert_eq!(on(1), on(3));
}

/// The constants of the paper's notes: ReLU 3, GELU 3.606, SiLU 3.607, SwiGLU 10.93, GEGLU 10.81,
/// bilinear 4, linear 1.
#[test]
fn feed_forward_layers_have_their_constants() {
    for (activation, gated, expected, digits) in [
        (Activation::Relu, false, 3.0, 1e-6),
        (Activation::None, false, 1.0, 1e-6),
        (Activation::None, true, 4.0, 1e-6),
        (Activation::Gelu, false, 3.606, 5e-4),
        (Activation::Silu, false, 3.607, 5e-4),
        (Activation::Silu, true, 10.93, 5e-3),
        (Activation::Gelu, true, 10.81, 5e-3),
    ] {
        let found = constant(activation, gated);
        assert!((found - expected).abs() <= digits, "{activation} {gated}: {found}");
    }
}

/// Layers with all their weights, of two features per token and five neurons: mean and variance of every
/// activation, with a gate and without.
#[test]
fn feed_forward_layers_have_the_moments_of_explicit_weights() {
    type Function = fn(f64) -> f64;
    fn logistic(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }
    // The slopes are derived here by hand, apart from the crate's.
    let cases: [(Activation, Function, Function); 4] = [
        (Activation::Relu, |x| x.max(0.0), |x| f64::from(u8::from(x > 0.0))),
        (Activation::None, |x| x, |_| 1.0),
        (Activation::Tanh, f64::tanh, |x| 1.0 - x.tanh().powi(2)),
        (Activation::Silu, |x| x * logistic(x), |x| logistic(x) * (1.0 + x * (1.0 - logistic(x)))),
    ];
    let (x, neurons) = ([0.6_f64, 1.28062484748657], 5);
    let root = 2.0_f64.sqrt();
    for (index, (activation, phi, slope)) in cases.iter().enumerate() {
        for gated in [false, true] {
            let kernel = |draw: u64| -> f64 {
                let mut rng = Rng::new(11, index as u32, draw);
                let scale = 1.0 / (neurons as f64).sqrt();
                let matrix = |rng: &mut Rng| weights(neurons, 2, rng);
                let (first, gate, last) = (matrix(&mut rng), matrix(&mut rng), weights(1, neurons, &mut rng));
                let mut sum = 0.0;
                for j in 0..neurons {
                    let h = inner(&first[j], &x) / root;
                    let u = if gated { inner(&gate[j], &x) / root } else { 1.0 };
                    sum += (scale * phi(h) * u).powi(2);
                    for feature in x {
                        sum += (scale * last[0][j] * slope(h) * u * feature / root).powi(2);
                        if gated {
                            sum += (scale * last[0][j] * phi(h) * feature / root).powi(2);
                        }
                    }
                }
                sum
            };
            let drawn: Vec<f64> = (0..100_000).into_par_iter().map(kernel).collect();
            let found: Moments = drawn.into_iter().collect();
            let variance = constant(*activation, gated) / neurons as f64;
            let error = found.second_moment_ratio_standard_error();
            let name = format!("{activation}, gated {gated}");
            assert!((found.second_moment_ratio() - 1.0 - variance).abs() < 3.0 * error, "{name}: {found:?}");
            let off = found.mean() - mean(*activation, gated);
            assert!(off.abs() < 3.0 * found.standard_error(), "{name}: {off}");
        }
    }
}

/// Neurons drawn one by one, all weights of a layer with a gate.
#[test]
fn gated_layers_have_the_variance_of_drawn_ones() {
    let neurons = 8;
    let kernel = |draw: u64| -> f64 {
        let mut rng = Rng::new(4, 0, draw);
        let neuron = |_| {
            let [h, u, w] = [rng.normal(), rng.normal(), rng.normal()];
            let (rectified, slope) = (h.max(0.0), f64::from(u8::from(h > 0.0)));
            (u * rectified).powi(2) + (w * rectified).powi(2) + (w * u * slope).powi(2)
        };
        (0..neurons).map(neuron).sum::<f64>() / neurons as f64
    };
    let moments: Moments = (0..200_000).map(kernel).collect();
    let found = moments.second_moment_ratio() - 1.0;
    let expected = constant(Activation::Relu, true) / neurons as f64;
    let error = moments.second_moment_ratio_standard_error();
    assert!((found - expected).abs() < 3.0 * error, "{found} +- {error} instead of {expected}");
}
