//! The files that name the version, the crates and the dependencies agree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before:?}"));
    rest.split_once(after).map_or(rest, |(found, _)| found)
}

#[test]
fn every_file_has_the_same_version_and_date() {
    let manifest = read("Cargo.toml");
    let version = between(&manifest, "[workspace.package]\nversion = \"", "\"");
    let own = manifest.lines().filter(|line| line.contains("path = \"crates/"));
    for line in own {
        assert!(line.contains(&format!("version = \"{version}\"")), "{line}");
    }
    let citation = read("CITATION.cff");
    assert_eq!(between(&citation, "\nversion: ", "\n"), version);
    let date = between(&citation, "\ndate-released: ", "\n");
    let changelog = read("CHANGELOG.md");
    assert_eq!(between(&changelog, "\n## ", "\n"), format!("[{version}] - {date}"));
    // Maturin takes the wheel's version from Cargo.
    assert!(read("pyproject.toml").contains("dynamic = [\"version\"]"));
    assert!(read("RELEASING.md").contains(&format!("git tag -s v{version} ")));
}

/// A crate is published after all that it and its tests depend on.
#[test]
fn crates_are_published_in_order() {
    let text = read("RELEASING.md");
    let listed: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("cargo publish --locked -p ")).collect();
    let mut known = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let manifest = std::fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        if manifest.contains("publish = false") {
            continue;
        }
        let name = between(&manifest, "name = \"", "\"").to_owned();
        let place = |name: &str| listed.iter().position(|listed| *listed == name);
        let own = place(&name).unwrap_or_else(|| panic!("RELEASING.md does not publish {name}"));
        for line in manifest.lines().filter(|line| line.starts_with("collegial")) {
            let on = line.split([' ', '.']).next().unwrap();
            assert!(place(on).is_some_and(|place| place < own), "{name} is published before {on}");
        }
        known.insert(name);
    }
    assert_eq!(listed.len(), known.len(), "{listed:?} {known:?}");
}

#[test]
fn the_page_of_dependencies_lists_every_direct_one() {
    let page = read("docs/dependencies.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let listed: BTreeSet<&str> =
        rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect();
    let manifest = read("Cargo.toml");
    let table = between(&manifest, "[workspace.dependencies]\n", "\n[");
    let names = table.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    let direct: BTreeSet<&str> = names.filter(|name| !name.starts_with("collegial")).collect();
    // The program's indirect ones are listed too; `every_crate` compares those with its tree.
    assert_eq!(direct.difference(&listed).collect::<Vec<_>>(), Vec::<&&str>::new());
}

/// Candidates for a release are for others to try.
#[test]
fn no_dependency_is_a_pre_release() {
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let text = read(lock);
        let versions = text.lines().filter_map(|line| line.strip_prefix("version = \""));
        let early = versions.filter(|version| version.split('+').next().unwrap().contains('-'));
        assert_eq!(early.collect::<Vec<_>>(), Vec::<&str>::new(), "{lock}");
    }
}

#[test]
fn workflows_test_the_oldest_compiler() {
    let manifest = read("Cargo.toml");
    let oldest = between(&manifest, "\nrust-version = \"", "\"");
    assert!(read(".github/workflows/test.yml").contains(&format!("cargo +{oldest} check")));
}
