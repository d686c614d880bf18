//! Every design trained several times, each run kept as soon as it is done.

use std::path::Path;
use std::time::Duration;

use collegial_arch::{Spec, Totals};
use collegial_core::files::disk;
use collegial_train::data::Identity;
use collegial_train::{
    Backends, CheckpointPolicy, Data, Engine, Error as TrainError, Job, Outcome, Recipe, RunDirectory,
    Trainer, run_error,
};
use serde::{Deserialize, Serialize};

use crate::board::{Board, Watch};
use crate::cache::Defect;
use crate::jobs::{self, Ledger, Listed, Share};
use crate::pool::in_parallel;
use crate::{Context, Error};

/// Networks with fewer parameters than this leave most of a machine idle: several are trained at
/// once, one thread each.
const SMALL: u64 = 1_000_000;

/// Between two checkpoints of a run at least. Hundreds of workers may share a file system, and small
/// networks finish several epochs a second; what a kill costs is no more than this.
const EPOCH_INTERVAL: Duration = Duration::from_secs(20);

/// Trainings of a request at most: more take years, and their list takes all memory.
pub const MOST_TRAININGS: usize = 20_000;

/// How designs are trained.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    /// Begins the names of the results.
    pub name: &'a str,
    /// On what.
    pub data: &'a Data,
    /// How.
    pub recipe: &'a Recipe,
    /// How often each design, with seeds from the context's on.
    pub runs: u32,
}

/// The result of one training.
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
    /// Nothing, if a training with this seed and so many epochs can have given it.
    pub(crate) fn check(&self, seed: u64, epochs: u32) -> Result<(), Defect> {
        let is_share = |error: &f64| (0.0..=1.0).contains(error);
        let impossible = if self.seed != seed {
            format!("its seed is {}, not {seed}", self.seed)
        } else if let Some(error) = self.test_errors.iter().find(|error| !is_share(error)) {
            format!("a test error is {error}, not a share between 0 and 1")
        } else if !self.test_errors.is_empty() && self.test_errors.len() != epochs as usize {
            format!("it has {} epochs, not {epochs}", self.test_errors.len())
        } else if let Some(loss) = self.loss.filter(|_| self.test_errors.is_empty()) {
            // One that diverged has neither.
            format!("it has no test errors, but a loss of {loss}")
        } else if self.loss.is_none() && !self.test_errors.is_empty() {
            "it has test errors, but no loss".into()
        } else if let Some(loss) = self.loss.filter(|loss| !loss.is_finite() || *loss < 0.0) {
            format!("its loss is {loss}")
        } else {
            return Ok(());
        };
        Err(Defect::Impossible(impossible))
    }

    /// The run's [test error](run_error); that of guessing where training diverged.
    pub fn test_error(&self, classes: usize) -> f64 {
        run_error(&self.test_errors).unwrap_or(1.0 - 1.0 / classes as f64)
    }
}

/// What a run depends on: the key of its result.
#[derive(Serialize)]
struct Settings<'a> {
    spec: &'a Spec,
    recipe: &'a Recipe,
    run: u64,
    data: &'a Identity,
    /// The native engine needs no name.
    #[serde(skip_serializing_if = "Engine::is_native")]
    engine: Engine,
}

