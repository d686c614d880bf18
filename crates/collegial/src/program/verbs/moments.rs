//! `collegial moments`: exact moments of the kernel of fully connected networks and bottleneck
//! blocks.

use std::path::PathBuf;

use crate::{self as ops, Widths};
use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;

/// Exact mean and variance of the kernel of a fully connected network or a bottleneck block,
/// without sampling
///
/// K(x, x) is the diagonal entry of the empirical tangent kernel of one output unit at
/// initialisation (NTK parametrisation, no biases); of a map the unit in its middle. Known for
/// chains of ReLU and linear layers that are seen at one position behind their first layer: fully
/// connected networks, 1x1 - k x k - 1x1 blocks of any stride, and TOML modules of that kind. The
/// variance, in units of the squared mean, is averaged over standard normal inputs; its standard
/// deviation over inputs is given beside it, and --input fixes one. The effective alpha is the one
/// with which the paper's law would give this variance of a member: ln(1 + variance) over the sum
/// of inverse fan-ins.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial moments bottleneck-37x10d")]
pub struct Moments {
    /// A module: fc6-500, fc6-30x48, bottleneck-128, or a TOML spec of a chain
    #[arg(value_name = "MODULE", required_unless_present = "widths", conflicts_with = "widths")]
    model: Option<PathBuf>,
    /// Widths of a fully connected network in place of a module, the input's first: 784,48,48
    #[arg(long, value_name = "LIST")]
    widths: Option<Widths>,
    /// One input from a .npy file of f4 or f8: channels x height x width of the module's input,
    /// 256 x 32 x 32 for bottleneck-128; or the n_0 values for a fully connected network
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

impl Moments {
    /// The question in the words of the library.
    pub fn request(&self) -> ops::moments::Request {
        ops::moments::Request {
            model: self.model.clone(),
            widths: self.widths.clone(),
            input: self.input.clone(),
            array: None,
        }
    }
}

/// Runs the verb.
pub fn run(verb: &Moments, common: &Common) -> Result<(), Failure> {
    show(&ops::moments::run(&verb.request())?, common.format())
}
