//! `collegial fit`: Algorithm 1.

use std::path::PathBuf;

use clap::Args;

use crate::files;
use crate::fit::{self, FitAnswer, Request};
use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output;
use crate::program::progress::Progress;

#[derive(Args)]
pub struct Fit {
    #[command(flatten)]
    request: Request,
    /// Save what was drawn, for `collegial merge`: 2000 draws per width unless --trials says otherwise
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    drawing: Drawing,
}

// Where the figure goes; a doc comment would be the verb's help.
#[derive(Args)]
pub struct Drawing {
    /// Write the figure to this SVG file, and its data beside it as CSV
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
}

impl Fit {
    fn request(&self, common: &Common) -> Request {
        // What is saved was drawn.
        let trials = self.request.trials.or(self.out.as_ref().map(|_| fit::TRIALS));
        Request { trials, seed: common.seed, ..self.request.clone() }
    }
}

/// Runs the verb.
pub fn run(verb: &Fit, common: &Common) -> Result<(), Failure> {
    files::check_file("out", verb.out.as_deref())?;
    let request = verb.request(common);
    if let Some(fitted) = fit::exact(&request)? {
        return show(&fitted, &verb.drawing, common);
    }
    let progress = Progress::new("drawing kernels", common);
    let draws = fit::draw(&request, &progress);
    drop(progress);
    let draws = draws?;
    common.explain(&format!(
        "drew the kernel of {} at least {} times at each width on {} threads",
        draws.kernels.module_name(),
        draws.kernels.trials(),
        rayon::current_num_threads()
    ));
    if draws.interrupted {
        common.say("interrupted: going on with the draws made so far");
    }
    if let Some(path) = &verb.out {
        files::write(path, &draws.kernels.to_file()?)?;
        common.say(&format!("wrote the draws to {}", path.display()));
    }
    let shown = match request.shard {
        None => draws
            .fitted(request.line)
            .map_err(Failure::from)
            .and_then(|fitted| show(&fitted, &verb.drawing, common)),
        Some(_) => Ok(()),
    };
    // Interrupted before every width had two draws there is nothing to show, and that is nobody's
    // mistake.
    if draws.interrupted { Err(Failure::Interrupted) } else { shown }
}

/// Draws the requested figure, and prints.
pub fn show(fitted: &FitAnswer, drawing: &Drawing, common: &Common) -> Result<(), Failure> {
    if let Some(path) = &drawing.figure {
        files::write_figure(path, &fitted.figure())?;
        common.say(&format!("wrote {} and its data as CSV", path.display()));
    }
    output::show(fitted, common.format())
}
