//! `collegial validate`: does the variance rank trained test errors?

use clap::Args;

use crate::backend::Backends;
use crate::jobs::Task;
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::program::terminal;
use crate::program::verbs::job::Planning;
use crate::validate::{self, Request};

#[derive(Args)]
pub struct Validate {
    // Before the request, whose doc comment is then the verb's help.
    #[command(flatten)]
    planning: Planning,
    #[command(flatten)]
    request: Request,
}

/// Runs the verb.
pub fn run(verb: &Validate, backends: Backends, common: &Common) -> Result<(), Failure> {
    let request = Request { seed: common.seed, ..verb.request.clone() };
    if let Some(planned) = verb.planning.run(|| Task::Validate(request.clone()), backends, common) {
        return planned;
    }
    let validated = validate::run(&request, backends, &Progress::new("starting", common))?;
    let page = validated.write(terminal::provenance())?;
    show(&validated, common.format())?;
    common.say(&format!("page: {}", page.display()));
    if validated.contradicted() { Err(Failure::No(validated.validation.sentence)) } else { Ok(()) }
}
