//! Squeeze-and-excitation: channels scaled by factors that depend on the image.

use crate::Error;
use crate::builder::Conv;
use crate::graph::{Graph, NodeId};
use crate::sequence::Activation;

/// Appends a squeeze-and-excitation module: the layers `fc1` and `fc2` compute one factor per
/// channel from the means of all channels.
pub(crate) fn append(graph: &mut Graph, from: NodeId, hidden: usize, prefix: &str) -> Result<NodeId, Error> {
    let channels = graph.shape(from).channels;
    let means = graph.global_average_pool(format!("{prefix}avgpool"), from)?;
    let first = graph.conv(format!("{prefix}fc1"), means, Conv::new(hidden, 1).bias(true))?;
    let active = graph.activation(format!("{prefix}activation"), first, Activation::Relu)?;
    let second = graph.conv(format!("{prefix}fc2"), active, Conv::new(channels, 1).bias(true))?;
    let factors = graph.activation(format!("{prefix}scale_activation"), second, Activation::Sigmoid)?;
    graph.scale(format!("{prefix}scale"), from, factors)
}
