//! `collegial fit`: Algorithm 1.

use std::path::PathBuf;

use crate::{self as ops, Widths, files};
use clap::Args;

use crate::program::arguments::{Common, Model};
use crate::program::failure::Failure;
use crate::program::output;
use crate::program::progress::Progress;

/// Fit alpha of a module's variance law to its kernel at several widths (Algorithm 1)
///
/// A straight line through ln(E[K^2]/E[K]^2) of one output unit's K(x, x) against S(n) has the
/// slope alpha. For convolutions S(n) is the sum of inverse fan-ins over all layers, the first
/// included; for fully connected networks it is L/n, as in the paper's Fig. 3: one term for each of
/// the L weight matrices, whatever the number of inputs. Moments are exact where there is a closed
/// form, averaged over standard normal inputs; with --trials they are drawn as printed in the
/// paper, at one input and without drawing a weight matrix; elsewhere half a second of draws is
/// taken, at many inputs. The law is an approximation: alpha depends on the widths it is fitted to,
/// so it comes with its points, residuals and a verdict. For a network the block of its first stage
/// is taken.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial fit bottleneck-128 --trials 10000")]
pub struct Fit {
    #[command(flatten)]
    model: Model,
    #[command(flatten)]
    pub options: FitOptions,
    /// Take only this share of the draws, such as 2/8; write it with --out and join the shares with
    /// `collegial merge`
    #[arg(long, value_name = "I/N", value_parser = shard, requires = "out")]
    shard: Option<String>,
    /// Save what was drawn, for `collegial merge`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    line: LineOptions,
}

/// How much is drawn.
#[derive(Args)]
pub struct FitOptions {
    /// Draws per width at one input (T; the paper takes 2000) [default: none where moments are
    /// exact, else half a second of draws at many inputs; 2000 with --out]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub trials: Option<u64>,
    /// Widths to measure: 4,10,16 or 1..256 or 16..256:16 [default: 1,16..256:16 for a bottleneck,
    /// else sixteenths of the width]
    #[arg(long, value_name = "LIST")]
    pub widths: Option<Widths>,
    /// Draw until alpha's 95 % interval is within this share of alpha, such as 0.02; at many inputs
    /// unless --trials says how many at a time
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub precision: Option<f64>,
    /// The kernel of the output averaged over all positions instead of one position's
    #[arg(long)]
    pub pooled: bool,
}

/// How the line is fitted.
#[derive(Args)]
pub struct LineOptions {
    /// Weigh points by their standard errors (the paper weighs all alike)
    #[arg(long)]
    weighted: bool,
    /// Force the line through the origin (the paper's has an intercept)
    #[arg(long)]
    no_intercept: bool,
    /// Write the figure to this SVG file, and its data beside it as CSV
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
}

impl LineOptions {
    /// How the line is fitted, in the words of the library.
    pub fn request(&self) -> ops::fit::Line {
        ops::fit::Line { weighted: self.weighted, no_intercept: self.no_intercept }
    }
}

impl Fit {
    /// The question in the words of the library.
    pub fn request(&self, common: &Common) -> ops::fit::Request {
        ops::fit::Request {
            model: self.model.request(),
            // What is saved was drawn.
            trials: self.options.trials.or(self.out.as_ref().map(|_| ops::fit::TRIALS)),
            widths: self.options.widths.clone(),
            precision: self.options.precision,
            pooled: self.options.pooled,
            shard: self.shard.clone(),
            line: self.line.request(),
            seed: common.seed,
        }
    }
}

fn shard(text: &str) -> Result<String, String> {
    ops::fit::shard(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Runs the verb.
pub fn run(verb: &Fit, common: &Common) -> Result<(), Failure> {
    let request = verb.request(common);
    if let Some(fitted) = ops::fit::exact(&request)? {
        return show(&fitted, &verb.line, common);
    }
    let progress = Progress::new("drawing kernels", common);
    let draws = ops::fit::draw(&request, &progress);
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
    let shown = match verb.shard {
        None => draws
            .fitted(verb.line.request())
            .map_err(Failure::from)
            .and_then(|fitted| show(&fitted, &verb.line, common)),
        Some(_) => Ok(()),
    };
    // Interrupted before every width had two draws there is nothing to show, and that is nobody's
    // mistake.
    if draws.interrupted { Err(Failure::Interrupted) } else { shown }
}

/// Draws the requested figure, and prints.
pub fn show(fitted: &ops::fit::Fitted, line: &LineOptions, common: &Common) -> Result<(), Failure> {
    if let Some(path) = &line.figure {
        files::write_figure(path, &fitted.figure())?;
        common.say(&format!("wrote {} and its data as CSV", path.display()));
    }
    output::show(fitted, common.format())
}
