//! `collegial train`: from the files of a data set to a test error.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate as ops;
use crate::engine::Engine;
use crate::train::{self, Finished, Log, Request, RunEpoch, json_line};
use clap::Args;
use collegial_report::visible;

use crate::program::arguments::{Common, Format, Model};
use crate::program::failure::Failure;
use crate::program::output::print;
use crate::program::progress::Progress;

/// Train a network on a data set and test it after every epoch
///
/// The data set is recognised by its files (MNIST, CIFAR binary version, downsampled ImageNet,
/// class folders), and with it the paper's recipe, which --set changes. Checkpoints are safetensors
/// files under torchvision's names; a run that was interrupted or killed at any moment goes on with
/// --resume and ends with the same weights to the bit, on any number of threads. With --json it
/// prints JSON lines: a document per epoch as it ends, and a last one that names the checkpoint.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial train resnext29-10x10d --data cifar10 --out run")]
pub struct Train {
    #[command(flatten)]
    model: Model,
    /// Directory of the data set
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Directory of the run: checkpoints, recipe, results, TensorBoard events [default:
    /// runs/MODEL-DATA]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on from the newest checkpoint of --out, or begin if there is none
    #[arg(long)]
    resume: bool,
    /// cifar10, cifar100, mnist, imagenet32, imagenet64, imagenet, or a TOML file [default: by data
    /// set]
    #[arg(long, value_name = "NAME|FILE")]
    recipe: Option<PathBuf>,
    /// Change the recipe: learning_rate=0.05, micro_batch=32, schedule.milestones=[5,8],
    /// optimiser.kind=adam
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
    /// Who computes
    #[arg(long, value_enum, default_value_t = Engine::Native)]
    engine: Engine,
}

impl Train {
    fn request(&self, common: &Common) -> Request {
        Request {
            model: self.model.request(),
            data: self.data.clone(),
            out: self.out.clone(),
            resume: self.resume,
            recipe: self.recipe.clone(),
            set: self.set.clone(),
            epochs: self.epochs,
            limit: self.limit,
            runs: self.runs,
            save_every: self.save_every,
            seed: common.seed,
            engine: self.engine,
        }
    }
}

/// Runs the verb.
pub fn run(verb: &Train, common: &Common) -> Result<(), Failure> {
    let progress = Progress::new("training", common);
    let printer = Printer { common, progress: &progress, state: Mutex::default() };
    let trained = train::run(&verb.request(common), &progress, &printer);
    let failure = printer.state.into_inner().unwrap_or_else(PoisonError::into_inner).failure;
    drop(progress);
    let trained = trained?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let Some(summary) = &trained.summary else { return Ok(()) };
    match common.format() {
        Format::Json => print(&json_line(summary)?),
        Format::Csv => {
            common.say(&summary.sentence());
            Ok(())
        }
        Format::Table => print(&format!("{}\n", summary.sentence())),
    }
}

/// Prints epochs and runs as they come. Training goes on without a reader, and after a write that
/// failed.
struct Printer<'a> {
    common: &'a Common,
    progress: &'a Progress,
    state: Mutex<Printed>,
}

#[derive(Default)]
struct Printed {
    /// The seed of the last epoch printed.
    seed: Option<u64>,
    /// Why printing stopped, unless the reader left.
    failure: Option<Failure>,
    stopped: bool,
}

impl Printer<'_> {
    fn state(&self) -> MutexGuard<'_, Printed> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print(&self, text: Result<String, ops::Error>) {
        let mut state = self.state();
        if state.stopped {
            return;
        }
        let printed = text.map_err(Failure::from).and_then(|text| self.progress.suspend(|| print(&text)));
        match printed {
            Ok(()) => return,
            Err(Failure::ReaderLeft) => {
                self.common.say("nobody reads the results any more; training goes on");
            }
            Err(failure) => state.failure = Some(failure),
        }
        state.stopped = true;
    }
}

impl Log for Printer<'_> {
    fn epoch(&self, epoch: &RunEpoch) {
        let first = self.state().seed.replace(epoch.seed) != Some(epoch.seed);
        let heading = |heading: &str| if first { heading.to_owned() } else { String::new() };
        self.print(match self.common.format() {
            Format::Json => json_line(epoch),
            Format::Csv => Ok(heading(RunEpoch::CSV_HEADING) + &epoch.csv()),
            Format::Table => Ok(heading(RunEpoch::TEXT_HEADING) + &epoch.text()),
        });
    }

    fn finished(&self, run: &Finished) {
        let sentence = format!("checkpoint: {}", run.checkpoint.display());
        match self.common.format() {
            Format::Json => self.print(json_line(run)),
            Format::Csv => self.progress.suspend(|| self.common.say(&sentence)),
            Format::Table => self.print(Ok(visible(&sentence) + "\n")),
        }
    }
}
