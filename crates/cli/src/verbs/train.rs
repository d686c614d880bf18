//! `collegial train`: from the files of a data set to a test error.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use collegial_arch::Spec;
use collegial_report::grouped;
use collegial_stats::Monitor;
use collegial_train::checkpoint::Checkpoint;
use collegial_train::data::Dataset;
use collegial_train::recipe::{self, Recipe};
use collegial_train::{
    Data, Epoch, Error, Job, Outcome, RunDirectory, Saving, Trainer, TrainingMonitor, run, spec_for,
};
use serde::Serialize;

use crate::arguments::{Common, Format, Model};
use crate::failure::Failure;
use crate::output::print;
use crate::progress::Progress;

/// Train a network on a data set and test it after every epoch
///
/// The data set is recognised by its files (MNIST, CIFAR binary version, downsampled ImageNet, class folders), and with it the
/// paper's recipe, which --set changes. Checkpoints are safetensors files under torchvision's names; a run that was interrupted
/// or killed at any moment goes on with --resume and ends with the same weights to the bit, on any number of threads.
#[derive(Args)]
pub struct Train {
    #[command(flatten)]
    model: Model,
    /// Directory of the data set
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Directory of the run: checkpoints, recipe, results, TensorBoard events [default: runs/MODEL-DATA]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on from the newest checkpoint of --out, or begin if there is none
    #[arg(long)]
    resume: bool,
    /// cifar10, cifar100, mnist, imagenet32, imagenet64, imagenet, or a TOML file [default: by data set]
    #[arg(long, value_name = "NAME|FILE")]
    recipe: Option<String>,
    /// Change the recipe: learning_rate=0.05, micro_batch=32, schedule.milestones=[5,8], optimiser.kind=adam
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Epochs in all; a resumed run may be given more than it began with
    #[arg(long, value_name = "COUNT")]
    epochs: Option<NonZeroU32>,
    /// Train on the first images only
    #[arg(long, value_name = "IMAGES")]
    limit: Option<NonZeroUsize>,
    /// Train several times, with seeds from --seed on, and give mean and standard error
    #[arg(long, value_name = "COUNT", default_value = "1")]
    runs: NonZeroU32,
    /// Save a checkpoint every so many steps too, not only every ten minutes and after every epoch
    #[arg(long, value_name = "STEPS")]
    save_every: Option<NonZeroU64>,
}

/// The last line of a run's JSON form; scripts rely on its keys.
#[derive(Serialize)]
struct Finished<'a> {
    checkpoint: &'a Path,
    model: String,
    seed: u64,
    epochs: usize,
    steps: u64,
    test_error: Option<f64>,
    /// The mean over the last ten epochs.
    test_error_last_10: Option<f64>,
    /// The run's test error as `validate` and the paper's figures have it: the mean over the last tenth of the epochs, at least one and at most ten.
    run_error: Option<f64>,
}

/// The last line of several runs.
#[derive(Serialize)]
struct Summary<'a> {
    checkpoint: Option<&'a Path>,
    checkpoints: &'a [PathBuf],
    runs: usize,
    test_error: f64,
    standard_error: Option<f64>,
    test_errors: &'a [f64],
}

/// Runs the verb.
pub fn run(verb: &Train, common: &Common) -> Result<(), Failure> {
    let dataset = Dataset::open(&verb.data).map_err(Error::from)?;
    let spec = spec_for(&Spec::load(&verb.model.model)?, &verb.model.overrides(), &dataset)?;
    let out = verb
        .out
        .clone()
        .unwrap_or_else(|| Path::new("runs").join(format!("{}-{}", spec.name(), recipe::name_for(&dataset))));
    let seeds = common.seed..common.seed.saturating_add(u64::from(verb.runs.get()));
    let directories: Vec<(u64, PathBuf)> = match verb.runs.get() {
        1 => vec![(common.seed, out)],
        _ => seeds.map(|seed| (seed, out.join(format!("seed-{seed}")))).collect(),
    };
    let recipe = choose_recipe(verb, &dataset, &directories)?;
    let data = Data::new(dataset, &recipe)?;
    introduce(&spec, &data, &recipe, common)?;
    let (mut errors, mut checkpoints) = (vec![], vec![]);
    for (seed, directory) in &directories {
        let job = Job { spec: spec.clone(), recipe: recipe.clone(), seed: *seed, data: data.clone() };
        let trainer = train(verb, job, directory, common)?;
        errors.extend(trainer.progress().run_error());
        checkpoints.push(trainer.checkpoint());
    }
    if errors.len() > 1 { summarise(&errors, &checkpoints, common) } else { Ok(()) }
}

