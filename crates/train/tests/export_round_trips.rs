//! What is written is read back to the bit, and what is not ours is refused in one sentence.

mod seal;

use std::fs;
use std::path::Path;

use collegial_arch::{Overrides, Spec};
use collegial_core::tensors::Tensor;
use collegial_core::tensors::safetensors::Archive;
use collegial_nn::{Mode, Network};
use collegial_train::checkpoint::{ModelHeader, model_bytes};
use collegial_train::export::{Model, WeightFile, infer, onnx};
use seal::resealed;

fn spec(name: &str) -> Spec {
    let small = Overrides { classes: Some(4), image: Some(8), ..Overrides::default() };
    let spec: Spec = name.parse().unwrap();
    if name.starts_with("fc") { spec } else { spec.with(&small).unwrap() }
}

/// A network whose norms are not the identity, as a file.
fn trained(spec: &Spec, path: &Path) -> Model {
    let mut network = Network::builder(&spec.graph().unwrap()).batch(2).build().unwrap();
    network.initialise(3);
    let statistics: Vec<(String, usize)> =
        network.statistics().map(|(name, values)| (name, values.len())).collect();
    for (name, length) in statistics {
        let base = if name.ends_with("running_var") { 0.5 } else { -0.2 };
        let values: Vec<f32> = (0..length).map(|i| base + (i % 7) as f32 / 10.0).collect();
        network.set(&name, &values).unwrap();
    }
    let header = ModelHeader { epoch: 2, steps: 9, number: 1, ..ModelHeader::untrained(spec.clone()) };
    fs::write(path, model_bytes(&network, &header, 9).unwrap()).unwrap();
    Model::read(&WeightFile::open(path, None).unwrap(), &Overrides::default()).unwrap()
}

fn outputs(file: &WeightFile) -> Vec<f32> {
    let mut network = file.inference(file.spec(), 2).unwrap();
    let length = 2 * network.graph().input_shape().elements() as usize;
    let input: Vec<f32> = (0..length).map(|i| (i * i % 17) as f32 / 8.0 - 1.0).collect();
    network.forward(&input, Mode::Evaluate).unwrap().to_vec()
}

#[test]
fn every_family_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in [
        "resnext29-3x2d",
        "resnext29-3x2d-2x3_5d-1x4d",
        "regnetx-200mf-1x3d",
        "regnety-200mf-1x3d",
        "resnext50-2x3d",
        "wrn10-1",
        "fc4-3x5",
        "fc3-7",
    ] {
        let (spec, original) = (spec(name), path("original.safetensors"));
        let model = trained(&spec, &original);
        assert_eq!(model.to_safetensors().unwrap(), fs::read(&original).unwrap(), "{name}");
        let expected = outputs(&WeightFile::open(&original, None).unwrap());
        for (fold, beside) in [(false, false), (false, true), (true, false), (true, true)] {
            let options = onnx::Options { fold, beside, data_name: "net.data".into() };
            let files = model.to_onnx(&options).unwrap();
            fs::write(path("net.onnx"), &files.model).unwrap();
            assert_eq!(files.data.is_some(), beside);
            files.data.iter().for_each(|data| fs::write(path("net.data"), data).unwrap());
            let read = WeightFile::open(&path("net.onnx"), None).unwrap();
            assert_eq!(read.spec(), &spec);
            let found = outputs(&read);
            if fold {
                let gap = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                let size = expected.iter().fold(0.0, |size: f32, value| size.max(value.abs()));
                assert!(gap <= 1e-5 * size, "{name}: {gap} of {size}");
                let refused = Model::read(&read, &Overrides::default());
                // Without norms there is nothing to fold, but the file says that it was asked for.
                assert!(refused.err().unwrap().to_string().contains("are folded into its convolutions"));
            } else {
                assert_eq!(found, expected, "{name}");
            }
        }
    }
}

#[test]
fn specs_are_told_from_tensors() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    for name in [
        "resnext29-3x2d",
        "resnext29-3x2d-2x3_5d-1x4d",
        "resnext38-2x4d",
        "resnext50-32x4d",
        "wrn16-2",
        "wrn36-1",
        "fc4-3x5",
        "fc3-2x5,4",
        "fc2-7",
        "fc1",
    ] {
        let spec: Spec = name.parse().unwrap();
        let file = Model::drawn(&spec, 1).unwrap().to_safetensors().unwrap();
        fs::write(&path, &file).unwrap();
        let shapes = collegial_train::checkpoint::CheckpointFile::read(&path).unwrap().shapes();
        assert_eq!(infer::spec(&shapes).unwrap(), spec);
    }
}

/// The tensors of a file of ours under other names, without a header.
fn renamed(from: &Path, to: &Path, name: impl Fn(&str) -> String) {
    let archive = Archive::from_bytes(&fs::read(from).unwrap()).unwrap();
    let tensors = archive.tensors.renamed(name).unwrap();
    fs::write(to, Archive::from(tensors).to_bytes().unwrap()).unwrap();
}

