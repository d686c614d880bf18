//! Files that do not say what they hold: every verb that takes one says what it is taken for.

use std::process::{Command, Output};

fn collegial(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collegial")).args(words).output().unwrap()
}

/// Our own export without its metadata, as PyTorch's tools would have written it.
fn without_metadata(file: &[u8]) -> Vec<u8> {
    let (length, rest) = file.split_at(8);
    let (header, tensors) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
    let mut header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).unwrap();
    assert!(header.remove("__metadata__").is_some());
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes(), header.as_slice(), tensors].concat()
}

#[test]
fn what_a_foreign_file_is_taken_for_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.safetensors");
    let out = path.to_str().unwrap();
    assert!(collegial(&["export", "resnext29-2x9d", "--to", "safetensors", "--out", out]).status.success());
    let foreign = folder.path().join("foreign.safetensors");
    std::fs::write(&foreign, without_metadata(&std::fs::read(&path).unwrap())).unwrap();
    let foreign = foreign.to_str().unwrap();
    for words in [&["search", foreign][..], &["search", foreign, "--alpha", "1.6"], &["info", foreign]] {
        let output = collegial(words);
        assert!(output.status.success());
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("is taken for resnext29-2x9d by its tensors"), "{words:?}: {said}");
    }
    let own = collegial(&["search", out]);
    assert!(own.status.success() && !String::from_utf8(own.stderr).unwrap().contains("taken for"));
}
