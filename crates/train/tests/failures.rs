//! A run that meets a failing disk, or loses power, at any of its operations resumes to the same
//! bytes.

use std::path::Path;

use collegial_arch::{Overrides, Spec};
use collegial_core::Silent;
use collegial_core::files::faults::{Plan, recorded, with_failures};
use collegial_core::files::power_loss::{Luck, after_power_loss};
use collegial_testing::{NETWORK, write_data};
use collegial_train::checkpoint::MODEL_FILE;
use collegial_train::data::Dataset;
use collegial_train::{Builtin, Data, Engine, Error, Job, Outcome, RunDirectory, Saving, Trainer, spec_for};

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
        Some(_) => Trainer::resume(job.clone(), run)?,
        None => Trainer::begin(job.clone(), run)?,
    };
    let outcome = trainer.run(&Silent, Saving { steps: Some(3), ..Saving::default() })?;
    assert_eq!(outcome, Outcome::Finished);
    Ok(())
}

/// The weights of a finished run.
fn weights(root: &Path) -> Vec<u8> {
    let run = RunDirectory::open(root).unwrap();
    std::fs::read(run.latest().unwrap().join(MODEL_FILE)).unwrap()
}

#[test]
fn a_failure_at_any_operation_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let job = job(&root.path().join("data"));
    let whole = root.path().join("whole");
    train(&whole, &job).unwrap();
    let expected = weights(&whole);
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
            assert!(weights(&run) == expected, "{plan:?}");
            std::fs::remove_dir_all(run).unwrap();
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
    let expected = weights(&whole);
    for done in 0..=steps.len() {
        for (number, luck) in Luck::after(done).into_iter().enumerate() {
            let run = root.path().join(format!("{done}-{number}"));
            after_power_loss(&steps[..done], luck, &whole, &run);
            train(&run, &job).unwrap_or_else(|error| panic!("after {done} operations, {luck:?}: {error}"));
            assert!(weights(&run) == expected, "after {done} operations, {luck:?}");
            std::fs::remove_dir_all(run).unwrap();
        }
    }
}
