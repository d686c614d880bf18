//! The parameters of a network by torchvision's names: drawn, or read from a safetensors file.

use std::ops::Range;

use collegial_arch::{Graph, Op};
use collegial_nn::{Fans, Parametrisation};
use collegial_stats::Rng;
use safetensors::{Dtype, SafeTensors};

use crate::Error;

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Of a convolution or a dense layer.
    Weight(Fans),
    /// Starts at this value.
    Constant(f32),
    /// A running statistic, which is not a parameter; starts at this value.
    Statistic(f32),
}

/// A named piece of the flat array.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// torchvision's name: `layer1.0.conv2.weight`.
    pub name: String,
    /// As PyTorch has it; a block-diagonal dense layer keeps its blocks below each other.
    pub shape: Vec<usize>,
    range: Range<usize>,
    role: Role,
}

/// All parameters and running statistics of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    tensors: Vec<Tensor>,
    values: Vec<f32>,
}

impl Weights {
    /// Weights 0, norms the identity, biases 0.
    pub fn zeros(graph: &Graph) -> Self {
        let mut weights = Self { tensors: vec![], values: vec![] };
        for (id, node) in graph.nodes.iter().enumerate() {
            let channels = node.shape.channels;
            let mut add = |what: &str, shape, role| weights.add(format!("{}.{what}", node.name), shape, role);
            match (&node.op, Fans::of(graph, id)) {
                (&Op::Conv { kernel, groups, .. }, Some(fans)) => {
                    let inputs = graph.nodes[node.inputs[0]].shape.channels / groups;
                    add("weight", vec![channels, inputs, kernel, kernel], Role::Weight(fans));
                }
                (&Op::Dense { groups, bias }, Some(fans)) => {
                    let inputs = graph.nodes[node.inputs[0]].shape.channels / groups;
                    add("weight", vec![channels, inputs], Role::Weight(fans));
                    if bias {
                        add("bias", vec![channels], Role::Constant(0.0));
                    }
                }
                (Op::BatchNorm, _) => {
                    add("weight", vec![channels], Role::Constant(1.0));
                    add("bias", vec![channels], Role::Constant(0.0));
                    add("running_mean", vec![channels], Role::Statistic(0.0));
                    add("running_var", vec![channels], Role::Statistic(1.0));
                }
                _ => {}
            }
        }
        weights
    }

    fn add(&mut self, name: String, shape: Vec<usize>, role: Role) {
        let start = self.values.len();
        let initial = match role {
            Role::Weight(_) => 0.0,
            Role::Constant(value) | Role::Statistic(value) => value,
        };
        self.values.resize(start + shape.iter().product::<usize>(), initial);
        self.tensors.push(Tensor { name, shape, range: start..self.values.len(), role });
    }

    /// The engine's initial parameters: N(0, 1) in the NTK parametrisation; in the standard one N(0, 2 / fan-out) for
    /// convolutions, N(0, gain / fan-in) for dense layers. Norms are the identity, biases 0.
    pub fn drawn(graph: &Graph, parametrisation: Parametrisation, seed: u64) -> Self {
        let mut weights = Self::zeros(graph);
        let parameters = weights.tensors.iter().filter(|tensor| !matches!(tensor.role, Role::Statistic(_)));
        for (index, tensor) in parameters.enumerate() {
            if let Role::Weight(fans) = tensor.role {
                fans.draw(parametrisation, seed, index, &mut weights.values[tensor.range.clone()]);
            }
        }
        weights
    }

    /// Draws some weights anew, N(0, 1); the rest stays.
    pub(crate) fn redraw<'a>(&mut self, ranges: impl Iterator<Item = &'a Range<usize>>, rng: &mut Rng) {
        ranges.for_each(|range| rng.fill_normal(&mut self.values[range.clone()]));
    }

    /// Reads a safetensors file with torchvision's names, in f32 or f64. Tensors the network does not have are left alone.
    pub fn from_safetensors(graph: &Graph, file: &[u8]) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Weights(reason);
        let archive = SafeTensors::deserialize(file)
            .map_err(|error| wrong(format!("it is not a safetensors file: {error}")))?;
        let mut weights = Self::zeros(graph);
        for tensor in weights.tensors.clone() {
            let view = archive.tensor(&tensor.name).map_err(|_| {
                let first = archive.names().into_iter().min().map_or("nothing", |name| name);
                wrong(format!(
                    "it lacks {:?}, which the network has (its own begin with {first:?})",
                    tensor.name
                ))
            })?;
            if view.shape() != tensor.shape {
                return Err(wrong(format!(
                    "{:?} has the shape {:?}, but the network's has {:?}",
                    tensor.name,
                    view.shape(),
                    tensor.shape
                )));
            }
            let values = &mut weights.values[tensor.range.clone()];
            match view.dtype() {
                Dtype::F32 => {
                    let (bytes, _) = view.data().as_chunks::<4>();
                    values.iter_mut().zip(bytes).for_each(|(to, &from)| *to = f32::from_le_bytes(from));
                }
                Dtype::F64 => {
                    let (bytes, _) = view.data().as_chunks::<8>();
                    values
                        .iter_mut()
                        .zip(bytes)
                        .for_each(|(to, &from)| *to = f64::from_le_bytes(from) as f32);
                }
                other => {
                    return Err(wrong(format!("{:?} holds {other:?}; F32 and F64 are read", tensor.name)));
                }
            }
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(wrong(format!(
                    "{:?} contains {value}; weights must be finite numbers",
                    tensor.name
                )));
            }
        }
        Ok(weights)
    }

    /// The same as a safetensors file.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        let bytes: Vec<u8> = self.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let views = self.tensors.iter().map(|tensor| {
            let bytes = &bytes[4 * tensor.range.start..4 * tensor.range.end];
            safetensors::tensor::TensorView::new(Dtype::F32, tensor.shape.clone(), bytes)
                .map(|view| (tensor.name.clone(), view))
        });
        let views: Result<Vec<_>, _> = views.collect();
        views
            .and_then(|views| safetensors::serialize(views, None))
            .map_err(|error| Error::Weights(format!("they have no safetensors form: {error}")))
    }

    /// Names and shapes, in the graph's order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The values of a tensor, if the network has it.
    pub fn get(&self, name: &str) -> Option<&[f32]> {
        let tensor = self.tensors.iter().find(|tensor| tensor.name == name)?;
        Some(&self.values[tensor.range.clone()])
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut [f32]> {
        let tensor = self.tensors.iter().find(|tensor| tensor.name == name)?;
        Some(&mut self.values[tensor.range.clone()])
    }

    /// Where a tensor lies, for whoever looks it up often.
    pub(crate) fn range(&self, name: &str) -> Range<usize> {
        let tensor = self.tensors.iter().find(|tensor| tensor.name == name);
        tensor.map_or(0..0, |tensor| tensor.range.clone())
    }

    pub(crate) fn at(&self, range: &Range<usize>) -> &[f32] {
        &self.values[range.clone()]
    }

    /// Whether both have the same tensors.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        self.tensors == other.tensors
    }
}
