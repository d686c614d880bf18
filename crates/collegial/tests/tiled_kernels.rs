//! Kernels in files: stopped, failed, shared out and gone on with, always the same bytes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use collegial::ntk::{self, Memory, NormPolicy, Request, regress, tiled};
use collegial::{Error, Model, Monitor, Silent};
use collegial_core::checksum;
use collegial_core::files::faults::{Plan, recorded, with_failures};
use collegial_core::files::power_loss::{Luck, after_power_loss};

/// Three blocks and six tiles of a small network.
fn request(out: &Path) -> Request {
    let model = Model { inputs: Some(3), ..Model::named("fc3-6") };
    Request { model, count: Some(1100), out: Some(out.to_owned()), ..Request::default() }
}

fn tiles_of(out: &Path) -> PathBuf {
    PathBuf::from(format!("{}.tiles", out.display()))
}

fn whole() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("k.npy");
    let done = tiled::run(&request(&out), &Silent).unwrap();
    assert_eq!((done.tiles, done.finished, done.shape.as_slice()), (6, 6, &[1100, 1100][..]));
    assert!(done.kernel.is_none() && done.memory > 0);
    std::fs::read(out).unwrap()
}

/// Stops before tile n is computed.
struct StopAt(usize, AtomicUsize);

impl Monitor for StopAt {
    fn progress(&self, _: f64, _: Option<&str>) {
        self.1.fetch_add(1, Relaxed);
    }
    fn stopped(&self) -> bool {
        self.1.load(Relaxed) > self.0
    }
}

#[test]
fn a_kernel_goes_on_where_it_was_stopped() {
    let expected = whole();
    let plain = ntk::run(&Request { out: None, ..request(Path::new("")) }, &Silent).unwrap();
    let numbers = expected[128..].as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
    let largest = plain.kernel.iter().flatten().fold(0.0f64, |largest, value| largest.max(value.abs()));
    for (number, value) in numbers.zip(plain.kernel.iter().flatten()) {
        assert!((number - value).abs() < 2e-6 * largest, "{number} instead of {value}");
    }
    for tile in 0..6 {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("k.npy");
        let stopped = tiled::run(&request(&out), &StopAt(tile, AtomicUsize::new(0)));
        assert!(matches!(stopped, Err(Error::Interrupted)), "stopped before tile {tile}");
        let journal = tiles_of(&out).join("0.journal");
        let lines = std::fs::read_to_string(journal).unwrap_or_default().lines().count();
        assert_eq!(lines, tile, "what was done is kept");
        // Another memory plans the same cut.
        let more = Request { memory: Some(Memory(300 << 20)), ..request(&out) };
        assert_eq!(tiled::run(&more, &Silent).unwrap().finished, 6);
        assert!(std::fs::read(&out).unwrap() == expected, "stopped before tile {tile}");
    }
}

#[test]
fn shares_fill_one_file() {
    let expected = whole();
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("k.npy");
    for (share, finished) in [("3/4", 1), ("1/4", 2), ("1/4", 2), ("2/4", 4), ("4/4", 6)] {
        let share = Request { tiles: Some(share.parse().unwrap()), ..request(&out) };
        assert_eq!(tiled::run(&share, &Silent).unwrap().finished, finished);
    }
    assert!(std::fs::read(&out).unwrap() == expected);
    // All at once, on one file.
    let out = directory.path().join("together.npy");
    std::thread::scope(|scope| {
        for number in 1..=3 {
            let tiles = Some(format!("{number}/3").parse().unwrap());
            let share = Request { tiles, ..request(&out) };
            scope.spawn(move || tiled::run(&share, &Silent).unwrap());
        }
    });
    assert!(std::fs::read(&out).unwrap() == expected);
}

