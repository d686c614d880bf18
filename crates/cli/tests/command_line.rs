//! The command line as a user meets it: outputs, errors and exit codes, as snapshots.

use std::process::Command;

/// Runs `collegial` with the words of a line; gives "exit code, stdout, stderr" as one text.
fn run(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(line.split_whitespace())
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary runs");
    let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    format!("$ collegial {line}\nexit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
}

/// One snapshot per command, named after it.
macro_rules! snapshots {
    ($($name:ident: $line:expr;)+) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(run($line));
        })+
    };
}

snapshots! {
    help: "--help";
    help_info: "info --help";
    no_verb: "";
    unknown_verb: "serch resnext29-1x128d";
    info_table: "info bottleneck-37x10d";
    info_csv: "info fc3-4x20,10 --format csv";
    info_json: "info fc3-100 --json";
    info_spec: "info resnext29-37x10d --classes 100 --spec";
    info_unknown_name: "info resnxt29-37x10d";
    info_no_members: "info resnext29-0x10d";
    info_width_zero: "info bottleneck-0";
    info_absurd_width: "info fc6-100000000000000000000";
    info_absurd_classes: "info resnext29-1x128d --classes 99999999999";
    info_overflowing_classes: "info resnext29-1x128d --classes 99999999999999999999999";
    info_inapplicable: "info resnext29-1x128d --inputs 5";
    info_no_file: "info nowhere.toml";
    info_zero_batch: "info fc3-100 --batch 0";
    zero_threads: "info fc3-100 --threads 0";
}

#[test]
fn totals_of_the_papers_network() {
    let text = run("info resnext29-37x10d");
    assert!(text.contains("resnext29-37x10d: 13,743,646 parameters, 4,527,465,984 FLOPs"), "{text}");
}

#[test]
fn a_spec_that_is_printed_can_be_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let text = run("info wrn16-2 --classes 7 --spec");
    let (_, spec) = text.split_once("--- stdout\n").unwrap();
    std::fs::write(&path, spec.split("--- stderr").next().unwrap()).unwrap();
    let again = run(&format!("info {} --spec", path.display()));
    assert_eq!(again.split_once("--- stdout").unwrap().1, text.split_once("--- stdout").unwrap().1);
}

#[test]
fn completions_and_manual_pages_are_generated() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(run(&format!("completions {shell}")).contains("info"), "{shell}");
    }
    assert!(run("man").contains(".TH collegial"));
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("pages");
    assert!(run(&format!("man {}", pages.display())).contains("exit 0"));
    assert!(pages.join("collegial-info.1").is_file());
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(["info", "resnext101-32x4d"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}
