//! `collegial export`: a network for PyTorch, timm and ONNX runtimes.

use crate::export::{self, Request};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;

/// Runs the verb.
pub fn run(request: &Request, common: &Common) -> Result<(), Failure> {
    let request = Request { seed: common.seed, ..request.clone() };
    show(&export::run(&request, &Progress::new("exporting", common))?, common.format())
}
