//! Shards, pages, plans and jobs on a disk that fails, or loses power, at any operation: whole or
//! not there, and the same bytes when they are written again.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use collegial::backend::Backends;
use collegial::jobs::job::Indices;
use collegial::{
    Model, ModelRef, Monitor, Silent, TrainingOptions, Widths, fit, jobs, merge, reproduce, sweep,
};
use collegial_core::files::faults::{Plan, recorded, with_failures};
use collegial_core::files::power_loss::{Luck, after_power_loss};
use collegial_core::files::{TEMPORARY, write_atomic};
use collegial_report::Provenance;

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
    write_atomic(&directory.join("shard.json"), &file).map_err(|error| error.to_string())
}

/// Two items of the paper with their index.
fn pages(directory: &Path) -> Result<(), String> {
    let request = reproduce::Request {
        items: ["table4", "table5"].map(str::to_owned).to_vec(),
        scale: reproduce::Scale::Smoke,
        out: Some(directory.to_owned()),
        ..reproduce::Request::default()
    };
    reproduce::run(&request, Backends::NATIVE, &Silent as &dyn Monitor)
        .map(drop)
        .map_err(|error| error.to_string())
}

/// Images, made once; the test that takes them away has its own.
fn data(name: &str) -> PathBuf {
    static ROOT: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
    let path = ROOT.path().join(name);
    if !path.exists() {
        collegial_experiments::synthetic::write_digits(&path, 20, 10, 1).unwrap();
    }
    path
}

/// Two trainings as jobs.
fn plan(directory: &Path, data: PathBuf) -> Result<(), String> {
    let sweep = sweep::Request {
        models: ["fc2-4", "fc2-2x2"].map(|name| ModelRef::Name(name.into())).to_vec(),
        training: TrainingOptions {
            data,
            epochs: NonZeroU32::new(1),
            set: vec!["batch=10".into()],
            ..TrainingOptions::default()
        },
        runs: NonZeroU32::MIN,
        ..sweep::Request::default()
    };
    let request = jobs::plan::Request {
        task: jobs::Task::Sweep(sweep),
        directory: directory.to_owned(),
        pace: jobs::plan::Pace { workers: Some(1), seconds_per_step: Some(1.0) },
    };
    jobs::plan::run(&request, Backends::NATIVE, &Silent).map(drop).map_err(|error| error.to_string())
}

/// A plan, its jobs, and the pages made of them.
fn plan_jobs_and_gather(directory: &Path) -> Result<(), String> {
    plan(directory, data("data"))?;
    let request = jobs::job::Request {
        directory: directory.to_owned(),
        jobs: [1, 0].map(|job| Indices(job..=job)).to_vec(),
    };
    jobs::job::run(&request, Backends::NATIVE, &Silent).map_err(|error| error.to_string())?;
    let request = jobs::gather::Request { directory: directory.to_owned() };
    let provenance = Provenance { command: String::new(), seed: None, version: String::new() };
    jobs::gather::run(&request, provenance, &Silent).map(drop).map_err(|error| error.to_string())
}

/// A job whose data are gone: what it says is kept for `status`, or the monitor is told why not.
fn failing_job(directory: &Path) -> Result<(), String> {
    plan(directory, data("taken"))?;
    let here = data("taken");
    let moved = here.with_file_name("elsewhere");
    std::fs::rename(&here, &moved).unwrap();
    let request = jobs::job::Request { directory: directory.to_owned(), jobs: vec![Indices(0..=0)] };
    let said = Said::default();
    let failed = jobs::job::run(&request, Backends::NATIVE, &said).expect_err("there are no data");
    std::fs::rename(&moved, &here).unwrap();
    assert!(failed.to_string().contains("taken"), "{failed}");
    let status = jobs::status::run(&jobs::status::Request { directory: directory.to_owned() }).unwrap();
    match status.failed.as_slice() {
        [kept] => {
            assert_eq!(kept.sentence, failed.to_string());
            Ok(())
        }
        _ => Err(said.0.into_inner().unwrap()),
    }
}

/// Keeps the last sentence.
#[derive(Default)]
struct Said(Mutex<String>);

impl Monitor for Said {
    fn progress(&self, _: f64, _: Option<&str>) {}
    fn say(&self, sentence: &str) {
        sentence.clone_into(&mut self.0.lock().unwrap());
    }
    fn stopped(&self) -> bool {
        false
    }
}

