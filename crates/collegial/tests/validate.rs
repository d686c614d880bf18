//! `collegial validate` from the outside.

use std::process::{Command, Output};

use collegial_experiments::synthetic;

fn validate(directory: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
    command.arg("validate").args(arguments).current_dir(directory).output().unwrap()
}

#[test]
fn designs_are_trained_once_and_set_beside_their_variances() {
    let root = tempfile::tempdir().unwrap();
    synthetic::write_digits(&root.path().join("data"), 100, 50, 1).unwrap();
    let arguments = [
        "fc3-24",
        "--data",
        "data",
        "--designs",
        "3",
        "--runs",
        "2",
        "--epochs",
        "1",
        "--out",
        "out",
        "--json",
    ];
    let first = validate(root.path(), &arguments);
    // On noise the prediction may even be contradicted, which is exit 1.
    assert!(matches!(first.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&first.stderr));
    let json: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(json["primal"]["rows"][0]["design"], "1x24d");
    assert_eq!(first.status.code() == Some(1), json["verdict"] == "contradicted");
    for name in ["validation.html", "validation.json", "primal.svg", "primal.csv", "primal-widths.svg"] {
        assert!(root.path().join("out").join(name).is_file(), "{name}");
    }
    assert_eq!(validate(root.path(), &arguments).stdout, first.stdout);
}

#[test]
fn what_cannot_be_validated_is_said_in_one_sentence() {
    let root = tempfile::tempdir().unwrap();
    synthetic::write_digits(&root.path().join("data"), 40, 20, 1).unwrap();
    for (arguments, said) in [
        (&["fc3-24", "--data", "nowhere"][..], "nowhere"),
        (&["fc3-24", "--data", "data", "--designs", "2"], "between 3 and 100"),
        (&["resnext29-1x128d", "--data", "data"], "square colour images"),
        (&["fc3-24", "--data", "data", "--cost", "time"], "params, flops or activations"),
        (&["fc3-1", "--data", "data"], "width"),
    ] {
        let output = validate(root.path(), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.trim_end().lines().count() == 1, "{arguments:?}: {stderr}");
    }
}
