//! The fuzz targets of `fuzz/`, run by libFuzzer under AddressSanitizer.
//!
//! `cargo fuzz run TARGET` does the same where cargo-fuzz and a nightly compiler are installed; the
//! flags here are those that it passes, and the installed compiler takes them when told to take
//! unstable ones.

use std::path::Path;
use std::process::Command;

use crate::{Failed, cargo_program, run};

/// What tells libFuzzer which code an input reached.
const COVERAGE: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
    "-Zsanitizer=address",
];

/// The one target that AddressSanitizer is sure to be there for; flags for it leave build scripts
/// alone.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// How long, and which.
pub struct Plan<'a> {
    seconds: u64,
    targets: Vec<&'a str>,
}

impl<'a> Plan<'a> {
    /// Of the words that follow `fuzz`.
    pub fn parse(words: &[&'a str]) -> Option<Self> {
        match *words {
            ["--seconds", seconds, ref targets @ ..] => {
                Some(Self { seconds: seconds.parse().ok()?, targets: targets.to_vec() })
            }
            ref targets if targets.iter().all(|word| !word.starts_with('-')) => {
                Some(Self { seconds: 60, targets: targets.to_vec() })
            }
            _ => None,
        }
    }
}

/// Runs targets one after the other, all of them unless some are named. New inputs go to
/// `target/fuzz/found`, findings to `target/fuzz/findings`.
pub fn fuzz(plan: &Plan) -> Result<(), Failed> {
    let build = ["build", "--release", "--bins", "--features=targets", "--target", TARGET];
    let place = ["--manifest-path=fuzz/Cargo.toml", "--target-dir=target/fuzz"];
    let mut command = Command::new(cargo_program());
    run(command.args(build).args(place).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", COVERAGE.join(" ")))?;
    for target in targets(plan)? {
        let found = format!("target/fuzz/found/{target}");
        let findings = format!("target/fuzz/findings/{target}-");
        for directory in [&found, "target/fuzz/findings"] {
            std::fs::create_dir_all(directory).map_err(|error| {
                eprintln!("xtask: {directory}: {error}");
                Failed
            })?;
        }
        let program = format!("target/fuzz/{TARGET}/release/{target}");
        let mut command = Command::new(program);
        command.args([&found, &format!("fuzz/corpus/{target}"), &format!("-artifact_prefix={findings}")]);
        command.arg(format!("-max_total_time={}", plan.seconds));
        command.args(["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", "-max_len=16384"]);
        // What lives as long as the process is no leak.
        run(command.env("ASAN_OPTIONS", "detect_leaks=0"))?;
    }
    Ok(())
}

/// Those named, or one per corpus.
fn targets(plan: &Plan) -> Result<Vec<String>, Failed> {
    if !plan.targets.is_empty() {
        return Ok(plan.targets.iter().map(|&target| target.to_owned()).collect());
    }
    let entries = std::fs::read_dir(Path::new("fuzz/corpus")).map_err(|error| {
        eprintln!("xtask: fuzz/corpus: {error}; run it where the sources are");
        Failed
    })?;
    let mut names: Vec<String> =
        entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}
