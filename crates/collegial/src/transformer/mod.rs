//! Layers of transformers: what tokens they see, and the variance of their kernels.

pub mod moments;
pub mod verdicts;

use collegial_arch::{Activation, Attention, FeedForward, NormOrder, Spec, Transformer};
use collegial_core::{Moments, Monitor};
use collegial_ntk::attention::{Block, Head, correlations};

use crate::Error;

/// Layers in front of the far end, where the network has one layer or is one.
const FAR: usize = 12;

/// A layer of attention with the tokens that it sees.
pub(crate) struct Place {
    /// Which stage of the network, from 0.
    pub stage: usize,
    /// Which layer, from 1.
    pub layer: usize,
    pub attention: Attention,
}

/// Attention layers at both ends of every stage: its first, and its last. Tokens enter white, or with
/// the correlation that a module's spec says, and get more alike from layer to layer. A layer by
/// itself is seen a second time behind [`FAR`] layers like it.
pub(crate) fn places(spec: &Spec) -> Result<Vec<Place>, Error> {
    match spec {
        Spec::Transformer(network) => in_network(network),
        Spec::Attention(layer) => {
            let block = Block {
                tokens: layer.tokens,
                activation: Activation::Gelu,
                gated: false,
                order: NormOrder::Before,
            };
            Ok(by_itself(&block, layer)?.into())
        }
        _ => Ok(vec![]),
    }
}

fn in_network(network: &Transformer) -> Result<Vec<Place>, Error> {
    let (mut all, mut correlation, mut layer) = (vec![], 0.0, 1);
    for (stage, &own) in network.stages.iter().enumerate() {
        let attention = Attention { correlation, ..network.attention(stage) };
        let Transformer { activation, gated, order, .. } = *network;
        let block = Block { tokens: attention.tokens, activation, gated, order };
        if network.depth() == 1 {
            return Ok(by_itself(&block, &attention)?.into());
        }
        let seen = correlations(&block, own.layers, correlation)?;
        let last = Attention { correlation: seen[own.layers - 1], ..attention.clone() };
        all.push(Place { stage, layer, attention });
        if own.layers > 1 {
            all.push(Place { stage, layer: layer + own.layers - 1, attention: last });
        }
        (correlation, layer) = (seen[own.layers], layer + own.layers);
    }
    Ok(all)
}

fn by_itself(block: &Block, layer: &Attention) -> Result<[Place; 2], Error> {
    let behind = correlations(block, FAR, layer.correlation)?[FAR];
    let far = Attention { correlation: behind, ..layer.clone() };
    let at = |layer: usize, attention: Attention| Place { stage: 0, layer, attention };
    Ok([at(1, layer.clone()), at(FAR + 1, far)])
}

/// The feed-forward layer of every stage.
pub(crate) fn feed_forwards(spec: &Spec) -> Vec<FeedForward> {
    match spec {
        Spec::Transformer(network) => {
            (0..network.stages.len()).map(|stage| network.feed_forward(stage)).collect()
        }
        Spec::FeedForward(layer) => vec![layer.clone()],
        _ => vec![],
    }
}

/// Draws of a group of heads by default: about as long for any number of tokens.
fn usual_draws(layer: &Attention) -> u64 {
    let numbers = (layer.tokens * layer.sharing().min(layer.width)).max(1);
    (8_000_000 / numbers as u64).clamp(500, 20_000)
}

/// Draws of the kernel of a group of heads that share keys and values; the layer's kernel is the mean
/// of as many as there are key/value heads.
fn drawn(layer: &Attention, draws: u64, seed: u64, monitor: &dyn Monitor) -> Result<Moments, Error> {
    let head = Head::of_layer(layer)?;
    head.moments(seed, layer.width as u32, draws, monitor).ok_or(Error::Interrupted)
}
