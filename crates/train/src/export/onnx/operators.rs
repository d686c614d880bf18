//! From our graph to ONNX operators, all of them plain.
//!
//! A block-diagonal dense layer is a grouped 1x1 `Conv` of one-pixel images: its weights then are
//! ours, number by number, and no runtime needs to know more than it does for a ResNeXt.

use std::collections::HashSet;
use std::f32::consts::FRAC_1_SQRT_2;

use collegial_arch::{self as arch, Activation, Graph, Op};

use super::message::{Attribute, FLOAT, INT64, Node, tensor};

/// The epsilon that a batch norm adds to the variance, PyTorch's default.
const EPSILON: f32 = 1e-5;

pub(crate) const INPUT: &str = "input";
pub(crate) const OUTPUT: &str = "output";

/// A result: batch x channels if `flat`, else batch x channels x height x width.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    flat: bool,
}

/// The operators of a graph. `has` says which tensors there are: a convolution with a bias has
/// swallowed its norm.
pub(crate) fn operators(graph: &Graph, has: &dyn Fn(&str) -> bool) -> Vec<Node> {
    let mut emitter = Emitter { has, nodes: vec![], names: HashSet::new() };
    let mut values: Vec<Value> = vec![];
    for node in &graph.nodes {
        let operands = node.inputs.iter().map(|&input| values[input].clone()).collect();
        let shapes: Vec<arch::Shape> = node.inputs.iter().map(|&input| graph.nodes[input].shape).collect();
        values.push(emitter.node(node, operands, &shapes));
    }
    let Some(mut last) = values.pop() else { return vec![] };
    if graph.output_shape().pixels() == 1 {
        last = emitter.flat(last);
    }
    let rename = |name: &mut String| {
        if *name == last.name {
            OUTPUT.clone_into(name);
        }
    };
    for node in &mut emitter.nodes {
        node.inputs.iter_mut().for_each(rename);
        rename(&mut node.output);
    }
    emitter.nodes
}

/// Sides of an input or output beside the batch; what has one pixel is flat.
pub(crate) fn sides(shape: arch::Shape) -> Vec<usize> {
    if shape.pixels() == 1 { vec![shape.channels] } else { vec![shape.channels, shape.height, shape.width] }
}

/// The shape of a layer's weights in ONNX, given ours.
pub(crate) fn weight_shape(graph: &Graph, name: &str, shape: &[usize]) -> Vec<usize> {
    let grouped = |node: &&arch::Node| matches!(node.op, Op::Dense { groups, .. } if groups > 1);
    let layer = graph.nodes.iter().find(|node| name.strip_suffix(".weight") == Some(&node.name));
    if layer.filter(grouped).is_some() { [shape, &[1, 1]].concat() } else { shape.to_vec() }
}

struct Emitter<'a> {
    has: &'a dyn Fn(&str) -> bool,
    nodes: Vec<Node>,
    names: HashSet<String>,
}