impl Training<'_> {
    fn settings<'a>(&'a self, task: &Task<'a>, context: &Context) -> Settings<'a> {
        let Task { spec, run, .. } = *task;
        Settings { spec, recipe: self.recipe, run, data: self.data.identity(), engine: context.engine }
    }

    /// The name of the result's file, without extension.
    fn part(&self, task: &Task, context: &Context) -> Result<String, Error> {
        context.cache.stem(self.name, &(context.seed, self.settings(task, context)))
    }

    /// The run if it is finished; a reason if its file cannot be used.
    fn finished(&self, task: &Task, context: &Context) -> Result<Option<Run>, Defect> {
        let key = (context.seed, self.settings(task, context));
        let run: Option<Run> = context.cache.read(self.name, &key)?;
        run.map(|run| run.check(self.seed(task, context), self.recipe.epochs).map(|()| run)).transpose()
    }

    fn is_finished(&self, task: &Task, context: &Context) -> bool {
        matches!(self.finished(task, context), Ok(Some(_)))
    }

    /// Of weights, order and augmentation.
    fn seed(&self, task: &Task, context: &Context) -> u64 {
        context.seed.wrapping_add(task.run)
    }

    /// The run: read where it is finished, else trained.
    fn run(&self, task: &Task, board: &Board, context: &Context) -> Result<Run, Error> {
        let settings = self.settings(task, context);
        let directory = context.cache.scratch(self.name, &(context.seed, &settings))?;
        let check = |run: &Run| run.check(self.seed(task, context), self.recipe.epochs);
        let run = context.cached_if(self.name, &settings, check, || {
            let watch = board.watch(task.index, task.spec.name());
            train(self.job(task, context), &directory, context.backends, &watch)
        })?;
        // Only now that its result is kept: a disk without room for it costs no training. What
        // cannot be removed only takes room.
        let _ = disk::remove(&directory);
        Ok(run)
    }

    fn job(&self, task: &Task, context: &Context) -> Job {
        Job {
            spec: task.spec.clone(),
            recipe: self.recipe.clone(),
            seed: self.seed(task, context),
            data: self.data.clone(),
            engine: context.engine,
        }
    }

    /// What a scheduler is told of it.
    fn listed(&self, task: &Task, finished: bool, context: &Context) -> Result<Listed, Error> {
        let dataset = self.data.dataset();
        let (images, epochs) = (dataset.train().len(), u64::from(self.recipe.epochs));
        let job = jobs::Job {
            part: self.part(task, context)?,
            model: task.spec.name(),
            seed: self.seed(task, context),
            epochs: self.recipe.epochs,
            steps: images.div_ceil(self.recipe.batch) as u64 * epochs,
            batch: self.recipe.batch,
            tested: dataset.test().len() as u64 * epochs,
            flops: task.spec.totals()?.flops,
            seconds: None,
        };
        Ok(Listed { job, training: self.job(task, context), finished })
    }
}

/// One training of a sweep.
struct Task<'a> {
    /// Its place in the order of work.
    index: usize,
    spec: &'a Spec,
    /// Which repetition.
    run: u64,
}

/// Trains every network `training.runs` times; gives the runs of each. Which of them are trained
/// here is the context's [`Share`].
///
/// # Errors
///
/// If a network cannot be trained, or the monitor stops it; finished runs are kept.
pub fn train_all(training: &Training, specs: &[Spec], context: &Context) -> Result<Vec<Vec<Run>>, Error> {
    let count = (training.runs as usize).saturating_mul(specs.len());
    if count > MOST_TRAININGS {
        return Err(Error::Invalid(format!(
            "{} runs of {} networks are {count} trainings; take at most {MOST_TRAININGS}",
            training.runs,
            specs.len()
        )));
    }
    // All designs once, then all once more: what an interrupted experiment has is balanced.
    let pairs = (0..u64::from(training.runs)).flat_map(|run| specs.iter().map(move |spec| (spec, run)));
    let tasks: Vec<Task> = pairs.enumerate().map(|(index, (spec, run))| Task { index, spec, run }).collect();
    let runs = match context.share {
        Share::All => train_tasks(training, &tasks, context)?,
        Share::One(part) => {
            let is_ours = |task: &&Task| training.part(task, context).is_ok_and(|found| found == part);
            if let Some(task) = tasks.iter().find(is_ours) {
                let only = Task { index: 0, ..*task };
                train_tasks(training, &[only], context)?;
            }
            tasks.iter().map(|task| diverged(training.seed(task, context))).collect()
        }
        Share::Nothing(ledger) => finished_rounds(training, &tasks, specs.len(), ledger, context)?,
    };
    let of = |design: usize| runs.iter().skip(design).step_by(specs.len()).cloned().collect();
    Ok((0..specs.len()).map(of).collect())
}

/// Stands for a run that was not made.
fn diverged(seed: u64) -> Run {
    Run { seed, test_errors: vec![], loss: None }
}

/// The repetitions that all designs have finished; the first of them as if all had diverged where
/// there is none, which the ledger knows.
fn finished_rounds(
    training: &Training,
    tasks: &[Task],
    designs: usize,
    ledger: &Ledger,
    context: &Context,
) -> Result<Vec<Run>, Error> {
    let mut rounds: Vec<Vec<Run>> = vec![vec![]; training.runs as usize];
    for task in tasks {
        context.go_on()?;
        // A file that cannot be used counts as missing; the status of the jobs says why.
        let run = training.finished(task, context).unwrap_or(None);
        ledger.enter(training.listed(task, run.is_some(), context)?);
        rounds[task.run as usize].extend(run);
    }
    let whole = |round: &Vec<Run>| round.len() == designs;
    let finished: Vec<Run> = rounds.into_iter().filter(whole).flatten().collect();
    if finished.is_empty() {
        ledger.note_nothing_finished();
        let first = &tasks[..designs.min(tasks.len())];
        return Ok(first.iter().map(|task| diverged(training.seed(task, context))).collect());
    }
    Ok(finished)
}

