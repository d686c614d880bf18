//! `train`: from the files of a data set to a test error.

mod show;

pub use show::json_line;

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use collegial_arch::Spec;
use collegial_experiments::MOST_TRAININGS;
use collegial_report::grouped;
pub use collegial_train::Epoch;
use collegial_train::checkpoint::Checkpoint;
use collegial_train::data::Dataset;
use collegial_train::recipe::{self, Builtin, Recipe};
use collegial_train::{
    Backends, CheckpointPolicy, Data, Job, Outcome, RunDirectory, Trainer, TrainingMonitor, run as runs,
    spec_for,
};
use serde::Serialize;

use crate::message::{invalid, option};
use crate::options::options;
use crate::style::counted;
use crate::{Error, Model, Monitor, TrainingOptions, files};

options! {
    /// Train a network on a data set and test it after every epoch
    ///
    /// The data set is recognised by its files: MNIST, CIFAR (binary version), downsampled ImageNet,
    /// or class folders. Its recipe is the paper's; --set changes it. Checkpoints are safetensors
    /// files under torchvision's names. A run that was stopped at any moment goes on with --resume.
    /// It ends with the same weights to the bit, on any number of threads.
    ///
    /// With --json it prints JSON lines: a document per epoch as it ends, and a last one that names
    /// the checkpoint.
    #[command(after_help = "Example:\n  collegial train resnext29-10x10d --data cifar10 --out run")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The network; class count and image size are the data set's
        #[command(flatten)]
        pub model: Model,
        /// Data, recipe and backend
        #[command(flatten)]
        pub training: TrainingOptions,
        /// Directory of the run: checkpoints, recipe, results, TensorBoard events [default:
        /// runs/MODEL-DATA]
        #[arg(long, value_name = "DIR")]
        pub out: Option<PathBuf>,
        /// Go on from the newest checkpoint of --out, or begin if there is none; --epochs may be more
        /// than before
        #[arg(long)]
        pub resume: bool,
        /// cifar10, cifar100, mnist, imagenet32, imagenet64, imagenet, or a TOML file [default: by
        /// data set]
        #[arg(long, value_name = "NAME|FILE")]
        pub recipe: Option<PathBuf>,
        /// Test on so many images only, spread evenly over the test images
        #[arg(long, value_name = "IMAGES")]
        pub test_limit: Option<NonZeroUsize>,
        /// Train several times, with seeds from --seed on, and give mean and standard error
        #[arg(long, value_name = "COUNT")]
        pub runs: NonZeroU32 = NonZeroU32::MIN,
        /// Save a checkpoint every so many steps too, not only every ten minutes and after every
        /// epoch
        #[arg(long, value_name = "STEPS")]
        pub save_every: Option<NonZeroU64>,
        /// Seed of weights, order and augmentation
        #[arg(skip)]
        pub seed: u64,
    }
}

/// An epoch of one of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunEpoch {
    /// Its results.
    #[serde(flatten)]
    pub epoch: Epoch,
    /// The run's seed.
    pub seed: u64,
}

/// A run that is done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainedRun {
    /// Its last checkpoint.
    #[serde(serialize_with = "crate::paths::shown")]
    pub checkpoint: PathBuf,
    /// The network's name.
    pub model: String,
    /// The run's seed.
    pub seed: u64,
    /// Epochs trained.
    pub epochs: usize,
    /// Steps trained.
    pub steps: u64,
    /// After the last epoch.
    pub test_error: Option<f64>,
    /// The mean over the last ten epochs.
    pub test_error_last_10: Option<f64>,
    /// The run's test error as `validate` and the paper's figures have it: the mean over the last
    /// tenth of the epochs, at least one and at most ten.
    pub run_error: Option<f64>,
}

/// All runs together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Of the last run.
    #[serde(serialize_with = "crate::paths::shown_option")]
    pub checkpoint: Option<PathBuf>,
    /// Of every run.
    #[serde(serialize_with = "crate::paths::shown_all")]
    pub checkpoints: Vec<PathBuf>,
    /// How many.
    pub runs: usize,
    /// The mean over the runs.
    pub test_error: f64,
    /// Of that mean; of one run there is none.
    pub standard_error: Option<f64>,
    /// Of every run, the mean over the last tenth of its epochs.
    pub test_errors: Vec<f64>,
}

