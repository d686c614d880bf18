//! `collegial export`: a network for PyTorch, timm and ONNX runtimes.

use std::path::PathBuf;

use crate::export::{self, Naming, Request, Target};
use clap::Args;

use crate::program::arguments::{Common, Model};
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;

/// Write a network for other programs: safetensors, ONNX, or a PyTorch training script
///
/// A model's weights are drawn from --seed, as training from this seed begins with; those of a
/// checkpoint are its own. Safetensors files load into torchvision's and timm's networks; ONNX
/// files hold plain operators and take batches of any size; the script holds the module and its
/// recipe and trains on one device or, through torchrun, on many. `evaluate` and `info` read the
/// first two back.
///
/// MODEL can also be the path of a checkpoint, of a run's directory, or of an exported ONNX file.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial export resnext29-66x6d --to pytorch --out better.py")]
pub struct Export {
    #[command(flatten)]
    model: Model,
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Target,
    /// Where to write it; a file that is there is replaced [default: MODEL.safetensors, MODEL.onnx
    /// or MODEL.py]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Safetensors: whose names the layers have; they differ for RegNets
    #[arg(long, value_enum, value_name = "WHOSE", default_value = "torchvision")]
    names: Naming,
    /// ONNX: fold batch norms into the convolutions before them
    #[arg(long)]
    fold: bool,
    /// ONNX: put the weights into FILE.data; done in any case where they exceed the 2 GB of one
    /// file
    #[arg(long)]
    external_data: bool,
    /// PyTorch: cifar10, cifar100, mnist, imagenet, or a TOML file [default: the checkpoint's own,
    /// or by model]
    #[arg(long, value_name = "NAME|FILE")]
    recipe: Option<PathBuf>,
    /// PyTorch: change the recipe: epochs=5, learning_rate=0.05
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Runs the verb.
pub fn run(verb: &Export, common: &Common) -> Result<(), Failure> {
    let request = Request {
        model: verb.model.request(),
        to: verb.to,
        out: verb.out.clone(),
        names: verb.names,
        fold: verb.fold,
        external_data: verb.external_data,
        recipe: verb.recipe.clone(),
        set: verb.set.clone(),
        seed: common.seed,
    };
    show(&export::run(&request, &Progress::new("exporting", common))?, common.format())
}
