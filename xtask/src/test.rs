//! The tests, in three tiers.
//!
//! `--fast` leaves out the tests that [`SLOW`] lists. Without an option every Rust test runs, and
//! those of the Python wheel where there is a Python. `--all` adds everything that needs other
//! programs, and fails where one of them is missing.

use std::path::Path;

use crate::python::{Environment, Python};
use crate::steps::Steps;
use crate::{Failed, book, browser, cargo, emulated, instructions, site};

/// The names of tests that take more than two seconds of one core, one per line.
const SLOW: &str = include_str!("../slow-tests.txt");

/// The packages whose program, wheel and examples the tests beside PyTorch run.
const BESIDE_PYTORCH: [&str; 4] = [
    "--package=collegial",
    "--package=collegial-python",
    "--package=collegial-train",
    "--package=collegial-ntk",
];

const NO_PYTHON: &str =
    "no Python of at least 3.10 was found; install one, or name it with PYTHON=/path/to/python3";

/// The Rust tests that take no more than a moment each.
pub fn fast() -> Result<(), Failed> {
    let slow: Vec<&str> = SLOW.lines().filter(|line| !line.starts_with('#')).collect();
    let skipped: Vec<&str> = slow.iter().flat_map(|name| ["--skip", name]).collect();
    let tests = [&["test", "--workspace", "--lib", "--bins", "--tests", "--"], skipped.as_slice()].concat();
    Steps::default().run("fast Rust tests", || cargo(&tests))?;
    skips(&format!("{} slow tests, the examples in the docs and the Python wheel", slow.len()), "test");
    Ok(())
}

/// Unit, integration, snapshot and documentation tests; then the wheel's.
pub fn usual() -> Result<(), Failed> {
    let mut steps = Steps::default();
    steps.run("Rust tests", || cargo(&["test", "--workspace"]))?;
    match Python::find() {
        Some(python) => steps.run("tests of the Python wheel", || wheel(&python))?,
        None => eprintln!("xtask: SKIPPED: the tests of the Python wheel: {NO_PYTHON}"),
    }
    skips(
        "emulated aarch64, mutated files, PyTorch, timm, ONNX Runtime, instruction counts, the book and the browser",
        "test --all",
    );
    Ok(())
}

/// Everything, other people's engines included.
pub fn all() -> Result<(), Failed> {
    let mut steps = Steps::default();
    let Some(python) = Python::find() else {
        eprintln!("xtask: {NO_PYTHON}");
        return Err(Failed);
    };
    steps.run("Rust tests", || cargo(&["test", "--workspace"]))?;
    steps.run("kernels of aarch64 under emulation", emulated::test)?;
    // The readers on their corpora and mutations of them; a sanitizer and coverage are `fuzz`'s.
    let mutations = ["test", "--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target"];
    steps.run("mutated files through every reader", || cargo(&mutations))?;
    // All at once, so that the wheel shares their dependencies: alone, each would have its own
    // choice of features.
    let release =
        [&["build", "--release", "--lib", "--bins", "--examples"], BESIDE_PYTORCH.as_slice()].concat();
    steps.run("release build", || cargo(&release))?;
    // The pins are complete, and PyTorch's own requirements name libraries that a CPU does not
    // need.
    let environment = steps.run("Python environment", || {
        Environment::new(&python, "venv-interop", "interop/requirements.txt", &["--no-deps"])
    })?;
    steps.run("Python wheel", || environment.install_wheel())?;
    let (built, folders) = (Path::new("target/release"), ["interop", "python/tests", "tools"]);
    steps.run("Python tests, beside PyTorch", || environment.pytest(built, &folders))?;
    let program = "target/release/collegial";
    steps.run("counts of instructions", || instructions::instructions(program, false))?;
    steps.run("book", book::book)?;
    steps.run("explorer as WebAssembly", || site::site(Some(browser::ADDRESS)))?;
    steps.run("explorer in Chromium and Firefox", || browser::test(program))
}

/// The explorer's page alone.
pub fn in_browser() -> Result<(), Failed> {
    let mut steps = Steps::default();
    steps.run("build", || cargo(&["build", "--package", "collegial"]))?;
    steps.run("explorer as WebAssembly", || site::site(Some(browser::ADDRESS)))?;
    steps.run("explorer in Chromium and Firefox", || browser::test("target/debug/collegial"))
}

/// The tests of the wheel alone.
fn wheel(python: &Python) -> Result<(), Failed> {
    let environment = Environment::new(python, "venv", "python/tests/requirements.txt", &[])?;
    environment.install_wheel()?;
    let others = ["--ignore=python/tests/with_torch", "--ignore=python/tests/with_executors"];
    let arguments = [&["python/tests", "tools"], others.as_slice()].concat();
    environment.pytest(Path::new("target/debug"), &arguments)
}

/// Says plainly what a tier leaves out, and the tier that has it.
fn skips(tests: &str, tier: &str) {
    eprintln!("xtask: SKIPPED: {tests}; `cargo xtask {tier}` runs them");
}
