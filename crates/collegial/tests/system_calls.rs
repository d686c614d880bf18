//! Calls of the system that fail in the program itself, one after the other: opening, reading,
//! writing, forcing to disk, renaming, and asking for memory. None costs more than a kill would: the
//! same command goes on to the same bytes.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use collegial_core::files::TEMPORARY;
use collegial_experiments::synthetic;
use collegial_testing::{NETWORK, write_data};
use serde_json::Value;

/// Counts the calls that FAULT_CALL names, and fails the one after FAULT_AFTER of them. With "full",
/// no byte can be written into any file.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long calls;
static long after = -1;
static const char *kind = "";

__attribute__((constructor)) static void begin(void) {
    if (getenv("FAULT_CALL")) kind = getenv("FAULT_CALL");
    if (getenv("FAULT_AFTER")) after = atol(getenv("FAULT_AFTER"));
}

static int fails(const char *call) {
    return after >= 0 && !strcmp(kind, call) && __sync_fetch_and_add(&calls, 1) == after;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNT");
    FILE *file = path ? fopen(path, "w") : 0;
    if (file) {
        fprintf(file, "%ld", calls);
        fclose(file);
    }
}

extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_calloc(size_t, size_t);

void *malloc(size_t size) { return fails("malloc") ? 0 : __libc_malloc(size); }
void *realloc(void *old, size_t size) { return fails("malloc") ? 0 : __libc_realloc(old, size); }
void *calloc(size_t count, size_t size) { return fails("malloc") ? 0 : __libc_calloc(count, size); }

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    if (fails("open")) {
        errno = EMFILE;
        return -1;
    }
    return REAL("open64", int (*)(const char *, int, ...))(path, flags, mode);
}

ssize_t read(int file, void *bytes, size_t count) {
    if (fails("read")) {
        errno = EIO;
        return -1;
    }
    return REAL("read", ssize_t (*)(int, void *, size_t))(file, bytes, count);
}

static int is_full(int file) {
    struct stat status;
    return !strcmp(kind, "full") && !fstat(file, &status) && S_ISREG(status.st_mode);
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (fails("write") || is_full(file)) {
        errno = ENOSPC;
        return -1;
    }
    return REAL("write", ssize_t (*)(int, const void *, size_t))(file, bytes, count);
}

int fsync(int file) {
    if (fails("fsync")) {
        errno = EIO;
        return -1;
    }
    return REAL("fsync", int (*)(int))(file);
}

int rename(const char *from, const char *to) {
    if (fails("rename")) {
        errno = EIO;
        return -1;
    }
    return REAL("rename", int (*)(const char *, const char *))(from, to);
}
"#;

/// Runs tried per kind of call; where there are more calls, they are spread over all of them.
const MOST: u64 = 24;

struct Place {
    root: tempfile::TempDir,
    library: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        write_data(&root.path().join("data"), 40, 20);
        std::fs::write(root.path().join("small.toml"), NETWORK).unwrap();
        let (source, library) = (root.path().join("faults.c"), root.path().join("faults.so"));
        std::fs::write(&source, LIBRARY).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-fno-builtin", "-o"]).args([&library, &source]).arg("-ldl");
        assert!(compiler.status().unwrap().success(), "cc links Rust programs, so it is here");
        Self { root, library }
    }

    fn command(&self, line: &str, out: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        command.current_dir(self.root.path()).args(line.split(' ')).args(["--threads", "1", "--quiet"]);
        command.arg("--out").arg(out);
        command
    }

    /// With the call after `after` of them failing; the result, and how many calls there were.
    fn faulty(&self, mut command: Command, call: &str, after: u64) -> (Output, Option<u64>) {
        let count = self.root.path().join("count");
        let _ = std::fs::remove_file(&count);
        command.env("LD_PRELOAD", &self.library).env("FAULT_CALL", call).env("FAULT_COUNT", &count);
        let output = command.env("FAULT_AFTER", after.to_string()).output().unwrap();
        (output, std::fs::read_to_string(count).ok().and_then(|count| count.parse().ok()))
    }

    /// How many such calls the command makes.
    fn count(&self, command: Command, call: &str) -> u64 {
        let (output, count) = self.faulty(command, call, u64::MAX >> 1);
        assert!(is_answer(output.status.code()), "{call}: {}", String::from_utf8_lossy(&output.stderr));
        count.expect("the library counts")
    }
}

/// A training that goes on where it is, and saves after every step.
const TRAIN: &str = "train small.toml --data data --epochs 2 --set batch=20 --save-every 1 --resume";

/// A verdict may be "no".
fn is_answer(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 1))
}

/// Fields that differ from run to run: how long something took, how many checkpoints were written,
/// and what follows from them.
const OWN: [&str; 5] = ["seconds", "waited", "images_per_second", "number", "checksum"];

fn without_own(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
            kept.map(|(name, value)| (name, without_own(value))).collect()
        }
        Value::Array(values) => values.into_iter().map(without_own).collect(),
        other => other,
    }
}

