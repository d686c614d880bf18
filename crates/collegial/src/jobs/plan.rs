//! `--plan`: the jobs of a request, what they take, and how a scheduler runs them.

use std::path::PathBuf;

use collegial_core::files::disk;
use collegial_experiments::jobs::{
    Bill, Hours, Job, Ledger, Listed, Machine, Plan, PlanError, seconds_per_image,
};
use collegial_report::{Align, Table, duration, significant};
use collegial_train::backend::Device;
use collegial_train::{Backends, seconds_per_step};
use serde::{Deserialize, Serialize};

use super::{Task, shell};
use crate::message::{invalid, option};
use crate::options::options;
use crate::style::wrapped;
use crate::{Answer, Error, Monitor, Style, files};

/// Multiply-adds of a timed step at most, so that timing a network takes seconds.
const TIMED: u64 = 4_000_000_000;

/// What to plan, and where.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What is to be done.
    pub task: Task,
    /// Holds the plan and everything that its jobs write.
    pub directory: PathBuf,
    /// What the bill is made for.
    #[serde(flatten)]
    pub pace: Pace,
}

options! {
    /// On which machines jobs run.
    #[derive(Copy)]
    pub struct Pace {
        /// Jobs at once, for the finishing time [default: the cores of this machine]
        #[arg(long, value_name = "COUNT", requires = "plan", help_heading = "Jobs")]
        pub workers: Option<usize>,
        /// Seconds of a training step of the first network on the machine that is meant; without it
        /// first steps are timed here
        #[arg(long, value_name = "SECONDS", requires = "plan", help_heading = "Jobs")]
        pub seconds_per_step: Option<f64>,
    }
}

/// The jobs and the bill.
#[derive(Clone, Debug, Serialize)]
pub struct PlanAnswer {
    /// Where the plan is.
    #[serde(serialize_with = "crate::paths::shown")]
    pub directory: PathBuf,
    /// All jobs.
    pub jobs: usize,
    /// Those that are finished.
    pub finished: usize,
    /// What the rest takes.
    pub bill: Bill,
    /// Jobs at once.
    pub workers: usize,
    /// Until the end with so many workers.
    pub finish_seconds: f64,
    /// Workers beyond which the longest job is the floor.
    pub useful_workers: usize,
    /// `COLLEGIAL_INSTRUCTIONS` of every worker: others give other last bits.
    pub instructions: String,
    /// What runs the jobs, one way per line.
    pub commands: Vec<String>,
}

