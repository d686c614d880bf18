//! Import of ONNX files of ours: spec and tensors.
//!
//! The spec in the metadata says what the graph must be; it is compared operator by operator, so
//! that a file whose graph was changed is not taken for what it was. The tensors then go
//! through the same checks as those of a checkpoint.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::checkpoint::{CheckpointFile, ModelHeader};
use crate::error::io;
use collegial_arch::{Graph, Op};
use collegial_core::checksum::{self, Checked};
use collegial_core::files::{read_beside, read_regular};
use collegial_core::protobuf::Fields;
use collegial_core::tensors::{Tensor as Array, TensorTable};

use super::difference::Difference;
use super::message::{FLOAT, field};
use super::operators::operators;
use super::{DATA_CHECKSUM, FOLDED, KEY, seal_range};
use crate::export::Error;

/// More operators or tensors than the largest network has.
pub(super) const MOST: usize = 100_000;
/// More axes than any tensor has.
pub(super) const MOST_AXES: usize = 8;

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The same as a checkpoint.
    pub model: ModelHeader,
    /// Whether its norms are folded into its convolutions.
    pub folded: bool,
}

/// A file in parts that point into its bytes.
#[derive(Debug, Default)]
struct Parts<'a> {
    metadata: HashMap<&'a str, &'a str>,
    nodes: Vec<&'a [u8]>,
    tensors: BTreeMap<&'a str, Tensor<'a>>,
}

#[derive(Debug, Default)]
struct Tensor<'a> {
    name: &'a str,
    shape: Vec<usize>,
    kind: u64,
    raw: Option<&'a [u8]>,
    external: Option<HashMap<&'a str, &'a str>>,
}

/// Reads a file that [`write`](super::write()) has written, with the one beside it if its weights
/// are there.
pub fn read(path: &Path) -> Result<(CheckpointFile, Header), Error> {
    let bytes = read_regular(path).map_err(io("read", path))?;
    parse_with(path, &bytes, |beside| Ok(read_beside(beside).map_err(io("read", beside))?))
}

/// The same for the content of a file of this name, which must hold its weights itself.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<(CheckpointFile, Header), Error> {
    let refused = |beside: &Path| {
        let reason = Box::new(Difference::Invalid(format!(
            "its weights lie in {}, beside it; export it without",
            beside.display()
        )));
        Err(Error::Onnx { path: path.to_owned(), reason })
    };
    parse_with(path, bytes, refused)
}

fn parse_with(
    path: &Path,
    bytes: &[u8],
    read: impl Fn(&Path) -> Result<Vec<u8>, Error>,
) -> Result<(CheckpointFile, Header), Error> {
    let refuse = |reason| Error::Onnx { path: path.to_owned(), reason: Box::new(reason) };
    let parts = parts(bytes).map_err(refuse)?;
    let header = header(&parts).map_err(refuse)?;
    // A file of ours, whose checksum must be there and right.
    if checksum::check(bytes, seal_range(bytes)) != Checked::Intact {
        return Err(crate::Error::Corrupt { path: path.to_owned() }.into());
    }
    let graph = header.model.spec.graph()?;
    check_graph(&parts, &graph).map_err(refuse)?;
    let beside = match parts.tensors.values().find_map(|tensor| tensor.external.as_ref()) {
        Some(entries) => {
            let path = path.with_file_name(location(entries).map_err(refuse)?);
            let data = read(&path)?;
            let found = format!("{:08x}", crc32fast::hash(&data));
            if parts.metadata.get(DATA_CHECKSUM) != Some(&found.as_str()) {
                return Err(crate::Error::Corrupt { path }.into());
            }
            data
        }
        None => vec![],
    };
    let tensors = tensors(&parts, &graph, &beside).map_err(refuse)?;
    Ok((CheckpointFile::new(path, tensors, &header.model)?, header))
}

fn parts(bytes: &[u8]) -> Result<Parts<'_>, Difference> {
    let mut parts = Parts::default();
    for item in Fields(bytes) {
        match item? {
            (field::MODEL_METADATA, value) => {
                let (key, value) = entry(value.bytes()?)?;
                parts.metadata.insert(key, value);
            }
            (field::MODEL_GRAPH, value) => graph(value.bytes()?, &mut parts)?,
            _ => {}
        }
        limit("metadata", parts.metadata.len())?;
    }
    Ok(parts)
}

fn graph<'a>(bytes: &'a [u8], parts: &mut Parts<'a>) -> Result<(), Difference> {
    for item in Fields(bytes) {
        match item? {
            (field::GRAPH_NODE, value) => parts.nodes.push(value.bytes()?),
            (field::GRAPH_INITIALISER, value) => {
                let tensor = tensor(value.bytes()?)?;
                if let Some(twice) = parts.tensors.insert(tensor.name, tensor) {
                    return Err(Difference::Invalid(format!("it has two tensors {name}", name = twice.name)));
                }
            }
            _ => {}
        }
        limit("operators", parts.nodes.len())?;
        limit("tensors", parts.tensors.len())?;
    }
    Ok(())
}

fn limit(what: &'static str, count: usize) -> Result<(), Difference> {
    if count > MOST { Err(Difference::Invalid(format!("it has more than {MOST} {what}"))) } else { Ok(()) }
}

