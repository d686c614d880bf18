//! The columns that each layer of a chain needs for the chosen outputs.
//!
//! A *column* is one position of one input: the vector over channels that a layer reads or writes
//! there. Only the receptive field of the outputs is kept, so one output unit of a bottleneck block
//! needs 9 columns behind its first layer, 1 behind the second and 1 behind the third, whatever the
//! image's size.

use collegial_arch::{Activation, Layer, Linear, Sequence};

use super::gram::{Pairs, mirror};
use crate::Error;

/// Whose kernel is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// One unit: one channel of the last layer at the centre of its map.
    #[default]
    Unit,
    /// One channel of the last layer, averaged over all positions of its map.
    PooledUnit,
}

/// A layer with weights.
#[derive(Clone, Debug)]
pub(crate) struct LinearStep {
    /// Channels that come in.
    pub inputs: usize,
    /// Channels that go out.
    pub outputs: usize,
    /// Kernel positions per output column.
    pub taps: usize,
    /// Needed positions before and behind the layer, per input.
    pub positions_in: usize,
    pub positions: usize,
    /// For output position q and tap t, `source[q * taps + t]`: the position it reads, `None` in
    /// the padding.
    pub source: Vec<Option<usize>>,
    /// Pairs of the columns before the layer whose inner products its patches' inner products are
    /// made of.
    pub pairs_in: Pairs,
    /// All pairs of the columns behind the layer.
    pub pairs: Pairs,
    /// For every tap, stretches of columns behind the layer that read neighbours in the same order.
    stretches: Vec<Vec<Stretch>>,
    /// The NTK parametrisation's scale: sqrt(2 / fan-in) before a ReLU, sqrt(1 / fan-in) otherwise.
    pub scale: f64,
    pub activation: Activation,
}

/// Columns `column`, `column + 1`, ... read `source`, `source + 1`, ...
#[derive(Clone, Copy, Debug)]
struct Stretch {
    column: usize,
    source: usize,
    length: usize,
}

impl LinearStep {
    pub fn fan_in(&self) -> usize {
        self.inputs * self.taps
    }

    /// The column before the layer that a tap of a column behind it reads; columns are inputs x
    /// positions.
    pub fn source_column(&self, column: usize, tap: usize) -> Option<usize> {
        let (input, position) = (column / self.positions, column % self.positions);
        self.source[position * self.taps + tap].map(|source| input * self.positions_in + source)
    }

    /// The columns behind the layer that read something through a tap, ascending, and what they
    /// read.
    pub fn reads(&self, tap: usize) -> impl Iterator<Item = (usize, usize)> {
        let columns = |stretch: &Stretch| {
            let Stretch { column, source, length } = *stretch;
            (0..length).map(move |i| (column + i, source + i))
        };
        self.stretches[tap].iter().flat_map(columns)
    }

    /// Inner products of patches from inner products of columns.
    pub fn patch_gram(&self, inputs: usize, gram: &[f64], out: &mut Vec<f64>) {
        let columns = self.positions * inputs;
        let columns_in = self.positions_in * inputs;
        out.clear();
        out.resize(columns * columns, 0.0);
        for (tap, stretches) in self.stretches.iter().enumerate() {
            for (p, a) in self.reads(tap) {
                let (out, gram) = (&mut out[p * columns..][..columns], &gram[a * columns_in..][..columns_in]);
                for stretch in stretches.iter().take_while(|stretch| stretch.column <= p) {
                    let out = &mut out[stretch.column..][..stretch.length];
                    for (out, product) in out.iter_mut().zip(&gram[stretch.source..]) {
                        *out += product;
                    }
                }
            }
        }
        // Above the diagonal, stretches end where they like.
        mirror(out, columns);
    }

    /// Fills in the pairs, once the number of inputs is known.
    fn with_pairs(mut self, inputs: usize) -> Self {
        let columns = self.positions * inputs;
        let mut pairs = vec![vec![]; self.positions_in * inputs];
        for (p, q) in (0..columns).flat_map(|p| (0..columns).map(move |q| (p, q))) {
            for tap in 0..self.taps {
                if let (Some(a), Some(b)) = (self.source_column(p, tap), self.source_column(q, tap))
                    && b <= a
                {
                    pairs[a].push(b);
                }
            }
        }
        for partners in &mut pairs {
            partners.sort_unstable();
            partners.dedup();
        }
        self.pairs_in = Pairs::new(pairs, self.inputs);
        self.pairs = Pairs::all(columns, self.outputs);
        self.stretches = (0..self.taps).map(|tap| self.stretches_of(tap, columns)).collect();
        self
    }

