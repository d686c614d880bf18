//! Pipes, sockets, devices and links in place of files: one sentence and exit 2, not a wait for ever,
//! and nothing overwritten that nobody named.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use collegial_experiments::synthetic;
use collegial_testing::{NETWORK, write_data};

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

/// Every verb that reads a file, with the names of the files.
const READERS: [(&str, &[&str]); 17] = [
    ("model.toml", &["search", "model.toml"]),
    ("weights.safetensors", &["info", "weights.safetensors"]),
    ("network.onnx", &["info", "network.onnx"]),
    ("weights.safetensors", &["export", "weights.safetensors", "--to", "onnx"]),
    ("net", &["info", "net"]),
    ("table.csv", &["score", "table.csv"]),
    ("inputs.npy", &["ntk", "fc3-8", "--input", "inputs.npy"]),
    ("plan/plan.json", &["job", "plan", "0"]),
    ("plan/plan.json", &["gather", "plan"]),
    ("plan/plan.json", &["status", "plan"]),
    ("bert.json", &["info", "bert.json"]),
    ("shard.json", &["merge", "shard.json"]),
    ("images/train-images-idx3-ubyte", &["train", "fc2-4", "--epochs", "1", "--data", "images"]),
    ("labels/train-labels-idx1-ubyte", &["train", "fc2-4", "--epochs", "1", "--data", "labels"]),
    ("images/train-images-idx3-ubyte", &["ntk", "fc2-4", "--count", "1", "--data", "images"]),
    ("tests/t10k-images-idx3-ubyte", &["train", "fc2-4", "--epochs", "1", "--data", "tests"]),
    // The lock of a run.
    ("run/lock", &["train", "fc2-4", "--epochs", "1", "--data", "data", "--out", "run", "--quiet"]),
];

/// Pipes that nobody writes to, sockets, and devices that never end or wait for somebody.
#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let device = |name: &'static str| move |path: &Path| symlink(name, path).unwrap();
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let socket = |path: &Path| drop(UnixListener::bind(path).unwrap());
    type Maker<'a> = (&'a str, &'a dyn Fn(&Path));
    let makers: [Maker; 5] = [
        ("a pipe", &pipe),
        ("a socket", &socket),
        ("an endless device", &device("/dev/zero")),
        ("an empty device", &device("/dev/null")),
        ("a terminal", &device("/dev/tty")),
    ];
    for (kind, make) in makers {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        for directory in ["plan", "run"] {
            std::fs::create_dir(place.join(directory)).unwrap();
        }
        for directory in ["data", "images", "labels", "tests"] {
            write_data(&place.join(directory), 40, 20);
        }
        for (name, _) in READERS.iter().filter(|(name, _)| name.contains("-idx")) {
            let _ = std::fs::remove_file(place.join(name));
        }
        for (name, words) in READERS {
            if !place.join(name).exists() {
                make(&place.join(name));
            }
            let output = ended(place, words);
            let sentence = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{kind}, {words:?}: {sentence}");
            assert_eq!(sentence.lines().count(), 1, "{kind}, {words:?}: {sentence}");
            let is_link = kind.ends_with("device") || kind == "a terminal";
            let said = match name {
                // The program chose this name, so that a link is refused as such.
                "run/lock" if is_link => "symbolic link",
                _ => "regular file",
            };
            assert!(sentence.contains(said), "{kind}, {words:?}: {sentence}");
        }
    }
}

/// To open a pipe takes until somebody is at its other end; a signal ends that.
#[test]
fn a_signal_is_heard_while_a_file_is_being_opened() {
    let place = tempfile::tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap().success());
    let (interrupted, terminated) = (("-INT", 130), ("-TERM", 143));
    for (words, (signal, code)) in [
        ("fit bottleneck-8 --widths 2,4 --trials 60 --out pipe", interrupted),
        ("fit bottleneck-8 --widths 2,4 --trials 60 --out pipe", terminated),
        ("export fc3-8 --to onnx --out pipe", interrupted),
        ("export fc3-8 --to safetensors --out pipe", terminated),
        ("export fc3-8 --to pytorch --out pipe", interrupted),
        ("ntk fc2-8 --count 2 --out pipe", terminated),
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
        program.args(words.split(' '));
        let mut running = program.current_dir(place.path()).stderr(Stdio::null()).spawn().unwrap();
        // The system tells in which call a process sleeps: opening a pipe waits for its partner,
        // or the program sleeps between two attempts.
        let wait = format!("/proc/{}/wchan", running.id());
        let waits = |call: String| call.contains("partner") || call.contains("nanosleep");
        let start = Instant::now();
        while !std::fs::read_to_string(&wait).is_ok_and(waits) && start.elapsed() < Duration::from_secs(20) {
            assert!(running.try_wait().unwrap().is_none(), "it does not wait for the pipe");
            std::thread::sleep(Duration::from_millis(20));
        }
        Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
        let start = Instant::now();
        while running.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(20) {
                running.kill().unwrap();
                panic!("{words}: {signal} is not heard");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(running.wait().unwrap().code(), Some(code), "{words}");
    }
}

