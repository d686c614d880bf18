//! `collegial ntk`: the empirical tangent kernel of a draw or of a checkpoint.

use std::path::PathBuf;

use clap::Args;
use collegial_ops::ntk::{self, NormPolicy, Parametrisation, Part, Request};
use collegial_ops::{draws, files};

use crate::arguments::{Common, Model};
use crate::failure::Failure;
use crate::output::show;
use crate::progress::Progress;

/// Compute the empirical tangent kernel between inputs, at drawn or given weights
///
/// K(x, x') is the sum over all parameters of df(x)/dw df(x')/dw, with f one output unit, or summed
/// over all outputs with --trace. Where the output is a map, a unit is its middle position, or with
/// --pooled its mean over positions. Batch norms are removed for drawn weights and frozen at their
/// running statistics for given ones, unless --norms says otherwise. The numbers of a drawn network
/// are those that training from the same seed starts with. MODEL may also be a checkpoint of
/// `collegial train`: a .safetensors file, or the directory of a checkpoint or of a run.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial ntk resnext29-1x8d --count 3 --json")]
pub struct Ntk {
    #[command(flatten)]
    model: Model,
    /// Number of inputs: standard normal ones drawn from the seed, or images of --data [default: 4;
    /// with --draws 2]
    #[arg(long, value_name = "N", conflicts_with = "input")]
    count: Option<usize>,
    /// The first images of a data set as inputs, normalised as in training
    #[arg(long, value_name = "DIR", conflicts_with = "input")]
    data: Option<PathBuf>,
    /// Which images of --data
    #[arg(long, value_enum, default_value_t = Part::Test, requires = "data")]
    split: Part,
    /// Inputs from a .npy file (f4 or f8): N x channels x height x width, or N x anything of that
    /// many values
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Weights from a safetensors file with torchvision's names, or from a checkpoint, instead of a
    /// draw
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Gradients by the N(0, 1) weights that sqrt(gain / fan-in) scales, or by the actual weights
    /// [default: ntk; of given weights those they were trained by]
    #[arg(long, value_enum)]
    parametrisation: Option<Parametrisation>,
    /// What becomes of batch norms [default: none; of given weights frozen]
    #[arg(long, alias = "norm", value_enum)]
    norms: Option<NormPolicy>,
    /// Mean and variance of the kernel over this many initialisations, seeds from --seed on,
    /// instead of one kernel
    #[arg(long, value_name = "T", conflicts_with_all = ["weights", "out", "save_weights", "save_input"])]
    draws: Option<u64>,
    /// Images of the batch that norms see in each of --draws, the inputs first [default: the inputs
    /// alone]
    #[arg(long, value_name = "N", requires = "draws", conflicts_with = "input")]
    batch: Option<usize>,
    /// Which output, from 0
    #[arg(long, value_name = "UNIT", default_value_t = 0, conflicts_with = "trace")]
    output: usize,
    /// The sum of the kernels of all outputs
    #[arg(long)]
    trace: bool,
    /// Outputs averaged over all positions instead of one position's
    #[arg(long)]
    pooled: bool,
    /// Write the kernel to this .npy file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the weights used to this safetensors file
    #[arg(long, value_name = "FILE")]
    save_weights: Option<PathBuf>,
    /// Write the inputs used to this .npy file
    #[arg(long, value_name = "FILE")]
    save_input: Option<PathBuf>,
}

impl Ntk {
    /// The question in the words of the library.
    pub fn request(&self, common: &Common) -> Request {
        Request {
            model: self.model.request(),
            count: self.count,
            data: self.data.clone(),
            split: self.split,
            input: self.input.clone(),
            array: None,
            weights: self.weights.clone(),
            parametrisation: self.parametrisation,
            norms: self.norms,
            output: self.output,
            trace: self.trace,
            pooled: self.pooled,
            draws: self.draws,
            batch: self.batch,
            seed: common.seed,
        }
    }
}

/// Runs the verb.
pub fn run(verb: &Ntk, common: &Common) -> Result<(), Failure> {
    if verb.draws.is_some() {
        let progress = Progress::new("drawing networks", common);
        let draws = draws::run(&verb.request(common), &progress);
        drop(progress);
        return show(&draws?, common.format());
    }
    let progress = Progress::new("computing the kernel", common);
    let kernel = ntk::run(&verb.request(common), &progress);
    drop(progress);
    let kernel = kernel?;
    if let Some(path) = &verb.save_weights {
        files::write(path, &kernel.weights_to_safetensors()?)?;
    }
    if let Some(path) = &verb.save_input {
        files::write(path, &kernel.inputs_to_npy()?)?;
    }
    if let Some(path) = &verb.out {
        files::write(path, &kernel.to_npy()?)?;
    }
    show(&kernel, common.format())
}
