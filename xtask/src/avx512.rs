//! What AVX-512 gains over AVX2: CPU time of the same inference with either.
//!
//! Valgrind has no AVX-512, so that its counts do not see these kernels. A ratio of two kernels of
//! our own, run in turn, depends far less on the machine and its load than seconds do.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Failed, instructions::failed};

/// The name of the ratio in the record.
pub const NAME: &str = "CPU time of inference with AVX-512, per mille of that with AVX2";

/// Runs with either instruction set, in turn.
const RUNS: usize = 7;

/// By how much more than recorded the ratio may be. On a busy machine it varies by some 5 %.
const TOLERANCE: f64 = 0.15;

/// A pass of 1x1 and 3x3 convolutions of 64 to 256 channels; the files are made by `prepare`.
const WORDS: [&str; 7] = ["evaluate", "wide.safetensors", "--data", "images", "--threads", "1", "--quiet"];

/// The ratio in per mille; `None`, with a sentence, on a CPU that has no AVX-512.
pub fn ratio(program: &Path, place: &Path) -> Result<Option<u64>, Failed> {
    if !has_avx512() {
        eprintln!("AVX-512 is not watched: this CPU does not have it, or its system does not say so");
        return Ok(None);
    }
    let export = ["export", "resnext29-1x64d", "--to", "safetensors", "--out", "wide.safetensors"];
    run(program, place, &export, "avx2")?;
    let mut times = [0.0; 2];
    for _ in 0..RUNS {
        for (time, set) in times.iter_mut().zip(["avx2", "avx512"]) {
            let before = time_of_children()?;
            run(program, place, &WORDS, set)?;
            *time += time_of_children()? - before;
        }
    }
    Ok(Some((1000.0 * times[1] / times[0]).round() as u64))
}

/// Says how the ratio stands to its record; fails where AVX-512 gains clearly less.
pub fn compare(now: u64, recorded: u64) -> Result<(), Failed> {
    eprintln!("{now:>14} per mille, {recorded} recorded                   {NAME}");
    if now as f64 > recorded as f64 * (1.0 + TOLERANCE) {
        return Err(failed(
            "AVX-512 gains over 15 % less than recorded; if that is meant: cargo xtask instructions --record",
        ));
    }
    Ok(())
}

fn has_avx512() -> bool {
    let flags = ["avx512f", "avx512bw", "avx512dq", "avx512vl"];
    fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| flags.iter().all(|flag| text.contains(flag)))
}

fn run(program: &Path, place: &Path, words: &[&str], set: &str) -> Result<(), Failed> {
    let status = Command::new(program)
        .args(words)
        .env("COLLEGIAL_INSTRUCTIONS", set)
        .current_dir(place)
        .stdout(Stdio::null())
        .status()
        .map_err(|error| failed(&format!("{} did not start: {error}", program.display())))?;
    match status.success() {
        true => Ok(()),
        false => Err(failed(&format!("`collegial {}` failed with {set}", words.join(" ")))),
    }
}

/// The CPU time of all ended children, in ticks: fields 16 and 17 of Linux's `stat`, the third of
/// which is the first behind the name in brackets.
fn time_of_children() -> Result<f64, Failed> {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    match ticks[..] {
        [user, system] => Ok(user + system),
        _ => Err(failed("cannot read the CPU time of children from /proc/self/stat")),
    }
}
