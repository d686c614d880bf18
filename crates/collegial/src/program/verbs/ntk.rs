//! `collegial ntk`: the empirical tangent kernel of a draw or of a checkpoint.

use std::path::PathBuf;

use clap::Args;

use crate::ntk::{self, Basis, Request, regress, tiled};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::show;
use crate::program::progress::Progress;
use crate::{draws, files};

#[derive(Args)]
pub struct Ntk {
    #[command(flatten)]
    request: Request,
    /// Write the weights used to this safetensors file
    #[arg(long, value_name = "FILE")]
    save_weights: Option<PathBuf>,
    /// Write the inputs used to this .npy file
    #[arg(long, value_name = "FILE")]
    save_input: Option<PathBuf>,
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
    let request = Request { seed: common.seed, ..verb.request.clone() };
    if request.draws.is_some() {
        let progress = Progress::new("drawing networks", common);
        let draws = draws::run(&request, &progress);
        drop(progress);
        return show(&draws?, common.format());
    }
    let progress = Progress::new("computing the kernel", common);
    if request.regress {
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
