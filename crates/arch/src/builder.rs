//! Building a graph layer by layer, shapes checked as layers are added.

use crate::Error;
use crate::error::{MAX_KERNEL, dimension, within};
use crate::graph::{Graph, Node, NodeId, Op};
use crate::sequence::Activation;
use crate::shape::Shape;

/// A convolution, to be added by [`Graph::conv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv {
    channels: usize,
    kernel: usize,
    stride: usize,
    padding: Option<usize>,
    groups: usize,
    bias: bool,
}

impl Conv {
    /// A convolution with this many output channels and a square kernel of this side.
    pub fn new(channels: usize, kernel: usize) -> Self {
        Self { channels, kernel, stride: 1, padding: None, groups: 1, bias: false }
    }

    /// Step between positions. By default 1.
    pub fn stride(mut self, stride: usize) -> Self {
        self.stride = stride;
        self
    }

    /// Zeros added on each side. By default half of what the kernel is larger than a pixel, rounded
    /// down, which keeps the image's size for odd kernels.
    pub fn padding(mut self, padding: usize) -> Self {
        self.padding = Some(padding);
        self
    }

    /// Number of groups; it must divide the channels that come in and those that go out. By default
    /// 1.
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// Whether a bias is added. By default not, since a norm usually follows.
    pub fn bias(mut self, bias: bool) -> Self {
        self.bias = bias;
        self
    }
}

/// A dense layer, to be added by [`Graph::dense`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dense {
    units: usize,
    groups: usize,
    bias: bool,
}

impl Dense {
    /// A dense layer with this many output units.
    pub fn new(units: usize) -> Self {
        Self { units, groups: 1, bias: false }
    }

    /// Number of diagonal blocks; it must divide the units that come in and those that go out. By
    /// default 1.
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// Whether a bias is added. By default not.
    pub fn bias(mut self, bias: bool) -> Self {
        self.bias = bias;
        self
    }
}

/// A maximum over square windows, to be added by [`Graph::max_pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxPool {
    kernel: usize,
    stride: usize,
    padding: usize,
}

impl MaxPool {
    /// A pool with windows of this side.
    pub fn new(kernel: usize) -> Self {
        Self { kernel, stride: kernel, padding: 0 }
    }

    /// Step between windows. By default their side.
    pub fn stride(mut self, stride: usize) -> Self {
        self.stride = stride;
        self
    }

    /// Border that never wins, on each side. By default 0.
    pub fn padding(mut self, padding: usize) -> Self {
        self.padding = padding;
        self
    }
}

