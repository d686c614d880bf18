//! The covariance of what a network's layers see, carried from stationary images through the graph
//! at infinite width.
//!
//! Let C(δ) be the covariance, over the channels of a layer, of two positions at offset δ of one
//! image, and M that between different images. With many channels and independent weights both pass
//! through the network in closed form:
//!
//! - a convolution of stride s multiplies every patch with the same weights, so that C(δ) becomes
//!   gain times the mean over taps of C(s δ), which for stationary images is C(s δ); M stays M
//!   (both times the gain);
//! - a batch norm subtracts what all images share and divides by what is left: (C(δ) - M) / (C(0) -
//!   M), and M becomes 0;
//! - a ReLU turns a pair of Gaussians of covariance C(δ) into [`ArcCosine`] of their correlation;
//! - a sum of branches adds: the last weights of a branch are independent of the other and have
//!   mean 0;
//! - a gate (squeeze-and-excitation) is taken to scale all images alike, which the next norm
//!   divides out;
//! - an average pool takes the mean of C over all pairs of pixels of two windows; M stays M;
//! - a max pool has no closed form: see `pool.rs`.
//!
//! What is neglected: zeros in the padding (positions near a border), differences in contrast
//! between images (one covariance stands for all), and the finite number of channels.

mod images;
mod pool;

use std::collections::BTreeSet;
use std::sync::Arc;

use collegial_arch::{Activation, Graph, NodeId, Op};

use crate::Error;
use crate::exact::arc_cosine::ArcCosine;
pub use images::Images;

/// An offset between two positions, rows and columns; covariances are taken to be the same for all
/// signs.
pub type Lag = (usize, usize);

/// Lags in ascending order; nodes that need the same ones share them.
type Lags = Arc<[Lag]>;

/// The covariance at one node of a graph, at the lags that were needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    lags: Lags,
    /// At each of them.
    values: Vec<f64>,
    /// M, between different images.
    pub other: f64,
}

impl Field {
    fn new(lags: &Lags, of: impl FnMut(Lag) -> f64, other: f64) -> Self {
        Self { lags: Arc::clone(lags), values: lags.iter().copied().map(of).collect(), other }
    }

    /// C(δ); at a lag that was not requested, that between images.
    pub fn at(&self, lag: Lag) -> f64 {
        self.lags.binary_search(&lag).map_or(self.other, |at| self.values[at])
    }

    /// C(0).
    pub fn variance(&self) -> f64 {
        self.at((0, 0))
    }

    /// At other lags.
    fn seen_at(&self, lags: &Lags, of: impl Fn(f64) -> f64) -> Self {
        let values = match *self.lags == **lags {
            true => self.values.iter().map(|&value| of(value)).collect(),
            false => lags.iter().map(|&lag| of(self.at(lag))).collect(),
        };
        Self { lags: Arc::clone(lags), values, other: of(self.other) }
    }

    /// Behind a ReLU.
    fn rectified(&self, lags: &Lags) -> Self {
        let variance = self.variance();
        self.seen_at(lags, |value| variance * ArcCosine::relu(value / variance).value)
    }

    /// With 1 for the variance and nothing in common between images.
    fn normalised(&self, lags: &Lags) -> Self {
        let scale = self.variance() - self.other;
        self.seen_at(lags, |value| (value - self.other) / scale)
    }

    fn plus(&self, more: &Self, lags: &Lags) -> Self {
        let mut sum = self.seen_at(lags, |value| value);
        let more = more.seen_at(lags, |value| value);
        sum.values.iter_mut().zip(&more.values).for_each(|(value, more)| *value += more);
        sum.other += more.other;
        sum
    }
}

/// The covariances at the given nodes, each at the given lags.
///
/// # Errors
///
/// If the way from the input to such a node has an operation that covariances are not known behind.
pub fn at_nodes(
    graph: &Graph,
    images: &Images,
    wanted: &[(NodeId, BTreeSet<Lag>)],
) -> Result<Vec<Field>, Error> {
    let wanted: Vec<(NodeId, Lags)> =
        wanted.iter().map(|(node, lags)| (*node, lags.iter().copied().collect())).collect();
    fields_at(graph, images, &wanted)
}

fn fields_at(graph: &Graph, images: &Images, wanted: &[(NodeId, Lags)]) -> Result<Vec<Field>, Error> {
    let needed = needed_lags(graph, wanted);
    let mut fields: Vec<Field> = Vec::with_capacity(graph.nodes.len());
    for (id, lags) in needed.iter().enumerate() {
        let field =
            if lags.is_empty() { Field::default() } else { behind(graph, images, id, lags, &fields)? };
        fields.push(field);
    }
    Ok(wanted.iter().map(|&(node, _)| fields[node].clone()).collect())
}

/// Which lags every node must know, from the wanted nodes back to the input.
fn needed_lags(graph: &Graph, wanted: &[(NodeId, Lags)]) -> Vec<Lags> {
    let none: Lags = Arc::new([]);
    let variance: Lags = Arc::new([(0, 0)]);
    let mut needed = vec![none; graph.nodes.len()];
    for (node, lags) in wanted {
        add_lags(&mut needed[*node], lags);
        add_lags(&mut needed[*node], &variance);
    }
    for id in (0..graph.nodes.len()).rev() {
        if needed[id].is_empty() {
            continue;
        }
        let node = &graph.nodes[id];
        let lags: Lags = match node.op {
            Op::Conv { stride, .. } if stride > 1 => {
                needed[id].iter().map(|&(y, x)| (y * stride, x * stride)).collect()
            }
            Op::MaxPool { kernel, stride, .. } => pool::lags_before(&needed[id], kernel, stride),
            Op::AveragePool { side } => pool::lags_before(&needed[id], side, side),
            _ => Arc::clone(&needed[id]),
        };
        // What makes a gate is not looked at.
        let operands = if node.op == Op::Scale { &node.inputs[..1] } else { &node.inputs[..] };
        for &input in operands {
            add_lags(&mut needed[input], &lags);
        }
    }
    needed
}

