//! The reference in `docs/reference` is what the program is today: its verbs and flags, and the
//! shape of what it prints with `--json`. So are the functions of the Python package.
//!
//! `UPDATE_REFERENCE=1 cargo test -p collegial --test reference` writes it anew.

mod schema;

use std::path::{Path, PathBuf};
use std::process::Command;

use collegial_experiments::synthetic;
use collegial_testing::{NETWORK, write_data};
use schema::Schema;
use serde_json::Value;

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// A file of the reference is this, or is made so where that is requested.
fn assert_is(name: &str, text: &str) {
    assert_file(&reference().join(name), text);
}

fn assert_file(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == text,
        "{} is not what the program is; \
         UPDATE_REFERENCE=1 cargo test -p collegial --test reference writes it anew",
        path.display()
    );
}

#[test]
fn verbs_and_flags() {
    let text = collegial::program::reference();
    assert_is("commands.md", &text);
    for section in text.split("\n## ").skip(2) {
        let verb = section.lines().next().unwrap_or_default();
        assert!(section.matches("\ncollegial ").count() >= 2, "{verb} has no example");
    }
}

/// Signatures and docstrings of the Python package are those of the options.
#[test]
fn functions_of_the_python_package() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/collegial/_functions.py");
    assert_file(&path, &collegial::program::python_functions());
}

/// The schemas of requests are those of the options, and none is left of a verb that went.
#[test]
fn requests_have_schemas() {
    let schemas = collegial::program::request_schemas();
    for (verb, schema) in &schemas {
        assert_is(&format!("schemas/requests/{verb}.json"), &pretty(schema));
    }
    assert_eq!(std::fs::read_dir(reference().join("schemas/requests")).unwrap().count(), schemas.len());
}

/// Verbs, and words whose answers have every form that the verb's JSON takes. The first row of each
/// makes the schema, later ones too; every answer must then keep to it.
const ASKED: [(&str, &[&str]); 22] = [
    ("info", &["info resnext29-37x10d", "info fc6-30x48", "info own.toml"]),
    ("models", &["models"]),
    ("moments", &["moments fc6-30x48", "moments --widths 784,48,48", "moments bottleneck-64"]),
    (
        "moments-transformer",
        &["moments llama-64x4x2x128 --draws 100", "moments layer.toml --draws 100", "moments attention.toml"],
    ),
    ("ntk", &["ntk fc3-20 --count 2"]),
    (
        "ntk-tiles",
        &[
            "ntk fc3-20 --count 2 --out kernel.npy",
            "ntk fc3-20 --count 2 --diagonal",
            "ntk fc3-20 --count 2 --inputs 3 --full",
        ],
    ),
    ("ntk-regress", &["ntk small.toml --data data --count 40 --test-count 20 --regress"]),
    ("ntk-draws", &["ntk fc3-20 --draws 4", "ntk bottleneck-8 --draws 4 --norm frozen"]),
    ("fit", &["fit bottleneck-64 --widths 4,16,64", "fit bottleneck-64 --widths 4,16,64 --trials 50"]),
    (
        "search",
        &[
            "search resnext29-1x128d",
            "search resnet50",
            "search fc6-500",
            "search resnext29-1x16d --per-stage --check --draws 20 --image 8",
            "search resnext50-32x4d --multiple-of 8 --cost flops --block-inputs white",
            "search fc3-100 --timings times.csv",
            "search fc3-20 --cost time --widths 4,10",
            "search mine.toml --per-stage",
        ],
    ),
    (
        "search-paper",
        &[
            "search fc6-500 --alpha 3.03",
            "search resnext29-1x128d --paper --trials 50 --per-stage",
            "search fc6-500 --free-widths",
        ],
    ),
    ("search-verdicts", &["search llama-64x4x2x128", "search attention.toml", "search gated.toml"]),
    ("score", &["score table.csv --target error"]),
    ("evaluate", &["evaluate run --data data"]),
    ("export", &["export fc3-20 --to onnx --out small.onnx"]),
    ("validate", &["validate fc3-24 --data digits --designs 3 --runs 2 --epochs 1 --dual --out out"]),
    ("reproduce", &["reproduce table1 --scale smoke"]),
    ("sweep", &["sweep fc3-8 --data digits --runs 2 --epochs 1 --out swept"]),
    ("plan", &["sweep fc3-8 --data digits --runs 2 --epochs 1 --plan plan"]),
    ("job", &["job plan 0", "job plan 0"]),
    ("status", &["status plan"]),
    ("gather", &["gather plan"]),
];

/// Places whose content depends on the question: the columns of a table, what an item of the paper
/// found, what jobs come to.
const OPEN: [(&str, &str); 5] = [
    ("status", "/properties/remaining_seconds"),
    ("gather", "/properties/status/properties/remaining_seconds"),
    ("gather", "/properties/answer"),
    ("score", "/properties/rows/items/additionalProperties"),
    ("reproduce", "/properties/items/items/properties/data"),
];

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

fn opened(name: &str, found: &Schema) -> Value {
    let mut document = found.to_json(&format!("collegial {name} --json"));
    for (_, place) in OPEN.iter().filter(|(of, _)| *of == name) {
        *document.pointer_mut(place).unwrap() = true.into();
    }
    document
}

