//! Answers and help have no line of more than 80 columns where the terminal has 80.

use std::path::Path;
use std::process::Command;

fn run(place: &Path, line: &str) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    program.current_dir(place).args(line.split_whitespace()).env("COLUMNS", "80").env("NO_COLOR", "1");
    let output = program.arg("--quiet").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{line}: {said}");
    let wide: Vec<&str> = stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "collegial {line}\n{}", wide.join("\n"));
}

#[test]
fn answers_fit_into_eighty_columns() {
    let place = tempfile::tempdir().unwrap();
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../research/published-tables");
    let table = tables.join("timm-imagenet-groups.csv");
    std::fs::copy(table, place.path().join("timm.csv")).unwrap();
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
        "search regnet_x_400mf",
        "search seresnet50",
        "search bottleneck-12 --check --draws 20",
        "search bottleneck-64 --paper",
        "search fc6-500 --alpha 1.6",
        "score timm.csv --target top1_error --group recipe --group blocks",
        "export fc3-8 --to onnx --out net.onnx",
    ] {
        run(place.path(), line);
    }
}

#[test]
fn help_fits_into_eighty_columns() {
    let verbs = "info moments ntk fit merge search score explore models train evaluate export reproduce validate sweep \
                 job gather status completions man";
    for verb in verbs.split_whitespace() {
        run(Path::new("."), &format!("{verb} --help"));
    }
    run(Path::new("."), "--help");
}
