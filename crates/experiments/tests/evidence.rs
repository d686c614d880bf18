//! The steps that the crate ships are those of the published tables:
//! `UPDATE_EVIDENCE=1 cargo test -p collegial-experiments --test evidence` writes them anew.

use std::path::Path;

use collegial_experiments::reproduce::published_steps;

#[test]
fn the_steps_are_those_of_the_published_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut writer = csv::Writer::from_writer(vec![]);
    for step in published_steps(&root.join("../../research/published-tables")).unwrap() {
        writer.serialize(step).unwrap();
    }
    let made = String::from_utf8(writer.into_inner().unwrap()).unwrap();
    let kept = root.join("evidence/steps.csv");
    if std::env::var_os("UPDATE_EVIDENCE").is_some() {
        std::fs::write(&kept, &made).unwrap();
    }
    let same = std::fs::read_to_string(&kept).unwrap() == made;
    assert!(same, "{} is out of date: run this test with UPDATE_EVIDENCE=1", kept.display());
}