/// Adds lags to those that a node needs already.
fn add_lags(to: &mut Lags, more: &Lags) {
    let has = |lag: &Lag| to.binary_search(lag).is_ok();
    if to.is_empty() {
        *to = Arc::clone(more);
    } else if !Arc::ptr_eq(to, more) && !more.iter().all(has) {
        let both: BTreeSet<Lag> = to.iter().chain(more.iter()).copied().collect();
        *to = both.into_iter().collect();
    }
}

fn behind(graph: &Graph, images: &Images, id: NodeId, lags: &Lags, fields: &[Field]) -> Result<Field, Error> {
    let node = &graph.nodes[id];
    let operand = |at: usize| &fields[node.inputs[at]];
    let unknown = || {
        Error::Invalid(format!(
            "the covariance behind the layer {layer} is not known; it is behind convolutions, batch norms, \
         ReLUs, sums, average pools and max pools of ReLUs",
            layer = node.name
        ))
    };
    match node.op {
        Op::Input => {
            let side = node.shape.height.max(node.shape.width);
            Ok(Field::new(lags, |lag| images.correlation(lag, side), 0.0))
        }
        Op::Conv { stride, .. } => {
            let gain = if graph.meets_relu(id) { 2.0 } else { 1.0 };
            let before = operand(0);
            Ok(match stride {
                1 => before.seen_at(lags, |value| gain * value),
                _ => {
                    Field::new(lags, |(y, x)| gain * before.at((y * stride, x * stride)), gain * before.other)
                }
            })
        }
        Op::BatchNorm => Ok(operand(0).normalised(lags)),
        Op::Activation(Activation::None) | Op::Scale => Ok(operand(0).seen_at(lags, |value| value)),
        Op::Activation(Activation::Relu) => Ok(operand(0).rectified(lags)),
        Op::Add => Ok(operand(0).plus(operand(1), lags)),
        Op::MaxPool { kernel, stride, .. } => {
            let relu = &graph.nodes[node.inputs[0]];
            match relu.op {
                Op::Activation(Activation::Relu) => {
                    Ok(pool::behind(&fields[relu.inputs[0]], lags, kernel, stride))
                }
                _ => Err(unknown()),
            }
        }
        Op::AveragePool { side } => Ok(pool::averaged(operand(0), lags, side)),
        _ => Err(unknown()),
    }
}

/// The Gram matrices of the patches that the blocks of a network read: of every k x k convolution
/// that follows a 1x1 convolution, the covariance between the positions that its unit at the centre
/// of the map sees, in the order of the graph. (The unit's row is height / 2 and its column width /
/// 2; positions in the padding are left out.)
///
/// # Errors
///
/// As [`at_nodes`].
pub fn block_grams(graph: &Graph, images: &Images) -> Result<Vec<Vec<f64>>, Error> {
    let mut wanted: Vec<(NodeId, Lags)> = vec![];
    let mut all_positions: Vec<Vec<(usize, usize)>> = vec![];
    for (id, node) in graph.nodes.iter().enumerate() {
        let Op::Conv { kernel, stride, padding, .. } = node.op else { continue };
        let Some(input) = block_input(graph, id) else { continue };
        let map = graph.nodes[node.inputs[0]].shape;
        let centre = (node.shape.height / 2 * stride, node.shape.width / 2 * stride);
        let seen = |tap: usize| {
            let row = (centre.0 + tap / kernel).checked_sub(padding)?;
            let column = (centre.1 + tap % kernel).checked_sub(padding)?;
            (row < map.height && column < map.width).then_some((row, column))
        };
        let positions: Vec<(usize, usize)> = (0..kernel * kernel).filter_map(seen).collect();
        // Most blocks see what the one before them sees.
        let lags = match (wanted.last(), all_positions.last()) {
            (Some((_, lags)), Some(before)) if *before == positions => Arc::clone(lags),
            _ => pairs(&positions).collect::<BTreeSet<Lag>>().into_iter().collect(),
        };
        wanted.push((input, lags));
        all_positions.push(positions);
    }
    let fields = fields_at(graph, images, &wanted)?;
    let gram = |(field, positions): (&Field, &Vec<(usize, usize)>)| {
        pairs(positions).map(|lag| field.at(lag)).collect()
    };
    Ok(fields.iter().zip(&all_positions).map(gram).collect())
}

/// The lags between all pairs of positions.
fn pairs(positions: &[(usize, usize)]) -> impl Iterator<Item = Lag> + '_ {
    positions.iter().flat_map(|&p| positions.iter().map(move |&q| lag(p, q)))
}

fn lag(p: (usize, usize), q: (usize, usize)) -> Lag {
    (p.0.abs_diff(q.0), p.1.abs_diff(q.1))
}

/// What a block reads whose k x k convolution this is: the input of the 1x1 convolution before it.
fn block_input(graph: &Graph, id: NodeId) -> Option<NodeId> {
    let node = &graph.nodes[id];
    if !matches!(node.op, Op::Conv { kernel, .. } if kernel > 1) {
        return None;
    }
    let mut before = node.inputs[0];
    while matches!(graph.nodes[before].op, Op::BatchNorm | Op::Activation(_)) {
        before = graph.nodes[before].inputs[0];
    }
    match graph.nodes[before].op {
        Op::Conv { kernel: 1, .. } => Some(graph.nodes[before].inputs[0]),
        _ => None,
    }
}
