//! Verbs that are killed at any moment, and a disk without room under every verb that writes.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use collegial_core::files::TEMPORARY;
use collegial_testing::{NETWORK, write_data};
use tempfile::TempDir;

fn program(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
    command.current_dir(directory).args(line.split(' '));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// A directory in memory: what a kill leaves does not depend on the disk, which other work slows down.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A verdict may be "no".
fn finishes(directory: &Path, line: &str) {
    let code = program(directory, line).status().unwrap().code();
    assert!(matches!(code, Some(0 | 1)), "{line}: {code:?}");
}

/// Kills of each verb, half of them by SIGKILL and half by SIGTERM.
const KILLS: usize = 30;

/// The files under a directory with their bytes, but for the temporary ones, which are removed when
/// they are an hour old, and for how long a part took; or a file by itself.
fn files(out: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![out.to_owned()]);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if !path.file_name().unwrap().to_str().unwrap().starts_with(TEMPORARY) {
            found.insert(path.strip_prefix(out).unwrap().to_owned(), untimed(&path));
        }
    }
    found
}

fn untimed(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if !path.parent().unwrap().ends_with("parts") {
        return bytes;
    }
    let mut part: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    for field in ["seconds", "checksum"] {
        part.as_object_mut().unwrap().remove(field).unwrap();
    }
    part.to_string().into_bytes()
}

fn remove(out: &Path) {
    let removed = std::fs::remove_dir_all(out).or_else(|_| std::fs::remove_file(out));
    assert!(removed.is_ok() || !out.exists(), "{removed:?}");
}

/// Kills a command [`KILLS`] times, at moments spread over the time that it takes, and runs it again
/// after each kill: the files are those of the first run, and no other is beside them.
fn can_be_killed(place: &Path, line: &str, out: &str) {
    let path = place.join(out);
    let start = Instant::now();
    finishes(place, line);
    let whole = start.elapsed();
    let expected = files(&path);
    assert!(!expected.is_empty());
    let (mut kills, mut tries, mut without_result) = (0, 0, 0);
    while kills < KILLS {
        assert!(tries < 20 * KILLS, "{line}: {kills} kills of {tries} met the command at work");
        remove(&path);
        let mut child = program(place, line).spawn().unwrap();
        // Multiples of the golden section cover the time evenly.
        std::thread::sleep(whole.mul_f64((tries as f64 * 0.618).fract()));
        tries += 1;
        signal(&child, ["-KILL", "-TERM"][kills % 2]);
        // One that had finished gives its own code.
        if matches!(child.wait().unwrap().code(), Some(0 | 1)) {
            continue;
        }
        kills += 1;
        without_result += usize::from(!path.exists());
        finishes(place, line);
        let found = files(&path);
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{line}, kill {kills}");
        assert!(found == expected, "{line}, kill {kills}");
    }
    eprintln!("{line}: {kills} kills in {tries} tries of up to {whole:?}, {without_result} left nothing");
}

#[test]
fn validate_can_be_killed() {
    let root = in_memory();
    write_data(&root.path().join("data"), 100, 50);
    let options = "--data data --epochs 3 --runs 2 --designs 3 --threads 1";
    can_be_killed(root.path(), &format!("validate fc3-16 {options} --out killed"), "killed");
}

#[test]
fn score_can_be_killed() {
    let root = in_memory();
    let rows: String = (1..100).map(|m| format!("resnext29-{m}x4d,{}\n", 500 - m)).collect();
    std::fs::write(root.path().join("table.csv"), format!("model,error\n{rows}")).unwrap();
    can_be_killed(root.path(), "score table.csv --target error --report killed.html", "killed.html");
}

/// Starts the explorer on a port; it and its address.
fn explorer(directory: &Path, port: &str) -> (Child, String) {
    let mut command = program(directory, &format!("explore --no-browser --quiet --port {port}"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (child, address.trim().to_owned())
}

/// Asks the explorer for the best designs.
fn ask(address: &str, body: &str) -> TcpStream {
    let (host, token) = address.strip_prefix("http://").unwrap().split_once("/#").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let head = format!("POST /ask/search HTTP/1.1\r\nHost: {host}\r\nX-Collegial-Token: {token}\r\n");
    write!(stream, "{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream
}

/// A signal ends the explorer in the middle of a question. Its port is free at once, and the next
/// explorer there gives the same answer.
#[test]
fn explore_can_be_killed() {
    let root = tempfile::tempdir().unwrap();
    let (mut port, mut expected) = ("0".to_owned(), None);
    let signals = [("-TERM", Some(143)), ("-KILL", None), ("-INT", Some(130))];
    for kill in 0..KILLS {
        let (name, code) = signals[kill % signals.len()];
        let (mut child, address) = explorer(root.path(), &port);
        let host = address.split("/#").next().unwrap();
        port = host.rsplit(':').next().unwrap().to_owned();
        let mut answer = String::new();
        ask(&address, r#"{"model": "fc6-100"}"#).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        let mut body: serde_json::Value = serde_json::from_str(body).unwrap();
        body.as_object_mut().unwrap().remove("seconds").unwrap();
        assert!(*expected.get_or_insert_with(|| body.clone()) == body, "kill {kill}");
        let slow = ask(&address, r#"{"model": "bottleneck-256", "paper": true, "variance": "measured"}"#);
        std::thread::sleep(Duration::from_millis(5 * kill as u64));
        let start = Instant::now();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), code, "{name}");
        assert!(start.elapsed() < Duration::from_secs(60), "{name}: {:?}", start.elapsed());
        drop(slow);
    }
    let left = std::fs::read_dir(root.path()).unwrap().count();
    assert_eq!(left, 0, "the explorer writes no file");
}

/// Every option that names a file, on a device that is always full.
#[test]
fn a_full_disk_is_a_sentence_of_every_verb_that_writes_a_file() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path();
    write_data(&place.join("data"), 40, 20);
    std::fs::write(place.join("table.csv"), "model,error\nresnext29-1x8d,5\nresnext29-2x8d,4\n").unwrap();
    finishes(place, "fit bottleneck-4 --trials 100 --widths 1,2,4 --out shard.json");
    std::fs::write(place.join("small.toml"), NETWORK).unwrap();
    finishes(place, "train small.toml --data data --epochs 1 --set batch=20 --out run");
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
        "evaluate run --data data --logits /dev/full",
    ] {
        let output = program(place, line).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains("cannot write") && said.contains("No space left"), "{line}: {said}");
    }
}
