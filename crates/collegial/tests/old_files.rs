//! Files of version 0.1.0, which carry no checksum, open with a note that says so.

use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(crate_name: &str, name: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.join(crate_name).join("tests/fixtures/0.1.0").join(name)
}

/// What the program says beside its answer.
fn said(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_collegial")).args(words).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words:?}: {said}");
    said
}

#[test]
fn old_files_open_with_a_note() {
    let checkpoint = fixture("train", "finished.safetensors").display().to_string();
    let [first, second] =
        ["shard-1.json", "shard-2.json"].map(|name| fixture("ops", name).display().to_string());
    for words in
        [&["info", &checkpoint][..], &["ntk", &checkpoint, "--count", "2"], &["merge", &first, &second]]
    {
        let said = said(words);
        assert!(said.contains("carries no checksum: version 0.1.0 wrote it"), "{words:?}: {said}");
    }
}

/// A sweep may have hundreds of parts: one line for all.
#[test]
fn old_parts_are_noted_once() {
    let root = tempfile::tempdir().unwrap();
    let parts = root.path().join("parts");
    std::fs::create_dir(&parts).unwrap();
    for entry in std::fs::read_dir(fixture("ops", "pages/parts")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, parts.join(path.file_name().unwrap())).unwrap();
    }
    let out = root.path().display().to_string();
    let said = said(&["reproduce", "fig2", "--scale", "smoke", "--out", &out]);
    assert_eq!(said.matches("without a checksum").count(), 1, "{said}");
}