/// Lists, times, and writes the plan. Done again with the same request, it extends the plan: a
/// validation whose pilot is finished gets the runs that the pilot asks for.
///
/// # Errors
///
/// Where the request has no trainings, or the directory holds the plan of another.
pub fn run(request: &Request, backends: Backends, monitor: &dyn Monitor) -> Result<PlanAnswer, Error> {
    if let Some(seconds) =
        request.pace.seconds_per_step.filter(|seconds| !(*seconds > 0.0 && seconds.is_finite()))
    {
        return Err(invalid![option("seconds_per_step"), format!(" is {seconds}; it must be above 0")].into());
    }
    let directory = std::path::absolute(&request.directory).map_err(Error::reading(&request.directory))?;
    disk::create_directories(&directory)
        .map_err(|source| Error::Directory { path: directory.clone(), source })?;
    let mut task = request.task.clone().settled(&directory)?;
    let machine = match Plan::<Task>::read(&directory) {
        Ok(before) if !before.request.asks_the_same(&task) => {
            return Err(invalid![format!(
                "{} holds the plan of another request; take another directory, or remove plan.json there",
                directory.display()
            )]
            .into());
        }
        // Some of its jobs may be done.
        Ok(before) => before.machine,
        Err(PlanError::Missing { .. }) => Machine::here(),
        Err(broken) => return Err(broken.into()),
    };
    let ledger = Ledger::default();
    task.list(&ledger, monitor)?;
    let mut listed = ledger.entries();
    if listed.is_empty() {
        return Err(invalid!["nothing would be trained: there are no jobs to plan"].into());
    }
    let bill = bill(&mut listed, request.pace.seconds_per_step, 1, backends, monitor)?;
    let finished = listed.iter().filter(|listed| listed.finished).count();
    let jobs: Vec<Job> = listed.into_iter().map(|listed| listed.job).collect();
    let count = jobs.len();
    let plan = Plan::new(task.placeless(), jobs).on(machine);
    plan.write(&directory)?;
    let seconds = bill.seconds / bill.jobs.max(1) as f64;
    let script = shell::array_script(&directory, count, shell::chunk(count, seconds), &plan.machine);
    files::write_own(&directory.join("array.sbatch"), &script)?;
    let workers = request.pace.workers.unwrap_or_else(available);
    Ok(PlanAnswer {
        jobs: count,
        finished,
        workers,
        finish_seconds: bill.finish(workers),
        useful_workers: bill.useful_workers(),
        bill,
        instructions: plan.machine.instructions,
        commands: shell::commands(&directory, count, workers),
        directory,
    })
}

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// By the time that was given, or by the first steps of every network with the engine that will
/// train it, on so many threads.
pub(crate) fn bill(
    listed: &mut [Listed],
    given: Option<f64>,
    threads: usize,
    backends: Backends,
    monitor: &dyn Monitor,
) -> Result<Bill, Error> {
    let first = listed.first().map_or(1, |listed| listed.job.flops.max(1));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Error::Threads { threads, reason: error.to_string() })?;
    let timed = |Listed { job, training, .. }: &Listed| {
        let native = training.engine.is_native();
        if let Some(seconds) = given {
            let hours = if native { Hours::Core } else { Hours::Worker };
            return Ok((seconds * job.flops as f64 / first as f64, hours));
        }
        monitor.progress(0.0, Some(&format!("first steps of {}", job.model)));
        if native {
            let batch = (TIMED / job.flops.max(1)).clamp(1, job.batch as u64) as usize;
            let per_image = pool.install(|| seconds_per_image(&training.spec, batch, 3))?;
            return Ok((per_image * job.batch as f64, Hours::Core));
        }
        let (seconds, device) = pool.install(|| seconds_per_step(training, backends))?;
        Ok((seconds, if device == Device::Gpu { Hours::Gpu } else { Hours::TorchCore }))
    };
    Ok(Bill::of(listed, timed)?)
}

impl Answer for PlanAnswer {
    fn text(&self, style: &Style) -> String {
        let (sentences, table) = self.summary();
        let [gather, status] = shell::afterwards(&self.directory);
        format!(
            "{}\n{}\n{}\n\nRun them by one of\n  {}\nthen\n  {gather}\nand meanwhile\n  {status}\n",
            style.strong(&sentences[0]),
            table.to_text(),
            sentences[1..].iter().flat_map(|sentence| wrapped(sentence)).collect::<Vec<_>>().join("\n"),
            self.commands.join("\n  "),
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("model", Align::Left),
            ("jobs", Align::Right),
            ("one step", Align::Right),
            ("one job", Align::Right),
            (self.bill.hours.unit(), Align::Right),
        ]);
        for line in &self.bill.lines {
            let one = line.seconds / line.jobs.max(1) as f64;
            table.push([
                line.model.clone(),
                line.jobs.to_string(),
                format!("{} ms", significant(1000.0 * line.seconds_per_step, 3)),
                if line.jobs > 0 { duration(one) } else { String::new() },
                significant(line.seconds / 3600.0, 3),
            ]);
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let (jobs, finished) = (self.jobs, self.finished);
        let hours = significant(self.bill.seconds / 3600.0, 3);
        let mut sentences = vec![
            format!(
                "{jobs} jobs, {finished} of them finished; the rest takes about {hours} {}.",
                self.bill.hours.words()
            ),
            format!(
                "With {} workers about {}. The longest job takes {}, so more than {} workers do not help.",
                self.workers,
                duration(self.finish_seconds),
                duration(self.bill.longest),
                self.useful_workers
            ),
        ];
        if self.bill.jobs == 0 {
            sentences.truncate(1);
        }
        (sentences, self.table())
    }
}
