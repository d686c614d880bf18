//! `collegial moments`: exact moments of the kernel of fully connected networks and bottleneck
//! blocks.

use crate::moments::{self, Request};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;

/// Runs the verb.
pub fn run(request: &Request, common: &Common) -> Result<(), Failure> {
    let request = Request { seed: common.seed, ..request.clone() };
    show(&moments::run(&request, &Progress::new("drawing kernels", common))?, common.format())
}