fn answer(words: &str, place: &Path) -> Value {
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    let output = program.args(words.split(' ')).arg("--json").current_dir(place).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // 1 is the answer "no", which is one.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words}: {said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words}: {error}"))
}

#[test]
fn answers_keep_to_their_schemas() {
    let place = tempfile::tempdir().unwrap();
    prepare(place.path());
    for (name, asked) in ASKED {
        let answers: Vec<Value> = asked.iter().map(|words| answer(words, place.path())).collect();
        let found = answers.iter().map(Schema::of).reduce(Schema::or).unwrap();
        assert_is(&format!("schemas/{name}.json"), &pretty(&opened(name, &found)));
        let text = std::fs::read_to_string(reference().join(format!("schemas/{name}.json"))).unwrap();
        let written: Value = serde_json::from_str(&text).unwrap();
        for (words, answer) in asked.iter().zip(&answers) {
            if let Err(wrong) = schema::check(&written, answer) {
                panic!("{words}: {wrong}");
            }
        }
    }
    train_prints_lines_of_one_schema(place.path());
}

/// `train` prints one document per epoch and a last one.
fn train_prints_lines_of_one_schema(place: &Path) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    let words = "train small.toml --data data --epochs 2 --out again --quiet --json";
    let output = program.args(words.split(' ')).current_dir(place).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, epochs) = lines.split_last().unwrap();
    let epoch = epochs.iter().map(Schema::of).reduce(Schema::or).unwrap();
    assert_is(
        "schemas/train-epoch.json",
        &pretty(&epoch.to_json("collegial train --json, a line per epoch")),
    );
    assert_is(
        "schemas/train-end.json",
        &pretty(&Schema::of(last).to_json("collegial train --json, the last line")),
    );
}

/// What the commands above find in their directory.
fn prepare(place: &Path) {
    write_data(&place.join("data"), 60, 20);
    synthetic::write_digits(&place.join("digits"), 100, 50, 1).unwrap();
    std::fs::write(place.join("small.toml"), NETWORK).unwrap();
    let mine = "kind = \"resnext\"\nstem = \"small\"\nblocks = [1, 1]\ndesign = \"1x16d\"\nclasses = 10\nimage = 8\n\
                stem_channels = 8\noutputs = 32\n";
    std::fs::write(place.join("mine.toml"), mine).unwrap();
    std::fs::write(place.join("own.toml"), "kind = \"bottleneck\"\ninputs = 64\noutputs = 64\nwidth = 16\n")
        .unwrap();
    let attention = "kind = \"attention\"\ninputs = 64\nheads = 4\nwidth = 16\ntokens = 8\n";
    std::fs::write(place.join("attention.toml"), attention).unwrap();
    let layer = "kind = \"feed-forward\"\ninputs = 16\nwidths = [8, 8]\n";
    std::fs::write(place.join("layer.toml"), layer).unwrap();
    let gated = "kind = \"feed-forward\"\ninputs = 16\nwidths = [32]\ngated = true\n";
    std::fs::write(place.join("gated.toml"), gated).unwrap();
    std::fs::write(place.join("times.csv"), "model,seconds\nfc3-100,0.01\nfc3-4x40,0.008\nfc3-8x20,0.007\n")
        .unwrap();
    let table = "model,error\nresnext29-1x64d,5.1\nresnext29-2x64d,4.9\nresnext29-8x16d,4.8\nresnext29-4x16d,5.3\nresnext29-4x20d,\n\
         resnext29-4x24d,5.0\nresnext29-4x28d,4.9\nresnext29-4x32d,4.7\n";
    std::fs::write(place.join("table.csv"), table).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    let words = "train small.toml --data data --epochs 1 --out run --quiet";
    let output = program.args(words.split(' ')).current_dir(place).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A schema refuses what does not fit: a missing key, one that it does not know, another type.
#[test]
fn a_schema_refuses_what_does_not_fit() {
    let one =
        serde_json::json!({"width": 3, "ci": [0.5, 1], "note": null, "rows": [{"a": 1}, {"a": 2, "b": "x"}]});
    let two = serde_json::json!({"width": 4, "ci": [], "note": "said", "rows": []});
    let schema = Schema::of(&one).or(Schema::of(&two)).to_json("made up");
    for fitting in [&one, &two] {
        assert_eq!(schema::check(&schema, fitting), Ok(()));
    }
    for (wrong, said) in [
        (serde_json::json!({"ci": [], "note": null, "rows": []}), "width"),
        (serde_json::json!({"width": "3", "ci": [], "note": null, "rows": []}), "width"),
        (serde_json::json!({"width": 3.5, "ci": [], "note": null, "rows": []}), "width"),
        (serde_json::json!({"width": 3, "ci": [], "note": null, "rows": [], "new": 1}), "new"),
        (serde_json::json!({"width": 3, "ci": [], "note": null, "rows": [{"b": "x"}]}), "rows[0].a"),
    ] {
        let error = schema::check(&schema, &wrong).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
