//! A network by definition: every operation as plain loops in f64,
//! `[batch][channels][height][width]` throughout.

#![allow(dead_code)] // Every test file uses its own part.

use collegial_arch::{Activation, Graph, Node, Op, Shape};
use collegial_core::Rng;
use collegial_nn::{Mode, Network, cross_entropy, half_squares};
use std::collections::HashMap;

/// Named tensors in f64.
pub type Tensors = HashMap<String, Vec<f64>>;

/// Parameters and running statistics of a network.
pub fn tensors(network: &Network) -> Tensors {
    let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect();
    let parameters =
        network.parameters().iter().map(|p| (p.name.clone(), wide(&network.values()[p.range.clone()])));
    parameters.chain(network.statistics().map(|(name, values)| (name, wide(values)))).collect()
}

/// Computes the outputs. `factor(name)` multiplies the weights of a layer. In training mode the
/// running statistics among the tensors are updated.
pub fn forward(
    graph: &Graph,
    tensors: &mut Tensors,
    factor: &dyn Fn(&str) -> f64,
    input: &[f64],
    batch: usize,
    mode: Mode,
) -> Vec<f64> {
    let mut values: Vec<Vec<f64>> = Vec::new();
    for node in &graph.nodes {
        let operand = |index: usize| (&values[node.inputs[index]], graph.nodes[node.inputs[index]].shape);
        let value = match &node.op {
            Op::Input => input.to_vec(),
            Op::Conv { .. } | Op::Dense { .. } => {
                let weights = &tensors[&format!("{}.weight", node.name)];
                let bias = tensors.get(&format!("{}.bias", node.name));
                linear(node, operand(0), weights, factor(&node.name), bias, batch)
            }
            Op::BatchNorm => batch_norm(node, operand(0).0, tensors, batch, mode),
            Op::Activation(activation) => operand(0).0.iter().map(|&x| phi(*activation, x)).collect(),
            Op::Scale => {
                let pixels = node.shape.pixels();
                operand(0).0.iter().enumerate().map(|(at, x)| x * operand(1).0[at / pixels]).collect()
            }
            Op::Add => operand(0).0.iter().zip(operand(1).0).map(|(a, b)| a + b).collect(),
            Op::MaxPool { kernel, stride, padding } => {
                max_pool(operand(0), node.shape, (*kernel, *stride, *padding), batch)
            }
            Op::AveragePool { side } => average_pool(operand(0), node.shape, *side, batch),
            Op::GlobalAveragePool => {
                let pixels = operand(0).1.pixels();
                operand(0).0.chunks(pixels).map(|plane| plane.iter().sum::<f64>() / pixels as f64).collect()
            }
            Op::MemberSum { members } => {
                let len = node.shape.channels * node.shape.pixels();
                let sum = |members_of_image: &[f64], at: usize| -> f64 {
                    members_of_image.iter().skip(at).step_by(len).sum::<f64>() / (*members as f64).sqrt()
                };
                operand(0)
                    .0
                    .chunks(len * members)
                    .flat_map(|image| (0..len).map(move |at| sum(image, at)))
                    .collect()
            }
        };
        values.push(value);
    }
    values.pop().expect("a graph has nodes")
}