    fn stretches_of(&self, tap: usize, columns: usize) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = vec![];
        for column in 0..columns {
            let Some(source) = self.source_column(column, tap) else { continue };
            match stretches.last_mut() {
                Some(last) if (last.column + last.length, last.source + last.length) == (column, source) => {
                    last.length += 1;
                }
                _ => stretches.push(Stretch { column, source, length: 1 }),
            }
        }
        stretches
    }
}

/// One step of the computation.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Linear(LinearStep),
    /// Mean over the given number of positions.
    Pool {
        positions: usize,
        channels: usize,
    },
}

/// What a normal number costs, in multiplications.
pub(super) const NORMAL: f64 = 6.0;

/// How a layer's weights are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Only what its columns see of them.
    Law,
    /// All of them: cheaper where there are as many columns as weights per unit.
    Explicit,
}

impl Method {
    /// The cheaper one.
    pub fn cheapest(step: &LinearStep, inputs: usize, needs_backward: bool) -> Self {
        let work = |method: Self| method.work(step, inputs, needs_backward);
        if work(Self::Law) <= work(Self::Explicit) { Self::Law } else { Self::Explicit }
    }

    /// What a draw of the layer costs: multiplications, and normals in units of them.
    pub fn work(self, step: &LinearStep, inputs: usize, needs_backward: bool) -> f64 {
        let columns = (step.positions * inputs) as f64;
        let (outputs, fan_in) = (step.outputs as f64, step.fan_in() as f64);
        let backward = if needs_backward { 1.0 } else { 0.0 };
        let (normals, products) = match self {
            Self::Law => (
                outputs * columns.min(fan_in) + backward * fan_in * columns.min(outputs),
                // Forward Z L^T; backward Z^T D, what the columns see of the fresh numbers, and both
                // scattered over the taps.
                (1.0 + backward) * outputs * columns * columns + backward * 3.0 * fan_in * columns * columns,
            ),
            Self::Explicit => (outputs * fan_in, (1.0 + backward) * outputs * fan_in * columns),
        };
        NORMAL * normals + products
    }
}

/// The whole computation for `inputs` inputs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub steps: Vec<Step>,
    /// How many inputs the kernel is between.
    pub inputs: usize,
    /// Needed positions of the input image, as row-major pixel indices.
    pub pixels: Vec<usize>,
    pub channels: usize,
    /// What each final position contributes to the output.
    pub output_weight: f64,
}

/// Gram matrices are columns x columns: at this many they take 10 MB each.
const MOST_COLUMNS: usize = 1100;

/// Pairs of columns times taps of a kernel, which are walked through in every draw.
const MOST_PAIRS: usize = 100_000_000;

/// A set of positions of a map, ascending, with its map's width.
struct Needed {
    pixels: Vec<usize>,
    map: (usize, usize),
}

impl Plan {
    /// Walks back from the outputs to the input pixels they can see.
    pub fn new(chain: &Sequence, output: Output, inputs: usize) -> Result<Self, Error> {
        if !has_weights(chain) {
            return Err(Error::NoParameters { module: chain.name.clone() });
        }
        let maps = maps(chain)?;
        let last = maps[maps.len() - 1];
        if output == Output::PooledUnit {
            bounded(last.0 * last.1 * inputs, 1)?;
        }
        let mut needed = match output {
            Output::Unit => Needed { pixels: vec![last.0 / 2 * last.1 + last.1 / 2], map: last },
            Output::PooledUnit => Needed { pixels: (0..last.0 * last.1).collect(), map: last },
        };
        let output_weight = 1.0 / needed.pixels.len() as f64;
        let channels: Vec<usize> = channels(chain);
        let mut steps = Vec::with_capacity(chain.layers.len());
        for (index, layer) in chain.layers.iter().enumerate().rev() {
            let before = maps[index];
            match layer.linear() {
                Some(linear) => {
                    let is_last = steps.iter().all(|step| matches!(step, Step::Pool { .. }));
                    let outputs = if is_last { 1 } else { channels[index + 1] };
                    bounded(needed.pixels.len() * inputs, linear.kernel * linear.kernel)?;
                    let (step, inner) = linear_step(linear, channels[index], outputs, before, &needed);
                    bounded(inner.pixels.len() * inputs, 1)?;
                    steps.push(Step::Linear(step.with_pairs(inputs)));
                    needed = inner;
                }
                None => {
                    bounded(before.0 * before.1 * inputs, 1)?;
                    let pixels: Vec<usize> = (0..before.0 * before.1).collect();
                    let width = if steps.is_empty() { 1 } else { channels[index] };
                    steps.push(Step::Pool { positions: pixels.len(), channels: width });
                    needed = Needed { pixels, map: before };
                }
            }
        }
        steps.reverse();
        let channels = chain.input.channels;
        Ok(Self { steps, inputs, pixels: needed.pixels, channels, output_weight })
    }

