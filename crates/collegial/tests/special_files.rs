//! Pipes and links in place of files: one sentence and exit 2, not a wait for ever.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs the program on the words, which must end by itself.
fn ended(place: &Path, words: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    program.args(words).current_dir(place).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = program.spawn().unwrap();
    let start = Instant::now();
    while running.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            running.kill().unwrap();
            panic!("{words:?} waits");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    running.wait_with_output().unwrap()
}

#[test]
fn pipes_are_refused_at_once() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    std::fs::create_dir(place.join("plan")).unwrap();
    for name in [
        "model.toml",
        "weights.safetensors",
        "network.onnx",
        "net",
        "table.csv",
        "inputs.npy",
        "plan/plan.json",
    ] {
        assert!(Command::new("mkfifo").arg(place.join(name)).status().unwrap().success());
    }
    for words in [
        &["search", "model.toml"][..],
        &["info", "weights.safetensors"],
        &["info", "network.onnx"],
        &["export", "weights.safetensors", "--to", "onnx"],
        &["info", "net"],
        &["score", "table.csv"],
        &["ntk", "fc3-8", "--input", "inputs.npy"],
        &["job", "plan", "0"],
        &["gather", "plan"],
        &["status", "plan"],
    ] {
        let output = ended(place, words);
        let sentence = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {sentence}");
        assert!(sentence.contains("regular file"), "{words:?}: {sentence}");
    }
}

/// A file or directory that came from somebody else does not choose what is read or written by a
/// symbolic link.
#[test]
fn links_beside_a_file_are_refused() {
    use std::os::unix::fs::symlink;
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let run = |words: &[&str]| {
        let output = ended(place, words);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let refused = |words: &[&str], name: &str| {
        let (code, sentence) = run(words);
        assert_eq!(code, Some(2), "{words:?}: {sentence}");
        assert!(sentence.contains(name) && sentence.contains("symbolic link"), "{words:?}: {sentence}");
    };
    let moved = |from: &str, to: &str| {
        std::fs::rename(place.join(from), place.join(to)).unwrap();
        symlink(place.join(to), place.join(from)).unwrap();
    };
    let export = ["export", "fc3-8", "--to", "onnx", "--external-data", "--out", "net.onnx"];
    assert_eq!(run(&export).0, Some(0));
    assert_eq!(run(&["info", "net.onnx"]).0, Some(0));
    moved("net.onnx.data", "elsewhere.data");
    refused(&["info", "net.onnx"], "net.onnx.data");
    // Of several tiles: a kernel of one is written at once, with nothing beside it.
    let kernel = ["ntk", "fc3-6", "--inputs", "3", "--count", "600", "--out", "k.npy"];
    assert_eq!(run(&kernel).0, Some(0));
    moved("k.npy.tiles/0.journal", "elsewhere.journal");
    refused(&kernel, "0.journal");
    std::fs::remove_file(place.join("k.npy.tiles/0.journal")).unwrap();
    moved("k.npy.tiles/plan.json", "elsewhere.json");
    refused(&kernel, "plan.json");
    std::fs::remove_dir_all(place.join("k.npy.tiles")).unwrap();
    std::fs::create_dir(place.join("elsewhere")).unwrap();
    symlink(place.join("elsewhere"), place.join("k.npy.tiles")).unwrap();
    refused(&kernel, "k.npy.tiles");
    assert!(std::fs::read_dir(place.join("elsewhere")).unwrap().next().is_none());
}