/// Convolutions and dense layers (a dense layer is a 1x1 convolution of a one-pixel image).
fn linear(
    node: &Node,
    (x, from): (&Vec<f64>, Shape),
    weights: &[f64],
    factor: f64,
    bias: Option<&Vec<f64>>,
    batch: usize,
) -> Vec<f64> {
    let (kernel, stride, padding, groups) = match node.op {
        Op::Conv { kernel, stride, padding, groups, .. } => (kernel, stride, padding, groups),
        Op::Dense { groups, .. } => (1, 1, 0, groups),
        _ => unreachable!("only layers with weights come here"),
    };
    let Shape { channels, height, width } = node.shape;
    let (inputs, outputs) = (from.channels / groups, channels / groups);
    let mut result = Vec::new();
    for n in 0..batch {
        for o in 0..channels {
            for (i, j) in (0..height * width).map(|p| (p / width, p % width)) {
                let mut sum = 0.0;
                for c in 0..inputs {
                    let plane = (n * from.channels + o / outputs * inputs + c) * from.pixels();
                    for (kh, kw) in (0..kernel * kernel).map(|p| (p / kernel, p % kernel)) {
                        let y = (i * stride + kh).wrapping_sub(padding);
                        let z = (j * stride + kw).wrapping_sub(padding);
                        if y < from.height && z < from.width {
                            sum += x[plane + y * from.width + z]
                                * weights[((o * inputs + c) * kernel + kh) * kernel + kw];
                        }
                    }
                }
                result.push(factor * sum + bias.map_or(0.0, |bias| bias[o]));
            }
        }
    }
    result
}

fn batch_norm(node: &Node, x: &[f64], tensors: &mut Tensors, batch: usize, mode: Mode) -> Vec<f64> {
    let (channels, pixels) = (node.shape.channels, node.shape.pixels());
    let name = |what: &str| format!("{}.{what}", node.name);
    let mut result = vec![0.0; x.len()];
    for c in 0..channels {
        let places: Vec<usize> =
            (0..batch).flat_map(|n| (0..pixels).map(move |p| (n * channels + c) * pixels + p)).collect();
        let count = places.len() as f64;
        let (mean, variance) = match mode {
            Mode::Train => {
                let mean = places.iter().map(|&at| x[at]).sum::<f64>() / count;
                (mean, places.iter().map(|&at| (x[at] - mean).powi(2)).sum::<f64>() / count)
            }
            Mode::Evaluate => (tensors[&name("running_mean")][c], tensors[&name("running_var")][c]),
        };
        if mode == Mode::Train {
            let mut blend = |what: &str, new: f64| {
                let old = &mut tensors.get_mut(&name(what)).expect("norms have statistics")[c];
                *old = 0.9 * *old + 0.1 * new;
            };
            blend("running_mean", mean);
            blend("running_var", variance * count / (count - 1.0));
        }
        let (scale, shift) = (tensors[&name("weight")][c], tensors[&name("bias")][c]);
        for at in places {
            result[at] = scale * (x[at] - mean) / (variance + 1e-5).sqrt() + shift;
        }
    }
    result
}

/// Every pixel's share of its window, pixel by pixel.
fn average_pool((x, from): (&Vec<f64>, Shape), to: Shape, side: usize, batch: usize) -> Vec<f64> {
    let mut sums = vec![0.0; batch * from.channels * to.pixels()];
    let mut counts = vec![0.0; sums.len()];
    for (at, value) in x.iter().enumerate() {
        let (plane, pixel) = (at / from.pixels(), at % from.pixels());
        let (row, column) = (pixel / from.width / side, pixel % from.width / side);
        let window = plane * to.pixels() + row * to.width + column;
        sums[window] += value;
        counts[window] += 1.0;
    }
    sums.iter().zip(counts).map(|(sum, count)| sum / count).collect()
}

fn max_pool(
    (x, from): (&Vec<f64>, Shape),
    to: Shape,
    (kernel, stride, padding): (usize, usize, usize),
    batch: usize,
) -> Vec<f64> {
    let mut result = Vec::new();
    for plane in x.chunks(from.pixels()).take(batch * from.channels) {
        for (i, j) in (0..to.pixels()).map(|p| (p / to.width, p % to.width)) {
            let mut best = f64::NEG_INFINITY;
            for (kh, kw) in (0..kernel * kernel).map(|p| (p / kernel, p % kernel)) {
                let (y, z) =
                    ((i * stride + kh).wrapping_sub(padding), (j * stride + kw).wrapping_sub(padding));
                if y < from.height && z < from.width {
                    best = best.max(plane[y * from.width + z]);
                }
            }
            result.push(best);
        }
    }
    result
}