#[test]
fn names_that_wrappers_change_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    trained(&spec("resnext29-3x2d"), &path("ours.safetensors"));
    renamed(&path("ours.safetensors"), &path("plain.safetensors"), str::to_owned);
    let expected = WeightFile::open(&path("plain.safetensors"), None).unwrap();
    assert!(expected.doubt().unwrap().contains("blur pools"));
    assert_eq!(WeightFile::open(&path("ours.safetensors"), None).unwrap().doubt(), None);
    for wrapper in ["module.", "_orig_mod.", "module._orig_mod."] {
        renamed(&path("ours.safetensors"), &path("wrapped.safetensors"), |name| format!("{wrapper}{name}"));
        let file = WeightFile::open(&path("wrapped.safetensors"), None).unwrap();
        assert_eq!((file.spec(), outputs(&file)), (expected.spec(), outputs(&expected)), "{wrapper}");
    }
}

#[test]
fn a_network_with_tensors_besides_is_another_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    trained(&spec("resnext29-3x2d"), &path("ours.safetensors"));
    let mut archive = Archive::from_bytes(&fs::read(path("ours.safetensors")).unwrap()).unwrap();
    archive.metadata.clear();
    archive.tensors.insert("layer1.0.se.conv.weight", Tensor::vector(vec![0.0])).unwrap();
    fs::write(path("gated.safetensors"), archive.to_bytes().unwrap()).unwrap();
    let said = WeightFile::open(&path("gated.safetensors"), None).err().unwrap().to_string();
    assert!(
        said.contains("is no resnext29-3x2d: it has the tensor layer1.0.se.conv.weight besides"),
        "{said}"
    );
}

#[test]
fn tensors_of_others_are_described() {
    let told = |tensors: &[(&str, &[usize])]| {
        let shapes = tensors.iter().map(|(name, shape)| ((*name).to_owned(), shape.to_vec())).collect();
        infer::spec(&shapes).unwrap_err().to_string()
    };
    let block = |inner: &'static [usize]| ("layer1.0.conv2.weight", inner);
    let third: (&str, &[usize]) = ("layer1.0.conv3.weight", &[256, 64, 1, 1]);
    for (tensors, sentence) in [
        (vec![], "begins with no tensor at all"),
        (vec![("stages.0.conv.weight", &[1_usize, 2][..])], "begins with \"stages.0.conv.weight\""),
        (vec![third], "it has no tensor conv1.weight"),
        (vec![third, ("conv1.0.weight", &[32, 3, 3, 3])], "it has no tensor conv1.6.weight"),
        (vec![third, ("conv1.weight", &[64, 3, 5, 5])], "a kernel of side 5"),
        (vec![third, ("conv1.weight", &[64, 3, 5])], "4 axes were expected"),
        (vec![block(&[64, 64, 3, 3]), ("conv1.weight", &[64, 3, 7, 7])], "ResNet-18 and 34 are not read"),
        (
            vec![("fc1.weight", &[10, 3]), ("fc2.weight", &[10, 4])],
            "the 10 rows of fc1.weight are not a multiple of 4",
        ),
        (vec![("fc1.weight", &[0, 3])], "the 0 rows of fc1.weight"),
        (
            vec![("fc1.weight", &[8, 3]), ("fc2.weight", &[9, 4])],
            "the 9 rows of fc2.weight are not a multiple of 2",
        ),
    ] {
        let said = told(&tensors);
        assert!(said.contains(sentence) && !said.contains('\n'), "{said}");
    }
    let stem: (&str, &[usize]) = ("conv1.weight", &[64, 3, 7, 7]);
    let fc: (&str, &[usize]) = ("fc.weight", &[10, 2048]);
    assert!(told(&[third, stem, fc, block(&[0, 0, 3, 3])]).contains("not a multiple of 0"));
    assert!(
        told(&[third, stem, fc, block(&[64, 64, 3, 3])]).contains("the number of blocks"),
        "no first convolution"
    );
}

#[test]
fn a_header_that_claims_too_much_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    let small = Model::drawn(&"fc2-3".parse().unwrap(), 1).unwrap();
    let mut bytes = small.to_safetensors().unwrap();
    // The same length, so that the safetensors header stays whole.
    let widths = br#"\"widths\":[3]"#;
    let at = bytes.windows(widths.len()).position(|window| window == widths).unwrap();
    bytes[at + widths.len() - 2] = b'9';
    fs::write(&path, resealed(bytes)).unwrap();
    let said = WeightFile::open(&path, None).err().unwrap().to_string();
    assert!(said.contains("fc2-9, which has 7146 parameters: the file holds only 2382 numbers"), "{said}");
}
