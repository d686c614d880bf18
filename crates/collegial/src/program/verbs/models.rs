//! `collegial models`: every name it knows.

use crate as ops;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;

/// Runs the verb.
pub fn run(common: &Common) -> Result<(), Failure> {
    show(&ops::models::run(ops::models::Request::default())?, common.format())
}
