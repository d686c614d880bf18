//! The kernels of another architecture, under emulation.
//!
//! NEON is not on the machines that most of us build on. The kernels' tests are compiled for it and
//! emulated; this needs Rust's standard library for aarch64, a linker and QEMU.

use std::process::{Command, Stdio};

use crate::{Failed, cargo_program, run};

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";

/// Runs the unit tests of the engine and its convolutions against their slow reference: emulation
/// is slow, and the rest of the engine is above the kernels.
pub fn test() -> Result<(), Failed> {
    if let Some(missing) = missing() {
        eprintln!("xtask: emulating the kernels of aarch64 needs {missing}");
        return Err(Failed);
    }
    run(Command::new(cargo_program())
        .args(["test", "--package", "collegial-nn", "--target", TARGET])
        .args(["--lib", "--test", "conv", "--test", "winograd"])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{EMULATOR} -L /usr/aarch64-linux-gnu"),
        ))
}

/// What is not installed.
fn missing() -> Option<String> {
    if let Some(program) = [LINKER, EMULATOR].into_iter().find(|program| !starts(program)) {
        return Some(program.to_owned());
    }
    let installed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let there = installed
        .is_ok_and(|found| std::path::Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_dir());
    (!there).then(|| format!("`rustup target add {TARGET}`"))
}

fn starts(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