/// The builder. Every method checks that the layer fits, appends it and returns its node; a layer
/// that does not fit is an error with its name and the shapes, and leaves the graph as it was.
impl Graph {
    /// A graph that holds only its input, to which layers are added.
    ///
    /// ```
    /// use collegial_arch::{Activation, Conv, Dense, Error, Graph, Shape};
    ///
    /// let mut graph = Graph::new(Shape::image(3, 32))?;
    /// let stem = graph.conv("stem", graph.input(), Conv::new(16, 3))?;
    /// let normed = graph.batch_norm("norm", stem)?;
    /// let active = graph.activation("relu", normed, Activation::Relu)?;
    /// let grouped = graph.conv("grouped", active, Conv::new(16, 3).groups(4))?;
    /// let sum = graph.add("sum", grouped, stem)?;
    /// let pooled = graph.global_average_pool("pool", sum)?;
    /// graph.dense("fc", pooled, Dense::new(10).bias(true))?;
    /// assert_eq!(graph.output_shape(), Shape::vector(10));
    /// // 3 to 16 channels, two per channel of the norm, 4 groups of 4 to 4 channels, 16 to 10 with
    /// // biases.
    /// assert_eq!(graph.counts()?.total.parameters, 9 * 3 * 16 + 2 * 16 + 9 * 4 * 4 * 4 + 17 * 10);
    ///
    /// // A mistake names the layer and both shapes.
    /// let halved = graph.conv("halved", active, Conv::new(16, 3).stride(2))?;
    /// let error = graph.add("wrong", halved, stem).unwrap_err();
    /// assert!(matches!(&error, Error::Branches { layer, .. } if layer == "wrong"));
    /// assert!(error.to_string().contains("cannot add 16x16x16 to 16x32x32"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(input: Shape) -> Result<Self, Error> {
        input.check("the input")?;
        Ok(Self::of_input(input))
    }

    /// Appends a convolution.
    pub fn conv(&mut self, name: impl Into<String>, from: NodeId, conv: Conv) -> Result<NodeId, Error> {
        let name = name.into();
        let input = self.operand(&name, from)?;
        let Conv { channels, kernel, stride, groups, bias, .. } = conv;
        dimension(format!("the number of output channels of {name}"), channels)?;
        within(format!("the kernel size of {name}"), kernel, 1, MAX_KERNEL)?;
        let padding = conv.padding.unwrap_or((kernel - 1) / 2);
        let output = Shape { channels, ..windows(&name, input, [kernel, stride, padding])? };
        divide(&name, input, output, groups)?;
        self.push(name, Op::Conv { kernel, stride, padding, groups, bias }, vec![from], output)
    }

    /// Appends a dense layer on a flat vector.
    pub fn dense(&mut self, name: impl Into<String>, from: NodeId, dense: Dense) -> Result<NodeId, Error> {
        let name = name.into();
        let input = self.operand(&name, from)?;
        let Dense { units, groups, bias } = dense;
        dimension(format!("the number of units of {name}"), units)?;
        let output = Shape::vector(units);
        if input.pixels() != 1 {
            return Err(Error::NotFlat { layer: name, input, output });
        }
        divide(&name, input, output, groups)?;
        self.push(name, Op::Dense { groups, bias }, vec![from], output)
    }

    /// Appends a batch norm over every channel.
    pub fn batch_norm(&mut self, name: impl Into<String>, from: NodeId) -> Result<NodeId, Error> {
        self.like(name.into(), Op::BatchNorm, from)
    }

    /// Appends a pointwise non-linearity.
    pub fn activation(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        activation: Activation,
    ) -> Result<NodeId, Error> {
        self.like(name.into(), Op::Activation(activation), from)
    }

    /// Appends the sum of two branches of equal shape.
    pub fn add(&mut self, name: impl Into<String>, left: NodeId, right: NodeId) -> Result<NodeId, Error> {
        let layer = name.into();
        let (a, b) = (self.operand(&layer, left)?, self.operand(&layer, right)?);
        if a != b {
            return Err(Error::Branches { layer, left: a, right: b });
        }
        self.push(layer, Op::Add, vec![left, right], a)
    }

    /// Appends a channel-wise scaling: every channel of an image times its factor in `factors`, a
    /// vector of as many channels.
    pub fn scale(&mut self, name: impl Into<String>, from: NodeId, factors: NodeId) -> Result<NodeId, Error> {
        let layer = name.into();
        let (input, vector) = (self.operand(&layer, from)?, self.operand(&layer, factors)?);
        if vector != Shape::vector(input.channels) {
            return Err(Error::ChannelFactors { layer, input, factors: vector });
        }
        self.push(layer, Op::Scale, vec![from, factors], input)
    }

    /// Appends a maximum over windows.
    pub fn max_pool(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        pool: MaxPool,
    ) -> Result<NodeId, Error> {
        let name = name.into();
        let MaxPool { kernel, stride, padding } = pool;
        let output = windows(&name, self.operand(&name, from)?, [kernel, stride, padding])?;
        // A window that lies in the border has no maximum.
        within(format!("the padding of {name}"), padding, 0, kernel / 2)?;
        self.push(name, Op::MaxPool { kernel, stride, padding }, vec![from], output)
    }

    /// Appends means over windows of a side that lie side by side, cut at the edges.
    pub fn average_pool(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        side: usize,
    ) -> Result<NodeId, Error> {
        let name = name.into();
        within(format!("the window of {name}"), side, 1, MAX_KERNEL)?;
        let input = self.operand(&name, from)?;
        let (height, width) = (input.height.div_ceil(side), input.width.div_ceil(side));
        self.push(name, Op::AveragePool { side }, vec![from], Shape { height, width, ..input })
    }

    /// Appends the mean over all pixels of a channel.
    pub fn global_average_pool(&mut self, name: impl Into<String>, from: NodeId) -> Result<NodeId, Error> {
        let name = name.into();
        let output = Shape::vector(self.operand(&name, from)?.channels);
        self.push(name, Op::GlobalAveragePool, vec![from], output)
    }

    /// Appends the sum over m members of equal output, divided by sqrt(m) (Eq. 2 of the paper).
    /// Each member owns an equal share of the channels that come in, one behind the other.
    pub fn member_sum(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        members: usize,
    ) -> Result<NodeId, Error> {
        let layer = name.into();
        dimension(format!("the number of members of {layer}"), members)?;
        let input = self.operand(&layer, from)?;
        if !input.channels.is_multiple_of(members) {
            return Err(Error::Members { layer, input, members });
        }
        let output = Shape { channels: input.channels / members, ..input };
        self.push(layer, Op::MemberSum { members }, vec![from], output)
    }

    /// A node that keeps its operand's shape.
    fn like(&mut self, name: String, op: Op, from: NodeId) -> Result<NodeId, Error> {
        let shape = self.operand(&name, from)?;
        self.push(name, op, vec![from], shape)
    }

    fn push(&mut self, name: String, op: Op, inputs: Vec<NodeId>, shape: Shape) -> Result<NodeId, Error> {
        if name.is_empty() || self.find(&name).is_some() {
            return Err(Error::LayerName { layer: name });
        }
        Ok(self.append(Node { name, op, inputs, shape }))
    }
}

/// Checks that groups divide the channels on both sides.
fn divide(name: &str, input: Shape, output: Shape, groups: usize) -> Result<(), Error> {
    let divides = |shape: Shape| groups > 0 && shape.channels.is_multiple_of(groups);
    if divides(input) && divides(output) {
        return Ok(());
    }
    Err(Error::Groups { layer: name.to_owned(), input, output, groups })
}

/// The shape of one value per window.
fn windows(name: &str, input: Shape, [kernel, stride, padding]: [usize; 3]) -> Result<Shape, Error> {
    within(format!("the kernel size of {name}"), kernel, 1, MAX_KERNEL)?;
    within(format!("the stride of {name}"), stride, 1, MAX_KERNEL)?;
    within(format!("the padding of {name}"), padding, 0, MAX_KERNEL)?;
    let count = |side: usize| (side + 2 * padding).checked_sub(kernel).map(|room| room / stride + 1);
    match (count(input.height), count(input.width)) {
        (Some(height), Some(width)) => Ok(Shape { height, width, ..input }),
        _ => Err(Error::Window { layer: name.to_owned(), input, kernel, padding }),
    }
}
