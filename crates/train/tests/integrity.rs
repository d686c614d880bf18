//! Integrity of saved files: no change of a checkpoint or an export goes unnoticed.

mod seal;

use std::fs;
use std::path::Path;

use collegial_arch::{Overrides, Spec};
use collegial_nn::{Mode, Network};
use collegial_testing::{NETWORK, write_data};
use collegial_train::checkpoint::{
    CheckpointFile, MODEL_FILE, ModelHeader, TRAINING_FILE, TrainingHeader, model_bytes,
};
use collegial_train::data::Dataset;
use collegial_train::export::{Error as ExportError, Model, WeightFile, onnx};
use collegial_train::{
    Backends, Builtin, Data, Difference, Engine, Error, Job, RunDirectory, Trainer, spec_for,
};
use seal::resealed;
use serde::de::DeserializeOwned;

fn job(root: &Path) -> Job {
    let data = root.join("data");
    write_data(&data, 40, 20);
    let dataset = Dataset::open(data).unwrap();
    let changes = ["epochs=2", "batch=10", "micro_batch=5"].map(str::to_owned);
    let recipe = Builtin::Mnist.with(&changes).unwrap();
    let spec = spec_for(&Spec::from_toml(NETWORK).unwrap(), &Overrides::default(), &dataset).unwrap();
    Job { spec, data: Data::new(dataset, &recipe).unwrap(), recipe, seed: 3, engine: Engine::Native }
}

/// The bytes of a file with an untrained network.
fn model_file() -> Vec<u8> {
    let spec = Spec::from_toml(NETWORK).unwrap();
    let mut network = Network::builder(&spec.graph().unwrap()).build().unwrap();
    network.initialise(3);
    model_bytes(&network, &ModelHeader::untrained(spec), 0).unwrap()
}

/// The same with another last weight and a checksum that fits.
fn with_last_weight(mut file: Vec<u8>, value: f32) -> Vec<u8> {
    let end = file.len();
    file[end - 4..].copy_from_slice(&value.to_le_bytes());
    resealed(file)
}

#[test]
fn another_data_set_of_the_same_sizes_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut job = job(root.path());
    let run = root.path().join("run");
    drop(Trainer::begin(job.clone(), RunDirectory::open(&run).unwrap(), Backends::NATIVE).unwrap());
    let images = root.path().join("data/train-images-idx3-ubyte");
    let mut reversed = fs::read(&images).unwrap();
    reversed[16..].reverse();
    fs::write(&images, reversed).unwrap();
    job.data = Data::new(Dataset::open(root.path().join("data")).unwrap(), &job.recipe).unwrap();
    match Trainer::resume(job, RunDirectory::open(&run).unwrap(), Backends::NATIVE).err().unwrap() {
        Error::OtherRun { differences } => {
            let fields: Vec<&str> =
                differences.iter().map(|Difference { field, .. }| field.as_str()).collect();
            assert_eq!(fields, ["data.fingerprint.train"], "the test images are the same");
        }
        other => panic!("{other}"),
    }
}

/// Calls `open` with every byte of a file changed in turn; every call must fail.
fn every_flip_is_refused(whole: &[u8], mut open: impl FnMut(&[u8]) -> bool) {
    assert!(open(whole));
    for byte in 0..whole.len() {
        let mut flipped = whole.to_vec();
        flipped[byte] ^= 1 << (byte % 8);
        assert!(!open(&flipped), "byte {byte} of {}", whole.len());
    }
}

/// Calls `open` with the file cut off at every byte; every call must fail.
fn every_cut_is_refused(whole: &[u8], mut open: impl FnMut(&[u8]) -> bool) {
    assert!(open(whole));
    for length in 0..whole.len() {
        assert!(!open(&whole[..length]), "cut at {length} of {}", whole.len());
    }
}

/// Whether a file opens as a checkpoint with such a header.
fn has_header<T: DeserializeOwned>(path: &Path) -> impl FnMut(&[u8]) -> bool {
    |bytes| CheckpointFile::parse(path, bytes).and_then(|file| file.own_header::<T>()).is_ok()
}

#[test]
fn a_checkpoint_that_is_cut_anywhere_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let run = RunDirectory::open(&root.path().join("run")).unwrap();
    let model = Trainer::begin(job(root.path()), run, Backends::NATIVE).unwrap().checkpoint();
    let training = model.with_file_name(TRAINING_FILE);
    every_cut_is_refused(&fs::read(&model).unwrap(), has_header::<ModelHeader>(&model));
    every_cut_is_refused(&fs::read(&training).unwrap(), has_header::<TrainingHeader>(&training));
}

#[test]
fn every_flipped_bit_of_a_checkpoint_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let run = RunDirectory::open(&root.path().join("run")).unwrap();
    let model = Trainer::begin(job(root.path()), run, Backends::NATIVE).unwrap().checkpoint();
    let training = model.with_file_name(TRAINING_FILE);
    every_flip_is_refused(&fs::read(&model).unwrap(), has_header::<ModelHeader>(&model));
    every_flip_is_refused(&fs::read(&training).unwrap(), has_header::<TrainingHeader>(&training));
}

/// Reads the network and computes with it.
fn opens(path: &Path) -> bool {
    let outputs = |path: &Path| -> Result<usize, ExportError> {
        let file = WeightFile::open(path, None)?;
        let mut network = file.inference(file.spec(), 2)?;
        let input = vec![0.5; 2 * network.graph().input_shape().elements() as usize];
        Ok(network.forward(&input, Mode::Evaluate)?.len())
    };
    outputs(path).is_ok()
}

