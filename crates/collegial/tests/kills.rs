//! Verbs that are killed at any moment, and a disk without room under every verb that writes.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use collegial_testing::write_data;

fn program(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
    command.current_dir(directory).args(line.split(' '));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// A verdict may be "no".
fn finishes(directory: &Path, line: &str) {
    let code = program(directory, line).status().unwrap().code();
    assert!(matches!(code, Some(0 | 1)), "{line}: {code:?}");
}

/// The same answer after any number of kills, and nothing half-written beside it.
#[test]
fn validate_and_score_can_be_killed() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path();
    write_data(&place.join("data"), 40, 20);
    let rows: String = (1..200).map(|m| format!("resnext29-{m}x4d,{}\n", 500 - m)).collect();
    std::fs::write(place.join("table.csv"), format!("model,error\n{rows}")).unwrap();
    let validate = "validate fc3-16 --data data --epochs 3 --runs 3 --designs 3 --out";
    let score = "score table.csv --target error --report";
    finishes(place, &format!("{validate} whole"));
    finishes(place, &format!("{score} whole.html"));
    for (number, name) in ["-KILL", "-TERM", "-KILL", "-TERM"].into_iter().enumerate() {
        for line in [format!("{validate} killed"), format!("{score} killed.html")] {
            let mut child = program(place, &line).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(20 + 90 * number as u64));
            if child.try_wait().unwrap().is_none() {
                signal(&child, name);
            }
            child.wait().unwrap();
        }
    }
    finishes(place, &format!("{validate} killed"));
    finishes(place, &format!("{score} killed.html"));
    for name in ["validation.json", "primal.svg", "primal.csv"] {
        let read = |run: &str| std::fs::read(place.join(run).join(name)).unwrap();
        // The answer names the directory that it is in.
        let expected = String::from_utf8(read("whole")).unwrap().replace("whole", "killed");
        assert!(expected.as_bytes() == read("killed"), "{name}");
    }
    let read = |name: &str| std::fs::read(place.join(name)).unwrap();
    assert!(read("whole.html") == read("killed.html"));
}

/// Starts the explorer on a port; it and its address.
fn explorer(directory: &Path, port: &str) -> (Child, String) {
    let mut command = program(directory, &format!("explore --no-browser --quiet --port {port}"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (child, address.trim().to_owned())
}

/// A signal ends the explorer in the middle of a question, and its port is free again.
#[test]
fn explore_can_be_killed() {
    let root = tempfile::tempdir().unwrap();
    let mut port = "0".to_owned();
    for (name, code) in [("-TERM", Some(143)), ("-KILL", None), ("-INT", Some(130))] {
        let (mut child, address) = explorer(root.path(), &port);
        let (host, token) = address.strip_prefix("http://").unwrap().split_once("/#").unwrap();
        host.split(':').next_back().unwrap().clone_into(&mut port);
        let body = r#"{"model": "bottleneck-256", "paper": true, "variance": "measured"}"#;
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!("POST /ask/search HTTP/1.1\r\nHost: {host}\r\nX-Collegial-Token: {token}\r\n");
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let start = Instant::now();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), code, "{name}");
        assert!(start.elapsed() < Duration::from_secs(60), "{name}: {:?}", start.elapsed());
    }
}

/// Every option that names a file, on a device that is always full.
#[test]
fn a_full_disk_is_a_sentence_of_every_verb_that_writes_a_file() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path();
    write_data(&place.join("data"), 40, 20);
    std::fs::write(place.join("table.csv"), "model,error\nresnext29-1x8d,5\nresnext29-2x8d,4\n").unwrap();
    finishes(place, "fit bottleneck-4 --trials 100 --widths 1,2,4 --out shard.json");
    std::os::unix::fs::symlink("/dev/full", place.join("full.svg")).unwrap();
    std::os::unix::fs::symlink("/dev/full", place.join("full.html")).unwrap();
    for line in [
        "export fc3-8 --to onnx --out /dev/full",
        "export fc3-8 --to safetensors --out /dev/full",
        "export fc3-8 --to pytorch --out /dev/full",
        "fit bottleneck-4 --trials 100 --widths 1,2,4 --out /dev/full",
        "fit bottleneck-4 --trials 100 --widths 1,2,4 --figure full.svg",
        "merge shard.json --figure full.svg",
        "search resnext29-1x8d --report full.html",
        "score table.csv --target error --report full.html",
        "ntk fc3-8 --count 2 --out /dev/full",
        "ntk fc3-8 --count 2 --save-weights /dev/full",
        "ntk fc3-8 --count 2 --save-input /dev/full",
    ] {
        let output = program(place, line).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains("cannot write") && said.contains("No space left"), "{line}: {said}");
    }
}