fn tensor(bytes: &[u8]) -> Result<Tensor<'_>, Difference> {
    let mut tensor = Tensor::default();
    for item in Fields(bytes) {
        match item? {
            (field::TENSOR_DIMS, value) => {
                let side = value.int()?;
                tensor.shape.push(
                    usize::try_from(side)
                        .map_err(|_| Difference::Invalid(format!("a tensor has a side of {side}")))?,
                );
                if tensor.shape.len() > MOST_AXES {
                    return Err(Difference::Invalid(format!("a tensor has more than {MOST_AXES} axes")));
                }
            }
            (field::TENSOR_TYPE, value) => tensor.kind = value.int()?,
            (field::TENSOR_NAME, value) => tensor.name = value.text()?,
            (field::TENSOR_RAW, value) => tensor.raw = Some(value.bytes()?),
            (field::TENSOR_EXTERNAL, value) => {
                let (key, value) = entry(value.bytes()?)?;
                // Location, offset and length are all we know; a hostile file gains nothing by
                // sending more.
                if ["location", "offset", "length"].contains(&key) {
                    tensor.external.get_or_insert_default().insert(key, value);
                }
            }
            _ => {}
        }
    }
    Ok(tensor)
}

fn entry(bytes: &[u8]) -> Result<(&str, &str), Difference> {
    let (mut key, mut text) = ("", "");
    for item in Fields(bytes) {
        match item? {
            (field::ENTRY_KEY, value) => key = value.text()?,
            (field::ENTRY_VALUE, value) => text = value.text()?,
            _ => {}
        }
    }
    Ok((key, text))
}

fn header(parts: &Parts) -> Result<Header, Difference> {
    let document = parts
        .metadata
        .get(KEY)
        .ok_or_else(|| Difference::Invalid("its metadata do not name a network of ours".into()))?;
    let model = serde_json::from_str(document)
        .map_err(|error| Difference::Invalid(format!("its metadata say something else ({error})")))?;
    Ok(Header { model, folded: parts.metadata.get(FOLDED) == Some(&"true") })
}

/// Whether the operators are those of the spec.
fn check_graph(parts: &Parts, graph: &Graph) -> Result<(), Difference> {
    let expected = operators(graph, &|name| parts.tensors.contains_key(name));
    let differs = |(node, found): (&super::message::Node, &&[u8])| {
        (node.encode().as_bytes() != *found).then(|| node.output.clone())
    };
    if let Some(name) = expected.iter().zip(&parts.nodes).find_map(differs) {
        return Err(Difference::Invalid(format!(
            "its operator {name} is not the one that the spec in its metadata calls for"
        )));
    }
    let (expected, found) = (expected.len(), parts.nodes.len());
    if expected != found {
        return Err(Difference::Invalid(format!(
            "it has {found} operators, the spec in its metadata calls for {expected}"
        )));
    }
    Ok(())
}

/// A file in the same directory and no other.
fn location<'a>(entries: &HashMap<&'a str, &'a str>) -> Result<&'a str, Difference> {
    let location = entries.get("location").copied().unwrap_or_default();
    let plain = Path::new(location).file_name().is_some_and(|name| name == location);
    if plain && !location.contains(['/', '\\', ':']) {
        Ok(location)
    } else {
        Err(Difference::Invalid(format!(
            "its weights are said to lie in {location:?}, which is not the name of a file beside it"
        )))
    }
}

/// The tensors as a checkpoint has them: dense layers of several members are grouped convolutions
/// in ONNX.
fn tensors(parts: &Parts, graph: &Graph, beside: &[u8]) -> Result<TensorTable, Difference> {
    let grouped = |name: &str| {
        let layer = name.strip_suffix(".weight");
        let is_grouped = |op: &Op| matches!(op, Op::Dense { groups, .. } if *groups > 1);
        graph.nodes.iter().any(|node| layer == Some(&node.name) && is_grouped(&node.op))
    };
    let mut table = TensorTable::new();
    for (name, tensor) in &parts.tensors {
        let shape = match tensor.shape.as_slice() {
            [rows, columns, 1, 1] if grouped(name) => vec![*rows, *columns],
            shape => shape.to_vec(),
        };
        let refuse = |defect: String| Difference::Invalid(format!("its tensor {name} {defect}"));
        let bytes = values(tensor, beside).map_err(refuse)?;
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(refuse(format!("has {bytes} bytes, not a multiple of four", bytes = bytes.len())));
        }
        let values = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        let array =
            Array::new(shape, values).map_err(|error| refuse(format!("does not fit its shape: {error}")))?;
        table.insert(*name, array).map_err(|error| refuse(format!("does not fit its shape: {error}")))?;
    }
    Ok(table)
}

fn values<'a>(tensor: &Tensor<'a>, beside: &'a [u8]) -> Result<&'a [u8], String> {
    if tensor.kind != FLOAT {
        return Err(format!("is of type {kind}, expected {FLOAT} (32-bit floats)", kind = tensor.kind));
    }
    match (tensor.raw, &tensor.external) {
        (Some(raw), None) => Ok(raw),
        (None, Some(entries)) => {
            let number = |key| entries.get(key).and_then(|text| text.parse::<usize>().ok());
            let range = number("offset").zip(number("length"));
            let slice = range.and_then(|(start, length)| beside.get(start..)?.get(..length));
            slice.ok_or_else(|| {
                format!("lies outside the file beside it, which has {bytes} bytes", bytes = beside.len())
            })
        }
        _ => Err("has no raw values".into()),
    }
}
