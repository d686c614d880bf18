//! The project's chores, as `cargo xtask CHORE`: plain Rust, so that a fresh machine needs nothing
//! but Cargo.
//!
//! Tests come in three tiers. `test --fast` leaves out what [`SLOW`] lists. `test` runs every Rust
//! test and those of the Python wheel, and says so where there is no Python. `test --all` adds what
//! needs PyTorch, timm and ONNX Runtime, the notebooks, the book, the explorer's page in Chromium,
//! and mutations of files through every reader (`fuzz/`); it fails without them.

mod book;
mod browser;
mod emulated;
mod fuzz;
mod growth;
mod instructions;
mod python;
mod site;
mod soak;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use python::{Environment, Python};

const USAGE: &str = "\
usage: cargo xtask test --fast     the Rust tests without the slow ones: under two minutes once built
       cargo xtask test            every Rust test, examples in the docs included, then those of the Python wheel
       cargo xtask test --all      the same and the tests beside PyTorch, timm and ONNX Runtime, which it installs (1.5 GB),
                                   and of the explorer in Chromium, driven by Node.js
       cargo xtask test --browser  the explorer in Chromium alone, with a server and without
       cargo xtask site            the explorer without a server, in target/site: the page, and the program as WebAssembly
       cargo xtask book            the book, in target/book, by mdBook, which it installs; fails on dead links
       cargo xtask instructions [--record]
                                   instructions of ten small workloads under Valgrind; fails where one has grown by over 5 %
       cargo xtask fuzz [--seconds 60] [TARGET...]
                                   every reader under libFuzzer and AddressSanitizer, so many seconds each
       cargo xtask soak [--minutes 60] [--kills 1000] [--program target/release/collegial]
                                   trains under kills, full disks and flipped bits; every result must have the same bits
       cargo xtask growth [OPERATION...]
                                   time and memory of the release program (or COLLEGIAL=PATH) against size, and docs/growth.md with the
                                   exponents; operations that are not named keep their runs, and --page only writes the page again";

/// The names of tests that take more than two seconds of one core, one per line.
const SLOW: &str = include_str!("../slow-tests.txt");

/// The packages whose program, wheel and examples the tests beside PyTorch run.
const BESIDE_PYTORCH: [&str; 4] = [
    "--package=collegial",
    "--package=collegial-python",
    "--package=collegial-train",
    "--package=collegial-ntk",
];

/// A chore that did not succeed has said why.
pub struct Failed;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["test", "--fast"] => test_fast(),
        ["test"] => test(),
        ["test", "--all"] => test_all(),
        ["test", "--browser"] => test_browser(),
        ["site"] => site::site(),
        ["book"] => book::book(),
        ["instructions"] => count_instructions(false),
        ["instructions", "--record"] => count_instructions(true),
        ["fuzz", ref rest @ ..] => match fuzz::Plan::parse(rest) {
            Some(plan) => fuzz::fuzz(&plan),
            None => return usage(),
        },
        ["soak", ref rest @ ..] => match soak::Plan::parse(rest) {
            Some(plan) => soak::soak(&plan),
            None => return usage(),
        },
        ["growth", ref rest @ ..] => match growth::Plan::parse(rest) {
            Some(plan) => growth::growth(&plan),
            None => return usage(),
        },
        _ => return usage(),
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The Rust tests that take no more than a moment each.
fn test_fast() -> Result<(), Failed> {
    let slow: Vec<&str> = SLOW.lines().filter(|line| !line.starts_with('#')).collect();
    let skipped: Vec<&str> = slow.iter().flat_map(|name| ["--skip", name]).collect();
    cargo(&[&["test", "--workspace", "--lib", "--bins", "--tests", "--"], skipped.as_slice()].concat())?;
    eprintln!(
        "xtask: NOT run: {} slow tests, the examples in the docs and the Python wheel; `cargo xtask test` runs them",
        slow.len()
    );
    Ok(())
}

/// Unit, integration, snapshot and documentation tests; then the wheel's.
fn test() -> Result<(), Failed> {
    cargo(&["test", "--workspace"])?;
    let Some(python) = Python::find() else {
        eprintln!("xtask: NOT run: the tests of the Python wheel. {NO_PYTHON}");
        return Ok(());
    };
    test_wheel(&python)?;
    eprintln!(
        "xtask: NOT run: the tests beside PyTorch, timm and ONNX Runtime, and of the explorer in a browser; `cargo xtask test --all` \
         runs them"
    );
    Ok(())
}

/// Everything, other people's engines included.
fn test_all() -> Result<(), Failed> {
    let Some(python) = Python::find() else {
        eprintln!("xtask: {NO_PYTHON}");
        return Err(Failed);
    };
    cargo(&["test", "--workspace"])?;
    emulated::test()?;
    // The readers on their corpora and mutations of them; a sanitizer and coverage are `fuzz`'s.
    cargo(&["test", "--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target"])?;
    // All at once, so that the wheel shares what they depend on: alone, each would have its own
    // choice of features.
    cargo(&[&["build", "--release", "--lib", "--bins", "--examples"], BESIDE_PYTORCH.as_slice()].concat())?;
    // The pins are complete, and PyTorch's own requirements name libraries that a CPU does not
    // need.
    let environment = Environment::new(&python, "venv-interop", "interop/requirements.txt", &["--no-deps"])?;
    environment.install_wheel()?;
    environment.pytest(Path::new("target/release"), &["interop", "python/tests"])?;
    instructions::instructions("target/release/collegial", false)?;
    book::book()?;
    site::site()?;
    browser::test("target/release/collegial")
}

/// The counts of instructions alone.
fn count_instructions(record: bool) -> Result<(), Failed> {
    cargo(&["build", "--release", "--package", "collegial"])?;
    instructions::instructions("target/release/collegial", record)
}

/// The explorer's page alone.
fn test_browser() -> Result<(), Failed> {
    cargo(&["build", "--package", "collegial"])?;
    site::site()?;
    browser::test("target/debug/collegial")
}

const NO_PYTHON: &str =
    "No Python of at least 3.10 was found; install one, or name it with PYTHON=/path/to/python3";

/// The tests of the wheel alone.
fn test_wheel(python: &Python) -> Result<(), Failed> {
    let environment = Environment::new(python, "venv", "python/tests/requirements.txt", &[])?;
    environment.install_wheel()?;
    let others = ["--ignore=python/tests/with_torch", "--ignore=python/tests/with_executors"];
    environment.pytest(Path::new("target/debug"), &[&["python/tests"], others.as_slice()].concat())
}

fn cargo(arguments: &[&str]) -> Result<(), Failed> {
    run(Command::new(cargo_program()).args(arguments))
}

/// The Cargo that runs this.
fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs a command to its end.
fn run(command: &mut Command) -> Result<(), Failed> {
    let name = Path::new(command.get_program()).display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failed),
        Err(error) => {
            eprintln!("xtask: {name} did not start: {error}");
            Err(Failed)
        }
    }
}
