//! Pipes in place of files: one sentence and exit 2, not a wait for ever.
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
        if start.elapsed() > Duration::from_secs(20) {
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
    for name in
        ["model.toml", "weights.safetensors", "network.onnx", "table.csv", "inputs.npy", "plan/plan.json"]
    {
        assert!(Command::new("mkfifo").arg(place.join(name)).status().unwrap().success());
    }
    for words in [
        &["search", "model.toml"][..],
        &["info", "weights.safetensors"],
        &["info", "network.onnx"],
        &["export", "weights.safetensors", "--to", "onnx"],
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
