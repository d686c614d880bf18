//! `collegial moments`: exact moments of the kernel of a fully connected ReLU network.

use std::path::PathBuf;

use clap::Args;
use collegial_ops::{self as ops, Widths};

use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::show;

/// Exact mean and variance of the kernel of a fully connected ReLU network, without sampling
///
/// K(x, x) is the diagonal entry of the empirical tangent kernel of one output at initialisation (NTK parametrisation, no
/// biases). Its mean is given for an input with |x|^2 = n_0; the variance, in units of the squared mean, is the same for every
/// input.
#[derive(Args)]
pub struct Moments {
    /// A fully connected model such as fc6-500 or fc6-30x48
    #[arg(value_name = "MODEL", required_unless_present = "widths", conflicts_with = "widths")]
    model: Option<PathBuf>,
    /// Widths in place of a model, the input's first: 784,48,48
    #[arg(long, value_name = "LIST")]
    widths: Option<Widths>,
}

impl Moments {
    /// The question in the words of the library.
    pub fn request(&self) -> ops::moments::Request {
        ops::moments::Request { model: self.model.clone(), widths: self.widths.clone() }
    }
}

/// Runs the verb.
pub fn run(verb: &Moments, common: &Common) -> Result<(), Failure> {
    show(&ops::moments::run(&verb.request())?, common.format())
}
