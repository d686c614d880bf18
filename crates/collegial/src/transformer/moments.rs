//! `moments` of transformers: every kind of layer at both ends of every stage.

use collegial_arch::{Activation, FeedForward, Spec};
use collegial_core::Monitor;
use collegial_ntk::exact::ExactMoments;
use collegial_ntk::{KernelSampler, OnePosition, Output, feed_forward};
use collegial_report::{Align, Table, significant};
use serde::Serialize;

use super::{Place, drawn, feed_forwards, places, usual_draws};
use crate::message::invalid;
use crate::style::wrapped;
use crate::{Answer, Error, Style};

/// Draws of a feed-forward layer without a closed form, by default.
const DRAWS: u64 = 10_000;

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// Heads.
    Attention,
    /// Neurons.
    FeedForward,
}

/// The kernel of one output unit of one layer.
#[derive(Clone, Debug, Serialize)]
pub struct LayerMoments {
    /// What it is.
    pub kind: LayerKind,
    /// In which stage, from 1.
    pub stage: usize,
    /// Which layer of the network, from 1.
    pub layer: usize,
    /// How many tokens a query sees; `null` where the layer reads one.
    pub tokens: Option<usize>,
    /// The correlation between any two of them.
    pub correlation: Option<f64>,
    /// Heads, or members of a feed-forward layer.
    pub members: usize,
    /// Heads that have keys and values of their own.
    pub key_value_heads: Option<usize>,
    /// Of a head, or hidden neurons of a member.
    pub width: usize,
    /// `E[K]` in the NTK parametrisation, for tokens of variance 1.
    pub mean: f64,
    /// `E[K^2] / E[K]^2` of the whole layer.
    pub second_moment_ratio: f64,
    /// The same minus one.
    pub variance: f64,
    /// The variance of one member: of a head, or of heads that share keys and values.
    pub member_variance: f64,
    /// Of `variance`; `null` where it is exact.
    pub standard_error: Option<f64>,
    /// How many draws; `null` where it is exact.
    pub draws: Option<u64>,
}

/// Every kind of layer at both ends.
#[derive(Clone, Debug, Serialize)]
pub struct TransformerMoments {
    /// The model's name.
    pub module: String,
    /// The layers.
    pub layers: Vec<LayerMoments>,
    /// Seed of the draws.
    pub seed: u64,
    /// Why there is no row of the routed feed-forward layers, where there are some.
    #[serde(skip)]
    pub left_out: Option<String>,
}

