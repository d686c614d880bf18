//! `collegial models`: every name it knows.

use collegial_ops as ops;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::show;

/// Runs the verb.
pub fn run(common: &Common) -> Result<(), Failure> {
    show(&ops::models::run(ops::models::Request::default())?, common.format())
}
