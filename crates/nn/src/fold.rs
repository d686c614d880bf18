//! Batch-norm folding: copies a trained network into one for inference, with norms folded into the
//! layers before them.

use crate::Error;
use crate::network::Network;
use crate::passes::fused::EPSILON;
use collegial_arch::Op;

/// Copies parameters and statistics; a norm that `from` has and `to` has not is folded: `scale
/// (w x - mean) / deviation + shift = (scale / deviation) w x + (shift - scale mean / deviation)`.
pub(crate) fn copy(from: &Network, to: &mut Network) -> Result<(), Error> {
    for parameter in from.parameters() {
        let values = &from.values()[parameter.range.clone()];
        if to.get(&parameter.name).is_ok() {
            to.set(&parameter.name, values)?;
        }
    }
    for (name, values) in from.statistics() {
        if to.get(&name).is_ok() {
            to.set(&name, values)?;
        }
    }
    let graph = from.graph();
    for node in graph.nodes.iter().filter(|node| node.op == Op::BatchNorm) {
        let statistic = format!("{}.running_mean", node.name);
        if from.get(&statistic).is_ok() && to.get(&statistic).is_err() {
            fold(from, to, &node.name, &graph.nodes[node.inputs[0]].name)?;
        }
    }
    Ok(())
}

fn fold(from: &Network, to: &mut Network, norm: &str, layer: &str) -> Result<(), Error> {
    let tensor = |name: &str| from.get(&format!("{norm}.{name}"));
    let (scale, shift) = (tensor("weight")?, tensor("bias")?);
    let (mean, variance) = (tensor("running_mean")?, tensor("running_var")?);
    let weight = format!("{layer}.weight");
    let mut weights = from.get(&weight)?.to_vec();
    let mut bias = Vec::with_capacity(scale.len());
    let fan_in = weights.len() / scale.len();
    for (channel, weights) in weights.chunks_exact_mut(fan_in).enumerate() {
        let slope = f64::from(scale[channel]) / (f64::from(variance[channel]) + EPSILON).sqrt();
        weights.iter_mut().for_each(|weight| *weight = (slope * f64::from(*weight)) as f32);
        bias.push((f64::from(shift[channel]) - slope * f64::from(mean[channel])) as f32);
    }
    to.set(&weight, &weights)?;
    to.set(&format!("{layer}.bias"), &bias)
}
