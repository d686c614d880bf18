//! The program where the system gives less than usual: threads that do not start, files that may
//! not grow, paths that are not text, kills while pages are written.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use collegial_testing::{NETWORK, write_data};

const PROGRAM: &str = env!("CARGO_BIN_EXE_collegial");

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A library that lets so many threads start and no more.
#[cfg(target_os = "linux")]
fn no_more_threads(directory: &Path) -> PathBuf {
    let source = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <pthread.h>
        #include <stdlib.h>
        static int started;
        typedef int start(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
        int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) {
            if (__sync_add_and_fetch(&started, 1) > atoi(getenv("THREADS_THAT_START"))) return EAGAIN;
            return ((start *)dlsym(RTLD_NEXT, "pthread_create"))(t, a, f, x);
        }"#;
    let (file, library) = (directory.join("threads.c"), directory.join("threads.so"));
    std::fs::write(&file, source).unwrap();
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &file]).arg("-ldl").status();
    assert!(made.unwrap().success(), "cc links Rust programs, so it is here");
    library
}

/// `ulimit -u` and full machines: every thread may be the one that does not start.
#[test]
#[cfg(target_os = "linux")]
fn a_thread_that_cannot_start_is_a_sentence() {
    let root = tempfile::tempdir().unwrap();
    write_data(&root.path().join("data"), 40, 20);
    std::fs::write(root.path().join("small.toml"), NETWORK).unwrap();
    let library = no_more_threads(root.path());
    let lines = [
        "fit bottleneck-4 --trials 100 --widths 1,2,4",
        "train small.toml --data data --epochs 1 --set batch=20 --out run",
        "validate fc2-8 --data data --epochs 1 --runs 1 --designs 3 --out sweep",
        "search resnext29-1x8d",
    ];
    for line in lines {
        let mut refused = 0;
        for threads in 0..20 {
            for directory in ["run", "sweep"] {
                let _ = std::fs::remove_dir_all(root.path().join(directory));
            }
            let mut command = Command::new(PROGRAM);
            command.current_dir(root.path()).args(line.split(' ')).args(["--quiet", "--threads", "2"]);
            command.env("LD_PRELOAD", &library).env("THREADS_THAT_START", threads.to_string());
            let output = command.output().unwrap();
            let said = said(&output);
            assert!(!said.contains("panicked"), "{line} with {threads} threads: {said}");
            match output.status.code() {
                Some(2) => assert_eq!(said.trim().lines().count(), 1, "{said}"),
                // A verdict may be "no".
                code => assert!(matches!(code, Some(0 | 1)), "{line} with {threads} threads: {said}"),
            }
            refused += u32::from(output.status.code() == Some(2));
        }
        assert!((2..20).contains(&refused), "{line}: {refused}");
    }
}

/// SIGXFSZ would end the program without a word.
#[test]
fn a_file_that_may_not_grow_is_a_sentence() {
    let root = tempfile::tempdir().unwrap();
    write_data(&root.path().join("data"), 40, 20);
    std::fs::write(root.path().join("small.toml"), NETWORK).unwrap();
    for line in [
        "train small.toml --data data --epochs 1 --set batch=20 --out run",
        "export small.toml --to onnx --out small.onnx",
        "search resnext29-1x8d --report page.html",
        "reproduce table5 --scale smoke --out pages",
        "man > page",
        "--help > page",
        "completions bash > script",
    ] {
        let mut command = Command::new("sh");
        command.current_dir(root.path()).args(["-c", &format!("ulimit -f 1; exec \"$0\" {line}"), PROGRAM]);
        let output = command.stdout(Stdio::null()).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains("cannot write") && said.contains("File too large"), "{line}: {said}");
    }
}

