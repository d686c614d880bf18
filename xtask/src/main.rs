//! The project's chores, as `cargo xtask CHORE`: plain Rust, so that a fresh machine needs nothing but Cargo.

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask test    every test of the workspace, examples in the docs included";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["test"] => test(),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Unit, integration, snapshot and documentation tests.
fn test() -> ExitCode {
    cargo(&["test", "--workspace"])
}

fn cargo(arguments: &[&str]) -> ExitCode {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    match Command::new(program).args(arguments).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: cargo did not start: {error}");
            ExitCode::FAILURE
        }
    }
}
