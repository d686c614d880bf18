//! `collegial score` from the outside.

use std::path::Path;
use std::process::{Command, Output};

fn score(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
    command.arg("score").args(arguments).current_dir(directory).output().unwrap()
}

const TABLE: &str = "recipe,model,left_out,error\n\
    a,resnext29-1x128d,,4.08\na,resnext29-3x64d,,3.96\na,resnext29-37x10d,,3.82\na,resnext29-101x10d,,3.65\n\
    a,resnext29-10x10d,,4.21\na,resnext29-10x10d,the same again,4.30\nb,resnet18,,9.0\n";

#[test]
fn a_table_gets_scores_correlations_and_a_page() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("table.csv"), TABLE).unwrap();
    let asked = ["table.csv", "--target", "error", "--group", "recipe"];
    let json = score(
        root.path(),
        &[&asked[..], &["--json", "--report", "page.html", "--figures", "figures"]].concat(),
    );
    assert!(json.status.success(), "{}", String::from_utf8_lossy(&json.stderr));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 5);
    assert_eq!(json["refused"][0]["reason"], "left out: the same again");
    assert_eq!(json["refused"][1]["model"], "resnet18");
    let found = &json["correlations"][0];
    assert_eq!(
        (&found["predictor"], &found["group"], &found["rows"]),
        (&"score".into(), &"a".into(), &5.into())
    );
    // The paper's errors follow the score without exception here.
    assert_eq!(found["spearman"], 1.0);
    let page = std::fs::read_to_string(root.path().join("page.html")).unwrap();
    assert!(page.contains("Scores of table.csv") && page.contains("the same again") && page.contains("<svg"));
    assert!(
        root.path().join("figures/score.svg").is_file() && root.path().join("figures/score.csv").is_file()
    );
    let text = score(root.path(), &asked);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("a: error, 5 designs") && text.contains("row 7: "), "{text}");
    assert!(
        text.lines().filter(|line| !line.starts_with("row")).all(|line| line.chars().count() <= 130),
        "{text}"
    );
}

/// A column without a single error ranks nothing; without a target, what was computed comes first.
#[test]
fn a_column_of_errors_has_errors() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("table.csv"), "note,model,error\nx,fc6-50,\ny,fc6-60,unknown\n").unwrap();
    let refused = score(root.path(), &["table.csv", "--target", "error"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("no row of table.csv that is scored (2) has an error"), "{said}");
    assert!(said.contains("--target error; row 1: ") && said.trim_end().lines().count() == 1, "{said}");
    let text = String::from_utf8(score(root.path(), &["table.csv"]).stdout).unwrap();
    let place = |heading: &str| text.find(heading).unwrap();
    assert!(place("score") < place("error") && place("error") < place("note"), "{text}");
}

/// By the weights that people train, fully connected networks included.
#[test]
fn either_parametrisation() {
    let root = tempfile::tempdir().unwrap();
    let designs = "model\nfc6-1x200\nfc6-78x5\nresnext29-37x10d\n";
    std::fs::write(root.path().join("table.csv"), designs).unwrap();
    let of = |words: &[&str]| -> serde_json::Value {
        let output = score(root.path(), &[&["table.csv", "--json"], words].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (usual, standard) = (of(&[]), of(&["--parametrisation", "standard"]));
    assert_eq!(
        (&usual["parametrisation"], &standard["parametrisation"]),
        (&"ntk".into(), &"standard".into())
    );
    let scores = |json: &serde_json::Value| -> Vec<String> {
        let rows = json["rows"].as_array().unwrap();
        rows.iter().map(|row| format!("{:.3}", row["score"].as_f64().unwrap())).collect()
    };
    assert_eq!(scores(&usual)[..2], ["0.090", "0.213"]);
    assert_eq!(scores(&standard)[..2], ["0.085", "0.380"]);
    assert_ne!(scores(&usual)[2], scores(&standard)[2]);
    let text = score(root.path(), &["table.csv", "--parametrisation", "standard"]);
    assert!(String::from_utf8(text.stdout).unwrap().contains("standard parametrisation"));
}

#[test]
fn what_is_no_table_is_said_in_one_sentence() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("table.csv"), TABLE).unwrap();
    std::fs::write(root.path().join("models.json"), "[1]").unwrap();
    for (arguments, said) in [
        (&["nowhere.csv"][..], "nowhere.csv"),
        (&["models.json"], "no list of sampled models"),
        (&["table.csv", "--target", "top1"], "no column \"top1\""),
        (&["table.csv", "--target", "error", "--group", "tag"], "no column \"tag\""),
    ] {
        let output = score(root.path(), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.trim_end().lines().count() == 1, "{arguments:?}: {stderr}");
    }
}
