//! The slow reference: every weight drawn, every map computed whole, every parameter's gradient
//! formed, in f64.

use collegial_arch::{Activation, Linear, Sequence};
use collegial_core::Rng;
use collegial_ntk::Output;

/// A map of channels x height x width values.
#[derive(Clone)]
struct Map {
    values: Vec<f64>,
    channels: usize,
    height: usize,
    width: usize,
}

impl Map {
    fn zeros(channels: usize, height: usize, width: usize) -> Self {
        Self { values: vec![0.0; channels * height * width], channels, height, width }
    }
    fn at(&mut self, channel: usize, row: usize, column: usize) -> &mut f64 {
        &mut self.values[(channel * self.height + row) * self.width + column]
    }
}

/// The kernel matrix of one draw of weights.
pub fn kernel(chain: &Sequence, output: Output, inputs: &[Vec<f32>], rng: &mut Rng) -> Vec<f64> {
    let weights = draw_weights(chain, rng);
    let gradients: Vec<Vec<f64>> = inputs.iter().map(|x| gradient(chain, output, &weights, x)).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    gradients.iter().flat_map(|a| gradients.iter().map(move |b| dot(a, b))).collect()
}

fn draw_weights(chain: &Sequence, rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut channels = chain.input.channels;
    let mut draw = |layer: Linear| {
        let count = layer.width * channels * layer.kernel * layer.kernel;
        channels = layer.width;
        (0..count).map(|_| rng.normal()).collect()
    };
    chain.layers.iter().map(|layer| layer.linear().map_or(vec![], &mut draw)).collect()
}

/// All derivatives of the output by the weights, layer after layer.
fn gradient(chain: &Sequence, output: Output, weights: &[Vec<f64>], x: &[f32]) -> Vec<f64> {
    let input = Map {
        values: x.iter().map(|&value| f64::from(value)).collect(),
        channels: chain.input.channels,
        height: chain.input.height,
        width: chain.input.width,
    };
    let (mut before, mut after) = (vec![], vec![input]);
    for (layer, weights) in chain.layers.iter().zip(weights) {
        let x = &after[after.len() - 1];
        let h = layer.linear().map_or_else(|| pool(x), |linear| convolve(linear, x, weights));
        let mut a = h.clone();
        if let Some(linear) = layer.linear() {
            a.values.iter_mut().for_each(|value| *value = phi(linear.activation, *value));
        }
        before.push(h);
        after.push(a);
    }
    let last = &after[after.len() - 1];
    let mut cotangent = Map::zeros(last.channels, last.height, last.width);
    match output {
        Output::Unit => *cotangent.at(0, last.height / 2, last.width / 2) = 1.0,
        Output::PooledUnit => {
            let pixels = last.height * last.width;
            cotangent.values[..pixels].fill(1.0 / pixels as f64);
        }
    }
    let mut gradients = vec![];
    for (index, layer) in chain.layers.iter().enumerate().rev() {
        let x = &after[index];
        match layer.linear() {
            None => {
                let pixels = (x.height * x.width) as f64;
                let mut spread = Map::zeros(x.channels, x.height, x.width);
                let per_channel = x.height * x.width;
                for (at, value) in spread.values.iter_mut().enumerate() {
                    *value = cotangent.values[at / per_channel] / pixels;
                }
                cotangent = spread;
            }
            Some(linear) => {
                for (cotangent, &h) in cotangent.values.iter_mut().zip(&before[index].values) {
                    *cotangent *= phi_prime(linear.activation, h);
                }
                let (by_weight, by_input) = convolve_back(linear, x, &weights[index], &mut cotangent);
                gradients.extend(by_weight);
                cotangent = by_input;
            }
        }
    }
    gradients
}

fn scale(layer: Linear, channels: usize) -> f64 {
    let gain = if layer.activation == Activation::Relu { 2.0 } else { 1.0 };
    (gain / (channels * layer.kernel * layer.kernel) as f64).sqrt()
}

