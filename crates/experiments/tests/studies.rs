//! The records of `research/`, judged: nothing is missing, and the rules decide as they stand there.

use std::path::{Path, PathBuf};

use collegial_core::Silent;
use collegial_experiments::Context as Sweep;
use collegial_experiments::reproduce::{Context, Error, Report, ResultCache, Scale, item, reproduce};

fn research() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../research")
}

fn judged(name: &str, records: PathBuf) -> Result<Report, Error> {
    let root = tempfile::tempdir().unwrap();
    let cache = ResultCache::open(root.path()).unwrap();
    let context = Context {
        scale: Scale::Laptop,
        data: None,
        records: Some(records),
        command: "",
        sweep: Sweep::new(1, &cache, &Silent),
    };
    reproduce(item(name)?, &context)
}

/// 579 rows of others, 24 of which are counts of networks that another table has (a column there),
/// and the paper's 16; nothing at hand is left out, and every table is listed.
#[test]
fn every_published_row_is_judged_or_listed() {
    let folder = research().join("published-tables");
    let study = std::fs::read_to_string(folder.join("study.toml")).unwrap();
    let mut rows = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "csv") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(study.contains(&format!("file = \"{name}\"")), "{name}");
            let copies = if name == "resnext-cifar-zoo.csv" { 2 } else { 1 };
            rows += (text.lines().count() - 1) * copies;
        }
    }
    assert_eq!(rows, 579 + 16);
}

#[test]
fn recorded_runs_are_judged_by_their_rules() {
    let report = judged("fig4-recorded", research()).unwrap();
    let verdict = |what: &str| {
        let found = report.outcome.comparisons.iter().find(|row| row.what.starts_with(what));
        found.unwrap_or_else(|| panic!("{what}")).verdict.name()
    };
    assert_eq!(verdict("ntk, rate 1e-3: at equal cost"), "reproduced");
    assert_eq!(verdict("standard, rate 1e-3: at equal cost"), "undecided");
    assert_eq!(verdict("standard, rate 1e-3: at equal variance"), "differs");
    // The counts and the variance of the paper's primal optimum as `search` has them.
    let settings = report.outcome.data["settings"].as_array().unwrap();
    assert_eq!(settings[0]["name"], "standard, rate 1e-3");
    let optimum = |cell: &&serde_json::Value| cell["design"] == "7x45";
    let optimum = settings[0]["cells"].as_array().unwrap().iter().find(optimum).unwrap();
    assert_eq!((&optimum["parameters"], &optimum["inner_width"]), (&306_810.into(), &315.into()));
    assert!((optimum["variance"].as_f64().unwrap() - 0.0656).abs() < 5e-5, "{optimum}");
}

/// A record that is wrong is refused with its place, as a user's table would be.
#[test]
fn broken_records_are_refused_with_their_place() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("fig4");
    std::fs::create_dir(&folder).unwrap();
    let error = judged("fig4-recorded", root.path().to_owned()).unwrap_err().to_string();
    assert!(error.contains("there is no study in") && error.contains("fig4"), "{error}");
    std::fs::copy(research().join("fig4/study.toml"), folder.join("study.toml")).unwrap();
    let error = judged("fig4-recorded", root.path().to_owned()).unwrap_err().to_string();
    assert!(error.contains("runs.csv"), "{error}");
    let runs = std::fs::read_to_string(research().join("fig4/runs.csv")).unwrap();
    for (from, to) in [("0.02543", "1.02543"), ("0.02543", "?"), ("ntk,1e-3", "other,1e-3")] {
        std::fs::write(folder.join("runs.csv"), runs.replacen(from, to, 1)).unwrap();
        let error = judged("fig4-recorded", root.path().to_owned()).unwrap_err().to_string();
        assert!(error.contains("of row 1 is missing or not what it should be"), "{to}: {error}");
    }
}
