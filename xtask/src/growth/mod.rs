//! How the program's cost grows: time and peak memory of its verbs over ladders of sizes, the power
//! of the size that fits them, and what theory says. Writes `docs/growth.md`, its figures and the
//! runs themselves.
//!
//! Every number is of the whole process, from its start to its end, and nothing is subtracted.
//! Operations that are not named keep the runs that the CSV file has of them, so that the page can be
//! made in pieces.

mod data;
mod fit;
mod measure;
mod operations;
mod page;
mod records;

use std::path::{Path, PathBuf};

use crate::{Failed, cargo};
use measure::{Usage, machine};
use operations::{OPERATIONS, Operation};
use records::{Record, Records};

/// Where the figures and the runs are kept.
const FOLDER: &str = "docs/figures/growth";
const RUNS: &str = "docs/figures/growth/runs.csv";
const PAGE: &str = "docs/growth.md";

/// Runs of every command.
const REPEATS: u32 = 3;

/// What to measure; nothing makes the page again of the runs that are kept.
pub struct Plan(Vec<&'static Operation>);

impl Plan {
    /// Of the words that follow `growth`: names of operations, `--page`, or nothing for all.
    pub fn parse(words: &[&str]) -> Option<Self> {
        match words {
            [] => Some(Self(OPERATIONS.iter().collect())),
            ["--page"] => Some(Self(vec![])),
            names => {
                let known = |name: &&str| OPERATIONS.iter().find(|operation| operation.name == *name);
                names.iter().map(known).collect::<Option<_>>().map(Self)
            }
        }
    }
}

/// Measures, and writes the page.
pub fn growth(plan: &Plan) -> Result<(), Failed> {
    let program = match std::env::var_os("COLLEGIAL") {
        Some(path) => PathBuf::from(path),
        None => {
            let built = PathBuf::from("target/release/collegial");
            if !plan.0.is_empty() && !built.exists() {
                cargo(&["build", "--release", "--package", "collegial"])?;
            }
            built
        }
    };
    run(plan, &program).map_err(|sentence| {
        eprintln!("growth: {sentence}");
        Failed
    })
}

fn run(plan: &Plan, program: &Path) -> Result<(), String> {
    let mut records = Records::read(Path::new(RUNS))?;
    std::fs::create_dir_all(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
    for operation in &plan.0 {
        measure_operation(operation, program, &mut records)?;
        // Kept as they come, so that a ladder that fails costs no other one.
        write(Path::new(RUNS), &records.to_csv())?;
    }
    // As they are kept, so that the page made again has the same bytes.
    let records = Records::read(Path::new(RUNS))?;
    for (name, text) in page::figures(&records) {
        write(&Path::new(FOLDER).join(name), &text)?;
    }
    write(Path::new(PAGE), &page::markdown(&records))?;
    eprintln!("growth: wrote {PAGE}");
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// An operation at every rung of its ladder.
fn measure_operation(operation: &Operation, program: &Path, records: &mut Records) -> Result<(), String> {
    records.forget(operation.name);
    for &rung in operation.ladder {
        let (place, size) = (Place::new()?, (operation.size)(rung));
        (operation.prepare)(rung, &place.data()).map_err(|error| error.to_string())?;
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let (data, out) = (path(place.data()), path(place.0.join("out")));
        let words = (operation.words)(rung);
        let words: Vec<String> =
            words.split(' ').map(|word| word.replace("DATA", &data).replace("OUT", &out)).collect();
        for run in 1..=REPEATS {
            let _ = std::fs::remove_dir_all(&out);
            std::fs::create_dir_all(&out).map_err(|error| format!("{out}: {error}"))?;
            let usage = measure::run(program, &words, &place.0)?;
            let Usage { seconds, peak_bytes } = usage;
            eprintln!("growth: {} {size}: {seconds:.3} s, {:.1} MB", operation.name, peak_bytes as f64 / 1e6);
            let operation = operation.name.to_owned();
            records.0.push(Record { operation, size, run, usage, machine: machine() });
        }
    }
    Ok(())
}

/// A directory for the data and results of a command, gone with it.
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Self, String> {
        let path = Path::new("target").join("growth");
        let _ = std::fs::remove_dir_all(&path);
        let place = Self(path);
        std::fs::create_dir_all(place.data()).map_err(|error| format!("{}: {error}", place.0.display()))?;
        Ok(place)
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_operations() {
        let names = |words: &[&str]| {
            Plan::parse(words).map(|plan| plan.0.iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["loading", "search"]).unwrap(), ["loading", "search"]);
        assert_eq!(names(&[]).unwrap().len(), OPERATIONS.len());
        assert_eq!(names(&["--page"]).unwrap().len(), 0);
        assert_eq!(names(&["search", "nothing"]), None);
    }

    #[test]
    fn every_ladder_spans_two_decades_and_every_name_is_one_word() {
        for operation in OPERATIONS {
            let sizes: Vec<u64> = operation.ladder.iter().map(|&rung| (operation.size)(rung)).collect();
            assert!(sizes.is_sorted() && sizes[sizes.len() - 1] >= 100 * sizes[0], "{}", operation.name);
            assert!(!operation.name.contains([' ', ',']), "{}", operation.name);
        }
    }
}