/// Computes, and draws where there is no closed form.
pub(crate) fn run(
    spec: &Spec,
    draws: Option<u64>,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<TransformerMoments, Error> {
    let mut layers = vec![];
    for place in places(spec)? {
        layers.push(of_heads(&place, draws, seed, monitor)?);
    }
    let mut left_out = None;
    for (stage, layer) in feed_forwards(spec).iter().enumerate() {
        if layer.is_routed() {
            left_out = Some(format!(
                "A router picks {} of {} feed-forward layers for every token, and the theory does not know routing",
                layer.experts_per_token, layer.experts
            ));
        } else {
            layers.push(of_neurons(layer, stage, draws, seed)?);
        }
    }
    match left_out {
        Some(reason) if layers.is_empty() => {
            Err(invalid![format!("{reason}; take a feed-forward layer of one expert")].into())
        }
        reason => {
            let left_out = reason.map(|reason| format!("{reason}: these layers have no row."));
            Ok(TransformerMoments { module: spec.name(), layers, seed, left_out })
        }
    }
}

fn of_heads(
    place: &Place,
    draws: Option<u64>,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<LayerMoments, Error> {
    let layer = &place.attention;
    let draws = draws.unwrap_or_else(|| usual_draws(layer));
    let moments = drawn(layer, draws, seed, monitor)?;
    let groups = layer.key_value_heads() as f64;
    let member_variance = moments.second_moment_ratio() - 1.0;
    Ok(LayerMoments {
        kind: LayerKind::Attention,
        stage: place.stage + 1,
        layer: place.layer,
        tokens: Some(layer.tokens),
        correlation: Some(layer.correlation),
        members: layer.heads,
        key_value_heads: Some(layer.key_value_heads()),
        width: layer.width,
        mean: moments.mean(),
        second_moment_ratio: 1.0 + member_variance / groups,
        variance: member_variance / groups,
        member_variance,
        standard_error: Some(moments.second_moment_ratio_standard_error() / groups),
        draws: Some(draws),
    })
}

/// In closed form for one hidden layer, and for several of ReLUs; else drawn.
fn of_neurons(
    layer: &FeedForward,
    stage: usize,
    draws: Option<u64>,
    seed: u64,
) -> Result<LayerMoments, Error> {
    let members = layer.members as f64;
    let (mean, member_variance, error, draws) = if layer.has_inner_matrix() {
        inner(layer, draws.unwrap_or(DRAWS), seed)?
    } else {
        let constant = feed_forward::constant(layer.activation, layer.gated);
        let mean = feed_forward::mean(layer.activation, layer.gated);
        (mean, constant / layer.widths[0] as f64, None, None)
    };
    let variance = member_variance / members;
    Ok(LayerMoments {
        kind: LayerKind::FeedForward,
        stage: stage + 1,
        layer: 1,
        tokens: None,
        correlation: None,
        members: layer.members,
        key_value_heads: None,
        width: layer.widths.iter().copied().max().unwrap_or(1),
        mean,
        second_moment_ratio: 1.0 + variance,
        variance,
        member_variance,
        standard_error: error.map(|error: f64| error / members),
        draws,
    })
}

/// The mean, the variance and its standard error, and the draws of a sampled one.
type ChainMoments = (f64, f64, Option<f64>, Option<u64>);

/// A chain with matrices inside, at a token of variance 1.
fn inner(layer: &FeedForward, draws: u64, seed: u64) -> Result<ChainMoments, Error> {
    let chain = collegial_arch::Module::FeedForward(layer.clone()).member();
    let token = vec![1.0; layer.inputs];
    if matches!(layer.activation, Activation::Relu | Activation::None) {
        let moments: ExactMoments = OnePosition::new(&chain)?.at_input(&chain, &token)?;
        return Ok((moments.mean, moments.variance(), None, None));
    }
    let sampler = KernelSampler::at_inputs(&chain, Output::Unit, &[token])?;
    let moments = sampler.tally(seed, 0, 0..draws).moments();
    let error = moments.second_moment_ratio_standard_error();
    Ok((moments.mean(), moments.second_moment_ratio() - 1.0, Some(error), Some(draws)))
}

impl Answer for TransformerMoments {
    fn text(&self, _style: &Style) -> String {
        let (sentences, table) = self.summary();
        format!("{}\n{}\n", table.to_text(), wrapped(&sentences.join(" ")).join("\n"))
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let tokens = "A query sees T tokens. They have variance 1 and one correlation c between any two: none in front of the first \
                      layer, unless the spec says so, and behind it what infinitely wide layers make of them.";
        let members = "The variance of a layer is that of one member (a head, or heads that share keys and \
                       values) over their number.";
        let sentences = [tokens.to_owned(), members.to_owned()].into_iter().chain(self.left_out.clone());
        (sentences.collect(), self.table())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("layer", Align::Right),
            ("kind", Align::Left),
            ("m x n", Align::Right),
            ("T", Align::Right),
            ("c", Align::Right),
            ("E[K]", Align::Right),
            ("Var[K] / E[K]^2", Align::Right),
            ("+-", Align::Right),
            ("of one member", Align::Right),
        ]);
        for layer in &self.layers {
            let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".into());
            table.push([
                layer.layer.to_string(),
                match layer.kind {
                    LayerKind::Attention => "attention".into(),
                    LayerKind::FeedForward => "feed-forward".into(),
                },
                format!("{}x{}", layer.members, layer.width),
                or_none(layer.tokens.map(|tokens| tokens.to_string())),
                or_none(layer.correlation.map(|correlation| format!("{correlation:.3}"))),
                significant(layer.mean, 4),
                significant(layer.variance, 4),
                layer.standard_error.map_or_else(|| "exact".into(), |error| significant(error, 2)),
                significant(layer.member_variance, 4),
            ]);
        }
        table
    }
}