/// What training brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainAnswer {
    /// Of the last run.
    #[serde(serialize_with = "crate::paths::shown")]
    pub checkpoint: PathBuf,
    /// The network's name.
    pub model: String,
    /// After the last epoch; of several runs the mean over the last tenth of their epochs.
    pub test_error: Option<f64>,
    /// Every run.
    pub runs: Vec<TrainedRun>,
    /// All runs together, where there are several.
    pub summary: Option<Summary>,
    /// Every epoch of every run.
    pub epochs: Vec<RunEpoch>,
}

/// Whoever wants every epoch and every run at once, not only at the end.
pub trait Log: Sync {
    /// An epoch is done and saved.
    fn epoch(&self, _epoch: &RunEpoch) {}
    /// A run is done.
    fn finished(&self, _run: &TrainedRun) {}
}

/// Nobody does.
impl Log for () {}

/// Trains.
///
/// # Errors
///
/// Where network, data and recipe do not belong together, or the monitor stopped it: then a
/// checkpoint is saved and `resume` goes on from there.
pub fn run(
    request: &Request,
    backends: Backends,
    monitor: &dyn Monitor,
    log: &dyn Log,
) -> Result<TrainAnswer, Error> {
    backends.check(request.training.engine)?;
    if request.runs.get() as usize > MOST_TRAININGS {
        return Err(invalid![
            option("runs"),
            format!(" is {}; it must be at most {MOST_TRAININGS}", request.runs)
        ]
        .into());
    }
    files::check_directory("out", request.out.as_deref())?;
    let dataset = request.training.dataset()?;
    let spec = spec_for(&request.model.bare_spec()?, &request.model.overrides(), &dataset)?;
    let directories = directories(request, &spec, &dataset);
    let recipe = choose_recipe(request, &dataset, &directories)?;
    let data = Data::new(dataset, &recipe)?;
    introduce(&spec, &data, &recipe, monitor)?;
    let (mut finished, mut epochs, mut errors) = (vec![], vec![], vec![]);
    for (seed, directory) in directories {
        let job = Job {
            spec: spec.clone(),
            recipe: recipe.clone(),
            seed,
            data: data.clone(),
            engine: request.training.engine,
        };
        let trainer = train(request, job, &directory, backends, &Watch { seed, monitor, log })?;
        let progress = trainer.progress();
        let run = TrainedRun {
            checkpoint: trainer.checkpoint(),
            model: spec.name(),
            seed,
            epochs: progress.history.len(),
            steps: progress.steps,
            test_error: progress.history.last().map(|epoch| epoch.test_error),
            test_error_last_10: progress.last_ten(),
            run_error: progress.run_error(),
        };
        log.finished(&run);
        errors.extend(run.run_error);
        epochs.extend(progress.history.iter().map(|epoch| RunEpoch { epoch: epoch.clone(), seed }));
        finished.push(run);
    }
    let checkpoints: Vec<PathBuf> = finished.iter().map(|run| run.checkpoint.clone()).collect();
    let summary = (errors.len() > 1).then(|| Summary::of(&errors, checkpoints.clone()));
    Ok(TrainAnswer {
        checkpoint: checkpoints.last().cloned().unwrap_or_default(),
        model: spec.name(),
        test_error: match &summary {
            Some(summary) => Some(summary.test_error),
            None => finished.last().and_then(|run| run.test_error),
        },
        runs: finished,
        summary,
        epochs,
    })
}

/// The seed and the directory of every run.
fn directories(request: &Request, spec: &Spec, dataset: &Dataset) -> Vec<(u64, PathBuf)> {
    let named = || Path::new("runs").join(format!("{}-{}", spec.name(), Builtin::of(dataset)));
    let out = request.out.clone().unwrap_or_else(named);
    let (first, count) = (request.seed, u64::from(request.runs.get()));
    match count {
        1 => vec![(first, out)],
        _ => (first..first.saturating_add(count))
            .map(|seed| (seed, out.join(format!("seed-{seed}"))))
            .collect(),
    }
}