    /// How the weights of every step are drawn; pools have none.
    pub fn methods(&self) -> Vec<Method> {
        let method = |(index, step): (usize, &Step)| match step {
            Step::Linear(step) => Method::cheapest(step, self.inputs, index > 0),
            Step::Pool { .. } => Method::Law,
        };
        self.steps.iter().enumerate().map(method).collect()
    }
}

/// Refuses more columns behind a layer with so many taps than can be held and walked through.
fn bounded(columns: usize, taps: usize) -> Result<(), Error> {
    let most = (MOST_PAIRS / taps).isqrt().min(MOST_COLUMNS);
    if columns > most {
        Err(Error::Invalid(format!(
            "the output depends on {columns} positions of a layer, more than the sampler takes ({most}); \
         take one output unit instead of a pooled one, or a smaller image"
        )))
    } else {
        Ok(())
    }
}

/// The map sizes before every layer and behind the last.
fn maps(chain: &Sequence) -> Result<Vec<(usize, usize)>, Error> {
    let mut maps = vec![(chain.input.height, chain.input.width)];
    for layer in &chain.layers {
        let (height, width) = maps[maps.len() - 1];
        let map = match layer.linear() {
            None => (1, 1),
            Some(Linear { kernel, stride, padding, .. }) => {
                let side =
                    |side: usize| (side + 2 * padding).checked_sub(kernel).map(|free| free / stride + 1);
                match (side(height), side(width)) {
                    (Some(height), Some(width)) => (height, width),
                    _ => {
                        return Err(Error::Invalid(format!(
                            "a {kernel}x{kernel} kernel does not fit a {height}x{width} map with padding \
                         {padding}"
                        )));
                    }
                }
            }
        };
        maps.push(map);
    }
    Ok(maps)
}

/// The channels before every layer and behind the last.
fn channels(chain: &Sequence) -> Vec<usize> {
    let mut channels = vec![chain.input.channels];
    for layer in &chain.layers {
        let before = channels[channels.len() - 1];
        channels.push(layer.linear().map_or(before, |linear| linear.width));
    }
    channels
}

/// The layer that makes the needed positions, and the positions it needs in turn.
fn linear_step(
    linear: Linear,
    inputs: usize,
    outputs: usize,
    before: (usize, usize),
    needed: &Needed,
) -> (LinearStep, Needed) {
    let Linear { kernel, stride, padding, activation, .. } = linear;
    let taps = kernel * kernel;
    let reads = |pixel: usize, tap: usize| {
        let row = (pixel / needed.map.1 * stride + tap / kernel).checked_sub(padding)?;
        let column = (pixel % needed.map.1 * stride + tap % kernel).checked_sub(padding)?;
        (row < before.0 && column < before.1).then_some(row * before.1 + column)
    };
    let read: Vec<Option<usize>> =
        needed.pixels.iter().flat_map(|&pixel| (0..taps).map(move |tap| reads(pixel, tap))).collect();
    let mut pixels: Vec<usize> = read.iter().flatten().copied().collect();
    pixels.sort_unstable();
    pixels.dedup();
    let source = read.iter().map(|pixel| pixel.and_then(|pixel| pixels.binary_search(&pixel).ok())).collect();
    let gain = if activation == Activation::Relu { 2.0 } else { 1.0 };
    let step = LinearStep {
        inputs,
        outputs,
        taps,
        positions_in: pixels.len(),
        positions: needed.pixels.len(),
        source,
        pairs_in: Pairs::default(),
        pairs: Pairs::default(),
        stretches: vec![],
        scale: (gain / (inputs * taps) as f64).sqrt(),
        activation,
    };
    (step, Needed { pixels, map: before })
}

/// Whether a chain has a layer that the sampler can do something with.
fn has_weights(chain: &Sequence) -> bool {
    chain.layers.iter().any(|layer| matches!(layer, Layer::Conv { .. } | Layer::Dense { .. }))
}
