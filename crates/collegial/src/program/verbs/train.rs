//! `collegial train`: from the files of a data set to a test error.

use std::sync::{Mutex, MutexGuard, PoisonError};

use collegial_report::visible;

use crate::backend::Backends;
use crate::program::arguments::{Common, Format};
use crate::program::failure::Failure;
use crate::program::output::print;
use crate::program::progress::Progress;
use crate::style::wrapped;
use crate::train::{self, Log, Request, RunEpoch, TrainedRun, json_line};

/// Runs the verb.
pub fn run(request: &Request, backends: Backends, common: &Common) -> Result<(), Failure> {
    let request = Request { seed: common.seed, ..request.clone() };
    let progress = Progress::new("training", common);
    let printer = Printer { common, progress: &progress, state: Mutex::default() };
    let trained = train::run(&request, backends, &progress, &printer);
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
        Format::Table => print(&format!("{}\n", wrapped(&summary.sentence()).join("\n"))),
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

    fn print(&self, text: Result<String, crate::Error>) {
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

    fn finished(&self, run: &TrainedRun) {
        let sentence = format!("checkpoint: {}", run.checkpoint.display());
        match self.common.format() {
            Format::Json => self.print(json_line(run)),
            Format::Csv => self.progress.suspend(|| self.common.say(&sentence)),
            Format::Table => self.print(Ok(visible(&sentence) + "\n")),
        }
    }
}
