//! A safetensors file of ours that is right but for its table of tensors: of the names, types,
//! shapes and places the input changes what it likes.

use std::path::Path;
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use collegial_arch::Spec;
use collegial_core::tensors::safetensors::Archive;
use collegial_train::export::{Model, WeightFile};
use serde_json::{Map, Value, json};

use crate::files;

const TYPES: [&str; 8] = ["F32", "F16", "BF16", "F64", "I64", "U8", "BOOL", "F8_E4M3"];

/// Names that other networks have, and those of norms.
const NAMES: [&str; 6] = [
    "conv1.weight",
    "bn1.running_mean",
    "bn1.num_batches_tracked",
    "layer1.0.conv2.weight",
    "module.layer1.0.downsample.0.weight",
    "stem.conv.weight",
];

/// A small network.
static OURS: LazyLock<Archive> = LazyLock::new(|| {
    let spec: Spec = "fc3-2x3".parse().expect("a name");
    let file = Model::drawn(&spec, 1).and_then(|model| model.to_safetensors()).expect("it can be written");
    Archive::from_bytes(&file).expect("what was written is read")
});

pub fn tensor_table(bytes: &[u8]) -> bool {
    let Ok(file) = build(&mut Unstructured::new(bytes)) else { return false };
    let parsed = WeightFile::parse(Path::new("model.safetensors"), &files::resealed(&file));
    parsed.map(|file| files::fill(&file)).is_ok()
}

/// An input of zeros, or none, changes nothing.
fn build(choice: &mut Unstructured) -> Result<Vec<u8>> {
    let mut header = Map::new();
    if !changed(choice)? {
        header.insert("__metadata__".into(), json!(OURS.metadata));
    }
    let mut end = 0_u64;
    for (name, tensor) in OURS.tensors.iter() {
        let name = if changed(choice)? { *choice.choose(&NAMES)? } else { name };
        let kind = if changed(choice)? { *choice.choose(&TYPES)? } else { TYPES[0] };
        let mut shape: Vec<u64> = tensor.shape().iter().map(|&side| side as u64).collect();
        if changed(choice)? {
            shape = (0..choice.int_in_range(0..=5)?).map(|_| side(choice)).collect::<Result<_>>()?;
        }
        let width = match kind {
            "F64" | "I64" => 8,
            "F32" => 4,
            "F16" | "BF16" => 2,
            _ => 1,
        };
        let size = shape.iter().fold(width, |size: u64, &side| size.saturating_mul(side));
        let start = if changed(choice)? { choice.arbitrary()? } else { end };
        end = if changed(choice)? { choice.arbitrary()? } else { start.saturating_add(size) };
        header.insert(name.into(), json!({ "dtype": kind, "shape": shape, "data_offsets": [start, end] }));
    }
    let text = Value::Object(header).to_string();
    let mut file = (text.len() as u64).to_le_bytes().to_vec();
    file.extend(text.as_bytes());
    file.extend(choice.bytes(choice.len())?);
    if end < 1 << 16 {
        file.resize(8 + text.len() + end as usize, 0);
    }
    Ok(file)
}

/// One time in four.
fn changed(choice: &mut Unstructured) -> Result<bool> {
    Ok(choice.arbitrary::<u8>()? >= 0xc0)
}

fn side(choice: &mut Unstructured) -> Result<u64> {
    if changed(choice)? { choice.arbitrary() } else { choice.int_in_range(0..=40) }
}
