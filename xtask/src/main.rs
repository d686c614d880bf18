//! The project's chores, as `cargo xtask CHORE`: plain Rust, so that a fresh machine needs nothing
//! but Cargo.
//!
//! Tests come in three tiers ([`mod@test`]): `test --fast`, `test` and `test --all`.

mod avx512;
mod book;
mod browser;
mod emulated;
mod fuzz;
mod instructions;
mod miri;
mod python;
mod sbom;
mod site;
mod steps;
mod test;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask test --fast     the Rust tests without the slow ones: under five minutes once built
       cargo xtask test            every Rust test, examples in the docs included, then those of the Python wheel
       cargo xtask test --all      the same and the tests beside PyTorch, timm and ONNX Runtime, which it installs (1.5 GB),
                                   of the explorer in Chromium and Firefox, driven by Node.js, of aarch64 under QEMU and of
                                   instructions under Valgrind; fails where a program is missing
       cargo xtask test --browser  the explorer in Chromium and Firefox alone, with a server and without
       cargo xtask site [--url BASE]
                                   the explorer without a server, in target/site: the page, and the program as WebAssembly;
                                   BASE is where it will be served, which the picture of links to it needs
       cargo xtask book            the book, in target/book, by mdBook, which it installs; fails on dead links
       cargo xtask sbom            software bills of materials (CycloneDX) of the program and the wheel, in target/sbom
       cargo xtask instructions [--record]
                                   instructions of eleven small workloads under Valgrind; fails where one has grown by over 5 %
       cargo xtask fuzz [--seconds 60] [TARGET...]
                                   every reader under libFuzzer and AddressSanitizer, so many seconds each
       cargo xtask miri            the engine's unsafe blocks under Miri, on the smallest shapes: a quarter of an hour";

/// A chore that did not succeed has said why.
pub struct Failed;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["test", "--fast"] => test::fast(),
        ["test"] => test::usual(),
        ["test", "--all"] => test::all(),
        ["test", "--browser"] => test::in_browser(),
        ["site"] => site::site(None),
        ["site", "--url", url] => site::site(Some(url)),
        ["book"] => book::book(),
        ["sbom"] => sbom::sbom(),
        ["instructions"] => count_instructions(false),
        ["instructions", "--record"] => count_instructions(true),
        ["fuzz", ref rest @ ..] => match fuzz::Plan::parse(rest) {
            Some(plan) => fuzz::fuzz(&plan),
            None => return usage(),
        },
        ["miri"] if !miri::is_installed() => {
            eprintln!("xtask: {}", miri::MISSING);
            return ExitCode::from(2);
        }
        ["miri"] => miri::miri(),
        _ => return usage(),
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The counts of instructions alone.
fn count_instructions(record: bool) -> Result<(), Failed> {
    cargo(&["build", "--release", "--package", "collegial"])?;
    instructions::instructions("target/release/collegial", record)
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