fn train_tasks(training: &Training, tasks: &[Task], context: &Context) -> Result<Vec<Run>, Error> {
    let counts: Result<Vec<_>, Error> = tasks.iter().map(|task| Ok(task.spec.totals()?)).collect();
    let counts = counts?;
    let small = counts.iter().all(|total| total.parameters < SMALL);
    let weight = |(task, total): (&Task, &Totals)| {
        if training.is_finished(task, context) { 0.0 } else { total.flops as f64 }
    };
    let board = Board::new(context, tasks.iter().zip(&counts).map(weight).collect());
    // PyTorch has threads of its own, and one Python to be called from.
    let workers = if small && context.engine.is_native() { rayon::current_num_threads() } else { 1 };
    in_parallel(tasks.len(), workers, |index| training.run(&tasks[index], &board, context))
}

/// One run, from its last checkpoint if it was interrupted.
fn train(job: Job, directory: &Path, backends: Backends, watch: &Watch) -> Result<Run, Error> {
    let seed = job.seed;
    backends.check(job.engine)?;
    let run = RunDirectory::open_own(directory)?;
    let begun = run.latest().is_some();
    let start = if begun { Trainer::resume } else { Trainer::begin };
    let mut trainer = start(job, run, backends)?;
    let policy = CheckpointPolicy { epoch_interval: EPOCH_INTERVAL, ..CheckpointPolicy::default() };
    let history = match trainer.run(watch, policy) {
        Ok(Outcome::Finished) => trainer.progress().history.clone(),
        Ok(Outcome::Stopped) => return Err(Error::Interrupted),
        Err(TrainError::Diverged { .. }) => vec![],
        Err(other) => return Err(other.into()),
    };
    watch.show(1.0, "done");
    Ok(Run {
        seed,
        test_errors: history.iter().map(|epoch| epoch.test_error).collect(),
        loss: history.last().map(|epoch| epoch.loss),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ResultCache, synthetic};
    use collegial_arch::Overrides;
    use collegial_core::{Monitor, Silent};
    use collegial_train::data::Dataset;
    use collegial_train::{Builtin, spec_for};
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

    fn trained(cache: &ResultCache, threads: usize, monitor: &dyn Monitor) -> Result<Vec<Vec<Run>>, Error> {
        shared(Share::All, cache, threads, monitor)
    }

    fn shared(
        share: Share,
        cache: &ResultCache,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Vec<Run>>, Error> {
        let directory = tempfile::tempdir().unwrap();
        synthetic::write_digits(directory.path(), 200, 60, 0).unwrap();
        let dataset = Dataset::open(directory.path()).unwrap();
        let changes = ["epochs=2".to_owned(), "batch=20".to_owned()];
        let recipe = Builtin::Mnist.with(&changes).unwrap();
        let specs: Vec<Spec> = ["fc3-8", "fc3-3x4"]
            .iter()
            .map(|name| spec_for(&name.parse().unwrap(), &Overrides::default(), &dataset).unwrap())
            .collect();
        let data = Data::new(dataset, &recipe).unwrap();
        let training = Training { name: "t", data: &data, recipe: &recipe, runs: 3 };
        let context = Context { share, ..Context::new(5, cache, monitor) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| train_all(&training, &specs, &context))
    }

    #[test]
    fn threads_and_interruptions_change_nothing() {
        let root = tempfile::tempdir().unwrap();
        let open = |name: &str| ResultCache::open(root.path().join(name)).unwrap();
        let whole = trained(&open("whole"), 1, &Silent).unwrap();
        assert_eq!((whole.len(), whole[0].len()), (2, 3));
        assert!(whole.iter().flatten().all(|run| run.test_errors.len() == 2 && run.loss.is_some()));
        assert_ne!(whole[0][0].test_errors, whole[0][1].test_errors);
        // Two epochs of ten steps each: 25 steps and the end of a run stop it in its second run.
        let cache = open("stopped");
        let mut interruptions = 0;
        let resumed = loop {
            match trained(&cache, 2, &StopAfter(AtomicU32::new(25))) {
                Ok(runs) => break runs,
                Err(Error::Interrupted) => interruptions += 1,
                Err(other) => panic!("{other}"),
            }
        };
        assert!(interruptions >= 3, "{interruptions}");
        assert_eq!(resumed, whole);
        // Nothing but finished results is left.
        let left = std::fs::read_dir(root.path().join("stopped")).unwrap();
        assert!(left.map(|entry| entry.unwrap().path()).all(|path| path.extension().unwrap() == "json"));
    }

    /// Jobs in any order, each as if by a worker of its own, leave what one process computes.
    #[test]
    fn jobs_one_by_one_make_the_whole() {
        let root = tempfile::tempdir().unwrap();
        let open = |name: &str| ResultCache::open(root.path().join(name)).unwrap();
        let whole = trained(&open("whole"), 1, &Silent).unwrap();
        let cache = open("jobs");
        let ledger = Ledger::default();
        let nothing = shared(Share::Nothing(&ledger), &cache, 1, &Silent).unwrap();
        assert!(ledger.is_inconclusive());
        assert!(nothing.iter().flatten().all(|run| run.test_errors.is_empty()));
        let jobs: Vec<jobs::Job> = ledger.entries().into_iter().map(|listed| listed.job).collect();
        assert_eq!(jobs.len(), 6);
        // 200 images in batches of 20, two epochs; 60 test images after each.
        assert!(jobs.iter().all(|job| (job.steps, job.tested, job.epochs) == (20, 120, 2)));
        for job in jobs.iter().rev().take(5).chain(&jobs[1..2]) {
            shared(Share::One(&job.part), &cache, 2, &Silent).unwrap();
        }
        let ledger = Ledger::default();
        let some = shared(Share::Nothing(&ledger), &cache, 1, &Silent).unwrap();
        assert!(!ledger.is_inconclusive());
        let missing: Vec<bool> = ledger.entries().iter().map(|listed| !listed.finished).collect();
        assert_eq!(missing, [true, false, false, false, false, false]);
        // The second and third repetition are whole.
        assert_eq!(some, whole.iter().map(|runs| runs[1..].to_vec()).collect::<Vec<_>>());
        shared(Share::One(&jobs[0].part), &cache, 2, &Silent).unwrap();
        assert_eq!(shared(Share::Nothing(&Ledger::default()), &cache, 1, &Silent).unwrap(), whole);
        let bytes = |name: &str, job: &jobs::Job| {
            let text = std::fs::read_to_string(root.path().join(name).join(format!("{}.json", job.part)));
            let value: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
            value["result"].to_string()
        };
        assert!(jobs.iter().all(|job| bytes("whole", job) == bytes("jobs", job)));
    }

    /// A part whose checksum is intact may still say what no training can have given.
    #[test]
    fn impossible_runs_are_refused() {
        let whole = Run { seed: 3, test_errors: vec![0.5, 0.25], loss: Some(0.7) };
        assert!(whole.check(3, 2).is_ok());
        assert!(Run { test_errors: vec![], loss: None, ..whole.clone() }.check(3, 2).is_ok(), "it diverged");
        for (run, words) in [
            (Run { test_errors: vec![], ..whole.clone() }, "no test errors, but a loss of 0.7"),
            (Run { loss: None, ..whole.clone() }, "test errors, but no loss"),
            (Run { test_errors: vec![0.5], ..whole.clone() }, "1 epochs, not 2"),
            (Run { test_errors: vec![0.5, -0.1], ..whole.clone() }, "a test error is -0.1"),
            (Run { loss: Some(-1.0), ..whole.clone() }, "its loss is -1"),
            (Run { seed: 4, ..whole }, "its seed is 4, not 3"),
        ] {
            let defect = run.check(3, 2).unwrap_err().to_string();
            assert!(defect.contains(words), "{defect}");
        }
    }

    #[test]
    fn divergence_is_guessing() {
        let run = |test_errors| Run { seed: 0, test_errors, loss: None };
        assert_eq!(run(vec![]).test_error(10), 0.9);
        assert_eq!(run(vec![0.5, 0.25]).test_error(10), 0.25);
    }
}
