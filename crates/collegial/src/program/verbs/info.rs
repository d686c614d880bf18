//! `collegial info`: what is in a network, layer by layer and in all.

use crate as ops;
use clap::Args;
use collegial_arch::MAX_DIMENSION;

use crate::program::arguments::{Common, Format, Model};
use crate::program::failure::Failure;
use crate::program::output::{print, show};
use crate::program::progress::Progress;

/// Count a network's parameters, FLOPs and activations, per layer and in all
///
/// FLOPs are 2 per multiply-accumulate, 1 per element of a batch norm's output and 1 per element of
/// a residual sum; activations are the elements that convolutions and dense layers put out.
///
/// MODEL can also be the path of a checkpoint, of a run's directory, or of an exported ONNX file.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial info resnext50-32x4d --batch 256")]
pub struct Info {
    #[command(flatten)]
    model: Model,
    /// Print the model as a TOML spec instead, to be edited and given back in place of a name
    #[arg(long)]
    spec: bool,
    /// Images per training step, for the bytes it needs
    #[arg(long, value_name = "IMAGES", default_value_t = 128, value_parser = batch_size, allow_negative_numbers = true)]
    batch: usize,
}

fn batch_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(batch) if (1..=MAX_DIMENSION).contains(&batch) => Ok(batch),
        _ => Err(format!("it must be a number between 1 and {MAX_DIMENSION}")),
    }
}

impl Info {
    /// The question in the words of the library.
    pub fn request(&self) -> ops::info::Request {
        ops::info::Request { model: self.model.request(), batch: self.batch }
    }
}

/// Runs the verb.
pub fn run(verb: &Info, common: &Common) -> Result<(), Failure> {
    match common.format() {
        Format::Csv | Format::Table if verb.spec => print(&verb.model.request().spec()?.to_toml()),
        format => show(&ops::info::run(&verb.request(), &Progress::new("counting", common))?, format),
    }
}