/// Every file, but for those that are not whole yet, checkpoints of trainings that go on, and how
/// long a part took.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if !name.ends_with(".run") {
                    waiting.push(path);
                }
            } else if !name.starts_with(TEMPORARY) {
                found.insert(path.strip_prefix(directory).unwrap().to_owned(), untimed(&path));
            }
        }
    }
    found
}

fn untimed(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if path.ends_with("array.sbatch") {
        // It names the directory.
        let text = String::from_utf8(bytes).unwrap();
        return text.replace("/whole", "/here").replace("/place", "/here").into_bytes();
    }
    if !path.parent().unwrap().ends_with("parts") {
        return bytes;
    }
    // A file that is cut off is no JSON, and stays what it is.
    let Ok(mut part) = serde_json::from_slice::<serde_json::Value>(&bytes) else { return bytes };
    for field in ["seconds", "checksum"] {
        part.as_object_mut().unwrap().remove(field);
    }
    part.to_string().into_bytes()
}

/// What is there is whole, whatever happened.
fn assert_whole(directory: &Path, expected: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    for (path, bytes) in files(directory) {
        // A job that failed leaves its sentence until it is run again.
        if path.starts_with("failed") && !expected.contains_key(&path) {
            assert!(bytes.ends_with(b"\n"), "{when}: {} is not whole", path.display());
            continue;
        }
        assert!(expected[&path] == bytes, "{when}: {} is not whole", path.display());
    }
}

/// All files are there, and no others.
fn assert_same(directory: &Path, expected: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    let found = files(directory);
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(expected), "{when}");
    assert_whole(directory, expected, when);
}

/// Faults are of a thread: all of the work is done on this one.
fn alone<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(test)
}

/// Lets every operation of some work fail, once and from then on, and the power go after every one
/// of them; done again, the work leaves what it leaves where nothing happens.
fn survives(work: fn(&Path) -> Result<(), String>) -> usize {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    let (result, steps) = recorded(|| work(&whole));
    result.unwrap();
    let expected = files(&whole);
    let place = root.path().join("place");
    for kind in [Plan::Once, Plan::FromThenOn] {
        for number in 0.. {
            let (result, met) = with_failures(kind(number), || work(&place));
            if !met {
                break;
            }
            let when = format!("{:?}", kind(number));
            match result {
                Err(said) => assert!(!said.contains(TEMPORARY) && !said.contains('\n'), "{when}: {said}"),
                // What could not be removed only takes room.
                Ok(()) => assert_same(&place, &expected, &format!("{when}, and nobody said so")),
            }
            assert_whole(&place, &expected, &when);
            work(&place).unwrap();
            assert_same(&place, &expected, &when);
            std::fs::remove_dir_all(&place).unwrap();
        }
    }
    for done in 0..=steps.len() {
        for luck in Luck::after(done) {
            let when = format!("power lost after {done}, {luck:?}");
            after_power_loss(&steps[..done], luck, &whole, &place);
            assert_whole(&place, &expected, &when);
            work(&place).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert_same(&place, &expected, &when);
            std::fs::remove_dir_all(&place).unwrap();
        }
    }
    steps.len()
}

#[test]
fn plans_jobs_and_their_pages_survive_a_failure_at_any_operation() {
    let steps = alone(|| survives(plan_jobs_and_gather));
    assert!(steps > 60, "{steps}");
}

#[test]
fn what_a_failed_job_said_is_whole_or_not_there() {
    let steps = alone(|| survives(failing_job));
    assert!(steps > 8, "{steps}");
}

#[test]
fn a_shard_is_whole_or_not_there() {
    assert!(survives(shard) >= 5);
    let root = tempfile::tempdir().unwrap();
    shard(root.path()).unwrap();
    let files = vec![root.path().join("shard.json")];
    assert!(!merge::run(&merge::Request { files, ..merge::Request::default() }, &Silent).unwrap().complete);
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
fn a_shard_that_is_cut_anywhere_is_refused() {
    let root = tempfile::tempdir().unwrap();
    shard(root.path()).unwrap();
    let path = root.path().join("shard.json");
    let whole = std::fs::read(&path).unwrap();
    merge::parse(&path, &whole).unwrap();
    for length in 0..whole.len() {
        assert!(merge::parse(&path, &whole[..length]).is_err(), "cut at {length} of {}", whole.len());
    }
}

#[test]
fn pages_are_whole_or_not_there() {
    assert!(survives(pages) > 30);
}
