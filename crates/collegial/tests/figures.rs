//! The book's figures are the program's: `UPDATE_FIGURES=1 cargo test -p collegial --test figures`
//! writes them anew.

use std::path::{Path, PathBuf};
use std::process::Command;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn compare(kept: &Path, made: &str) {
    if std::env::var_os("UPDATE_FIGURES").is_some() {
        std::fs::write(kept, made).unwrap();
    }
    let same = std::fs::read_to_string(kept).unwrap() == made;
    assert!(same, "{} is out of date: run this test with UPDATE_FIGURES=1", kept.display());
}

#[test]
fn the_curves_are_those_of_a_search() {
    let place = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_collegial"));
    let output =
        program.args(["search", "resnext29-1x128d", "--figures"]).arg(place.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (made, kept) in [("primal.svg", "same-cost.svg"), ("dual.svg", "same-variance.svg")] {
        let made = std::fs::read_to_string(place.path().join(made)).unwrap();
        compare(&docs().join("figures").join(kept), &made);
    }
}

/// Of the page that `collegial reproduce evidence` wrote.
#[test]
fn the_evidence_is_that_of_the_reproduction() {
    let name = "two-networks-of-equal-cost-less-kernel-variance-less-error";
    for ending in ["svg", "csv"] {
        let page = docs().join("reproduction/evidence").join(format!("{name}.{ending}"));
        let made = std::fs::read_to_string(page).unwrap();
        compare(&docs().join("figures").join(format!("evidence.{ending}")), &made);
    }
}
