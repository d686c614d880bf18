//! The engine's `unsafe` blocks under Miri.
//!
//! Miri interprets a program, and stops where memory is touched that is not the pointer's, where
//! threads race and where a value is not initialised. It takes a thousand times as long as the CPU, so
//! that it runs the smallest tests only. Flags of the compiler give the interpreted CPU its instruction
//! sets; kernels are tested on all of them, and networks on the one of `COLLEGIAL_INSTRUCTIONS`.

use std::process::Command;
use std::time::Instant;

use crate::{Failed, run};

/// What to say where Miri is not installed.
pub const MISSING: &str =
    "Miri is not installed: `rustup toolchain install nightly --component miri,rust-src` installs it";

/// Aliasing is judged by Tree Borrows. Threads of rayon's pools outlive the tests, which counts as a
/// leak, and a crate below rayon keeps flags in pointers. Miri takes minutes to print a backtrace.
const FLAGS: &str = "-Zmiri-tree-borrows -Zmiri-disable-isolation -Zmiri-ignore-leaks \
                     -Zmiri-permissive-provenance -Zmiri-env-set=RUST_BACKTRACE=0";

/// The tests, by parts of their names.
const TESTS: [&str; 6] =
    ["smallest", "thread_team::", "nontemporal", "transposed", "sums_of_odd", "vectors_have_the_bits"];

/// Files of tests.
const ALL: [&str; 7] = ["--lib", "--test", "conv", "--test", "winograd", "--test", "reproducible"];
const KERNELS: [&str; 1] = ["--lib"];
const NETWORKS: [&str; 2] = ["--test", "reproducible"];

const X86: &str = "x86_64-unknown-linux-gnu";
const ARM: &str = "aarch64-unknown-linux-gnu";
const WIDE: &str = "-Ctarget-feature=+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl";

/// Target, flags of the compiler, instruction set of networks, and files of tests.
const PASSES: [(&str, &str, &str, &[&str]); 4] = [
    (X86, WIDE, "avx512", &ALL),
    (X86, WIDE, "avx2", &NETWORKS),
    (X86, WIDE, "portable", &NETWORKS),
    (ARM, "", "avx512", &KERNELS),
];

/// Whether the nightly toolchain has Miri, and the sources of the standard library for it.
pub fn is_installed() -> bool {
    let mut list = Command::new("rustup");
    list.args(["component", "list", "--toolchain", "nightly", "--installed"]);
    list.output().is_ok_and(|found| {
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        ["miri", "rust-src"].iter().all(|part| found.lines().any(|name| name.starts_with(part)))
    })
}

/// Runs all passes.
pub fn miri() -> Result<(), Failed> {
    for (target, features, instructions, files) in PASSES {
        let start = Instant::now();
        eprintln!("xtask: Miri, {target}, networks with COLLEGIAL_INSTRUCTIONS={instructions} ...");
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo", "miri", "test", "--package", "collegial-nn"]);
        command.args(["--target", target]).args(files).arg("--").args(TESTS);
        // A test sees the variables with which it was built, but for these.
        let set = format!("{FLAGS} -Zmiri-env-set=COLLEGIAL_INSTRUCTIONS={instructions}");
        run(command.env("MIRIFLAGS", set).env("RUSTFLAGS", features))?;
        eprintln!("xtask: Miri took {} s", start.elapsed().as_secs());
    }
    Ok(())
}
