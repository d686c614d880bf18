//! `collegial evaluate`: the test error of a checkpoint.

use std::path::PathBuf;

use crate::evaluate::{self, Request};
use crate::files;
use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;

/// Test a checkpoint: error, top-5 error, errors per class and the confusion matrix
///
/// Takes checkpoints of `collegial train`, files of `collegial export --to safetensors|onnx`, and
/// safetensors files of torchvision's and timm's ResNets and ResNeXts, whose design is told from
/// their tensors.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial evaluate run --data cifar10")]
pub struct Evaluate {
    /// A .safetensors or .onnx file, the directory of a checkpoint, or that of a run
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: PathBuf,
    /// Directory of the data set
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The network, by name or TOML spec [default: what the file says or its tensors tell]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// The classes of the network's outputs, one name per line, for a data set that has some of
    /// them
    #[arg(long, value_name = "FILE")]
    class_list: Option<PathBuf>,
    /// Images computed at once
    #[arg(long, value_name = "COUNT", default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Write the network's outputs, images x classes, to this .npy file
    #[arg(long, value_name = "FILE")]
    logits: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(verb: &Evaluate, common: &Common) -> Result<(), Failure> {
    let request = Request {
        checkpoint: verb.checkpoint.clone(),
        data: verb.data.clone(),
        model: verb.model.clone(),
        class_list: verb.class_list.clone(),
        batch: verb.batch,
        logits: verb.logits.is_some(),
    };
    let evaluated = evaluate::run(&request, &Progress::new("testing", common))?;
    if let Some(path) = &verb.logits {
        files::write(path, &evaluated.logits_to_npy()?)?;
    }
    show(&evaluated, common.format())
}
