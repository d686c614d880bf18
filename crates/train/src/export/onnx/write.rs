//! Export to ONNX: one file, or two where the weights lie in a file of their own.

use crate::checkpoint::{ModelHeader, network_tensors};
use collegial_core::checksum;
use collegial_nn::Network;

use super::message::{FLOAT, external, model, port, tensor};
use super::operators::{INPUT, OUTPUT, operators, sides, weight_shape};
use super::{CHECKSUM, DATA_CHECKSUM, FOLDED, KEY, seal_range};
use crate::export::Error;
use collegial_core::protobuf::Message;

/// A protocol buffer ends below 2 GiB; the rest of the file gets a share of it that no graph of
/// ours fills.
const LARGEST: usize = (2 << 30) - (64 << 20);
/// Tensors in a file of their own begin at multiples of this many bytes, as maps into memory like
/// it.
const ALIGNMENT: usize = 64;

/// How to write.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folds batch norms into the layers before them.
    pub fold: bool,
    /// The name of a second file, in the same directory, for the weights; used if `beside` says so
    /// or if they are too large for one file.
    pub data_name: String,
    /// Whether to put the weights there in any case.
    pub beside: bool,
}

/// The files of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    /// The model.
    pub model: Vec<u8>,
    /// Its weights, if they are not in the model.
    pub data: Option<Vec<u8>>,
}

/// Writes a network.
pub fn write(network: &Network, header: &ModelHeader, options: &Options) -> Result<Files, Error> {
    write_within(network, header, options, LARGEST)
}

/// The same for another limit of the size of a file.
pub(crate) fn write_within(
    network: &Network,
    header: &ModelHeader,
    options: &Options,
    limit: usize,
) -> Result<Files, Error> {
    let folded = if options.fold { Some(network.folded_inference(1)?) } else { None };
    let network = folded.as_ref().unwrap_or(network);
    let tensors = network_tensors(network)?;
    let size: usize = tensors.iter().map(|(_, tensor)| size_of_val(tensor.values())).sum();
    let mut data = (options.beside || size > limit).then(Vec::new);

    let (arch, has) = (network.graph(), |name: &str| tensors.contains(name));
    let nodes = operators(arch, &has);
    let mut graph = nodes.iter().fold(Message::default(), |graph, node| graph.message(1, &node.encode()));
    graph = graph.text(2, &header.spec.name());
    for (name, values) in tensors.iter() {
        let bytes: Vec<u8> = values.values().iter().flat_map(|value| value.to_le_bytes()).collect();
        let shape = weight_shape(arch, name, values.shape());
        let tensor = match &mut data {
            None => tensor(name, &shape, FLOAT, &bytes),
            Some(data) => {
                data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
                let offset = data.len();
                data.extend_from_slice(&bytes);
                external(name, &shape, &options.data_name, offset, bytes.len())
            }
        };
        graph = graph.message(5, &tensor);
    }
    graph = graph.message(11, &port(INPUT, &sides(arch.input_shape())));
    graph = graph.message(12, &port(OUTPUT, &sides(arch.output_shape())));
    let document = serde_json::to_string(header).map_err(crate::Error::Header)?;
    let folded = if options.fold { "true" } else { "false" };
    let data_checksum = data.as_ref().map(|data| format!("{:08x}", crc32fast::hash(data)));
    let mut metadata = vec![(KEY, document.as_str()), (FOLDED, folded)];
    metadata.extend(data_checksum.as_deref().map(|checksum| (DATA_CHECKSUM, checksum)));
    metadata.push((CHECKSUM, checksum::BLANK));
    let mut model = model(&graph, &metadata).into_bytes();
    let range = seal_range(&model);
    checksum::seal(&mut model, range);
    Ok(Files { model, data })
}
