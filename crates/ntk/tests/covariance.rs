//! Covariances carried through a graph, against wide networks with drawn weights on drawn images.

use std::collections::BTreeSet;

use collegial_arch::{Activation, Conv, Graph, MaxPool, NodeId, Shape};
use collegial_core::{Moments, Rng};
use collegial_nn::{Mode, Network};
use collegial_ntk::covariance::{Images, Lag, at_nodes, block_grams};

const SIDE: usize = 24;
const CHANNELS: usize = 48;
const BATCH: usize = 12;
const WIDE: usize = 256;

/// Stationary Gaussian images: the mean over 3x3 windows of white noise, so that correlations are
/// (1 - y/3)(1 - x/3).
fn images(seed: u64) -> Vec<f32> {
    let wide = SIDE + 2;
    let mut noise = vec![0.0; BATCH * CHANNELS * wide * wide];
    Rng::new(seed, 1, 0).fill_normal(&mut noise);
    let blurred = |map: &[f32]| -> Vec<f32> {
        let window = |row: usize, column: usize| -> f32 {
            (0..9).map(|tap| map[(row + tap / 3) * wide + column + tap % 3]).sum::<f32>() / 3.0
        };
        (0..SIDE * SIDE).map(|at| window(at / SIDE, at % SIDE)).collect()
    };
    noise.chunks_exact(wide * wide).flat_map(blurred).collect()
}

/// A ReLU layer of the given convolution.
fn layer(graph: &mut Graph, name: &str, from: NodeId, conv: Conv, relu: bool) -> NodeId {
    let node = graph.conv(format!("{name}.conv"), from, conv).unwrap();
    let node = graph.batch_norm(format!("{name}.bn"), node).unwrap();
    if relu { graph.activation(format!("{name}.relu"), node, Activation::Relu).unwrap() } else { node }
}

fn stem() -> (Graph, NodeId) {
    let mut graph = Graph::new(Shape::image(CHANNELS, SIDE)).unwrap();
    let input = graph.input();
    let node = layer(&mut graph, "stem", input, Conv::new(WIDE, 3).padding(1), true);
    (graph, node)
}

fn residual_block() -> Graph {
    let (mut graph, from) = stem();
    let node = layer(&mut graph, "a", from, Conv::new(WIDE, 1), true);
    let node = layer(&mut graph, "b", node, Conv::new(WIDE, 3).padding(1).stride(2), true);
    let branch = layer(&mut graph, "c", node, Conv::new(WIDE, 1), false);
    let shortcut = layer(&mut graph, "d", from, Conv::new(WIDE, 1).stride(2), false);
    let sum = graph.add("sum", branch, shortcut).unwrap();
    graph.activation("relu", sum, Activation::Relu).unwrap();
    graph
}

fn pooled() -> Graph {
    let (mut graph, from) = stem();
    graph.max_pool("pool", from, MaxPool::new(3).stride(2).padding(1)).unwrap();
    graph
}

/// The mean product over channels, images and the middle positions, at a lag; or between
/// neighbouring images.
fn measured(output: &[f32], side: usize, lag: Option<Lag>) -> f64 {
    let image = WIDE * side * side;
    let (low, high) = (side / 4, 3 * side / 4);
    let (mut sum, mut count) = (0.0, 0.0);
    for batch in 0..BATCH {
        let other = if lag.is_none() { (batch + 1) % BATCH } else { batch };
        let (y, x) = lag.unwrap_or((0, 0));
        for channel in 0..WIDE {
            let map = |of: usize| &output[of * image + channel * side * side..][..side * side];
            for (row, column) in (low..high).flat_map(|row| (low..high).map(move |column| (row, column))) {
                let product = map(batch)[row * side + column] * map(other)[(row + y) * side + column + x];
                sum += f64::from(product);
                count += 1.0;
            }
        }
    }
    sum / count
}

/// Correlations agree within 4.5 standard errors over eight networks, plus 0.012 for what infinite
/// width and borders leave out (1 / 256 channels, 12 images in the norms' statistics), and 0.01
/// more for the quadrature of the pool.
fn assert_agreement(name: &str, graph: &Graph, allowance: f64) {
    let shape = graph.output_shape();
    let lags: BTreeSet<Lag> = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 1)].into();
    let last = graph.nodes.len() - 1;
    // Images as drawn, measured, so that this test needs no formula of theirs.
    let drawn = images(99);
    let per_image: Vec<Vec<f32>> = drawn.chunks_exact(CHANNELS * SIDE * SIDE).map(<[f32]>::to_vec).collect();
    let field = {
        let images = Images::measured(Shape::image(CHANNELS, SIDE), &per_image).unwrap();
        at_nodes(graph, &images, &[(last, lags.clone())]).unwrap().remove(0)
    };
    let outputs: Vec<Vec<f32>> = (0..8)
        .map(|seed| {
            let mut network = Network::builder(graph).batch(BATCH).seed(seed).build().unwrap();
            network.forward(&images(seed), Mode::Train).unwrap().to_vec()
        })
        .collect();
    let correlation = |lag: Option<Lag>| -> Moments {
        let of = |output: &Vec<f32>| {
            measured(output, shape.height, lag) / measured(output, shape.height, Some((0, 0)))
        };
        outputs.iter().map(of).collect()
    };
    let wanted = lags.iter().map(|&lag| Some(lag)).chain([None]);
    for lag in wanted {
        let drawn = correlation(lag);
        let expected = lag.map_or(field.other, |lag| field.at(lag)) / field.variance();
        let gap = (drawn.mean() - expected).abs();
        let error = 4.5 * drawn.standard_error() + allowance;
        assert!(
            gap <= error,
            "{name} at {lag:?}: {} drawn, {expected} expected, {error} allowed",
            drawn.mean()
        );
    }
}

#[test]
fn wide_networks_have_the_covariances() {
    assert_agreement("stem", &stem().0, 0.012);
    assert_agreement("a residual block", &residual_block(), 0.012);
    assert_agreement("a max pool", &pooled(), 0.022);
}

#[test]
fn blocks_of_named_networks_have_grams() {
    for (name, blocks) in [("resnext29-1x128d", 9), ("resnext50-32x4d", 16)] {
        let graph = name.parse::<collegial_arch::Spec>().unwrap().graph().unwrap();
        let grams = block_grams(&graph, &Images::natural()).unwrap();
        assert_eq!(grams.len(), blocks);
        for gram in &grams {
            assert_eq!(gram.len(), 81);
            let nearest = gram[1] / gram[0];
            assert!(gram[80] == gram[0] && nearest > 0.3 && nearest < 1.0, "{name}: {nearest}");
            assert!(gram[8] < gram[1], "{name}: corners are further apart than neighbours");
        }
        // Pixels of white images are independent, but what is rectified is correlated all the same.
        let white = block_grams(&graph, &Images::white()).unwrap();
        let nearest = |grams: &[Vec<f64>]| grams[0][1] / grams[0][0];
        assert!(nearest(&white) > 0.0 && nearest(&white) < nearest(&grams));
    }
}
