//! `collegial job`: one training of a plan; and `--plan`, which makes one.

use std::path::PathBuf;

use clap::Args;

use crate::backend::Backends;
use crate::jobs::Task;
use crate::jobs::job::{self, Request};
use crate::jobs::plan::{self, Pace};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;

/// Runs the verb.
pub fn run(request: &Request, backends: Backends, common: &Common) -> Result<(), Failure> {
    show(&job::run(request, backends, &Progress::new("starting", common))?, common.format())
}

/// Jobs instead of trainings.
#[derive(Args)]
pub struct Planning {
    /// Train nothing: write the trainings as jobs into DIR, with a Slurm array and what they take
    #[arg(long, value_name = "DIR", help_heading = "Jobs")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    pace: Pace,
}

impl Planning {
    /// Makes the plan and prints it, where one is wanted.
    pub fn run(
        &self,
        task: impl FnOnce() -> Task,
        backends: Backends,
        common: &Common,
    ) -> Option<Result<(), Failure>> {
        let request = plan::Request { directory: self.plan.clone()?, task: task(), pace: self.pace };
        let planned = plan::run(&request, backends, &Progress::new("planning", common));
        Some(planned.map_err(Failure::from).and_then(|planned| show(&planned, common.format())))
    }
}
