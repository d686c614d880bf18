//! Every design trained several times, each run kept as soon as it is done.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use collegial_arch::Spec;
use collegial_files::disk;
use collegial_stats::Monitor;
use collegial_train::data::Identity;
use collegial_train::{
    Data, Error as TrainError, Job, Outcome, Recipe, RunDirectory, Saving, Trainer, TrainingMonitor,
    run_error,
};
use serde::{Deserialize, Serialize};

use crate::pool::in_parallel;
use crate::{Context, Error};

/// Networks with fewer parameters than this leave most of a machine idle: several are trained at
/// once, one thread each.
const SMALL: u64 = 1_000_000;

/// How designs are trained.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    /// Begins the names of the parts.
    pub name: &'a str,
    /// On what.
    pub data: &'a Data,
    /// How.
    pub recipe: &'a Recipe,
    /// How often each design, with seeds from the context's on.
    pub runs: u32,
}

/// What came of one training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Seeds weights, order and augmentation.
    pub seed: u64,
    /// After every epoch, the share of test images that were wrong; empty if the loss stopped being
    /// a number.
    pub test_errors: Vec<f64>,
    /// The mean training loss of the last epoch.
    pub loss: Option<f64>,
}

impl Run {
    /// The run's [test error](run_error); that of guessing where training diverged.
    pub fn test_error(&self, classes: usize) -> f64 {
        run_error(&self.test_errors).unwrap_or(1.0 - 1.0 / classes as f64)
    }
}

/// What a run depends on: the key of its part.
#[derive(Serialize)]
struct Settings<'a> {
    spec: &'a Spec,
    recipe: &'a Recipe,
    run: u64,
    data: &'a Identity,
}

/// The key that version 0.1.0 had: it knew the sizes of the data only.
#[derive(Serialize)]
struct OldSettings<'a> {
    spec: &'a Spec,
    recipe: &'a Recipe,
    run: u64,
    data: String,
}

impl Training<'_> {
    fn settings<'a>(&'a self, spec: &'a Spec, run: u64) -> Settings<'a> {
        Settings { spec, recipe: self.recipe, run, data: self.data.identity() }
    }

    fn old_settings<'a>(&'a self, spec: &'a Spec, run: u64) -> OldSettings<'a> {
        OldSettings { spec, recipe: self.recipe, run, data: self.data.identity().to_string() }
    }
}

/// Trains every network `training.runs` times; gives the runs of each.
///
/// # Errors
///
/// If a network cannot be trained, or somebody wants to stop; finished runs are kept.
pub fn train_all(training: &Training, specs: &[Spec], context: &Context) -> Result<Vec<Vec<Run>>, Error> {
    let (designs, runs) = (specs.len(), training.runs as usize);
    // All designs once, then all once more: what an interrupted experiment has is balanced.
    let tasks: Vec<(&Spec, u64)> =
        (0..runs).flat_map(|run| specs.iter().map(move |spec| (spec, run as u64))).collect();
    let counts: Result<Vec<_>, Error> = specs.iter().map(|spec| Ok(spec.graph()?.counts()?.total)).collect();
    let counts = counts?;
    let small = counts.iter().all(|total| total.parameters < SMALL);
    let is_pending = |&(spec, run): &(&Spec, u64)| {
        !context.has_part(training.name, &training.settings(spec, run))
            && !context.has_part(training.name, &training.old_settings(spec, run))
    };
    let pending: Vec<bool> = tasks.iter().map(is_pending).collect();
    let weight =
        |(index, pending): (usize, &bool)| if *pending { counts[index % designs].flops as f64 } else { 0.0 };
    let board = Board {
        context,
        weights: pending.iter().enumerate().map(weight).collect(),
        shares: Mutex::new(vec![0.0; tasks.len()]),
    };
    let workers = if small { rayon::current_num_threads() } else { 1 };
    let results = in_parallel(tasks.len(), workers, |index| {
        let (spec, run) = tasks[index];
        let (settings, old) = (training.settings(spec, run), training.old_settings(spec, run));
        context.part_or_old(training.name, &settings, Some(&old), || {
            let job = Job {
                spec: spec.clone(),
                recipe: training.recipe.clone(),
                seed: context.seed.wrapping_add(run),
                data: training.data.clone(),
            };
            let directory = context.parts.scratch(training.name, &(context.seed, &settings))?;
            train(job, &directory, &Watch { board: &board, index, design: spec.name() })
        })
    })?;
    Ok((0..designs).map(|design| results.iter().skip(design).step_by(designs).cloned().collect()).collect())
}

