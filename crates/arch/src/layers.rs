//! Layers appended one by one, shapes checked as they come.
//!
//! The families say what their layers are once, and two listeners hear it: a
//! [`Graph`](crate::Graph) keeps them with their names, a [`Tally`](crate::counts::Tally) only adds
//! up what they count. Names are therefore passed unformatted.

use std::fmt::Display;

use crate::Error;
use crate::builder::{Conv, Dense, MaxPool};
use crate::error::{MAX_KERNEL, dimension, within};
use crate::graph::{NodeId, Op};
use crate::sequence::Activation;
use crate::shape::Shape;

/// What layers are appended to. A layer that does not fit is an error with its name and the shapes,
/// and leaves everything as it was.
pub(crate) trait Layers: Sized {
    /// No layers, not even the input.
    fn empty() -> Self;

    /// How many nodes there are.
    fn count(&self) -> usize;

    /// The shape of a node that exists.
    fn shape(&self, node: NodeId) -> Shape;

    /// Appends an operation whose operands exist and have shapes that fit.
    fn append(
        &mut self,
        name: impl Display,
        op: Op,
        inputs: &[NodeId],
        shape: Shape,
    ) -> Result<NodeId, Error>;

    /// Only the input.
    fn new(input: Shape) -> Result<Self, Error> {
        input.check("the input")?;
        let mut layers = Self::empty();
        layers.append("input", Op::Input, &[], input)?;
        Ok(layers)
    }

    /// The shape of a node that may not exist, which `layer` wants to read.
    fn operand(&self, layer: impl Display, node: NodeId) -> Result<Shape, Error> {
        let nodes = self.count();
        if node < nodes {
            return Ok(self.shape(node));
        }
        Err(Error::Invalid(format!("{layer} reads node {node}, but its graph has only {nodes} nodes so far")))
    }

    /// Appends a convolution.
    fn conv(&mut self, name: impl Display, from: NodeId, conv: Conv) -> Result<NodeId, Error> {
        let input = self.operand(&name, from)?;
        let Conv { channels, kernel, stride, groups, bias, .. } = conv;
        dimension(format_args!("the number of output channels of {name}"), channels)?;
        within(format_args!("the kernel size of {name}"), kernel, 1, MAX_KERNEL)?;
        let padding = conv.padding.unwrap_or((kernel - 1) / 2);
        let output = Shape { channels, ..windows(&name, input, [kernel, stride, padding])? };
        divide(&name, input, output, groups)?;
        self.append(name, Op::Conv { kernel, stride, padding, groups, bias }, &[from], output)
    }

    /// Appends a dense layer on a flat vector.
    fn dense(&mut self, name: impl Display, from: NodeId, dense: Dense) -> Result<NodeId, Error> {
        let input = self.operand(&name, from)?;
        let Dense { units, groups, bias } = dense;
        dimension(format_args!("the number of units of {name}"), units)?;
        let output = Shape::vector(units);
        if input.pixels() != 1 {
            return Err(Error::Invalid(format!(
                "the dense layer {name} takes a flat input to {output} but gets {input}; put a pool before it"
            )));
        }
        divide(&name, input, output, groups)?;
        self.append(name, Op::Dense { groups, bias }, &[from], output)
    }

    /// Appends a batch norm over every channel.
    fn batch_norm(&mut self, name: impl Display, from: NodeId) -> Result<NodeId, Error> {
        self.like(name, Op::BatchNorm, from)
    }

    /// Appends a pointwise non-linearity.
    fn activation(
        &mut self,
        name: impl Display,
        from: NodeId,
        activation: Activation,
    ) -> Result<NodeId, Error> {
        self.like(name, Op::Activation(activation), from)
    }

    /// Appends the sum of two branches of equal shape.
    fn add(&mut self, layer: impl Display, left: NodeId, right: NodeId) -> Result<NodeId, Error> {
        let (a, b) = (self.operand(&layer, left)?, self.operand(&layer, right)?);
        if a != b {
            return Err(Error::Branches { layer: layer.to_string(), left: a, right: b });
        }
        self.append(layer, Op::Add, &[left, right], a)
    }