/// What a file of a run or of a sweep says, but for those fields.
fn content(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let parsed = |bytes: &[u8]| without_own(serde_json::from_slice(bytes).unwrap()).to_string();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("safetensors") => {
            let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
            let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
            for document in header["__metadata__"].as_object_mut().unwrap().values_mut() {
                *document = parsed(document.as_str().unwrap().as_bytes()).into();
            }
            [header.to_string().as_bytes(), &bytes[8 + length..]].concat()
        }
        Some("jsonl") => {
            let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            lines.map(|line| parsed(line) + "\n").collect::<String>().into_bytes()
        }
        Some("json") if path.parent().unwrap().ends_with("parts") => parsed(&bytes).into_bytes(),
        _ => bytes,
    }
}

/// What a command leaves: a file, or every file under a directory. Only the lock, which names a
/// process, TensorBoard's events, which are those of a process, and temporary files are left aside.
fn left(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![out.to_owned()]);
    while let Some(path) = waiting.pop() {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if name != "lock" && !name.starts_with("events.") && !name.starts_with(TEMPORARY) {
            let path_inside = path.strip_prefix(out).unwrap().to_str().unwrap();
            // The newest checkpoint, the only one that is kept, has the number of its writing.
            let inside = match path_inside.strip_prefix("checkpoint-") {
                Some(rest) => {
                    format!("checkpoint{}", rest.trim_start_matches(|digit: char| digit.is_ascii_digit()))
                }
                None => path_inside.to_owned(),
            };
            let second = found.insert(inside, content(&path));
            assert!(second.is_none(), "{path_inside} is there twice");
        }
    }
    found
}

/// The names first: a difference between them is short.
fn assert_left(out: &Path, expected: &BTreeMap<String, Vec<u8>>, when: &str) {
    let found = left(out);
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(expected), "{when}");
    for (name, bytes) in &found {
        assert!(*bytes == expected[name], "{name}, {when}");
    }
}

#[test]
fn a_call_of_the_system_that_fails_costs_no_more_than_a_kill() {
    let place = Place::new();
    let whole = place.root.path().join("whole");
    assert!(place.command(TRAIN, &whole).status().unwrap().success());
    let expected = left(&whole);
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    let checkpoint = ["checkpoint/model.safetensors", "checkpoint/training.safetensors"];
    assert_eq!(names, [&checkpoint[..], &["epochs.jsonl", "model.toml", "recipe.toml"]].concat());
    for call in ["open", "read", "write", "fsync", "rename"] {
        let run = place.root.path().join(call);
        let count = place.count(place.command(TRAIN, &run), call);
        assert!(count > 5, "{call}: {count} calls");
        let mut refused = 0;
        for index in 0..count.min(MOST) {
            let _ = std::fs::remove_dir_all(&run);
            let after = if count > MOST { index * count / MOST } else { index };
            let (output, _) = place.faulty(place.command(TRAIN, &run), call, after);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!said.contains("panicked"), "{call} after {after}: {said}");
            let temporary = said.contains(".collegial-") || said.contains(".saving");
            assert!(!temporary, "a temporary name shows: {said}");
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 2)), "{call} after {after}: {code:?}, {said}");
            refused += u32::from(code != Some(0));
            let resumed = place.command(TRAIN, &run).output().unwrap();
            assert!(
                resumed.status.success(),
                "{call} after {after}: {}",
                String::from_utf8_lossy(&resumed.stderr)
            );
            assert_left(&run, &expected, &format!("{call} after {after}"));
        }
        eprintln!("{call}: {} of {count} calls failed in turn, {refused} were refused", count.min(MOST));
        // Most reads are of what the system tells about itself, which is left aside.
        let least = if call == "read" { 1 } else { 4 };
        assert!(refused >= least, "{call}: {refused} of {count}");
    }
}

/// A disk that gives an input/output error under a run that is there: it stays as it is.
#[test]
fn a_read_that_fails_on_resuming_changes_nothing() {
    let place = Place::new();
    let run = place.root.path().join("run");
    assert!(place.command(TRAIN, &run).status().unwrap().success());
    let expected = left(&run);
    let count = place.count(place.command(TRAIN, &run), "read");
    let mut refused = 0;
    for after in (0..count).step_by(2) {
        let (output, _) = place.faulty(place.command(TRAIN, &run), "read", after);
        let said = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2)), "after {after}: {code:?}, {said}");
        assert!(code == Some(0) || said.lines().count() == 1, "after {after}: {said}");
        refused += u32::from(code != Some(0));
        assert_left(&run, &expected, &format!("after {after}: {said}"));
    }
    eprintln!("{refused} of {} reads that failed were refused", count.div_ceil(2));
    assert!(refused >= 2, "{refused} of {count}");
    assert!(place.command(TRAIN, &run).status().unwrap().success());
}

/// Where of so many calls one fails: the first ones, where the program starts, ever further apart,
/// and then evenly over all of them; all of them with `COLLEGIAL_EVERY_ALLOCATION`, in hours.
fn places(count: u64) -> BTreeSet<u64> {
    if std::env::var_os("COLLEGIAL_EVERY_ALLOCATION").is_some() {
        return (0..count).collect();
    }
    let growing = (0..).map(|power| 1 << power).take_while(|&after| after < count);
    growing.chain((0..MOST).map(|index| index * count / MOST)).collect()
}

