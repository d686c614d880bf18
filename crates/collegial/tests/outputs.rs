//! What is written: whole or not at all, where it was requested, with nothing in it that does harm.

mod program;

use std::process::Command;

use program::run;

/// A full disk is an error of every verb, help included.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_said() {
    let shell = |line: &str| {
        let line = line.replace("collegial", env!("CARGO_BIN_EXE_collegial"));
        let output = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for verb in ["info fc3-100", "--help", "fit --help", "--version", "man", "completions bash"] {
        let (code, said) = shell(&format!("collegial {verb} > /dev/full"));
        assert_eq!(code, Some(2), "{verb}");
        assert!(said.starts_with("error: cannot write the result: No space left"), "{verb}: {said}");
    }
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let text = run("info \u{1b}[31mred.toml");
    assert!(
        text.contains("exit 2") && text.split_once("stdout").unwrap().1.contains("\\u{1b}[31m"),
        "{text}"
    );
    assert!(!text.split_once("stdout").unwrap().1.contains('\u{1b}'), "{text}");
}

#[test]
fn figures_are_written_whole_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let figure = directory.path().join("fit.svg");
    run(&format!("fit bottleneck-16 --widths 2,4,8 --trials 100 --figure {}", figure.display()));
    assert!(std::fs::read_to_string(&figure).unwrap().contains("</svg>"));
    assert!(std::fs::read_to_string(figure.with_extension("csv")).unwrap().lines().count() > 3);
    let nowhere = directory.path().join("no/such/fit.svg");
    let text = run(&format!("fit bottleneck-16 --widths 2,4 --trials 100 --figure {}", nowhere.display()));
    assert!(text.contains("exit 2") && text.contains("cannot write"), "{text}");
}

#[test]
fn a_report_holds_the_verdict_the_figures_and_the_data() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("report.html");
    let figures = directory.path().join("figures");
    let line = format!(
        "search resnext29-1x128d --trials 200 --per-stage --free-widths --report {} --figures {}",
        page.display(),
        figures.display()
    );
    assert!(run(&line).contains("exit 0"));
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["x10d", "</svg>", "curve.csv", "search.json", "--per-stage", "Seed 0"] {
        assert!(html.contains(part), "{part}");
    }
    for foreign in ["http://", "https://"] {
        let outside = html.replace("http://www.w3.org/", "").contains(foreign);
        assert!(!outside, "the page reaches out to {foreign}");
    }
    for name in ["primal", "dual", "alpha", "residuals"] {
        assert!(
            figures.join(format!("{name}.svg")).is_file() && figures.join(format!("{name}.csv")).is_file()
        );
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_files_are_readable() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real.json"), directory.path().join("link.json"));
    std::fs::write(&real, "old").unwrap();
    symlink(&real, &link).unwrap();
    run(&format!("fit bottleneck-8 --widths 2,4 --trials 60 --out {}", link.display()));
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("samples"));
    let fresh = directory.path().join("fresh.json");
    run(&format!("fit bottleneck-8 --widths 2,4 --trials 60 --out {}", fresh.display()));
    assert_ne!(fresh.metadata().unwrap().permissions().mode() & 0o044, 0, "others can read it");
    let csv = directory.path().join("figure.csv");
    let text = run(&format!("fit bottleneck-8 --widths 2,4 --trials 60 --figure {}", csv.display()));
    assert!(text.contains("exit 2") && text.contains("ends in .svg"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_sentence() {
    let text = run("fit bottleneck-8 --widths 2,4 --trials 60 --out /dev/full");
    assert!(text.contains("exit 2") && text.contains("cannot write /dev/full: No space left"), "{text}");
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(["info", "fc3-100"])
        .stdout(full())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
    let status =
        Command::new(env!("CARGO_BIN_EXE_collegial")).args(["info", "nope"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn exports_are_written_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (weights, net, script) = (file("a.safetensors"), file("a.onnx"), file("a.py"));
    for (format, path) in [("safetensors", &weights), ("onnx", &net), ("pytorch", &script)] {
        let text = run(&format!("export fc3-4x8 --to {format} --out {path} --seed 3 --json"));
        let bytes = std::fs::metadata(path).unwrap().len();
        for key in [
            "\"model\": \"fc3-4x8\"".to_owned(),
            format!("\"format\": \"{format}\""),
            format!("\"path\": \"{path}\""),
            "\"parameters\": 25664".to_owned(),
            format!("\"bytes\": {bytes}"),
        ] {
            assert!(text.contains("exit 0") && text.contains(&key), "{key} in {text}");
        }
    }
    let again = run(&format!("export {weights} --to onnx --out {} --external-data", file("b.onnx")));
    assert!(
        again.contains(&format!("{0} and {0}.data: fc3-4x8, 25,664 parameters", file("b.onnx"))),
        "{again}"
    );
    for path in [&weights, &net, &file("b.onnx")] {
        assert!(run(&format!("info {path}")).contains("fc3-4x8: 25,664 parameters"), "{path}");
    }
    let refused = |line: &str, reason: &str| {
        let text = run(line);
        assert!(text.contains("exit 2") && text.contains(reason), "{text}");
        assert_eq!(text.split_once("--- stderr\n").unwrap().1.lines().count(), 1, "{text}");
    };
    refused(
        &format!("export {weights} --to safetensors --out {weights}"),
        "would be replaced by its own export",
    );
    refused(&format!("export fc3-8 --to onnx --out {}", file("no/such/a.onnx")), "there is no directory");
    // Before the table is read.
    refused(&format!("score nowhere.csv --report {}", file("no/such/a.html")), "--report cannot be");
    refused(&format!("score nowhere.csv --figures {weights}/b"), "--figures cannot be");
    refused(&format!("export {weights} --to onnx --classes 7 --out {}", file("c.onnx")), "expected [28, 8]");
    std::fs::write(file("theirs.pth"), b"PK\x03\x04 and so on").unwrap();
    refused(&format!("info {}", file("theirs.pth")), "is a PyTorch file, which can run code when it is read");
    std::fs::write(file("cut.onnx"), &std::fs::read(&net).unwrap()[..500]).unwrap();
    refused(&format!("info {}", file("cut.onnx")), "it is cut off or not a protocol buffer");
    let mut left: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    let expected = ["a.onnx", "a.py", "a.safetensors", "b.onnx", "b.onnx.data", "cut.onnx", "theirs.pth"];
    assert_eq!(left, expected, "nothing half-written stays behind");
}
