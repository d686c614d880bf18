//! Building a graph layer by layer, shapes checked as layers are added.

use crate::Error;
use crate::graph::{Graph, NodeId};
use crate::layers::Layers;
use crate::sequence::Activation;
use crate::shape::Shape;

/// A convolution, to be added by [`Graph::conv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv {
    pub(crate) channels: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) padding: Option<usize>,
    pub(crate) groups: usize,
    pub(crate) bias: bool,
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
    pub(crate) units: usize,
    pub(crate) groups: usize,
    pub(crate) bias: bool,
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
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) padding: usize,
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
        Layers::new(input)
    }

    /// Appends a convolution.
    pub fn conv(&mut self, name: impl Into<String>, from: NodeId, conv: Conv) -> Result<NodeId, Error> {
        Layers::conv(self, name.into(), from, conv)
    }

    /// Appends a dense layer on a flat vector.
    pub fn dense(&mut self, name: impl Into<String>, from: NodeId, dense: Dense) -> Result<NodeId, Error> {
        Layers::dense(self, name.into(), from, dense)
    }

    /// Appends a batch norm over every channel.
    pub fn batch_norm(&mut self, name: impl Into<String>, from: NodeId) -> Result<NodeId, Error> {
        Layers::batch_norm(self, name.into(), from)
    }

    /// Appends a pointwise non-linearity.
    pub fn activation(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        activation: Activation,
    ) -> Result<NodeId, Error> {
        Layers::activation(self, name.into(), from, activation)
    }

    /// Appends the sum of two branches of equal shape.
    pub fn add(&mut self, name: impl Into<String>, left: NodeId, right: NodeId) -> Result<NodeId, Error> {
        Layers::add(self, name.into(), left, right)
    }

    /// Appends a channel-wise scaling: every channel of an image times its factor in `factors`, a
    /// vector of as many channels.
    pub fn scale(&mut self, name: impl Into<String>, from: NodeId, factors: NodeId) -> Result<NodeId, Error> {
        Layers::scale(self, name.into(), from, factors)
    }

    /// Appends a maximum over windows.
    pub fn max_pool(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        pool: MaxPool,
    ) -> Result<NodeId, Error> {
        Layers::max_pool(self, name.into(), from, pool)
    }

    /// Appends means over windows of a side that lie side by side, cut at the edges.
    pub fn average_pool(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        side: usize,
    ) -> Result<NodeId, Error> {
        Layers::average_pool(self, name.into(), from, side)
    }

    /// Appends the mean over all pixels of a channel.
    pub fn global_average_pool(&mut self, name: impl Into<String>, from: NodeId) -> Result<NodeId, Error> {
        Layers::global_average_pool(self, name.into(), from)
    }

    /// Appends the sum over m members of equal output, divided by sqrt(m) (Eq. 2 of the paper).
    /// Each member owns an equal share of the channels that come in, one behind the other.
    pub fn member_sum(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        members: usize,
    ) -> Result<NodeId, Error> {
        Layers::member_sum(self, name.into(), from, members)
    }
}