/// In other forms than the engine's: kinks by absolute values, tanh and the logistic function by
/// each other's, erf through `collegial-core`, whose series is not the engine's.
pub fn phi(activation: Activation, x: f64) -> f64 {
    let erf = |x: f64| 1.0 - collegial_core::special::erfc(x);
    match activation {
        Activation::None => x,
        Activation::Relu => 0.5 * (x + x.abs()),
        Activation::Erf => erf(x),
        Activation::Tanh => 1.0 - 2.0 / ((2.0 * x).exp() + 1.0),
        Activation::Gelu => 0.5 * x * (1.0 + erf(x / 2.0_f64.sqrt())),
        Activation::Sigmoid => 0.5 * (1.0 + (0.5 * x).tanh()),
        Activation::Silu => 0.5 * x * (1.0 + (0.5 * x).tanh()),
        Activation::HardSwish if x < -3.0 => 0.0,
        Activation::HardSwish if x > 3.0 => x,
        Activation::HardSwish => x * (x + 3.0) / 6.0,
        Activation::Relu6 => 3.0 + 0.5 * (x.abs() - (x - 6.0).abs()),
        Activation::LeakyRelu => 0.505 * x + 0.495 * x.abs(),
    }
}

/// A loss on the outputs of a batch.
#[derive(Clone, Debug)]
pub enum Loss {
    CrossEntropy(Vec<usize>),
    HalfSquares(Vec<f32>),
}

impl Loss {
    /// By definition.
    pub fn value(&self, outputs: &[f64], batch: usize) -> f64 {
        match self {
            Self::CrossEntropy(labels) => {
                let rows = outputs.chunks(outputs.len() / batch).zip(labels);
                rows.map(|(row, &label)| row.iter().map(|x| x.exp()).sum::<f64>().ln() - row[label])
                    .sum::<f64>()
                    / batch as f64
            }
            Self::HalfSquares(targets) => {
                let squares = outputs.iter().zip(targets).map(|(x, &t)| (x - f64::from(t)).powi(2));
                0.5 * squares.sum::<f64>() / batch as f64
            }
        }
    }

    /// The engine's, with the gradient of the outputs.
    pub fn engine(&self, outputs: &[f32], batch: usize) -> (f64, Vec<f32>) {
        let mut gradient = vec![f32::NAN; outputs.len()];
        let value = match self {
            Self::CrossEntropy(labels) => cross_entropy(outputs, labels, &mut gradient),
            Self::HalfSquares(targets) => half_squares(outputs, targets, batch, &mut gradient),
        };
        (value.expect("arrays that belong together"), gradient)
    }
}

/// Standard normal numbers.
pub fn normals(len: usize, stream: u32) -> Vec<f32> {
    let mut values = vec![0.0; len];
    Rng::new(20_201, stream, 0).fill_normal(&mut values);
    values
}

/// Draws parameters that exercise everything: norms and biases away from their initial values, too.
pub fn randomise(network: &mut Network, seed: u64) {
    network.initialise(seed);
    let names: Vec<String> = network.parameters().iter().map(|p| p.name.clone()).collect();
    let names = names.into_iter().chain(network.statistics().map(|(name, _)| name).collect::<Vec<_>>());
    for (index, name) in names.enumerate() {
        let mut values = network.get(&name).expect("the network named it").to_vec();
        let mut noise = vec![0.0; values.len()];
        Rng::new(seed, 99, index as u64).fill_normal(&mut noise);
        let weight = name.ends_with(".weight") && values.iter().any(|&x| x != 1.0);
        for (value, noise) in values.iter_mut().zip(noise).filter(|_| !weight) {
            // Statistics and scales stay positive.
            *value += 0.4 * noise.clamp(-1.5, 1.5);
        }
        network.set(&name, &values).expect("the tensor has its own length");
    }
}
