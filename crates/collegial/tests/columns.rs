//! Answers and help have no line of more than 80 columns. Sentences on stderr are one line where no
//! terminal reads them; `python/tests/test_program.py` reads them from one.

use std::path::Path;
use std::process::Command;

use collegial_testing::{NETWORK, write_data};

/// Runs a command that ends with one of these codes.
fn run(place: &Path, line: &str, codes: &[i32]) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    // Help is as wide as COLUMNS says.
    let output =
        program.current_dir(place).args(line.split_whitespace()).env("COLUMNS", "80").output().unwrap();
    let [printed, said] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(codes.contains(&output.status.code().unwrap()), "{line}: {said}");
    let bad = |line: &&str| line.chars().count() > 80 || line.trim_start().starts_with('%');
    let bad: Vec<&str> = printed.lines().filter(bad).collect();
    assert!(bad.is_empty(), "collegial {line}\n{}", bad.join("\n"));
}

#[test]
fn answers_fit_into_eighty_columns() {
    let place = tempfile::tempdir().unwrap();
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../research/published-tables");
    let table = tables.join("timm-imagenet-groups.csv");
    std::fs::copy(table, place.path().join("timm.csv")).unwrap();
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/specs");
    for name in ["mbconv.toml", "bottleneck-two-widths.toml"] {
        std::fs::copy(specs.join(name), place.path().join(name)).unwrap();
    }
    std::fs::write(place.path().join("small.toml"), NETWORK).unwrap();
    let times = "model,seconds\nresnext29-1x128d,0.412\n66x6d,0.671\n47x8d,0.4\n20x16d,0.39\n";
    std::fs::write(place.path().join("times.csv"), times).unwrap();
    write_data(&place.path().join("data"), 60, 20);
    for line in [
        "info resnext29-37x10d",
        "info regnet_y_400mf",
        "info resnet50 --depth 1 --macs",
        "models",
        "moments fc6-30x48",
        "moments bottleneck-8",
        "ntk fc3-20 --count 3",
        "ntk fc3-20 --draws 20",
        "fit bottleneck-16 --widths 2,4,8,16 --trials 500",
        "fit fc6-500 --widths 4,8,16",
        "search resnet50",
        "search resnet50 --per-stage",
        "search resnext29-1x128d --cost time --timings times.csv",
        "search regnet_x_400mf",
        "search seresnet50",
        "search bottleneck-12 --check --draws 20",
        "search bottleneck-64 --paper",
        "search fc6-500 --alpha 1.6",
        "score timm.csv --target top1_error --group recipe --group blocks",
        "export fc3-8 --to onnx --out net.onnx",
        "search mbconv.toml",
        "search bottleneck-two-widths.toml --free-widths",
        "reproduce fig2 --scale smoke",
        "reproduce network --scale smoke",
        "reproduce table2 --scale smoke",
        "reproduce group-widths --scale smoke",
        "train small.toml --data data --epochs 1 --out run",
        "evaluate run --data data",
        "train small.toml --data data --epochs 1 --runs 2 --out runs",
        "sweep small.toml --data data --epochs 1 --runs 1 --out sweep",
        "validate fc3-8 --data data --designs 3 --runs 2 --epochs 1 --limit 20",
    ] {
        run(place.path(), line, &[0, 1]);
    }
}

#[test]
fn help_fits_into_eighty_columns() {
    let verbs = "info moments ntk fit merge search score explore models train evaluate export reproduce validate sweep \
                 job gather status completions man";
    for verb in verbs.split_whitespace() {
        run(Path::new("."), &format!("{verb} --help"), &[0]);
    }
    run(Path::new("."), "--help", &[0]);
}
