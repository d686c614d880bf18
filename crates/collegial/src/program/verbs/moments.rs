//! `collegial moments`: exact moments of the kernel of fully connected networks and bottleneck
//! blocks.

use crate::moments::{self, Request};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;

/// Runs the verb.
pub fn run(request: &Request, common: &Common) -> Result<(), Failure> {
    show(&moments::run(request)?, common.format())
}
