//! Shards and pages on a disk that fails, or loses power, at any operation: whole or not there, and
//! the same bytes when they are written again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use collegial_files::faults::{Plan, recorded, with_failures};
use collegial_files::power_loss::{Luck, after_power_loss};
use collegial_files::{TEMPORARY, write_whole};
use collegial_ops::{Model, Monitor, Silent, Widths, fit, merge, reproduce};

/// Half of a fit's draws, as `fit --shard 1/2 --out` writes them.
fn shard(directory: &Path) -> Result<(), String> {
    let request = fit::Request {
        model: Model { inputs: Some(4), outputs: Some(4), ..Model::named("bottleneck-4") },
        trials: Some(200),
        widths: Some(Widths(vec![1, 2, 4])),
        shard: Some("1/2".into()),
        ..fit::Request::default()
    };
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let draws = fit::draw(&request, &Silent).map_err(|error| error.to_string())?;
    let file = draws.kernels.to_file().map_err(|error| error.to_string())?;
    write_whole(&directory.join("shard.json"), &file).map_err(|error| error.to_string())
}

/// Two items of the paper with their index.
fn pages(directory: &Path) -> Result<(), String> {
    let request = reproduce::Request {
        items: ["table4", "table5"].map(str::to_owned).to_vec(),
        scale: reproduce::Scale::Smoke,
        out: directory.to_owned(),
        ..reproduce::Request::default()
    };
    reproduce::run(&request, &Silent as &dyn Monitor).map(drop).map_err(|error| error.to_string())
}

/// Every file, but for those that are not whole yet.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if !path.file_name().unwrap().to_str().unwrap().starts_with(TEMPORARY) {
                found.insert(path.strip_prefix(directory).unwrap().to_owned(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

/// What is there is whole, whatever happened.
fn assert_whole(directory: &Path, expected: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    for (path, bytes) in files(directory) {
        assert!(expected[&path] == bytes, "{when}: {} is not whole", path.display());
    }
}

fn survives(work: fn(&Path) -> Result<(), String>) -> usize {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    let (result, steps) = recorded(|| work(&whole));
    result.unwrap();
    let expected = files(&whole);
    let place = root.path().join("place");
    for number in 0.. {
        let (result, met) = with_failures(Plan::FromThenOn(number), || work(&place));
        if !met {
            break;
        }
        let said = result.expect_err("a file was not written and nobody said so");
        assert!(!said.contains(TEMPORARY) && !said.contains('\n'), "{said}");
        assert_whole(&place, &expected, &format!("operation {number} failed"));
        work(&place).unwrap();
        assert_eq!(files(&place), expected, "operation {number} failed");
        std::fs::remove_dir_all(&place).unwrap();
    }
    for done in 0..=steps.len() {
        for luck in Luck::ALL {
            after_power_loss(&steps[..done], luck, &whole, &place);
            assert_whole(&place, &expected, &format!("power lost after {done}, {luck:?}"));
            if done % 7 == 0 {
                work(&place).unwrap();
                assert_eq!(files(&place), expected, "power lost after {done}, {luck:?}");
            }
            std::fs::remove_dir_all(&place).unwrap();
        }
    }
    steps.len()
}

#[test]
fn a_shard_is_whole_or_not_there() {
    assert!(survives(shard) >= 5);
    let root = tempfile::tempdir().unwrap();
    shard(root.path()).unwrap();
    let files = vec![root.path().join("shard.json")];
    assert!(!merge::run(&merge::Request { files, ..merge::Request::default() }).unwrap().complete);
}

#[test]
fn no_flipped_bit_of_a_shard_changes_what_is_merged() {
    let root = tempfile::tempdir().unwrap();
    shard(root.path()).unwrap();
    let path = root.path().join("shard.json");
    let whole = std::fs::read(&path).unwrap();
    let read = |bytes: &[u8]| merge::parse(&path, bytes).map(|draws| serde_json::to_string(&draws).unwrap());
    let expected = read(&whole).unwrap();
    let mut refused = 0;
    for bit in 0..8 * whole.len() {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match read(&flipped) {
            // What marks the checksum itself: the rest is as it was.
            Ok(read) => assert_eq!(read, expected, "bit {bit}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused >= 8 * (whole.len() - 6), "{refused}");
}

#[test]
fn pages_are_whole_or_not_there() {
    assert!(survives(pages) > 30);
}