#[test]
fn another_question_and_broken_journals_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("k.npy");
    tiled::run(&request(&out), &Silent).unwrap();
    let expected = std::fs::read(&out).unwrap();
    let refused = |request: &Request, reason: &str| {
        let sentence = tiled::run(request, &Silent).unwrap_err().to_string();
        assert!(sentence.contains(reason), "{sentence}");
    };
    refused(&Request { seed: 2, ..request(&out) }, "another kernel (not the same: inputs, weights)");
    refused(&Request { output: 1, ..request(&out) }, "(not the same: outputs)");
    refused(&Request { trace: true, ..request(&out) }, "(not the same: outputs)");
    refused(&Request { diagonal: true, ..request(&out) }, "(not the same: diagonal)");
    refused(&Request { count: Some(1099), ..request(&out) }, "(not the same: inputs)");
    refused(&Request { memory: Some(Memory(1 << 20)), ..request(&out) }, "needs at least");
    let journal = tiles_of(&out).join("0.journal");
    let lines = std::fs::read(&journal).unwrap();
    for at in 0..lines.len() - 1 {
        let mut broken = lines.clone();
        broken[at] ^= 1;
        std::fs::write(&journal, &broken).unwrap();
        refused(&request(&out), "has changed since it was written");
    }
    // A last line without its end is what a kill leaves; a tile with other bytes is computed again.
    std::fs::write(&journal, &lines[..lines.len() - 3]).unwrap();
    let mut other = expected.clone();
    other[5000] ^= 4;
    std::fs::write(&out, &other).unwrap();
    assert_eq!(tiled::run(&request(&out), &Silent).unwrap().finished, 6);
    assert!(std::fs::read(&out).unwrap() == expected);
    // So are all where the file is gone.
    std::fs::remove_file(&out).unwrap();
    tiled::run(&request(&out), &Silent).unwrap();
    assert!(std::fs::read(&out).unwrap() == expected);
    let plan = tiles_of(&out).join("plan.json");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replace("\"side\": 512", "\"side\": 256")).unwrap();
    refused(&request(&out), "has changed since it was written");
    // An intact checksum makes no cut possible.
    let mut impossible: serde_json::Value = serde_json::from_str(&text).unwrap();
    impossible["checksum"] = checksum::BLANK.into();
    for (side, pass) in [(0, 512), (512, 0), (512, usize::MAX)] {
        impossible["cut"] = serde_json::json!({ "side": side, "pass": pass });
        let mut bytes = serde_json::to_vec(&impossible).unwrap();
        checksum::seal(&mut bytes, 0..64);
        std::fs::write(&plan, bytes).unwrap();
        refused(&request(&out), &format!("blocks of {side} inputs, {pass} at a time, are impossible"));
    }
}

#[test]
fn whichever_operation_fails_the_next_run_completes_the_file() {
    let expected = whole();
    let mut failures = 0;
    let early = 0..16;
    for number in early.chain((16..).step_by(700)) {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("k.npy");
        let (result, failed) =
            with_failures(Plan::FromThenOn(number), || tiled::run(&request(&out), &Silent));
        if !failed {
            break;
        }
        assert!(result.is_err(), "operation {number}");
        failures += 1;
        tiled::run(&request(&out), &Silent).unwrap();
        assert!(std::fs::read(&out).unwrap() == expected, "operation {number}");
    }
    assert!(failures > 18, "{failures}");
}

/// After a power loss no journal has a tile that the file has not.
#[test]
fn a_power_loss_costs_what_was_not_on_disk() {
    let expected = whole();
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("from");
    std::fs::create_dir(&from).unwrap();
    let (_, steps) = recorded(|| tiled::run(&request(&from.join("k.npy")), &Silent).unwrap());
    for end in [3, 9, steps.len() / 3, steps.len() / 2, 5 * steps.len() / 6, steps.len()] {
        for (number, luck) in Luck::after(end).into_iter().enumerate() {
            let to = directory.path().join(format!("{number}-{end}"));
            after_power_loss(&steps[..end], luck, &from, &to);
            let out = to.join("k.npy");
            let again = tiled::run(&request(&out), &Said).unwrap();
            assert_eq!(again.finished, 6, "{luck:?} after {end} of {}", steps.len());
            assert!(std::fs::read(&out).unwrap() == expected, "{luck:?} after {end} of {}", steps.len());
        }
    }
}