/// What was given, or what the run that is resumed has.
fn choose_recipe(verb: &Train, dataset: &Dataset, runs: &[(u64, PathBuf)]) -> Result<Recipe, Failure> {
    let mut changes = verb.set.clone();
    changes.extend(verb.limit.map(|limit| format!("limit={limit}")));
    // What is given again on resuming changes the run's own recipe, so that a difference is found and named.
    let saved = runs.iter().filter(|_| verb.resume && verb.recipe.is_none());
    let saved = saved.map(|(_, directory)| directory).find_map(|directory| saved_recipe(directory));
    let text = match (&saved, &verb.recipe) {
        (Some(saved), _) => saved.to_toml(),
        (None, None) => recipe::text(recipe::name_for(dataset)).unwrap_or_default().to_owned(),
        (None, Some(name)) => recipe::load(name)?,
    };
    changes.extend(verb.epochs.map(|epochs| format!("epochs={epochs}")));
    let recipe = Recipe::build(&text, &changes)?;
    let images = dataset.train().len();
    let limit = recipe.limit.map_or(images, |limit| limit.min(images));
    Ok(recipe.fitted(limit))
}

/// The recipe of a run that can be resumed; what is wrong with one that cannot is said later.
fn saved_recipe(directory: &Path) -> Option<Recipe> {
    let model = run::find_model(directory).ok()?;
    Some(Checkpoint::read(model.parent()?).ok()?.training_header.recipe)
}

fn introduce(spec: &Spec, data: &Data, recipe: &Recipe, common: &Common) -> Result<(), Failure> {
    let parameters = grouped(spec.graph()?.counts()?.total.parameters);
    common.say(&format!("{spec}: {parameters} parameters; {}", data.identity()));
    if recipe.micro_batch() < recipe.batch {
        let (batch, micro) = (recipe.batch, recipe.micro_batch());
        common.say(&format!(
            "a step takes {batch} images in micro-batches of {micro}; batch norms see one micro-batch at a time"
        ));
    }
    if common.verbose {
        common.say(recipe.to_toml().trim_end());
    }
    Ok(())
}

/// One run, from the beginning or from its checkpoint.
fn train(verb: &Train, job: Job, directory: &Path, common: &Common) -> Result<Trainer, Failure> {
    let (seed, model) = (job.seed, job.spec.name());
    let directory = RunDirectory::open(directory)?;
    let mut trainer = if verb.resume && directory.latest().is_some() {
        Trainer::resume(job, directory)?
    } else {
        Trainer::begin(job, directory)?
    };
    if trainer.resumed_unchecked() {
        common.say(&format!(
            "note: {} carries no checksum: version 0.1.0 wrote it",
            trainer.checkpoint().display()
        ));
    }
    let watch = Watch::new(seed, common);
    let saving = Saving { steps: verb.save_every.map(NonZeroU64::get), ..Saving::default() };
    let outcome = trainer.run(&watch, saving)?;
    watch.finish()?;
    if outcome == Outcome::Stopped {
        let checkpoint = trainer.checkpoint();
        common.say(&format!("interrupted: saved to {}; --resume goes on from there", checkpoint.display()));
        return Err(Failure::Interrupted);
    }
    let (checkpoint, progress) = (trainer.checkpoint(), trainer.progress());
    let result = Finished {
        checkpoint: &checkpoint,
        model,
        seed,
        epochs: progress.history.len(),
        steps: progress.steps,
        test_error: progress.history.last().map(|epoch| epoch.test_error),
        test_error_last_10: progress.last_ten(),
        run_error: progress.run_error(),
    };
    match common.format() {
        Format::Json => print_line(&result)?,
        Format::Csv => common.say(&format!("checkpoint: {}", checkpoint.display())),
        Format::Table => print(&format!("checkpoint: {}\n", checkpoint.display()))?,
    }
    Ok(trainer)
}

