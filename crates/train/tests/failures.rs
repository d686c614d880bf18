//! Fault injection: a run that meets a failing disk, or loses power, at any of its operations
//! resumes to the files of an undisturbed run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collegial_arch::{Overrides, Spec};
use collegial_core::Silent;
use collegial_core::files::faults::{Plan, recorded, with_failures};
use collegial_core::files::power_loss::{Luck, after_power_loss};
use collegial_testing::{NETWORK, write_data};
use collegial_train::checkpoint::{CheckpointFile, TRAINING_FILE, TrainingHeader};
use collegial_train::data::Dataset;
use collegial_train::{
    Backends, Builtin, CheckpointPolicy, Data, Engine, Epoch, Error, Job, Outcome, RunDirectory, Trainer,
    spec_for,
};

fn job(data: &Path) -> Job {
    write_data(data, 40, 10);
    let dataset = Dataset::open(data).unwrap();
    let changes = ["epochs=2", "batch=20"].map(str::to_owned);
    let recipe = Builtin::Mnist.with(&changes).unwrap().for_images(40);
    let spec = spec_for(&Spec::from_toml(NETWORK).unwrap(), &Overrides::default(), &dataset).unwrap();
    Job { spec, data: Data::new(dataset, &recipe).unwrap(), recipe, seed: 1, engine: Engine::Native }
}

/// Goes on with the run where it is, as `train --resume` does, and saves every third step.
fn train(root: &Path, job: &Job) -> Result<(), Error> {
    let run = RunDirectory::open(root)?;
    let mut trainer = match run.latest() {
        Some(_) => Trainer::resume(job.clone(), run, Backends::NATIVE)?,
        None => Trainer::begin(job.clone(), run, Backends::NATIVE)?,
    };
    let outcome = trainer.run(&Silent, CheckpointPolicy { steps: Some(3), ..CheckpointPolicy::default() })?;
    assert_eq!(outcome, Outcome::Finished);
    Ok(())
}

/// All files of a run by their paths, without what differs between two undisturbed runs too: times,
/// the process in the lock file, and the event files, of which every start writes its own.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if !name.starts_with("events.out.tfevents.") {
                found.insert(name, content(&path));
            }
        }
    }
    found
}

fn content(path: &Path) -> Vec<u8> {
    let untimed = |epoch: Epoch| Epoch { seconds: 0.0, images_per_second: 0.0, waited: 0.0, ..epoch };
    match path.file_name().unwrap().to_str().unwrap() {
        "lock" => vec![],
        "epochs.jsonl" => {
            let text = fs::read_to_string(path).unwrap();
            let epochs = text.lines().map(|line| untimed(serde_json::from_str(line).unwrap()));
            serde_json::to_vec(&epochs.collect::<Vec<_>>()).unwrap()
        }
        TRAINING_FILE => {
            let file = CheckpointFile::read(path).unwrap();
            let mut header: TrainingHeader = file.own_header().unwrap();
            header.progress.history = header.progress.history.into_iter().map(untimed).collect();
            let tensors = file.into_tensors().unwrap();
            let values = tensors.iter().flat_map(|(_, tensor)| tensor.values().to_vec());
            let bytes = values.flat_map(f32::to_le_bytes);
            serde_json::to_vec(&header).unwrap().into_iter().chain(bytes).collect()
        }
        _ => fs::read(path).unwrap(),
    }
}

/// Compares file by file, so that a failure names the one that is missing or differs.
fn assert_same(found: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>, when: &str) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{when}");
    for (name, content) in expected {
        assert!(found[name] == *content, "{name} differs, {when}");
    }
}

#[test]
fn a_failure_at_any_operation_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let job = job(&root.path().join("data"));
    let whole = root.path().join("whole");
    train(&whole, &job).unwrap();
    let expected = files(&whole);
    assert_eq!(expected.len(), 6, "two files of a checkpoint, epochs, model, recipe and lock");
    let mut failed = [0, 0];
    for (kind, count) in failed.iter_mut().enumerate() {
        for number in 0.. {
            let run = root.path().join(format!("{kind}-{number}"));
            let plan = if kind == 0 { Plan::Once(number) } else { Plan::FromThenOn(number) };
            let (result, met) = with_failures(plan, || train(&run, &job));
            if !met {
                result.unwrap();
                break;
            }
            *count += 1;
            // A failure that only leaves something behind does not end a run.
            if let Err(error) = result {
                assert!(matches!(error, Error::Io { .. }), "{error}");
            }
            train(&run, &job).unwrap();
            assert_same(&files(&run), &expected, &format!("{plan:?}"));
            fs::remove_dir_all(run).unwrap();
        }
    }
    assert!(failed.iter().all(|&count| count > 30), "{failed:?}");
}

#[test]
fn a_power_loss_after_any_operation_loses_no_more_than_the_steps_since_a_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let job = job(&root.path().join("data"));
    let whole = root.path().join("whole");
    let (result, steps) = recorded(|| train(&whole, &job));
    result.unwrap();
    let expected = files(&whole);
    for done in 0..=steps.len() {
        for (number, luck) in Luck::after(done).into_iter().enumerate() {
            let run = root.path().join(format!("{done}-{number}"));
            after_power_loss(&steps[..done], luck, &whole, &run);
            let when = format!("after {done} operations, {luck:?}");
            train(&run, &job).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert_same(&files(&run), &expected, &when);
            fs::remove_dir_all(run).unwrap();
        }
    }
}