    /// Appends a channel-wise scaling: every channel of an image times its factor in `factors`, a
    /// vector of as many channels.
    fn scale(&mut self, layer: impl Display, from: NodeId, factors: NodeId) -> Result<NodeId, Error> {
        let (input, vector) = (self.operand(&layer, from)?, self.operand(&layer, factors)?);
        if vector != Shape::vector(input.channels) {
            return Err(Error::Invalid(format!(
                "{layer} cannot scale {input} by {vector}; it needs one number per channel"
            )));
        }
        self.append(layer, Op::Scale, &[from, factors], input)
    }

    /// Appends a maximum over windows.
    fn max_pool(&mut self, name: impl Display, from: NodeId, pool: MaxPool) -> Result<NodeId, Error> {
        let MaxPool { kernel, stride, padding } = pool;
        let output = windows(&name, self.operand(&name, from)?, [kernel, stride, padding])?;
        // A window that lies in the border has no maximum.
        within(format_args!("the padding of {name}"), padding, 0, kernel / 2)?;
        self.append(name, Op::MaxPool { kernel, stride, padding }, &[from], output)
    }

    /// Appends means over windows of a side that lie side by side, cut at the edges.
    fn average_pool(&mut self, name: impl Display, from: NodeId, side: usize) -> Result<NodeId, Error> {
        within(format_args!("the window of {name}"), side, 1, MAX_KERNEL)?;
        let input = self.operand(&name, from)?;
        let (height, width) = (input.height.div_ceil(side), input.width.div_ceil(side));
        self.append(name, Op::AveragePool { side }, &[from], Shape { height, width, ..input })
    }

    /// Appends the mean over all pixels of a channel.
    fn global_average_pool(&mut self, name: impl Display, from: NodeId) -> Result<NodeId, Error> {
        let output = Shape::vector(self.operand(&name, from)?.channels);
        self.append(name, Op::GlobalAveragePool, &[from], output)
    }

    /// Appends the sum over m members of equal output, divided by sqrt(m) (Eq. 2 of the paper).
    /// Each member owns an equal share of the channels that come in, one behind the other.
    fn member_sum(&mut self, layer: impl Display, from: NodeId, members: usize) -> Result<NodeId, Error> {
        dimension(format_args!("the number of members of {layer}"), members)?;
        let input = self.operand(&layer, from)?;
        if !input.channels.is_multiple_of(members) {
            return Err(Error::Invalid(format!(
                "{layer} cannot sum {members} members of {input}, whose channels they do not divide"
            )));
        }
        let output = Shape { channels: input.channels / members, ..input };
        self.append(layer, Op::MemberSum { members }, &[from], output)
    }

    /// A node that keeps its operand's shape.
    fn like(&mut self, layer: impl Display, op: Op, from: NodeId) -> Result<NodeId, Error> {
        let shape = self.operand(&layer, from)?;
        self.append(layer, op, &[from], shape)
    }
}

/// Checks that groups divide the channels on both sides.
fn divide(layer: impl Display, input: Shape, output: Shape, groups: usize) -> Result<(), Error> {
    let divides = |shape: Shape| groups > 0 && shape.channels.is_multiple_of(groups);
    if divides(input) && divides(output) {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "{layer} takes {input} to {output}, whose channels {groups} groups do not divide"
    )))
}

/// The shape of one value per window.
fn windows(layer: impl Display, input: Shape, [kernel, stride, padding]: [usize; 3]) -> Result<Shape, Error> {
    within(format_args!("the kernel size of {layer}"), kernel, 1, MAX_KERNEL)?;
    within(format_args!("the stride of {layer}"), stride, 1, MAX_KERNEL)?;
    within(format_args!("the padding of {layer}"), padding, 0, MAX_KERNEL)?;
    let count = |side: usize| (side + 2 * padding).checked_sub(kernel).map(|room| room / stride + 1);
    match (count(input.height), count(input.width)) {
        (Some(height), Some(width)) => Ok(Shape { height, width, ..input }),
        _ => Err(Error::Invalid(format!(
            "the {kernel}x{kernel} window of {layer} does not fit its input {input} with padding {padding}"
        ))),
    }
}