fn summarise(errors: &[f64], checkpoints: &[PathBuf], common: &Common) -> Result<(), Failure> {
    let (runs, mean) = (errors.len(), collegial_trials::mean(errors.iter().copied()));
    let standard_error = collegial_trials::standard_error(errors);
    let checkpoint = checkpoints.last().map(PathBuf::as_path);
    let sentence = format!(
        "test error over {runs} runs, each the mean over the last tenth of its epochs: {:.2} % +- {} (standard error)",
        100.0 * mean,
        standard_error.map_or("n/a".into(), |error| format!("{:.2}", 100.0 * error))
    );
    match common.format() {
        Format::Json => {
            let test_errors = errors;
            print_line(&Summary {
                checkpoint,
                checkpoints,
                runs,
                test_error: mean,
                standard_error,
                test_errors,
            })
        }
        Format::Csv => {
            common.say(&sentence);
            Ok(())
        }
        Format::Table => print(&format!("{sentence}\n")),
    }
}

/// One line of JSON.
fn print_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::User(format!("the result has no JSON form: {error}")))?;
    print(&format!("{text}\n"))
}

/// Shows steps on stderr and prints epochs on stdout.
struct Watch<'a> {
    seed: u64,
    common: &'a Common,
    progress: Progress,
    printed: Mutex<Result<usize, Failure>>,
}

impl<'a> Watch<'a> {
    fn new(seed: u64, common: &'a Common) -> Self {
        let (progress, printed) = (Progress::new("training", common), Mutex::new(Ok(0)));
        Self { seed, common, progress, printed }
    }

    /// Whether all could be printed.
    fn finish(self) -> Result<(), Failure> {
        self.printed.into_inner().unwrap_or_else(PoisonError::into_inner).map(|_| ())
    }

    fn print(&self, epoch: &Epoch, first: bool) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Line<'a> {
            #[serde(flatten)]
            epoch: &'a Epoch,
            seed: u64,
        }
        let Epoch { loss, train_error, test_error, top5_error, test_loss, .. } = epoch;
        let (number, rate, seconds) = (epoch.epoch, epoch.learning_rate, epoch.seconds);
        let (speed, waited, seed) = (epoch.images_per_second, epoch.waited, self.seed);
        match self.common.format() {
            Format::Json => print_line(&Line { epoch, seed }),
            Format::Csv => {
                let heading = "epoch,loss,train_error,test_error,seconds,test_loss,top5_error,learning_rate,images_per_second,waited,seed\n";
                print(&format!(
                    "{}{number},{loss},{train_error},{test_error},{seconds},{test_loss},{top5_error},{rate},{speed},{waited},{seed}\n",
                    if first { heading } else { "" }
                ))
            }
            Format::Table => {
                let heading =
                    "epoch      loss  train error  test error   top-5      rate  images/s  seconds\n";
                print(&format!(
                    "{}{number:>5}  {loss:>8.4}  {:>9.2} %  {:>8.2} %  {:>4.1} %  {rate:>8.2e}  {speed:>8.0}  {seconds:>7.1}\n",
                    if first { heading } else { "" },
                    100.0 * train_error,
                    100.0 * test_error,
                    100.0 * top5_error,
                ))
            }
        }
    }
}

impl Monitor for Watch<'_> {
    fn progress(&self, share: f64, state: Option<&str>) {
        self.progress.progress(share, state);
    }

    fn stopped(&self) -> bool {
        // Training on for a reader that has left would be a surprise.
        self.progress.stopped() || self.printed.lock().is_ok_and(|printed| printed.is_err())
    }
}

impl TrainingMonitor for Watch<'_> {
    fn finished_epoch(&self, epoch: &Epoch) {
        let Ok(mut printed) = self.printed.lock() else { return };
        if let Ok(lines) = *printed {
            let done = self.progress.suspend(|| self.print(epoch, lines == 0));
            *printed = done.map(|()| lines + 1);
        }
    }
}