/// Whatever takes a path takes one that is not UTF-8.
#[test]
fn paths_need_not_be_text() {
    let root = tempfile::tempdir().unwrap();
    let odd = OsStr::from_bytes(b"d\xff");
    let place = root.path().join(odd);
    write_data(&place.join("data"), 40, 20);
    std::fs::write(place.join("small.toml"), NETWORK).unwrap();
    std::fs::write(place.join("recipe.toml"), collegial_train::Builtin::Mnist.toml()).unwrap();
    let table = "model,error\nresnext29-1x8d,5\nresnext29-2x8d,4\nresnext29-4x4d,4.5\nresnext29-3x8d,3\n";
    std::fs::write(place.join("table.csv"), table).unwrap();
    std::fs::write(place.join("times.csv"), "model,seconds\nresnext29-1x8d,1\nresnext29-2x4d,2\n").unwrap();
    let lines = [
        "train @/small.toml --data @/data --recipe @/recipe.toml --set batch=20 --epochs 1 --out @/run",
        "train @/small.toml --data @/data --epochs 2 --resume --out @/run",
        "evaluate @/run --data @/data",
        "export @/run --to onnx --out @/small.onnx",
        "export @/small.onnx --to safetensors --out @/small.safetensors",
        "export fc2-8 --to pytorch --recipe @/recipe.toml --out @/script.py",
        "info @/small.safetensors",
        "ntk @/run --data @/data --count 2 --out @/kernel.npy",
        "fit bottleneck-4 --trials 100 --widths 1,2,4 --out @/shard.json",
        "merge @/shard.json --figure @/line.svg",
        "reproduce table5 --scale smoke --out @/pages",
        "score @/table.csv --target error --report @/scores.html",
        "search resnext29-1x8d --timings @/times.csv --cost time --report @/search.html --figures @/figures",
        "validate fc2-8 --data @/data --epochs 1 --runs 1 --designs 3 --out @/sweep",
        "sweep @/small.toml fc2-8 --data @/data --epochs 1 --runs 1 --out @/swept --json",
        "sweep @/small.toml fc2-8 --data @/data --epochs 1 --runs 1 --plan @/plan --json",
        "job @/plan 0-1",
        "status @/plan --json",
        "gather @/plan --json",
        "validate fc2-8 --data @/data --epochs 1 --runs 1 --designs 3 --plan @/plan-2",
        "gather @/plan-2",
        "train fc2-8 --data @/data --epochs 1 --out @/run-2 --json",
        "man @/man",
    ];
    for line in lines {
        let words = line.split(' ').map(|word| match word.strip_prefix('@') {
            Some(rest) => OsString::from_vec([odd.as_bytes(), rest.as_bytes()].concat()),
            None => word.into(),
        });
        let output = Command::new(PROGRAM).current_dir(root.path()).args(words).output().unwrap();
        let said = said(&output);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{line}: {said}");
        assert!(!said.contains("error:"), "{line}: {said}");
    }
    for name in [
        "plan/plan.json",
        "plan/sweep.html",
        "plan-2/jobs.html",
        "run/lock",
        "small.onnx",
        "kernel.npy",
        "shard.json",
        "line.svg",
        "pages/table5.html",
    ] {
        assert!(place.join(name).is_file(), "{name}");
    }
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(directory).unwrap().to_owned();
            match path.is_dir() {
                // Finished parts tell how long they took.
                true if name == Path::new("parts") => {}
                true => waiting.push(path),
                false => drop(found.insert(name, std::fs::read(path).unwrap())),
            }
        }
    }
    found
}

/// They tell no durations and not where they were written.
#[test]
fn pages_made_again_after_a_kill_are_the_same() {
    let root = tempfile::tempdir().unwrap();
    let pages = |out: &str| {
        let mut command = Command::new(PROGRAM);
        command.current_dir(root.path()).args(["reproduce", "table5", "fig2", "--scale", "smoke", "--quiet"]);
        command.args(["--out", out]).stdout(Stdio::null());
        command
    };
    assert!(pages("whole").status().unwrap().success());
    let expected = files(&root.path().join("whole"));
    assert!(expected.len() > 8);
    for milliseconds in [30, 100, 300] {
        let out = format!("killed-{milliseconds}");
        let mut child = pages(&out).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(pages(&out).status().unwrap().success());
        let mut again = files(&root.path().join(&out));
        again.retain(|path, _| !path.to_str().unwrap().contains(".collegial-"));
        assert_eq!(again.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (path, bytes) in again {
            assert!(bytes == expected[&path], "{} differs", path.display());
        }
    }
    for name in ["a.html", "b.html"] {
        let line = ["search", "resnext29-1x8d", "--report", name];
        assert!(Command::new(PROGRAM).current_dir(root.path()).args(line).output().unwrap().status.success());
    }
    let read = |name: &str| std::fs::read(root.path().join(name)).unwrap();
    assert!(read("a.html") == read("b.html"));
}

/// A misspelt variable or value would have no effect, and nobody would know.
#[test]
fn unknown_environment_variables_and_values_are_refused() {
    for (name, value, words) in [
        ("COLLEGIAL_INSTRUCTION", "avx2", "which are COLLEGIAL_INSTRUCTIONS, COLLEGIAL_MAX_UNPACKED"),
        ("COLLEGIAL_INSTRUCTIONS", "sse", "is sse; it must be portable, "),
        // Another architecture's, which would have no effect.
        (
            "COLLEGIAL_INSTRUCTIONS",
            if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" },
            "; it must be portable",
        ),
        ("COLLEGIAL_MAX_UNPACKED", "1G", "is 1G; it must be a number of bytes"),
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
        let output = program.args(["info", "fc3-8"]).env(name, value).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{name}={value}: {said}");
        assert!(said.contains(name) && said.contains(words) && said.lines().count() == 1, "{said}");
        assert!(output.stdout.is_empty());
    }
}

/// DEL and U+009B, which some terminals take for the beginning of a command.
#[test]
fn no_form_of_an_answer_has_control_characters() {
    let directory = tempfile::tempdir().unwrap();
    let table = "model,who\nresnext29-1x8d,a\u{7f}b\u{9b}c\nresnext29-2x4d,\u{1b}[2J\n";
    std::fs::write(directory.path().join("t.csv"), table).unwrap();
    for format in ["json", "csv", "table"] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
        program.args(["score", "t.csv", "--format", format]).current_dir(directory.path());
        let output = program.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let controls: Vec<char> = text.chars().filter(|c| c.is_control() && *c != '\n').collect();
        assert!(controls.is_empty(), "{format}: {controls:?}");
        assert!(format == "table" || text.contains("9b"), "{format}: {text}");
    }
}