/// Results have names of the program's own beside what was named. Links of these names do not decide
/// what is overwritten; a link that was named is followed.
#[test]
fn results_replace_links_that_nobody_named() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    synthetic::write_digits(&place.join("data"), 60, 30, 1).unwrap();
    std::fs::write(place.join("precious"), "kept").unwrap();
    let validate = "validate fc3-24 --data data --designs 3 --runs 1 --epochs 1 --out out";
    for (words, named, own) in [
        (
            validate,
            None,
            &["out/validation.json", "out/validation.html", "out/primal.svg", "out/primal.csv"][..],
        ),
        (
            "search bottleneck-16 --alpha 1.6 --figures figures",
            None,
            &["figures/primal.svg", "figures/dual.csv"],
        ),
        ("fit bottleneck-8 --widths 2,4,8 --trials 60 --figure x.svg", Some("x.svg"), &["x.csv"]),
        ("export fc3-8 --to onnx --external-data --out n.onnx", Some("n.onnx"), &["n.onnx.data"]),
        ("export fc3-8 --to onnx", None, &["fc3-8.onnx"]),
        ("export fc3-8 --to safetensors", None, &["fc3-8.safetensors"]),
        ("export fc3-8 --to pytorch", None, &["fc3-8.py"]),
        ("man pages", None, &["pages/collegial.1", "pages/collegial-fit.1"]),
    ] {
        for name in own {
            let path = place.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(place.join("precious"), path).unwrap();
        }
        if let Some(named) = named {
            std::fs::write(place.join("real"), "").unwrap();
            symlink(place.join("real"), place.join(named)).unwrap();
        }
        let words: Vec<&str> = words.split(' ').collect();
        let output = ended(place, &words);
        let said = String::from_utf8_lossy(&output.stderr);
        // A validation on noise may answer "no".
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {said}");
        assert_eq!(std::fs::read(place.join("precious")).unwrap(), b"kept", "{words:?}");
        for name in own {
            let metadata = place.join(name).symlink_metadata().unwrap();
            assert!(metadata.is_file() && metadata.len() > 4, "{words:?}: {name}");
        }
        if let Some(named) = named {
            assert!(place.join(named).is_symlink() && place.join("real").metadata().unwrap().len() > 0);
        }
    }
}

/// The same for directories of runs that the program named: a whole run would go through the link.
#[test]
fn directories_that_nobody_named_are_no_links() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    write_data(&place.join("data"), 40, 20);
    std::fs::write(place.join("small.toml"), NETWORK).unwrap();
    for directory in ["elsewhere", "runs", "many"] {
        std::fs::create_dir(place.join(directory)).unwrap();
    }
    let train = ["train", "small.toml", "--data", "data", "--epochs", "1", "--set", "batch=20"];
    let run = |more: &[&str]| ended(place, &[&train[..], more].concat());
    assert_eq!(run(&[]).status.code(), Some(0));
    let usual = std::fs::read_dir(place.join("runs")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_dir_all(&usual).unwrap();
    symlink(place.join("elsewhere"), &usual).unwrap();
    symlink(place.join("elsewhere"), place.join("many/seed-1")).unwrap();
    for (more, name) in [
        (&[][..], usual.file_name().unwrap().to_str().unwrap()),
        (&["--runs", "2", "--out", "many"], "seed-1"),
    ] {
        let output = run(more);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {said}");
        assert!(said.contains(name) && said.contains("symbolic link"), "{more:?}: {said}");
    }
    assert!(std::fs::read_dir(place.join("elsewhere")).unwrap().next().is_none());
    // A link that was named is where the run goes.
    symlink(place.join("elsewhere"), place.join("named")).unwrap();
    assert_eq!(run(&["--out", "named"]).status.code(), Some(0));
    assert!(place.join("elsewhere/model.toml").is_file());
}

/// A file or directory that came from somebody else does not choose what is read or written by a
/// symbolic link.
#[test]
fn links_beside_a_file_are_refused() {
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