/// One run, from its last checkpoint if it was interrupted; the checkpoint is removed in the end.
fn train(job: Job, directory: &Path, watch: &Watch) -> Result<Run, Error> {
    let seed = job.seed;
    let run = RunDirectory::open(directory)?;
    let begun = run.latest().is_some();
    let mut trainer = if begun { Trainer::resume(job, run)? } else { Trainer::begin(job, run)? };
    let history = match trainer.run(watch, Saving::default()) {
        Ok(Outcome::Finished) => trainer.progress().history.clone(),
        Ok(Outcome::Stopped) => return Err(Error::Interrupted),
        Err(TrainError::Diverged { .. }) => vec![],
        Err(other) => return Err(other.into()),
    };
    drop(trainer);
    // What cannot be removed only takes room.
    let _ = disk::remove(directory);
    watch.show(1.0, "done");
    Ok(Run {
        seed,
        test_errors: history.iter().map(|epoch| epoch.test_error).collect(),
        loss: history.last().map(|epoch| epoch.loss),
    })
}

/// How far all runs are, weighted by what they cost; runs that were kept weigh nothing, so that the
/// remaining time is right.
struct Board<'a> {
    context: &'a Context<'a>,
    weights: Vec<f64>,
    shares: Mutex<Vec<f64>>,
}

/// One run's view of the board.
struct Watch<'a> {
    board: &'a Board<'a>,
    index: usize,
    design: String,
}

impl Watch<'_> {
    fn show(&self, share: f64, state: &str) {
        let Board { context, weights, shares } = self.board;
        let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares[self.index] = share;
        let done: f64 = weights.iter().zip(shares.iter()).map(|(weight, share)| weight * share).sum();
        let total: f64 = weights.iter().sum();
        let finished =
            weights.iter().zip(shares.iter()).filter(|&(weight, share)| *weight == 0.0 || *share >= 1.0);
        let (finished, all, design) = (finished.count(), weights.len(), &self.design);
        drop(shares);
        let state = format!("{finished} of {all} runs, {design}: {state}");
        context.monitor.progress(done / total.max(1.0), Some(&state));
    }
}

impl Monitor for Watch<'_> {
    fn progress(&self, share: f64, state: Option<&str>) {
        self.show(share.min(0.999), state.unwrap_or_default());
    }

    fn stopped(&self) -> bool {
        self.board.context.monitor.stopped()
    }
}

impl TrainingMonitor for Watch<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parts, synthetic};
    use collegial_arch::Overrides;
    use collegial_stats::Silent;
    use collegial_train::data::Dataset;
    use collegial_train::{recipe, spec_for};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Stops after so many steps of anything.
    struct StopAfter(AtomicU32);

    impl Monitor for StopAfter {
        fn progress(&self, _: f64, _: Option<&str>) {
            let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        }
        fn say(&self, sentence: &str) {
            panic!("{sentence}");
        }
        fn stopped(&self) -> bool {
            self.0.load(Ordering::SeqCst) == 0
        }
    }

    fn trained(parts: &Parts, threads: usize, monitor: &dyn Monitor) -> Result<Vec<Vec<Run>>, Error> {
        let directory = tempfile::tempdir().unwrap();
        synthetic::write_digits(directory.path(), 200, 60, 0).unwrap();
        let dataset = Dataset::open(directory.path()).unwrap();
        let changes = ["epochs=2".to_owned(), "batch=20".to_owned()];
        let recipe = Recipe::build(recipe::text("mnist").unwrap(), &changes).unwrap();
        let specs: Vec<Spec> = ["fc3-8", "fc3-3x4"]
            .iter()
            .map(|name| spec_for(&name.parse().unwrap(), &Overrides::default(), &dataset).unwrap())
            .collect();
        let data = Data::new(dataset, &recipe).unwrap();
        let training = Training { name: "t", data: &data, recipe: &recipe, runs: 3 };
        let context = Context { seed: 5, parts, monitor };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| train_all(&training, &specs, &context))
    }

    #[test]
    fn threads_and_interruptions_change_nothing() {
        let root = tempfile::tempdir().unwrap();
        let open = |name: &str| Parts::open(root.path().join(name)).unwrap();
        let whole = trained(&open("whole"), 1, &Silent).unwrap();
        assert_eq!((whole.len(), whole[0].len()), (2, 3));
        assert!(whole.iter().flatten().all(|run| run.test_errors.len() == 2 && run.loss.is_some()));
        assert_ne!(whole[0][0].test_errors, whole[0][1].test_errors);
        // Two epochs of ten steps each: 25 steps and the end of a run stop it in its second run.
        let parts = open("stopped");
        let mut interruptions = 0;
        let resumed = loop {
            match trained(&parts, 2, &StopAfter(AtomicU32::new(25))) {
                Ok(runs) => break runs,
                Err(Error::Interrupted) => interruptions += 1,
                Err(other) => panic!("{other}"),
            }
        };
        assert!(interruptions >= 3, "{interruptions}");
        assert_eq!(resumed, whole);
        // Nothing but finished parts is left.
        let left = std::fs::read_dir(root.path().join("stopped")).unwrap();
        assert!(left.map(|entry| entry.unwrap().path()).all(|path| path.extension().unwrap() == "json"));
    }

    #[test]
    fn divergence_is_guessing() {
        let run = |test_errors| Run { seed: 0, test_errors, loss: None };
        assert_eq!(run(vec![]).test_error(10), 0.9);
        assert_eq!(run(vec![0.5, 0.25]).test_error(10), 0.25);
    }
}
