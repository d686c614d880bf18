//! `collegial train` and `evaluate` as processes: killed, interrupted, on full disks and beside
//! each other.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use collegial_testing::{NETWORK, write_data};
use serde_json::Value;

/// A data set of 400 + 100 images, a network and room for runs.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        write_data(&root.path().join("data"), 400, 100);
        std::fs::write(root.path().join("small.toml"), NETWORK).unwrap();
        Self { root }
    }

    fn run(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// 20 steps of 20 images an epoch, a checkpoint every other step.
    fn train(&self, name: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        command.current_dir(self.root.path()).args(["train", "small.toml", "--data", "data", "--json"]);
        command.args(["--set", "batch=20", "--set", "learning_rate=0.01", "--save-every", "2"]);
        command.args(["--threads", "1", "--seed", "5", "--out", name]).args(more);
        command
    }
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Exit code and the one sentence on stderr.
fn refusal(command: &mut Command) -> (Option<i32>, String) {
    let output = command.arg("--quiet").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    (output.status.code(), said)
}

/// The newest checkpoint's number.
fn newest(run: &Path) -> Option<u32> {
    let entries = std::fs::read_dir(run).ok()?;
    let number = |name: &str| name.strip_prefix("checkpoint-")?.parse().ok();
    entries.filter_map(|entry| number(entry.ok()?.file_name().to_str()?)).max()
}

fn wait_for_checkpoint(child: &mut Child, run: &Path, number: u32) {
    let start = Instant::now();
    while newest(run).is_none_or(|newest| newest < number) {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint {number} in a minute");
        assert!(child.try_wait().unwrap().is_none(), "it ended before checkpoint {number}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// All tensors' bytes of a run's newest network: what follows the header.
fn weights(run: &Path) -> Vec<u8> {
    let number = newest(run).unwrap();
    let bytes = std::fs::read(run.join(format!("checkpoint-{number:06}/model.safetensors"))).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8 + header..].to_vec()
}

/// Five runs, each killed twice wherever it happens to be after a chosen checkpoint, end with the
/// weights of one that was never killed.
#[test]
fn killed_and_resumed() {
    let place = Place::new();
    let whole = lines(&place.train("whole", &["--epochs", "5"]).output().unwrap());
    let expected = weights(&place.run("whole"));
    for (case, kills) in [(0, [1, 20]), (1, [5, 12]), (2, [11, 33]), (3, [17, 18]), (4, [29, 41])] {
        let name = format!("killed-{case}");
        for number in kills {
            let mut command = place.train(&name, &["--epochs", "5", "--resume"]);
            let mut child = command.stdout(Stdio::null()).spawn().unwrap();
            wait_for_checkpoint(&mut child, &place.run(&name), number);
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().code(), None, "case {case} was too late to be killed");
        }
        let resumed = lines(&place.train(&name, &["--epochs", "5", "--resume"]).output().unwrap());
        assert!(weights(&place.run(&name)) == expected, "case {case}");
        let last = |lines: &[Value]| lines.last().unwrap()["test_error"].clone();
        assert_eq!(last(&resumed), last(&whole), "case {case}");
    }
}

#[test]
fn lines_for_scripts_and_evaluate() {
    let place = Place::new();
    let lines = lines(&place.train("run", &["--epochs", "2"]).output().unwrap());
    assert_eq!(lines.len(), 3);
    for (index, line) in lines[..2].iter().enumerate() {
        assert_eq!(line["epoch"], index + 1);
        for key in [
            "loss",
            "train_error",
            "test_error",
            "seconds",
            "top5_error",
            "learning_rate",
            "images_per_second",
            "waited",
        ] {
            assert!(line[key].is_number(), "{key}: {line}");
        }
    }
    let checkpoint = lines[2]["checkpoint"].as_str().unwrap();
    assert_eq!(lines[2]["test_error"], lines[1]["test_error"]);
    let kept = std::fs::read_to_string(place.run("run/epochs.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 2);
    assert!(std::fs::read_to_string(place.run("run/recipe.toml")).unwrap().contains("batch = 20"));
    for path in [checkpoint, "run"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        let output = command
            .current_dir(place.root.path())
            .args(["evaluate", path, "--data", "data", "--json", "--batch", "37"])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["test_error"], lines[1]["test_error"], "{path}");
        assert_eq!(document["images"], 100);
        let rows = document["confusion"].as_array().unwrap();
        let total: u64 = rows.iter().flat_map(|row| row.as_array().unwrap()).filter_map(Value::as_u64).sum();
        let right: u64 = rows.iter().enumerate().filter_map(|(class, row)| row[class].as_u64()).sum();
        assert_eq!((total, rows.len()), (100, 10));
        let error = document["test_error"].as_f64().unwrap();
        assert!((error - (total - right) as f64 / 100.0).abs() < 1e-12, "{document}");
    }
}

#[test]
fn several_runs() {
    let place = Place::new();
    let lines = lines(&place.train("many", &["--epochs", "1", "--runs", "3"]).output().unwrap());
    assert_eq!(lines.len(), 3 * 2 + 1);
    let last = lines.last().unwrap();
    let errors: Vec<f64> =
        last["test_errors"].as_array().unwrap().iter().map(|error| error.as_f64().unwrap()).collect();
    let mean = errors.iter().sum::<f64>() / 3.0;
    let variance = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / 2.0;
    assert!((last["test_error"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert!((last["standard_error"].as_f64().unwrap() - (variance / 3.0).sqrt()).abs() < 1e-12);
    assert!(last["checkpoint"].is_string() && last["runs"] == 3);
    assert!(place.run("many/seed-7/recipe.toml").is_file());
}

#[test]
fn interrupted_and_beside_another() {
    let place = Place::new();
    let run = place.run("run");
    let mut command = place.train("run", &["--epochs", "100000"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_checkpoint(&mut child, &run, 3);
    let (code, said) = refusal(&mut place.train("run", &["--resume"]));
    assert_eq!(code, Some(2));
    let owner = said.split_once("in use by process ").unwrap().1.split(['@', ';']).next();
    assert_eq!(owner, Some(child.id().to_string().as_str()), "{said}");
    let before = newest(&run).unwrap();
    // Twice at once, as `timeout -s INT` does: it still saves.
    let id = child.id().to_string();
    Command::new("sh").args(["-c", &format!("kill -INT {id}; kill -INT {id}")]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("interrupted: saved to") && newest(&run).unwrap() > before, "{said}");
    let before = newest(&run).unwrap();
    let (code, said) = refusal(&mut place.train("run", &[]));
    assert!(code == Some(2) && said.contains("holds a run already"), "{said}");
    assert_eq!(newest(&run), Some(before));
}

/// As batch systems and `timeout` end a job: it saves, and goes on to the weights of one that was
/// never ended.
#[test]
fn terminated_and_resumed() {
    let place = Place::new();
    lines(&place.train("whole", &["--epochs", "5"]).output().unwrap());
    let mut command = place.train("run", &["--epochs", "5"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_checkpoint(&mut child, &place.run("run"), 3);
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{said}");
    assert!(said.contains("interrupted: saved to"), "{said}");
    lines(&place.train("run", &["--epochs", "5", "--resume"]).output().unwrap());
    assert!(weights(&place.run("run")) == weights(&place.run("whole")));
}

/// A limit on the size of files stands for a full disk: a checkpoint fails halfway.
#[test]
fn no_room_for_a_checkpoint() {
    let place = Place::new();
    lines(&place.train("run", &["--epochs", "1"]).output().unwrap());
    let (number, before) = (newest(&place.run("run")), weights(&place.run("run")));
    let program = place.train("run", &["--epochs", "2", "--resume"]);
    let words: Vec<&str> = program.get_args().map(|word| word.to_str().unwrap()).collect();
    let mut limited = Command::new("sh");
    limited.current_dir(place.root.path());
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_collegial")]);
    let (code, said) = refusal(limited.args(words));
    assert_eq!(code, Some(2));
    assert!(said.contains("cannot write") && said.contains("model.safetensors"), "{said}");
    assert_eq!(newest(&place.run("run")), number);
    assert!(weights(&place.run("run")) == before && !place.run("run/.saving").exists());
    lines(&place.train("run", &["--epochs", "2", "--resume"]).output().unwrap());
}

#[test]
fn sentences() {
    let place = Place::new();
    std::fs::write(place.run("file"), "").unwrap();
    let (code, said) = refusal(&mut place.train("file/run", &[]));
    assert!(code == Some(2) && said.contains("--out cannot be file/run: file is a file"), "{said}");
    let (_, said) = refusal(&mut place.train("run", &["--set", "epoch=3"]));
    assert!(said.contains("unknown field `epoch`"), "{said}");
    let (_, said) = refusal(&mut place.train("run", &["--recipe", "cifar"]));
    assert!(said.contains("cannot read the recipe cifar") && said.contains("cifar10"), "{said}");
    let (_, said) = refusal(&mut place.train("run", &["--classes", "100"]));
    assert!(said.contains("contradicts the data set"), "{said}");
    let (code, said) = refusal(
        &mut place
            .train("run", &["--set", "optimiser.kind=sgd", "--set", "learning_rate=1e38", "--epochs", "9"]),
    );
    assert!(code == Some(2) && said.contains("the loss became") && said.contains("checkpoint-0"), "{said}");
    // What is given again on resuming is held against the run's recipe, in which batch is 20.
    lines(&place.train("run-again", &["--epochs", "1"]).output().unwrap());
    let mut again = Command::new(env!("CARGO_BIN_EXE_collegial"));
    again.current_dir(place.root.path()).args([
        "train",
        "small.toml",
        "--data",
        "data",
        "--out",
        "run-again",
    ]);
    again.args(["--seed", "5", "--resume", "--epochs", "2", "--json", "--set", "learning_rate=0.01"]);
    lines(&again.output().unwrap());
    let (_, said) = refusal(again.args(["--set", "batch=10"]));
    assert!(said.contains("batch: 20 in the run, 10 now"), "{said}");
    // Damage: the newest checkpoint is cut off.
    lines(&place.train("cut", &["--epochs", "1"]).output().unwrap());
    let path =
        place.run(&format!("cut/checkpoint-{:06}/training.safetensors", newest(&place.run("cut")).unwrap()));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let (code, said) = refusal(&mut place.train("cut", &["--resume"]));
    assert!(code == Some(2) && said.contains("training.safetensors is not a whole checkpoint"), "{said}");
    for (path, sentence) in [
        ("data", "no checkpoint in data"),
        ("small.toml", "not a whole checkpoint"),
        ("none", "cannot read none"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        let (code, said) =
            refusal(command.current_dir(place.root.path()).args(["evaluate", path, "--data", "data"]));
        assert!(code == Some(2) && said.contains(sentence), "{said}");
    }
}

/// Theorem 1's setting from --set; the checkpoint says it, so that evaluate and ntk know it.
#[test]
fn ntk_parametrisation_and_squares() {
    let place = Place::new();
    let theorem_1 =
        ["loss=l2", "parametrisation=ntk", "optimiser.kind=sgd", "optimiser.momentum=0", "learning_rate=0.1"];
    let mut command = place.train("run", &["--epochs", "3"]);
    command.args(theorem_1.iter().flat_map(|change| ["--set", change]));
    let lines = lines(&command.output().unwrap());
    let loss = |line: &Value| line["loss"].as_f64().unwrap();
    assert!(loss(&lines[2]) < 0.8 * loss(&lines[0]), "{lines:?}");
    let collegial = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        command.current_dir(place.root.path()).args(words).output().unwrap()
    };
    let output = collegial(&["evaluate", "run", "--data", "data", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [expected, found] = [&lines[2]["test_loss"], &document["loss"]].map(|loss| loss.as_f64().unwrap());
    assert!((found / expected - 1.0).abs() < 1e-6, "{expected} {found}");
    let output = collegial(&["ntk", "run", "--data", "data", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&document["parametrisation"], &document["norm"]), (&"ntk".into(), &"frozen".into()));
}

/// The kernel on images: of a draw and of a checkpoint, the same as on the inputs that it saves.
#[test]
fn kernels_on_images() {
    let place = Place::new();
    lines(&place.train("run", &["--epochs", "1"]).output().unwrap());
    let kernel = |words: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        command.current_dir(place.root.path()).args(["ntk", "--json", "--quiet"]).args(words);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    for model in [&["small.toml"][..], &["run"], &["small.toml", "--weights", "run"]] {
        for split in ["test", "train"] {
            let save = ["--count", "3", "--save-input", "x.npy", "--out", "k.npy"];
            let on_images = kernel(&[model, &["--data", "data", "--split", split], &save].concat());
            assert_eq!((&on_images["file"], &on_images["kernel"]), (&"k.npy".into(), &Value::Null));
            assert_eq!(on_images["inputs"], 3);
            let array = std::fs::read(place.run("k.npy")).unwrap();
            kernel(&[model, &["--input", "x.npy", "--out", "again.npy"]].concat());
            assert!(array == std::fs::read(place.run("again.npy")).unwrap(), "{model:?} {split}");
            let on_file = kernel(&[model, &["--input", "x.npy"]].concat());
            let first = f64::from_le_bytes(array[array.len() - 72..][..8].try_into().unwrap());
            let expected = on_file["kernel"][0][0].as_f64().unwrap();
            assert!((first / expected - 1.0).abs() < 1e-5, "{first} {expected}");
        }
    }
    let [drawn, trained] =
        [&["small.toml", "--parametrisation", "standard", "--norm", "frozen"][..], &["run"]]
            .map(|model| kernel(&[model, &["--data", "data"]].concat()));
    assert_ne!(drawn["kernel"], trained["kernel"]);
    assert_eq!(trained["input"], "the first 4 test images of data");
    let refused = |words: &[&str], sentence: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        let (code, said) = refusal(command.current_dir(place.root.path()).arg("ntk").args(words));
        assert!(code == Some(2) && said.contains(sentence), "{said}");
    };
    refused(
        &["run", "--data", "data", "--count", "101"],
        "expected at most 100 images, as many as there are, found 101",
    );
    refused(
        &["resnext29-4x4d", "--data", "data"],
        "takes square colour images, but those of the data set are 1x8x8",
    );
    refused(&["bottleneck-4", "--data", "data"], "but the images of the data set are 1x8x8 in 10 classes");
    refused(&["run", "--weights", "run"], "the weights are given twice");
    refused(&["data"], "no checkpoint in data");
    refused(&["small.toml", "--split", "train"], "--data");
    refused(&["small.toml", "--data", "data", "--input", "x.npy"], "cannot be used with");
}

/// `train ... | head -2` once ended silently with exit 0, far from done.
#[test]
fn a_lost_reader_does_not_end_training() {
    let place = Place::new();
    let mut child =
        place.train("run", &["--epochs", "6"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("nobody reads the results any more; training goes on").count(), 1, "{said}");
    let whole = lines(&place.train("other", &["--epochs", "6"]).output().unwrap());
    assert_eq!(newest(&place.run("run")), newest(&place.run("other")));
    assert_eq!(whole.len(), 7);
}
