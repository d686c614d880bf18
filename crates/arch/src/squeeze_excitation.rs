//! Squeeze-and-excitation: channels scaled by factors that depend on the image.

use std::fmt;

use crate::Error;
use crate::builder::Conv;
use crate::graph::NodeId;
use crate::layers::Layers;
use crate::sequence::Activation;

/// Appends a squeeze-and-excitation module: the layers `fc1` and `fc2` compute one factor per
/// channel from the means of all channels.
pub(crate) fn append<L: Layers>(
    graph: &mut L,
    from: NodeId,
    hidden: usize,
    prefix: fmt::Arguments<'_>,
) -> Result<NodeId, Error> {
    let channels = graph.shape(from).channels;
    let means = graph.global_average_pool(format_args!("{prefix}avgpool"), from)?;
    let first = graph.conv(format_args!("{prefix}fc1"), means, Conv::new(hidden, 1).bias(true))?;
    let active = graph.activation(format_args!("{prefix}activation"), first, Activation::Relu)?;
    let second = graph.conv(format_args!("{prefix}fc2"), active, Conv::new(channels, 1).bias(true))?;
    let factors = graph.activation(format_args!("{prefix}scale_activation"), second, Activation::Sigmoid)?;
    graph.scale(format_args!("{prefix}scale"), from, factors)
}
