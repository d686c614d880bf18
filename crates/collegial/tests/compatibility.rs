//! Shards and finished parts of released versions: they are joined, and nothing is computed again.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use collegial::{Model, Monitor, Silent, merge, reproduce, validate};

/// Released versions whose files are kept; each release adds its own.
const VERSIONS: &[&str] = &["0.1.0"];

/// The alpha of the shards of each.
const SHARDS: &[(&str, f64)] = &[("0.1.0", 1.767_350_285_170_203_9)];

/// What `crates/train/tests/fixtures/make.py` made.
fn fixture(version: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(version).join(name)
}

/// A part that cannot be used would be said.
struct Nothing;

impl Monitor for Nothing {
    fn progress(&self, _: f64, _: Option<&str>) {}
    fn say(&self, sentence: &str) {
        assert!(!sentence.contains("computing it again"), "{sentence}");
    }
    fn stopped(&self) -> bool {
        false
    }
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.file_name().unwrap().into(), std::fs::read(path).unwrap())).collect()
}

/// Puts the finished parts of a version where a run will look for them.
fn copy_parts(from: &Path, out: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let parts = files(&from.join("parts"));
    std::fs::create_dir_all(out.join("parts")).unwrap();
    for (name, bytes) in &parts {
        std::fs::write(out.join("parts").join(name), bytes).unwrap();
    }
    parts
}

#[test]
fn shards_of_released_versions_are_joined() {
    // What the version itself made of them.
    for (version, alpha) in SHARDS {
        let files = ["shard-1.json", "shard-2.json"].map(|name| fixture(version, name)).to_vec();
        let joined = merge::run(&merge::Request { files, ..merge::Request::default() }, &Silent).unwrap();
        assert!(joined.complete);
        assert!((joined.fit.alpha - alpha).abs() < 1e-12 * alpha, "{version}: {}", joined.fit.alpha);
    }
}

#[test]
fn finished_trainings_of_released_versions_are_not_run_again() {
    for version in VERSIONS {
        let root = tempfile::tempdir().unwrap();
        collegial_testing::write_data(&root.path().join("data"), 40, 20);
        let out = root.path().join("sweep");
        let parts = copy_parts(&fixture(version, "sweep"), &out);
        let request = validate::Request {
            model: Model::named("fc2-8"),
            data: root.path().join("data"),
            designs: 3,
            runs: NonZeroU32::new(1),
            epochs: NonZeroU32::new(1),
            out: Some(out.clone()),
            ..validate::Request::default()
        };
        validate::run(&request, &Nothing).unwrap();
        assert_eq!(files(&out.join("parts")), parts, "{version}");
    }
}

#[test]
fn finished_parts_of_figures_of_released_versions_are_not_computed_again() {
    for version in VERSIONS {
        let root = tempfile::tempdir().unwrap();
        let parts = copy_parts(&fixture(version, "pages"), root.path());
        let request = reproduce::Request {
            items: vec!["fig2".into()],
            scale: reproduce::Scale::Smoke,
            out: Some(root.path().to_owned()),
            ..reproduce::Request::default()
        };
        reproduce::run(&request, &Nothing).unwrap();
        assert_eq!(files(&root.path().join("parts")), parts, "{version}");
    }
}
