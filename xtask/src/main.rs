//! The project's chores, as `cargo xtask CHORE`: plain Rust, so that a fresh machine needs nothing but Cargo. The tests of the
//! Python wheel run where there is a Python, and say so where there is none.

mod python;

use std::path::Path;
use std::process::{Command, ExitCode};

use python::{Environment, Python};

const USAGE: &str = "\
usage: cargo xtask test            every test of the workspace, examples in the docs included, then those of the Python wheel
       cargo xtask test-interop    the tests beside PyTorch, timm and ONNX Runtime, which it installs (1.5 GB)";

/// A chore that did not succeed has said why.
pub struct Failed;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["test"] => test(),
        ["test-interop"] => test_interop(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Unit, integration, snapshot and documentation tests; then the wheel's.
fn test() -> Result<(), Failed> {
    cargo(&["test", "--workspace"])?;
    let Some(python) = Python::find() else {
        eprintln!(
            "xtask: the tests of the Python wheel were NOT run: no Python of at least 3.10 was found; install one, or name it with \
             PYTHON=/path/to/python3"
        );
        return Ok(());
    };
    let environment = Environment::new(&python, "venv", "python/tests/requirements.txt", &[])?;
    environment.install_wheel()?;
    let binary = "target/debug/collegial";
    environment.pytest(binary, &["python/tests", "--ignore=python/tests/with_torch"])
}

/// Everything that needs other people's engines.
fn test_interop() -> Result<(), Failed> {
    let Some(python) = Python::find() else {
        eprintln!(
            "xtask: no Python of at least 3.10 was found; install one, or name it with PYTHON=/path/to/python3"
        );
        return Err(Failed);
    };
    // Both at once, so that the wheel shares what they depend on: alone, each would have its own choice of features.
    cargo(&["build", "--release", "--package", "collegial", "--package", "collegial-python"])?;
    // The pins are complete, and PyTorch's own requirements name libraries that a CPU does not need.
    let environment = Environment::new(&python, "venv-interop", "interop/requirements.txt", &["--no-deps"])?;
    environment.install_wheel()?;
    environment.pytest("target/release/collegial", &["interop", "python/tests"])
}

fn cargo(arguments: &[&str]) -> Result<(), Failed> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(program).args(arguments))
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
