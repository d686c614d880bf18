//! `collegial info`: what is in a network, layer by layer and in all.

use clap::Args;

use crate::info::{self, Request};
use crate::program::arguments::{Common, Format};
use crate::program::failure::Failure;
use crate::program::output::{print, show};
use crate::program::progress::Progress;

#[derive(Args)]
pub struct Info {
    #[command(flatten)]
    request: Request,
    /// Print the model as a TOML spec instead, to be edited and given back in place of a name
    #[arg(long)]
    spec: bool,
}

/// Runs the verb.
pub fn run(verb: &Info, common: &Common) -> Result<(), Failure> {
    match common.format() {
        Format::Csv | Format::Table if verb.spec => print(&verb.request.model.spec()?.to_toml()),
        format => show(&info::run(&verb.request, &Progress::new("counting", common))?, format),
    }
}
