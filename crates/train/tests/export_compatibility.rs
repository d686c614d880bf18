//! Files that released versions wrote open, and no change of a file goes unnoticed.

use std::fs;
use std::path::{Path, PathBuf};

use collegial_arch::Overrides;
use collegial_nn::Mode;
use collegial_train::export::{Error, Model, WeightFile, onnx};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// What the network of a file puts out for fixed inputs.
fn outputs(path: &Path) -> Result<Vec<f32>, Error> {
    let file = WeightFile::open(path, None)?;
    let mut network = file.inference(file.spec(), 2)?;
    let length = 2 * network.graph().input_shape().elements() as usize;
    let input: Vec<f32> = (0..length).map(|i| (i * i % 17) as f32 / 8.0 - 1.0).collect();
    Ok(network.forward(&input, Mode::Evaluate)?.to_vec())
}

/// All four were exported from one checkpoint.
#[test]
fn exports_of_every_version_open() {
    for version in ["0.1.0"] {
        let file = |name: &str| fixture(&format!("{version}/{name}"));
        let expected = outputs(&file("exported.safetensors")).unwrap();
        for name in ["plain.onnx", "beside.onnx"] {
            assert_eq!(outputs(&file(name)).unwrap(), expected, "{version}: {name}");
        }
        // Folding multiplies weights by factors of their norms: a few roundings of sums of 54
        // products.
        let folded = outputs(&file("folded.onnx")).unwrap();
        let gap = folded.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(gap < 1e-5, "{version}: {gap}");
        assert_eq!(WeightFile::open(&file("plain.onnx"), None).unwrap().lacks_checksum(), version == "0.1.0");
    }
}

/// Flips a bit of every byte of `changed`; what is opened then must put out the same, and only the
/// word by which a checksum is found may be hit.
fn every_flip_is_noticed(path: &Path, changed: &Path, unprotected: usize) {
    let (whole, expected) = (fs::read(changed).unwrap(), outputs(path).unwrap());
    let mut unnoticed = 0;
    for byte in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[byte] ^= 1 << (byte % 8);
        fs::write(changed, &flipped).unwrap();
        if let Ok(found) = outputs(path) {
            unnoticed += 1;
            assert_eq!(found, expected, "byte {byte}");
        }
    }
    fs::write(changed, &whole).unwrap();
    assert!(unnoticed <= unprotected, "{unnoticed} bytes of {}", changed.display());
}

#[test]
fn every_flipped_bit_of_an_export_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let file = WeightFile::open(&fixture("0.1.0/exported.safetensors"), None).unwrap();
    let model = Model::read(&file, &Overrides::default()).unwrap();
    fs::write(path("net.safetensors"), model.to_safetensors().unwrap()).unwrap();
    every_flip_is_noticed(&path("net.safetensors"), &path("net.safetensors"), "crc32-".len());
    for beside in [false, true] {
        let options = onnx::Options { fold: false, beside, data_name: "net.data".into() };
        let files = model.to_onnx(&options).unwrap();
        fs::write(path("net.onnx"), &files.model).unwrap();
        if let Some(data) = files.data {
            fs::write(path("net.data"), data).unwrap();
            every_flip_is_noticed(&path("net.onnx"), &path("net.data"), 0);
        }
        // The key and the word of the checksum, and the lengths before them.
        every_flip_is_noticed(&path("net.onnx"), &path("net.onnx"), "collegial.checksum crc32-".len());
    }
}

#[test]
fn weights_that_are_no_numbers_are_not_exported() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("net.safetensors");
    let mut bytes = fs::read(fixture("0.1.0/exported.safetensors")).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let file = WeightFile::open(&path, None).unwrap();
    let said = Model::read(&file, &Overrides::default()).err().unwrap().to_string();
    assert!(said.contains("no numbers") && said.contains("inf"), "{said}");
}

/// The default name of an export is that of the network, so a file must not choose it freely.
#[test]
fn a_file_whose_network_is_named_like_a_path_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("net.safetensors");
    let mut bytes = fs::read(fixture("0.1.0/exported.safetensors")).unwrap();
    // A name of the same length, so that the header stays whole; files of version 0.1.0 carry no
    // checksum.
    let (name, other) = (br#"\"name\":\"small\""#, br#"\"name\":\"../xy\""#);
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at..at + name.len()].copy_from_slice(other);
    fs::write(&path, bytes).unwrap();
    let said = WeightFile::open(&path, None).err().unwrap().to_string();
    assert!(said.contains("../xy") && said.contains("letters, digits"), "{said}");
}
