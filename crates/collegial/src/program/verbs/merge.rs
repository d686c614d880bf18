//! `collegial merge`: joins the shards that `collegial fit --shard` wrote.

use clap::Args;

use super::fit::{Drawing, show};
use crate::merge::{self, Request};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::progress::Progress;

#[derive(Args)]
pub struct Merge {
    #[command(flatten)]
    request: Request,
    #[command(flatten)]
    drawing: Drawing,
}

/// Runs the verb.
pub fn run(verb: &Merge, common: &Common) -> Result<(), Failure> {
    let fitted = merge::run(&verb.request, &Progress::new("joining", common))?;
    if !fitted.complete {
        common.say("warning: some shards are missing; the fit is made of the draws that are there");
    }
    show(&fitted, &verb.drawing, common)
}
