//! The messages of ONNX that we write, by the field numbers of `onnx.proto`.

use collegial_core::protobuf::Message;

/// The operators are those of this version.
pub(crate) const OPSET: u64 = 17;
/// The version of the file format that opset 17 came with.
const IR_VERSION: u64 = 8;

pub(crate) const FLOAT: u64 = 1;
pub(crate) const INT64: u64 = 7;

/// Field numbers that reading needs too.
pub(crate) mod field {
    pub const MODEL_GRAPH: u64 = 7;
    pub const MODEL_METADATA: u64 = 14;
    pub const GRAPH_NODE: u64 = 1;
    pub const GRAPH_INITIALISER: u64 = 5;
    pub const TENSOR_DIMS: u64 = 1;
    pub const TENSOR_TYPE: u64 = 2;
    pub const TENSOR_NAME: u64 = 8;
    pub const TENSOR_RAW: u64 = 9;
    pub const TENSOR_EXTERNAL: u64 = 13;
    pub const TENSOR_LOCATION: u64 = 14;
    pub const ENTRY_KEY: u64 = 1;
    pub const ENTRY_VALUE: u64 = 2;
}

/// A parameter of an operator.
#[derive(Clone, Debug)]
pub(crate) enum Attribute {
    Int(u64),
    Ints(Vec<usize>),
    Float(f32),
    Tensor(Message),
}

/// An operator with the names of what it reads and writes.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: &'static str,
    pub(crate) inputs: Vec<String>,
    pub(crate) output: String,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
}

impl Node {
    /// It is named after its output.
    pub(crate) fn encode(&self) -> Message {
        let inputs = self.inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
        let node = inputs.text(2, &self.output).text(3, &self.output).text(4, self.op);
        self.attributes.iter().fold(node, |node, (name, value)| node.message(5, &attribute(name, value)))
    }
}

fn attribute(name: &str, value: &Attribute) -> Message {
    let named = Message::default().text(1, name);
    match value {
        Attribute::Float(value) => named.float(2, *value).int(20, 1),
        Attribute::Int(value) => named.int(3, *value).int(20, 2),
        Attribute::Tensor(value) => named.message(5, value).int(20, 4),
        Attribute::Ints(values) => {
            values.iter().fold(named, |all, &value| all.int(8, value as u64)).int(20, 7)
        }
    }
}

/// A tensor up to its values.
fn header(name: &str, shape: &[usize], kind: u64) -> Message {
    let dims = shape.iter().fold(Message::default(), |all, &side| all.int(field::TENSOR_DIMS, side as u64));
    let typed = dims.int(field::TENSOR_TYPE, kind);
    if name.is_empty() { typed } else { typed.text(field::TENSOR_NAME, name) }
}

/// A tensor with its values inside.
pub(crate) fn tensor(name: &str, shape: &[usize], kind: u64, values: &[u8]) -> Message {
    header(name, shape, kind).bytes(field::TENSOR_RAW, values)
}

/// A tensor whose values lie in another file.
pub(crate) fn external(name: &str, shape: &[usize], location: &str, offset: usize, length: usize) -> Message {
    let pairs =
        [("location", location.to_owned()), ("offset", offset.to_string()), ("length", length.to_string())];
    let tensor = header(name, shape, FLOAT);
    let tensor = pairs
        .iter()
        .fold(tensor, |all, (key, value)| all.message(field::TENSOR_EXTERNAL, &entry(key, value)));
    tensor.int(field::TENSOR_LOCATION, 1)
}

/// A key with its value.
pub(crate) fn entry(key: &str, value: &str) -> Message {
    Message::default().text(field::ENTRY_KEY, key).text(field::ENTRY_VALUE, value)
}

/// An input or output of floats: any number of images first, then `sides`.
pub(crate) fn port(name: &str, sides: &[usize]) -> Message {
    let batch = Message::default().text(2, "batch");
    let fixed = sides.iter().map(|&side| Message::default().int(1, side as u64));
    let shape = [batch].into_iter().chain(fixed).fold(Message::default(), |all, side| all.message(1, &side));
    let tensor = Message::default().int(1, FLOAT).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

/// The whole file.
pub(crate) fn model(graph: &Message, metadata: &[(&str, &str)]) -> Message {
    let opset = Message::default().text(1, "").int(2, OPSET);
    let model = Message::default()
        .int(1, IR_VERSION)
        .text(2, "collegial")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(field::MODEL_GRAPH, graph)
        .message(8, &opset);
    metadata.iter().fold(model, |all, (key, value)| all.message(field::MODEL_METADATA, &entry(key, value)))
}
