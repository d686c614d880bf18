//! Files that released versions wrote open and resume, and no change of a file goes unnoticed.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use collegial_arch::{Overrides, Spec};
use collegial_core::Silent;
use collegial_nn::Network;
use collegial_testing::{NETWORK, write_data};
use collegial_train::checkpoint::{
    Checkpoint, CheckpointFile, MODEL_FILE, ModelHeader, TRAINING_FILE, TrainingHeader,
};
use collegial_train::data::{Dataset, Kind};
use collegial_train::{
    Data, Difference, Engine, Error, Job, Outcome, Recipe, RunDirectory, Saving, Trainer, spec_for,
};
use serde::de::DeserializeOwned;

const VERSIONS: [&str; 1] = ["0.1.0"];

fn fixture(version: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(version).join(name)
}

/// A copy of the run that `fixtures/make.py` stopped after the first of two epochs.
fn copy_run(version: &str, root: &Path) -> PathBuf {
    let (from, to) = (fixture(version, "run"), root.join("run"));
    fs::create_dir_all(to.join("checkpoint-000001")).unwrap();
    for name in [MODEL_FILE, TRAINING_FILE] {
        let name = Path::new("checkpoint-000001").join(name);
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
    to
}

/// The job of `fixtures/make.py`.
fn job(root: &Path, version: &str) -> Job {
    let data = root.join("data");
    if !data.exists() {
        write_data(&data, 40, 20);
    }
    let dataset = Dataset::open(data).unwrap();
    let text = fs::read_to_string(fixture(version, "run/recipe.toml")).unwrap();
    let recipe = Recipe::build(&text, &["epochs=2".to_owned()]).unwrap();
    let spec = spec_for(&Spec::from_toml(NETWORK).unwrap(), &Overrides::default(), &dataset).unwrap();
    Job { spec, data: Data::new(dataset, &recipe).unwrap(), recipe, seed: 3, engine: Engine::Native }
}

fn network(path: &Path) -> Result<Network, Error> {
    let file = CheckpointFile::read(path)?;
    let header: ModelHeader = file.own_header()?;
    let mut network = Network::builder(&header.spec.graph()?).build()?;
    file.fill_network(&mut network, "it")?;
    Ok(network)
}

#[test]
fn runs_of_every_version_resume() {
    for version in VERSIONS {
        let root = tempfile::tempdir().unwrap();
        let run = copy_run(version, root.path());
        let stored = Checkpoint::read(&run.join("checkpoint-000001")).unwrap().training_header;
        assert_eq!((stored.data.kind, stored.data.train, stored.data.test), (Kind::Idx, 40, 20), "{version}");
        let mut trainer =
            Trainer::resume(job(root.path(), version), RunDirectory::open(&run).unwrap()).unwrap();
        assert_eq!(trainer.resumed_unchecked(), version == "0.1.0");
        assert_eq!(trainer.run(&Silent, Saving::default()).unwrap(), Outcome::Finished);
        // The same program had these weights after its second epoch; instruction sets round
        // differently.
        let expected = network(&fixture(version, "finished.safetensors")).unwrap();
        let gap = |(a, b): (&f32, &f32)| (a - b).abs();
        let largest = trainer.network().values().iter().zip(expected.values()).map(gap).fold(0.0, f32::max);
        assert!(largest < 1e-5, "{version}: {largest}");
        // What is saved now carries checksums.
        let saved = Checkpoint::read(trainer.checkpoint().parent().unwrap()).unwrap();
        assert!(!saved.model.lacks_checksum() && !saved.training.lacks_checksum());
    }
}

#[test]
fn another_data_set_of_the_same_sizes_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut job = job(root.path(), "0.1.0");
    let run = root.path().join("run");
    drop(Trainer::begin(job.clone(), RunDirectory::open(&run).unwrap()).unwrap());
    let images = root.path().join("data/train-images-idx3-ubyte");
    let mut reversed = fs::read(&images).unwrap();
    reversed[16..].reverse();
    fs::write(&images, reversed).unwrap();
    job.data = Data::new(Dataset::open(root.path().join("data")).unwrap(), &job.recipe).unwrap();
    match Trainer::resume(job, RunDirectory::open(&run).unwrap()).err().unwrap() {
        Error::OtherRun { differences } => {
            let fields: Vec<&str> =
                differences.iter().map(|Difference { field, .. }| field.as_str()).collect();
            assert_eq!(fields, ["data.fingerprint.train"], "the test images are the same");
        }
        other => panic!("{other}"),
    }
}

/// What a file says and holds.
fn content<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<(bool, T, Vec<Vec<usize>>), Error> {
    let file = CheckpointFile::parse(path, bytes)?;
    Ok((file.lacks_checksum(), file.own_header()?, file.shapes().into_values().collect()))
}

/// Every flipped bit is refused, or changes nothing that is read: where the word is hit by which a
/// checksum is found, the file cannot be told from one that never had any.
fn every_flip_is_noticed<T: DeserializeOwned + Clone + Debug + PartialEq>(path: &Path) {
    let whole = fs::read(path).unwrap();
    let (_, header, shapes) = content::<T>(path, &whole).unwrap();
    let mut unnoticed = 0;
    for byte in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[byte] ^= 1 << (byte % 8);
        if let Ok(found) = content::<T>(path, &flipped) {
            unnoticed += 1;
            assert_eq!(found, (true, header.clone(), shapes.clone()), "byte {byte}");
        }
    }
    assert!(unnoticed <= "crc32-".len(), "{unnoticed} bytes of {}", path.display());
}

#[test]
fn every_flipped_bit_of_a_checkpoint_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let run = RunDirectory::open(&root.path().join("run")).unwrap();
    let model = Trainer::begin(job(root.path(), "0.1.0"), run).unwrap().checkpoint();
    every_flip_is_noticed::<ModelHeader>(&model);
    every_flip_is_noticed::<TrainingHeader>(&model.with_file_name(TRAINING_FILE));
}

#[test]
fn weights_that_are_no_numbers_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let run = copy_run("0.1.0", root.path());
    let path = run.join("checkpoint-000001").join(MODEL_FILE);
    let mut file = fs::read(&path).unwrap();
    // A file of version 0.1.0 carries no checksum that would notice first.
    let end = file.len();
    file[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, &file).unwrap();
    assert!(matches!(network(&path), Err(Error::NotFinite { value, .. }) if value.is_nan()));
    let resumed = Trainer::resume(job(root.path(), "0.1.0"), RunDirectory::open(&run).unwrap());
    assert!(matches!(resumed, Err(Error::NotFinite { .. })));
}
