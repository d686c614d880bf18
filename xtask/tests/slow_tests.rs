//! The list of slow tests names tests that there are: a renamed one would slow down the fast tier.

use std::path::Path;

/// The Rust of a folder and of the folders in it.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_slow_test_exists() {
    let mut text = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates"), &mut text);
    let list = include_str!("../slow-tests.txt");
    for name in list.lines().filter(|line| !line.starts_with('#')) {
        assert!(text.contains(&format!("fn {name}()")), "slow-tests.txt: there is no test {name}");
    }
}
