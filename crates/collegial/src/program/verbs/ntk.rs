//! `collegial ntk`: the empirical tangent kernel of a draw or of a checkpoint.

use std::path::PathBuf;

use crate::ntk::{self, Basis, Memory, NormPolicy, Parametrisation, Part, Request, Share, regress, tiled};
use crate::{draws, files};
use clap::Args;

use crate::program::arguments::{Common, Model};
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;

/// Compute the empirical tangent kernel between inputs, at drawn or given weights
///
/// K(x, x') is the sum over all parameters of df(x)/dw df(x')/dw, with f one output unit, or summed
/// over all outputs with --trace. Where the output is a map, a unit is its middle position, or with
/// --pooled its mean over positions. Batch norms are removed for drawn weights and frozen at their
/// running statistics for given ones, unless --norms says otherwise. The numbers of a drawn network
/// are those that training from the same seed starts with. MODEL may also be a checkpoint of
/// `collegial train`: a .safetensors file, or the directory of a checkpoint or of a run.
///
/// Between many inputs it is computed in tiles within --memory, which go to --out one by one; the
/// same command goes on where it was stopped or killed, by FILE.npy.tiles beside it.
#[derive(Args)]
#[command(after_help = "Examples:\n  collegial ntk resnext29-1x8d --count 3 --json\n  \
    collegial ntk fc4-1000 --data DIR --count 10000 --memory 4G --out k.npy\n  \
    collegial ntk fc4-1000 --data DIR --count 2000 --regress")]
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
    #[arg(long, value_name = "T", conflicts_with_all = ["weights", "out", "save_weights", "save_input", "memory", "full", "diagonal", "tiles", "regress"])]
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
    /// Every output with every output: a row and a column per input and output, by input first
    #[arg(long, conflicts_with_all = ["output", "trace"])]
    full: bool,
    /// K(x, x) only, one number per input
    #[arg(long)]
    diagonal: bool,
    /// Write the kernel to this .npy file, tile by tile, in place of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Memory that tiles may take: 4G, 800M [default: half of what is free]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Memory>,
    /// Compute the I-th of K equal shares of the tiles of --out, beside other processes
    #[arg(long, value_name = "I/K", requires = "out")]
    tiles: Option<Share>,
    /// Predict the classes of --data with the kernel between its first --count training images
    /// [default: 1000], the ridge chosen by leave-one-out
    #[arg(long, requires = "data", conflicts_with_all = ["full", "diagonal", "tiles", "split", "save_weights", "save_input"])]
    regress: bool,
    /// Test images of --regress [default: --count, or all that there are]
    #[arg(long, value_name = "N", requires = "regress")]
    test_count: Option<usize>,
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
            full: self.full,
            diagonal: self.diagonal,
            out: self.out.clone(),
            memory: self.memory,
            tiles: self.tiles,
            regress: self.regress,
            test_count: self.test_count,
            seed: common.seed,
        }
    }
}

impl Ntk {
    /// Writes the weights and inputs that were used, where that is wanted.
    fn save(&self, basis: &Basis) -> Result<(), Failure> {
        if let Some(path) = &self.save_weights {
            files::write(path, &basis.weights_to_safetensors()?)?;
        }
        if let Some(path) = &self.save_input {
            files::write(path, &basis.inputs_to_npy()?)?;
        }
        Ok(())
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
    let request = verb.request(common);
    let progress = Progress::new("computing the kernel", common);
    if verb.regress {
        let regression = regress::run(&request, &progress);
        drop(progress);
        return show(&regression?, common.format());
    }
    if request.is_tiled() {
        let kernel = tiled::run(&request, &progress);
        drop(progress);
        let kernel = kernel?;
        verb.save(&kernel.basis)?;
        return show(&kernel, common.format());
    }
    let kernel = ntk::run(&request, &progress);
    drop(progress);
    let kernel = kernel?;
    verb.save(&kernel.basis)?;
    show(&kernel, common.format())
}