/// Calls `visit(weight index, output (channel, row, column), input (channel, row, column))` for
/// every product.
fn products(layer: Linear, x: &Map, mut visit: impl FnMut(usize, [usize; 3], [usize; 3])) -> (usize, usize) {
    let Linear { width, kernel, stride, padding, .. } = layer;
    let side = |side: usize| (side + 2 * padding - kernel) / stride + 1;
    let (height, columns) = (side(x.height), side(x.width));
    for out in 0..width {
        for row in 0..height {
            for column in 0..columns {
                for channel in 0..x.channels {
                    for tap in 0..kernel * kernel {
                        let y = (row * stride + tap / kernel).wrapping_sub(padding);
                        let z = (column * stride + tap % kernel).wrapping_sub(padding);
                        if y < x.height && z < x.width {
                            let weight = (out * x.channels + channel) * kernel * kernel + tap;
                            visit(weight, [out, row, column], [channel, y, z]);
                        }
                    }
                }
            }
        }
    }
    (height, columns)
}

fn convolve(layer: Linear, x: &Map, weights: &[f64]) -> Map {
    let (height, width) = products(layer, x, |_, _, _| {});
    let mut out = Map::zeros(layer.width, height, width);
    let mut x = x.clone();
    let scale = scale(layer, x.channels);
    let shape = x.clone();
    products(layer, &shape, |weight, [a, b, c], [d, e, f]| {
        *out.at(a, b, c) += scale * weights[weight] * *x.at(d, e, f);
    });
    out
}

fn convolve_back(layer: Linear, x: &Map, weights: &[f64], cotangent: &mut Map) -> (Vec<f64>, Map) {
    let mut by_weight = vec![0.0; weights.len()];
    let mut by_input = Map::zeros(x.channels, x.height, x.width);
    let mut values = x.clone();
    let scale = scale(layer, x.channels);
    products(layer, x, |weight, [a, b, c], [d, e, f]| {
        let incoming = scale * *cotangent.at(a, b, c);
        by_weight[weight] += incoming * *values.at(d, e, f);
        *by_input.at(d, e, f) += incoming * weights[weight];
    });
    (by_weight, by_input)
}

fn pool(x: &Map) -> Map {
    let pixels = x.height * x.width;
    let values = x.values.chunks(pixels).map(|channel| channel.iter().sum::<f64>() / pixels as f64).collect();
    Map { values, channels: x.channels, height: 1, width: 1 }
}

/// φ by its definition in words or by a series, in other forms than the library's.
fn phi(activation: Activation, x: f64) -> f64 {
    // Odd around (0, 1/2), in terms of e^x.
    let logistic = |x: f64| x.exp() / (x.exp() + 1.0);
    match activation {
        Activation::None => x,
        Activation::Relu if x > 0.0 => x,
        Activation::Relu => 0.0,
        Activation::Erf => erf(x),
        Activation::Tanh => 2.0 * logistic(2.0 * x) - 1.0,
        Activation::Gelu => x * (0.5 + 0.5 * erf(x / 2f64.sqrt())),
        Activation::Sigmoid => logistic(x),
        Activation::Silu => x * logistic(x),
        Activation::Relu6 if x > 6.0 => 6.0,
        Activation::HardSwish if x <= -3.0 => 0.0,
        Activation::HardSwish if x >= 3.0 => x,
        Activation::HardSwish => x / 2.0 + x * x / 6.0,
        Activation::Relu6 | Activation::LeakyRelu if x >= 0.0 => x,
        Activation::Relu6 => 0.0,
        Activation::LeakyRelu => x / 100.0,
    }
}

/// erf x = 2 / sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...), a series of terms of one sign.
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, 0.0);
    for k in 1..200 {
        sum += term;
        term *= 2.0 * x * x / (2 * k + 1) as f64;
    }
    2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp() * sum
}

fn phi_prime(activation: Activation, x: f64) -> f64 {
    if activation == Activation::Relu {
        return f64::from(u8::from(x > 0.0));
    }
    let step = 1e-6;
    (phi(activation, x + step) - phi(activation, x - step)) / (2.0 * step)
}