#[test]
fn no_changed_export_is_read() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let safetensors = path("net.safetensors");
    let check = |opened: &Path, changed: &Path| {
        let whole = fs::read(changed).unwrap();
        let mut reads = |bytes: &[u8]| {
            fs::write(changed, bytes).unwrap();
            opens(opened)
        };
        every_flip_is_refused(&whole, &mut reads);
        every_cut_is_refused(&whole, &mut reads);
    };
    fs::write(&safetensors, model_file()).unwrap();
    let model = Model::read(&WeightFile::open(&safetensors, None).unwrap(), &Overrides::default()).unwrap();
    fs::write(&safetensors, model.to_safetensors().unwrap()).unwrap();
    check(&safetensors, &safetensors);
    for beside in [false, true] {
        let options = onnx::Options { fold: false, beside, data_name: "net.data".into() };
        let files = model.to_onnx(&options).unwrap();
        let write = || fs::write(path("net.onnx"), &files.model).unwrap();
        write();
        if let Some(data) = &files.data {
            fs::write(path("net.data"), data).unwrap();
            check(&path("net.onnx"), &path("net.data"));
            fs::write(path("net.data"), data).unwrap();
        }
        check(&path("net.onnx"), &path("net.onnx"));
    }
}

/// A network's name may look like a checksum.
#[test]
fn names_like_a_checksum_are_no_checksum() {
    for name in ["crc32-net", "crc32-00000000", "checksum-crc32-00000000"] {
        let spec = Spec::from_toml(&NETWORK.replace("\"small\"", &format!("{name:?}"))).unwrap();
        let mut network = Network::builder(&spec.graph().unwrap()).build().unwrap();
        network.initialise(3);
        let file = model_bytes(&network, &ModelHeader::untrained(spec), 0).unwrap();
        assert!(CheckpointFile::parse(Path::new("net.safetensors"), &file).is_ok(), "{name}");
    }
}

/// Only files of other programs may lack a checksum.
#[test]
fn a_file_of_ours_without_a_valid_checksum_is_refused() {
    let path = Path::new("net.safetensors");
    let text = |bytes: &[u8]| bytes.windows(6).position(|window| window == b"crc32-").unwrap();
    for other in ["none!-12345678", "CRC32-00000000", "              "] {
        let mut file = model_file();
        let at = text(&file);
        file[at..at + other.len()].copy_from_slice(other.as_bytes());
        assert!(matches!(CheckpointFile::parse(path, &file), Err(Error::Corrupt { .. })), "{other}");
    }
}

/// So deep that a reader that calls itself runs out of stack.
const DEPTH: usize = 200_000;

/// A header of ours with a checksum that fits, whose document is nested deeper than a stack.
#[test]
fn a_header_nested_without_end_is_refused() {
    let file = model_file();
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    let entries = header["__metadata__"].as_object().unwrap();
    let (key, document) = entries.iter().find(|(_, text)| text.as_str().unwrap().contains("crc32-")).unwrap();
    let (key, document) = (key.clone(), document.as_str().unwrap().to_owned());
    let mut fields: serde_json::Map<_, _> = serde_json::from_str(&document).unwrap();
    fields.remove("spec").unwrap();
    let others = serde_json::to_string(&fields).unwrap();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for closed in [0, DEPTH] {
            let nested = open.repeat(DEPTH) + "0" + &close.repeat(closed);
            header["__metadata__"][&key] = format!("{{\"spec\":{nested},{}", &others[1..]).into();
            let text = serde_json::to_vec(&header).unwrap();
            let changed = [&(text.len() as u64).to_le_bytes()[..], &text, &file[8 + length..]].concat();
            // The checksum is right, so that it is the document that is refused.
            let changed = CheckpointFile::parse(Path::new("net.safetensors"), &resealed(changed)).unwrap();
            let said = changed.own_header::<ModelHeader>().err().unwrap().to_string();
            assert!(said.contains("its header says something else") && said.len() < 1000, "{said:.1000}");
        }
    }
}

#[test]
fn weights_that_are_no_numbers_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    let job = job(root.path());
    drop(Trainer::begin(job.clone(), RunDirectory::open(&run).unwrap(), Backends::NATIVE).unwrap());
    let path = run.join("checkpoint-000000").join(MODEL_FILE);
    fs::write(&path, with_last_weight(fs::read(&path).unwrap(), f32::NAN)).unwrap();
    let resumed = Trainer::resume(job, RunDirectory::open(&run).unwrap(), Backends::NATIVE);
    assert!(matches!(resumed, Err(Error::NotFinite { value, .. }) if value.is_nan()));

    let path = root.path().join("net.safetensors");
    fs::write(&path, with_last_weight(model_file(), f32::INFINITY)).unwrap();
    let file = WeightFile::open(&path, None).unwrap();
    let said = Model::read(&file, &Overrides::default()).err().unwrap().to_string();
    assert!(said.contains("inf"), "{said}");
}

/// The default name of an export is that of the network, so a file must not choose it freely.
#[test]
fn a_file_whose_network_is_named_like_a_path_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("net.safetensors");
    let mut bytes = model_file();
    // A name of the same length, so that the header's length stays true.
    let (name, other) = (br#"\"name\":\"small\""#, br#"\"name\":\"../xy\""#);
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at..at + name.len()].copy_from_slice(other);
    fs::write(&path, resealed(bytes)).unwrap();
    let said = WeightFile::open(&path, None).err().unwrap().to_string();
    assert!(said.contains("../xy") && said.contains("letters, digits"), "{said}");
}