impl Emitter<'_> {
    fn node(&mut self, node: &arch::Node, mut operands: Vec<Value>, shapes: &[arch::Shape]) -> Value {
        if node.op == Op::Input {
            return Value { name: INPUT.into(), flat: node.shape.pixels() == 1 };
        }
        let operand = operands.remove(0);
        let name = node.name.as_str();
        match node.op {
            Op::Input => operand,
            Op::Conv { kernel, stride, padding, groups, .. } => {
                let image = self.image(operand);
                self.conv(name, image, [kernel, stride, padding, groups])
            }
            Op::Dense { groups: 1, .. } => {
                let flat = self.flat(operand);
                self.product(name, flat)
            }
            Op::Dense { groups, .. } => {
                let image = self.image(operand);
                self.conv(name, image, [1, 1, 0, groups])
            }
            Op::BatchNorm if !(self.has)(&format!("{name}.running_mean")) => operand,
            Op::BatchNorm => self.batch_norm(name, operand),
            Op::Activation(activation) => self.activation(name, operand, activation),
            Op::Add => self.add(name, operand, operands.remove(0)),
            Op::Scale => {
                let (image, gate) = (self.image(operand), operands.remove(0));
                let gate = self.image(gate);
                self.emit("Mul", name, vec![image.name, gate.name], vec![], false)
            }
            Op::MaxPool { kernel, stride, padding } => {
                let image = self.image(operand);
                self.emit("MaxPool", name, vec![image.name], window(kernel, stride, padding), false)
            }
            Op::AveragePool { side } => {
                let image = self.image(operand);
                let mut attributes = window(side, side, 0);
                // Windows at the edges count what lies in the image only.
                attributes.push(("ceil_mode", Attribute::Int(1)));
                self.emit("AveragePool", name, vec![image.name], attributes, false)
            }
            Op::GlobalAveragePool if operand.flat => operand,
            Op::GlobalAveragePool => self.emit("GlobalAveragePool", name, vec![operand.name], vec![], false),
            Op::MemberSum { members } => self.member_sum(name, operand, members, shapes[0]),
        }
    }

    fn product(&mut self, name: &str, from: Value) -> Value {
        let mut inputs = vec![from.name, format!("{name}.weight")];
        inputs.extend(self.bias(name));
        self.emit("Gemm", name, inputs, vec![("transB", Attribute::Int(1))], true)
    }

    fn batch_norm(&mut self, name: &str, from: Value) -> Value {
        let tensors = ["weight", "bias", "running_mean", "running_var"];
        let inputs = [from.name].into_iter().chain(tensors.map(|tensor| format!("{name}.{tensor}")));
        let attributes = vec![("epsilon", Attribute::Float(EPSILON))];
        self.emit("BatchNormalization", name, inputs.collect(), attributes, from.flat)
    }

    fn add(&mut self, name: &str, left: Value, right: Value) -> Value {
        let (left, right) =
            if left.flat == right.flat { (left, right) } else { (self.flat(left), self.flat(right)) };
        self.emit("Add", name, vec![left.name, right.name], vec![], left.flat)
    }

    fn conv(&mut self, name: &str, from: Value, [kernel, stride, padding, groups]: [usize; 4]) -> Value {
        let mut inputs = vec![from.name, format!("{name}.weight")];
        inputs.extend(self.bias(name));
        let mut attributes = window(kernel, stride, padding);
        attributes.push(("group", Attribute::Int(groups as u64)));
        self.emit("Conv", name, inputs, attributes, false)
    }

    fn bias(&self, name: &str) -> Option<String> {
        Some(format!("{name}.bias")).filter(|name| (self.has)(name))
    }

    fn activation(&mut self, name: &str, from: Value, activation: Activation) -> Value {
        let op = match activation {
            Activation::None => return from,
            Activation::Relu => "Relu",
            Activation::Erf => "Erf",
            Activation::Tanh => "Tanh",
            Activation::Gelu => return self.gelu(name, &from),
            Activation::Sigmoid => "Sigmoid",
            Activation::Silu => {
                let sigmoid = format!("{name}.sigmoid");
                let gate = self.emit("Sigmoid", &sigmoid, vec![from.name.clone()], vec![], from.flat);
                return self.emit("Mul", name, vec![from.name, gate.name], vec![], from.flat);
            }
            Activation::HardSwish => "HardSwish",
            Activation::Relu6 => {
                let bounds = [("low", 0.0), ("high", 6.0)].map(|(end, number)| {
                    let number: f32 = number;
                    let number = Attribute::Tensor(tensor("", &[], FLOAT, &number.to_le_bytes()));
                    self.constant(&format!("{name}.{end}"), number)
                });
                let inputs = [from.name].into_iter().chain(bounds).collect();
                return self.emit("Clip", name, inputs, vec![], from.flat);
            }
            Activation::LeakyRelu => {
                let attributes = vec![("alpha", Attribute::Float(0.01))];
                return self.emit("LeakyRelu", name, vec![from.name], attributes, from.flat);
            }
        };
        self.emit(op, name, vec![from.name], vec![], from.flat)
    }

    /// x (1 + erf(x / sqrt 2)) / 2: an operator of its own came only with opset 20.
    fn gelu(&mut self, name: &str, from: &Value) -> Value {
        let scaled = self.with_constant("Mul", &format!("{name}.scaled"), from, FRAC_1_SQRT_2);
        let erf = self.emit("Erf", &format!("{name}.erf"), vec![scaled.name], vec![], from.flat);
        let raised = self.with_constant("Add", &format!("{name}.raised"), &erf, 1.0);
        let product = vec![from.name.clone(), raised.name];
        let product = self.emit("Mul", &format!("{name}.product"), product, vec![], from.flat);
        self.with_constant("Mul", name, &product, 0.5)
    }

    /// The sum over members divided by sqrt(m) (Eq. 2 of the paper).
    fn member_sum(&mut self, name: &str, from: Value, members: usize, shape: arch::Shape) -> Value {
        let flat = from.flat;
        let mut sides = vec![0, members as i64, (shape.channels / members) as i64];
        if !flat {
            sides.extend([shape.height as i64, shape.width as i64]);
        }
        let split = self.reshape(&format!("{name}.split"), from, &sides, flat);
        let axis = self.integers(&format!("{name}.axis"), &[1]);
        let attributes = vec![("keepdims", Attribute::Int(0))];
        let sum = self.emit("ReduceSum", &format!("{name}.sum"), vec![split.name, axis], attributes, flat);
        self.with_constant("Mul", name, &sum, (1.0 / (members as f64).sqrt()) as f32)
    }

    fn flat(&mut self, value: Value) -> Value {
        if value.flat {
            return value;
        }
        let name = format!("{}.flat", value.name);
        self.emit("Flatten", &name, vec![value.name], vec![("axis", Attribute::Int(1))], true)
    }

    fn image(&mut self, value: Value) -> Value {
        if !value.flat {
            return value;
        }
        let name = format!("{}.image", value.name);
        self.reshape(&name, value, &[0, -1, 1, 1], false)
    }

    /// A side of 0 stays as it is, one of -1 takes what is left.
    fn reshape(&mut self, name: &str, from: Value, sides: &[i64], flat: bool) -> Value {
        let target = self.integers(&format!("{name}.shape"), sides);
        self.emit("Reshape", name, vec![from.name, target], vec![], flat)
    }

    fn integers(&mut self, name: &str, values: &[i64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, Attribute::Tensor(tensor("", &[values.len()], INT64, &bytes)))
    }

    /// An operator with a number for its second operand.
    fn with_constant(&mut self, op: &'static str, name: &str, from: &Value, number: f32) -> Value {
        let number = Attribute::Tensor(tensor("", &[], FLOAT, &number.to_le_bytes()));
        let number = self.constant(&format!("{name}.constant"), number);
        self.emit(op, name, vec![from.name.clone(), number], vec![], from.flat)
    }

    fn constant(&mut self, name: &str, value: Attribute) -> String {
        self.emit("Constant", name, vec![], vec![("value", value)], true).name
    }

    /// Appends an operator; a name that is taken gets a number.
    fn emit(
        &mut self,
        op: &'static str,
        name: &str,
        inputs: Vec<String>,
        attributes: Vec<(&'static str, Attribute)>,
        flat: bool,
    ) -> Value {
        let numbered = (2..).map(|number| format!("{name}.{number}"));
        let taken = |name: &String| self.names.contains(name) || (self.has)(name);
        let output =
            [name.to_owned()].into_iter().chain(numbered).find(|name| !taken(name)).unwrap_or_default();
        self.names.insert(output.clone());
        self.nodes.push(Node { op, inputs, output: output.clone(), attributes });
        Value { name: output, flat }
    }
}

/// Attributes of whatever slides a square window.
fn window(kernel: usize, stride: usize, padding: usize) -> Vec<(&'static str, Attribute)> {
    vec![
        ("kernel_shape", Attribute::Ints(vec![kernel; 2])),
        ("strides", Attribute::Ints(vec![stride; 2])),
        ("pads", Attribute::Ints(vec![padding; 4])),
    ]
}