/// Nothing that a journal has may have to be computed again.
struct Said;

impl Monitor for Said {
    fn progress(&self, _: f64, _: Option<&str>) {}
    fn say(&self, sentence: &str) {
        panic!("{sentence}");
    }
    fn stopped(&self) -> bool {
        false
    }
}

#[test]
fn other_entries_are_those_of_the_kernel() {
    let directory = tempfile::tempdir().unwrap();
    let small = |name: &str| Request { count: Some(5), ..request(&directory.path().join(name)) };
    let numbers = |name: &str| -> (String, Vec<f64>) {
        let bytes = std::fs::read(directory.path().join(name)).unwrap();
        let values = bytes[128..].as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        (String::from_utf8_lossy(&bytes[10..128]).into_owned(), values.collect())
    };
    let close = |got: f64, expected: f64| assert!((got - expected).abs() <= 1e-5 * expected.abs().max(1.0));
    tiled::run(&Request { full: true, ..small("full.npy") }, &Silent).unwrap();
    assert!(!tiles_of(&directory.path().join("full.npy")).exists(), "one tile needs no journal");
    let (header, full) = numbers("full.npy");
    assert!(header.contains("(50, 50,)") && full.len() == 2500, "{header}");
    tiled::run(&Request { diagonal: true, trace: true, ..small("diagonal.npy") }, &Silent).unwrap();
    let (header, diagonal) = numbers("diagonal.npy");
    assert!(header.contains("(5,)") && diagonal.len() == 5, "{header}");
    for output in [0, 7] {
        let one = ntk::run(&Request { output, out: None, ..small("") }, &Silent).unwrap().kernel;
        for (row, column) in (0..25).map(|at| (at / 5, at % 5)) {
            close(full[(10 * row + output) * 50 + 10 * column + output], one[row][column]);
        }
    }
    for (row, value) in diagonal.iter().enumerate() {
        close((0..10).map(|output| full[(10 * row + output) * 51]).sum(), *value);
    }
    let printed =
        tiled::run(&Request { diagonal: true, trace: true, out: None, ..small("") }, &Silent).unwrap();
    assert_eq!(printed.diagonal, Some(diagonal));
}

/// Digits of one lit row or column each are easy; the file holds the same kernel.
#[test]
fn the_kernel_predicts_classes() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    collegial_testing::write_data(&data, 200, 100);
    let model = Model::named("fc3-64");
    let convolutions = Model::named(collegial_testing::NETWORK);
    let request = Request {
        model,
        data: Some(data),
        count: Some(150),
        test_count: Some(80),
        regress: true,
        ..Request::default()
    };
    let answer = regress::run(&request, &Silent).unwrap();
    assert_eq!((answer.inputs, answer.test_inputs), (150, 80));
    assert!(answer.test_error < 0.1 && answer.leave_one_out_error < 0.1, "{answer:?}");
    assert!(answer.test_error_ci[0] <= answer.test_error && answer.test_error <= answer.test_error_ci[1]);
    assert!(answer.ridges.iter().any(|tried| tried.ridge == answer.ridge));
    let out = directory.path().join("k.npy");
    let filed = regress::run(&Request { out: Some(out.clone()), ..request.clone() }, &Silent).unwrap();
    assert_eq!((filed.ridge, filed.test_error), (answer.ridge, answer.test_error));
    assert_eq!(std::fs::metadata(out).unwrap().len(), 128 + 230 * 150 * 8);
    let norm = Some(NormPolicy::Frozen);
    let convolved = Request { model: convolutions, norm, trace: true, ..request.clone() };
    assert!(regress::run(&convolved, &Silent).unwrap().test_error < 0.5, "better than guessing");
    let none = regress::run(&Request { data: None, ..request }, &Silent).unwrap_err().to_string();
    assert!(none.contains("give their data"), "{none}");
}
