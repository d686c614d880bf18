//! Whoever reads our output goes away (`| head`): every verb ends as other Unix programs do, but
//! `train`, which goes on.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use collegial_experiments::synthetic;
use collegial_testing::{NETWORK, write_data};

/// Runs in a directory, with a pipe without a reader for stdout.
fn unread(directory: &Path, line: &str) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
    command.current_dir(directory).args(["--quiet", "--threads", "1"]).args(line.split(' '));
    command.stdout(writer).output().unwrap()
}

/// Every verb that `--help` lists.
fn verbs() -> BTreeSet<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_collegial")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let list = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    // Continued lines of a description begin further to the right.
    let names = list.lines().filter(|line| !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// In this order: later lines read what earlier ones leave.
const LINES: [&str; 25] = [
    "train small.toml --data data --epochs 1 --set batch=20 --out run",
    "evaluate run --data data",
    "info resnext29-1x8d",
    "moments fc3-8",
    "ntk fc3-8 --count 2",
    "fit bottleneck-4",
    "fit bottleneck-4 --trials 100 --widths 1,2,4 --out shard.json",
    "merge shard.json",
    "search resnext29-1x8d",
    "score table.csv --target error",
    "explore --no-browser",
    "models",
    "export fc3-8 --to onnx --out a.onnx",
    "reproduce table5 --scale smoke --out pages",
    "validate fc2-8 --data digits --epochs 1 --runs 1 --designs 3 --out sweep",
    "validate fc2-8 --data digits --epochs 1 --runs 1 --designs 3 --plan plan",
    "sweep fc2-8 --data digits --epochs 1 --runs 1 --out sweep",
    "job plan 0",
    "status plan",
    "gather plan",
    "completions bash",
    "man",
    "help",
    "--help",
    "--version",
];

#[test]
fn a_reader_that_leaves_ends_every_verb_but_train_as_sigpipe_would() {
    let root = tempfile::tempdir().unwrap();
    write_data(&root.path().join("data"), 40, 20);
    synthetic::write_digits(&root.path().join("digits"), 40, 20, 1).unwrap();
    std::fs::write(root.path().join("small.toml"), NETWORK).unwrap();
    let table = "model,error\nresnext29-1x8d,5\nresnext29-2x8d,4\nresnext29-4x4d,4.5\nresnext29-3x8d,3\n";
    std::fs::write(root.path().join("table.csv"), table).unwrap();
    let mut tried = BTreeSet::new();
    for line in LINES {
        let verb = line.split(' ').next().unwrap();
        tried.insert(verb.to_owned());
        let output = unread(root.path(), line);
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = if verb == "train" { 0 } else { 141 };
        assert_eq!((output.status.code(), said.contains("error")), (Some(expected), false), "{line}: {said}");
    }
    let verbs = verbs();
    assert!(verbs.len() > 15 && verbs.is_subset(&tried), "{:?} not tried", verbs.difference(&tried));
}
