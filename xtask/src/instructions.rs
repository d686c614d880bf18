//! Instructions that small, fixed workloads take, counted by Valgrind.
//!
//! Seconds on a shared machine say little; a count of instructions is the same to a few tenths of a
//! per cent whatever else runs. It sees an algorithm that does more than it did, not caches or
//! memory. Valgrind has no AVX-512, so that it is the AVX2 kernels that are counted; `avx512.rs`
//! watches the others.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failed, avx512};

/// What each workload took when it was last recorded.
const RECORDED: &str = "xtask/instructions.txt";

/// How much more than recorded is too much.
const TOLERANCE: f64 = 0.05;

/// Each workload is a command line of the program, run where [`prepare`] has put what it reads.
const WORKLOADS: [(&str, &str); 11] = [
    ("counts", "info resnext50-32x4d"),
    ("search", "search resnext29-1x128d"),
    ("search by the law", "search resnext29-1x128d --alpha 1.6"),
    ("exact moments", "moments bottleneck-128"),
    ("sampled kernels", "fit bottleneck-16 --trials 100 --widths 1,4,16"),
    ("kernel of an MLP", "ntk fc4-100 --count 8"),
    ("kernel of a small ResNeXt", "ntk small.toml --count 2"),
    ("score of a table", "score designs.csv --target error"),
    ("training", "train fc3-4x8 --data mnist --epochs 1 --out run"),
    ("export", "export resnext29-2x4d --to onnx --out network.onnx"),
    ("inference", "evaluate network.onnx --data few-images"),
];

/// Counts all workloads, and compares them with what was recorded or records them.
pub fn instructions(program: &str, record: bool) -> Result<(), Failed> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err(failed("counting instructions needs Valgrind"));
    }
    let program = fs::canonicalize(program).map_err(|error| failed(&format!("{program}: {error}")))?;
    let place = PathBuf::from("target/instructions");
    let counted = prepare(&place)
        .map_err(|error| failed(&format!("cannot prepare {}: {error}", place.display())))
        .and_then(|()| {
            WORKLOADS.iter().map(|(_, words)| count(&program, words, &place)).collect::<Result<Vec<_>, _>>()
        })?;
    let ratio = avx512::ratio(&program, &place)?;
    if record {
        let mut lines = String::from(
            "# Instructions of each workload of xtask/src/instructions.rs; `cargo xtask instructions --record`.\n",
        );
        for ((name, _), count) in WORKLOADS.iter().zip(&counted) {
            let _ = writeln!(lines, "{count}\t{name}");
        }
        if let Some(ratio) = ratio.or_else(|| recorded(&record_text().ok()?, avx512::NAME)) {
            let _ = writeln!(lines, "{ratio}\t{}", avx512::NAME);
        }
        return fs::write(RECORDED, lines)
            .map_err(|error| failed(&format!("cannot write {RECORDED}: {error}")));
    }
    let text = record_text()?;
    compare(&counted, &text)?;
    match (ratio, recorded(&text, avx512::NAME)) {
        (Some(now), Some(before)) => avx512::compare(now, before),
        _ => Ok(()),
    }
}

fn record_text() -> Result<String, Failed> {
    fs::read_to_string(RECORDED).map_err(|error| failed(&format!("cannot read {RECORDED}: {error}")))
}

/// What was recorded under a name.
fn recorded(text: &str, name: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines.filter(|(_, of)| *of == name).find_map(|(count, _)| count.parse().ok())
}

/// Says how each count stands to its record; fails where one has grown.
fn compare(counted: &[u64], text: &str) -> Result<(), Failed> {
    let mut grown = false;
    for ((name, _), &now) in WORKLOADS.iter().zip(counted) {
        let before =
            recorded(text, name).ok_or_else(|| failed(&format!("{RECORDED} does not have \"{name}\"")))?;
        let ratio = now as f64 / before as f64;
        let verdict = if ratio > 1.0 + TOLERANCE { "  more than recorded" } else { "" };
        eprintln!("{now:>14} instructions, {:>6.1} % of the record  {name}{verdict}", 100.0 * ratio);
        grown |= ratio > 1.0 + TOLERANCE;
    }
    if grown {
        Err(failed(
            "a workload takes over 5 % more instructions; if that is meant: cargo xtask instructions --record",
        ))
    } else {
        Ok(())
    }
}

/// Instructions of one command line.
fn count(program: &Path, words: &str, place: &Path) -> Result<u64, Failed> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(words.split(' '))
        .args(["--threads", "1", "--quiet"])
        .current_dir(place)
        .output()
        .map_err(|error| failed(&format!("valgrind did not start: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let refs = said.lines().find_map(|line| line.split_once("refs:"));
    match refs.and_then(|(_, count)| count.trim().replace(',', "").parse().ok()) {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(failed(&format!("`collegial {words}` did not end well under Valgrind:\n{said}"))),
    }
}

/// An empty folder with a spec, a table of designs and data sets in MNIST's and CIFAR's formats.
fn prepare(place: &Path) -> std::io::Result<()> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place.join("mnist"))?;
    let spec = "kind = \"resnext\"\nstem = \"small\"\nblocks = [1, 1]\ndesign = \"2x4d\"\nclasses = 10\nimage = 8\nstem_channels = 8\noutputs = 32\n";
    fs::write(place.join("small.toml"), spec)?;
    let rows = ["1x128d,1", "3x64d,0.9", "37x10d,0.6", "10x10d,1.2", "8x12d,1.1", "2x64d,0.95"];
    let table: String = rows.iter().map(|row| format!("resnext29-{row}\n")).collect();
    fs::write(place.join("designs.csv"), format!("model,error\n{table}"))?;
    images(&place.join("few-images"), 2)?;
    images(&place.join("images"), 16)?;
    for (part, images) in [("train", 256_u32), ("t10k", 64)] {
        let pixels = (0..images * 784).map(|i| (i.wrapping_mul(7919) % 251) as u8);
        let header = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let images_file = header(&[0x803, images, 28, 28]).into_iter().chain(pixels).collect::<Vec<u8>>();
        fs::write(place.join(format!("mnist/{part}-images-idx3-ubyte")), images_file)?;
        let labels = header(&[0x801, images]).into_iter().chain((0..images).map(|i| (i % 10) as u8));
        fs::write(place.join(format!("mnist/{part}-labels-idx1-ubyte")), labels.collect::<Vec<u8>>())?;
    }
    Ok(())
}

/// A data set in CIFAR's format with so many images in each file.
fn images(place: &Path, count: u32) -> std::io::Result<()> {
    fs::create_dir_all(place)?;
    let names = (1..=5).map(|batch| format!("data_batch_{batch}.bin")).chain(["test_batch.bin".into()]);
    for (file, name) in (0_u32..).zip(names) {
        let pixel = |image: u32, at: u32| ((file * 977 + image * 7919 + at * at * 31) % 251) as u8;
        let one =
            |image: u32| std::iter::once((image % 10) as u8).chain((0..3072).map(move |at| pixel(image, at)));
        fs::write(place.join(name), (0..count).flat_map(one).collect::<Vec<u8>>())?;
    }
    Ok(())
}

pub fn failed(why: &str) -> Failed {
    eprintln!("xtask: {why}");
    Failed
}
