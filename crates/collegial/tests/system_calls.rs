//! Calls of the system that fail in the program itself, one after the other: opening, reading,
//! writing, forcing to disk, renaming, and asking for memory. None costs more than a kill would: the
//! same command goes on to the same bytes.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use collegial_experiments::synthetic;
use collegial_testing::{NETWORK, write_data};

/// Counts the calls that FAULT_CALL names, and fails the one after FAULT_AFTER of them.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

ssize_t write(int file, const void *bytes, size_t count) {
    if (fails("write")) {
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

/// The tensors of the newest checkpoint: what follows its header.
fn weights(run: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let is_checkpoint =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("checkpoint-");
    let newest = entries.filter(is_checkpoint).max().unwrap();
    let bytes = std::fs::read(newest.join("model.safetensors")).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8 + header..].to_vec()
}

#[test]
fn a_call_of_the_system_that_fails_costs_no_more_than_a_kill() {
    let place = Place::new();
    let whole = place.root.path().join("whole");
    assert!(place.command(TRAIN, &whole).status().unwrap().success());
    let expected = weights(&whole);
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
            assert!(weights(&run) == expected, "{call} after {after}");
        }
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
    let expected = weights(&run);
    let count = place.count(place.command(TRAIN, &run), "read");
    let mut refused = 0;
    for after in (0..count).step_by(2) {
        let (output, _) = place.faulty(place.command(TRAIN, &run), "read", after);
        let said = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2)), "after {after}: {code:?}, {said}");
        assert!(code == Some(0) || said.lines().count() == 1, "after {after}: {said}");
        refused += u32::from(code != Some(0));
        assert!(weights(&run) == expected, "after {after}: {said}");
    }
    assert!(refused >= 2, "{refused} of {count}");
    assert!(place.command(TRAIN, &run).status().unwrap().success());
}

/// What a command leaves: the weights of a run, a file, or the files of a directory but for those
/// that tell how long something took.
fn left(out: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    if out.is_file() {
        return [(PathBuf::new(), std::fs::read(out).unwrap())].into();
    }
    if out.join("lock").is_file() {
        return [(PathBuf::new(), weights(out))].into();
    }
    let files = std::fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file() && !path.to_str().unwrap().contains(".collegial-"));
    files.map(|path| (path.file_name().unwrap().into(), std::fs::read(path).unwrap())).collect()
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
            assert!(left(&out) == expected, "{line}, after {after}");
            std::fs::remove_dir_all(&out).or_else(|_| std::fs::remove_file(&out)).unwrap();
        }
        eprintln!("{line}: {calls} allocations, {aborted} aborted");
        assert!(2 * aborted > MOST, "{line}: {aborted} of {calls}");
    }
}