/// What was given, or what the run that is resumed has.
fn choose_recipe(request: &Request, dataset: &Dataset, runs: &[(u64, PathBuf)]) -> Result<Recipe, Error> {
    let mut changes = request.training.changes();
    changes.extend(request.test_limit.map(|limit| format!("test_limit={limit}")));
    // What is given again on resuming changes the run's own recipe, so that a difference is found
    // and named.
    let saved = runs.iter().filter(|_| request.resume && request.recipe.is_none());
    let saved = saved.map(|(_, directory)| directory).find_map(|directory| saved_recipe(directory));
    let text = match (&saved, &request.recipe) {
        (Some(saved), _) => saved.to_toml(),
        (None, None) => Builtin::of(dataset).toml().to_owned(),
        (None, Some(name)) => recipe::load(name)?,
    };
    changes.extend(request.training.epochs_change());
    let recipe = Recipe::build(&text, &changes)?;
    let images = dataset.train().len();
    let limit = recipe.limit.map_or(images, |limit| limit.min(images));
    Ok(recipe.for_images(limit))
}

/// The recipe of a run that can be resumed; what is wrong with one that cannot is said later.
fn saved_recipe(directory: &Path) -> Option<Recipe> {
    let model = runs::find_model(directory).ok()?;
    Some(Checkpoint::read(model.parent()?).ok()?.training_header.recipe)
}

fn introduce(spec: &Spec, data: &Data, recipe: &Recipe, monitor: &dyn Monitor) -> Result<(), Error> {
    let parameters = grouped(spec.totals()?.parameters);
    monitor.say(&format!("{spec}: {parameters} parameters; {}", data.identity()));
    if recipe.micro_batch() < recipe.batch {
        let (batch, micro) = (recipe.batch, recipe.micro_batch());
        monitor.say(&format!(
            "a step takes {batch} images in micro-batches of {micro}; batch norms see one micro-batch at a time"
        ));
    }
    if let Some(milestone) = recipe.schedule.milestones.first().filter(|&&at| at >= f64::from(recipe.epochs))
    {
        monitor.say(&format!(
            "the learning rate stays as it is: the recipe lowers it first after epoch {milestone}, and this run ends after {}",
            counted(recipe.epochs, "epoch")
        ));
    }
    Ok(())
}

/// One run, from the beginning or from its checkpoint.
fn train(
    request: &Request,
    job: Job,
    directory: &Path,
    backends: Backends,
    watch: &Watch<'_>,
) -> Result<Trainer, Error> {
    let is_given = request.out.as_deref() == Some(directory);
    let directory = if is_given { RunDirectory::open(directory) } else { RunDirectory::open_own(directory) }?;
    let mut trainer = if request.resume && directory.latest().is_some() {
        Trainer::resume(job, directory, backends)?
    } else {
        Trainer::begin(job, directory, backends)?
    };
    let policy =
        CheckpointPolicy { steps: request.save_every.map(NonZeroU64::get), ..CheckpointPolicy::default() };
    let outcome = trainer.run(watch, policy)?;
    if outcome == Outcome::Stopped {
        let checkpoint = trainer.checkpoint();
        let path = checkpoint.display();
        watch.say(&format!("interrupted: saved to {path}; resuming goes on from there"));
        return Err(Error::Interrupted);
    }
    Ok(trainer)
}

/// Passes on what the training loop tells.
struct Watch<'a> {
    seed: u64,
    monitor: &'a dyn Monitor,
    log: &'a dyn Log,
}

impl Monitor for Watch<'_> {
    fn progress(&self, share: f64, state: Option<&str>) {
        self.monitor.progress(share, state);
    }

    fn say(&self, sentence: &str) {
        self.monitor.say(sentence);
    }

    fn stopped(&self) -> bool {
        self.monitor.stopped()
    }
}

impl TrainingMonitor for Watch<'_> {
    fn finished_epoch(&self, epoch: &Epoch) {
        self.log.epoch(&RunEpoch { epoch: epoch.clone(), seed: self.seed });
    }
}
