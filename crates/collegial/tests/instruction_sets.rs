//! What promises the same bits on every CPU has them with plain, AVX2 and AVX-512 instructions;
//! training has them with one of these.
//!
//! Everything drawn by the law sampler or computed exactly promises them: `fit`, `moments`,
//! `search` with fitted, drawn and exact variances, draws of weights (`export` of a name). Passes
//! through the engine use fused multiply-adds where there are any, and do not: `train`, `evaluate`,
//! `ntk`. A CPU without a set takes the next smaller one, so that the comparison holds on any
//! machine.

use std::path::Path;
use std::process::Command;

const SETS: [&str; 3] = ["portable", "avx2", "avx512"];

fn run(directory: &Path, line: &str, set: &str) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
    command.current_dir(directory).args(line.split(' ')).args(["--quiet", "--threads", "2"]);
    let output = command.env("COLLEGIAL_INSTRUCTIONS", set).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A JSON document without how long it took.
fn document(bytes: &[u8]) -> serde_json::Value {
    let mut document: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    document.as_object_mut().unwrap().remove("seconds");
    document
}

#[test]
fn results_that_promise_the_same_bits_have_them_with_every_instruction_set() {
    let root = tempfile::tempdir().unwrap();
    collegial_testing::write_data(&root.path().join("data"), 40, 20);
    for line in [
        "fit bottleneck-16 --trials 500 --widths 1,7,16",
        "fit bottleneck-8 --trials 60 --widths 1,3,8 --image 7 --pooled",
        "fit fc4-20 --trials 300 --widths 1,7,20",
        "fit bottleneck-128",
        "moments bottleneck-3x10d",
        "moments fc4-20",
        "search resnext29-1x16d",
        "search resnext29-1x16d --variance measured --trials 50",
        "search fc4-40 --paper --trials 100",
        "search resnext29-1x8d --cost flops",
    ] {
        let [portable, avx2, avx512] =
            SETS.map(|set| document(&run(root.path(), &format!("{line} --json"), set)));
        assert_eq!(portable, avx2, "{line}");
        assert_eq!(portable, avx512, "{line}");
    }
    let [portable, avx2, avx512] = SETS.map(|set| {
        run(
            root.path(),
            &format!("export resnext29-2x4d --seed 3 --to safetensors --out {set}.safetensors"),
            set,
        );
        std::fs::read(root.path().join(format!("{set}.safetensors"))).unwrap()
    });
    assert!(portable == avx2 && portable == avx512, "weights drawn from a seed");
}

#[test]
fn training_has_the_same_bits_per_instruction_set() {
    let root = tempfile::tempdir().unwrap();
    collegial_testing::write_data(&root.path().join("data"), 100, 20);
    std::fs::write(root.path().join("small.toml"), collegial_testing::NETWORK).unwrap();
    let trained = |set: &str, out: &str| {
        let line = "train small.toml --data data --epochs 2 --set batch=10 --json --out";
        let lines = String::from_utf8(run(root.path(), &format!("{line} {out}"), set)).unwrap();
        let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        std::fs::read(root.path().join(last["checkpoint"].as_str().unwrap())).unwrap()
    };
    let [_, avx2, avx512] = SETS.map(|set| {
        let weights = trained(set, &format!("{set}-1"));
        assert!(weights == trained(set, &format!("{set}-2")), "{set}");
        weights
    });
    // So that a plan need not tell them apart.
    assert!(avx2 == avx512);
}