/// Rust programs abort where an allocation fails: like a kill at that place.
#[test]
fn an_allocation_that_fails_costs_no_more_than_a_kill() {
    let place = Place::new();
    synthetic::write_digits(&place.root.path().join("digits"), 20, 10, 1).unwrap();
    let works = [
        ("run", TRAIN),
        ("shard.json", "fit bottleneck-4 --trials 100 --widths 1,2,4 --shard 1/2"),
        ("sweep", "validate fc2-8 --data digits --epochs 1 --runs 1 --designs 3"),
        ("pages", "reproduce table4 table5 --scale smoke"),
    ];
    for (name, line) in works {
        let (whole, out) = (place.root.path().join(format!("whole-{name}")), place.root.path().join(name));
        let calls = place.count(place.command(line, &whole), "malloc");
        let expected = left(&whole);
        let mut aborted = 0;
        for after in places(calls) {
            let (output, _) = place.faulty(place.command(line, &out), "malloc", after);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!said.contains("panicked"), "{line}, after {after}: {said}");
            // The loader gives up with 127; a thread that does not start is a sentence; where one
            // starts, glibc's pthread_getattr_np goes through the null pointer (SIGSEGV).
            let is_abort = matches!(output.status.signal(), Some(6 | 11));
            let code = output.status.code();
            assert!(
                is_abort || is_answer(code) || matches!(code, Some(2 | 127)),
                "{line}, after {after}: {}, {said}",
                output.status
            );
            aborted += u64::from(is_abort);
            let again = place.command(line, &out).output().unwrap();
            let said = String::from_utf8_lossy(&again.stderr);
            assert!(is_answer(again.status.code()), "{line}, after {after}: {said}");
            assert_left(&out, &expected, &format!("{line}, after {after}"));
            std::fs::remove_dir_all(&out).or_else(|_| std::fs::remove_file(&out)).unwrap();
        }
        eprintln!("{line}: {calls} allocations, {aborted} aborted");
        assert!(2 * aborted > MOST, "{line}: {aborted} of {calls}");
    }
}

/// Verbs that write no file.
const READ_ONLY: [&str; 7] = ["info", "moments", "explore", "models", "status", "completions", "help"];

/// Every verb that writes files, on a disk where no byte has room.
#[test]
fn a_full_disk_is_a_sentence_of_every_verb_that_writes() {
    let place = Place::new();
    let root = place.root.path();
    synthetic::write_digits(&root.join("digits"), 20, 10, 1).unwrap();
    std::fs::write(root.join("table.csv"), "model,error\nresnext29-1x8d,5\nresnext29-2x8d,4\n").unwrap();
    let command = |line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        command.current_dir(root).args(line.split(' '));
        command
    };
    let sweep = "sweep fc2-4 fc2-2x2 --data digits --epochs 1 --runs 1";
    for line in [
        format!("{TRAIN} --out run").as_str(),
        "fit bottleneck-4 --trials 100 --widths 1,2,4 --out shard.json",
        format!("{sweep} --plan plan").as_str(),
        format!("{sweep} --plan done").as_str(),
        "job done 0-1",
    ] {
        let output = command(line).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let lines = [
        "ntk fc3-8 --count 2 --save-weights w.safetensors",
        "ntk fc3-8 --count 2 --save-input x.npy",
        "fit bottleneck-4 --trials 100 --widths 1,2,4 --out another.json",
        "fit bottleneck-4 --trials 100 --widths 1,2,4 --figure figure.svg",
        "merge shard.json --figure figure.svg",
        "search resnext29-1x8d --report page.html",
        "search resnext29-1x8d --figures figures",
        "score table.csv --target error --report page.html",
        "score table.csv --target error --figures figures",
        "train small.toml --data data --epochs 1 --set batch=20 --out another",
        "evaluate run --data data --logits logits.npy",
        "export fc3-8 --to onnx",
        "export fc3-8 --to onnx --external-data",
        "export fc3-8 --to safetensors",
        "export fc3-8 --to pytorch",
        "reproduce table4 --scale smoke --out pages",
        "validate fc2-8 --data digits --epochs 1 --runs 1 --designs 3 --out validation",
        "validate fc2-8 --data digits --epochs 1 --runs 1 --designs 3 --plan designs",
        &format!("{sweep} --out many"),
        &format!("{sweep} --plan others"),
        "job plan 0",
        "gather done",
        "man pages",
    ];
    for line in lines {
        let (output, _) = place.faulty(command(line), "full", u64::MAX >> 1);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
        assert!(errors.len() == 1 && errors[0].contains("No space left"), "{line}: {said}");
        assert!(!said.contains("panicked"), "{line}: {said}");
    }
    // No verb is left out.
    let help = command("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let verbs = help.split_once("Commands:\n").unwrap().1.split("\n\n").next().unwrap();
    let of_lines = lines.iter().map(|line| line.split(' ').next().unwrap());
    let known: BTreeSet<&str> = of_lines.chain(READ_ONLY).collect();
    let verbs: BTreeSet<&str> = verbs
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(verbs, known);
}
