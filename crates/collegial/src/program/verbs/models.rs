//! `collegial models`: every name it knows.

use crate::models::{self, Request};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;

/// Runs the verb.
pub fn run(request: Request, common: &Common) -> Result<(), Failure> {
    show(&models::run(request)?, common.format())
}
