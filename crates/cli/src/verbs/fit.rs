//! `collegial fit`: Algorithm 1.

use std::path::PathBuf;

use clap::Args;
use collegial_ntk::fit::{Measurements, Method, Sampling, Shard, default_widths};
use collegial_ntk::{Error, Fit as Line, Output};
use collegial_report::Table;
use collegial_report::views::fit as view;
use collegial_stats::Monitor;
use serde::Serialize;

use crate::arguments::{Common, Model};
use crate::failure::Failure;
use crate::output::{Document, write_figure, write_file};
use crate::progress::Progress;
use crate::widths::Widths;

/// Fit alpha of a module's variance law by sampling its kernel at several widths (Algorithm 1)
///
/// The kernel's entry K(x, x) of one output unit is drawn T times at every width without drawing a weight matrix; a straight
/// line through ln(E[K^2]/E[K]^2) against the sum of inverse fan-ins has the slope alpha. The law is an approximation: alpha
/// depends on the widths it is fitted to, so it comes with its points, residuals and a verdict. For a network the block of its
/// first stage is taken.
#[derive(Args)]
pub struct Fit {
    #[command(flatten)]
    model: Model,
    #[command(flatten)]
    pub options: FitOptions,
    /// Take only this share of the draws, such as 2/8; write it with --out and join the shares with `collegial merge`
    #[arg(long, value_name = "I/N", value_parser = shard, requires = "out")]
    shard: Option<Shard>,
    /// Save what was drawn, for `collegial merge`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    line: LineOptions,
}

/// How much is drawn.
#[derive(Args)]
pub struct FitOptions {
    /// Draws per width (T)
    #[arg(long, value_name = "T", default_value_t = 2000, allow_negative_numbers = true)]
    pub trials: u64,
    /// Widths to measure: 4,10,16 or 1..256 or 16..256:16 [default: 1,16..256:16 for a bottleneck, else sixteenths of the width]
    #[arg(long, value_name = "LIST")]
    pub widths: Option<Widths>,
    /// Draw until alpha's 95 % interval is within this share of alpha, such as 0.02
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
    pub fn method(&self) -> Method {
        Method { weighted: self.weighted, intercept: !self.no_intercept }
    }
}

fn shard(text: &str) -> Result<Shard, String> {
    let (index, count) = text.split_once('/').ok_or("write it as 2/8: the second of eight")?;
    let number =
        |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is not a number; write it as 2/8"));
    Shard::new(number(index)?, number(count)?).map_err(|error: Error| error.to_string())
}

/// The JSON form; scripts rely on its keys.
#[derive(Serialize)]
pub struct Fitted {
    #[serde(flatten)]
    fit: Line,
    seed: u64,
    complete: bool,
    seconds: f64,
}

/// Runs the verb.
pub fn run(verb: &Fit, common: &Common) -> Result<(), Failure> {
    let progress = Progress::new("drawing kernels", common);
    let sampled = sample(verb, common, &progress);
    drop(progress);
    let (measurements, seconds, interrupted) = sampled?;
    if interrupted {
        common.say("interrupted: going on with the draws made so far");
    }
    if let Some(path) = &verb.out {
        let text = serde_json::to_string(&measurements)
            .map_err(|error| Failure::User(format!("the draws have no JSON form: {error}")))?;
        write_file(path, &text)?;
        common.say(&format!("wrote the draws to {}", path.display()));
    }
    let shown = match verb.shard {
        None => show(&measurements, &verb.line, seconds, common),
        Some(_) => Ok(()),
    };
    // Interrupted before every width had two draws there is nothing to show, and that is nobody's mistake.
    if interrupted { Err(Failure::Interrupted) } else { shown }
}

/// Draws and fits, for whoever wants the result and not its print; an interrupted one has none.
pub fn answer(verb: &Fit, common: &Common, monitor: &dyn Monitor) -> Result<Fitted, Failure> {
    match sample(verb, common, monitor)? {
        (_, _, true) => Err(Failure::Interrupted),
        (measurements, seconds, false) => fitted(&measurements, &verb.line, seconds),
    }
}

/// Draws, and says how long it took and whether it was interrupted; what was drawn before is kept.
fn sample(verb: &Fit, common: &Common, monitor: &dyn Monitor) -> Result<(Measurements, f64, bool), Failure> {
    let module = verb.model.spec()?.analysed_module()?;
    let widths = match &verb.options.widths {
        Some(Widths(widths)) => widths.clone(),
        None => default_widths(&module)?,
    };
    let sampling = Sampling {
        seed: common.seed,
        trials: verb.options.trials,
        precision: verb.options.precision,
        shard: verb.shard.unwrap_or(Shard::ALL),
        output: if verb.options.pooled { Output::PooledUnit } else { Output::Unit },
        method: verb.line.method(),
    };
    common.explain(&format!(
        "drawing the kernel of {} {} times at each of {} widths on {} threads",
        module.name(),
        sampling.trials,
        widths.len(),
        rayon::current_num_threads()
    ));
    let start = std::time::Instant::now();
    let measurements = Measurements::take(&module, &widths, &sampling, monitor)?;
    Ok((measurements, start.elapsed().as_secs_f64(), monitor.stopped()))
}

fn fitted(measurements: &Measurements, line: &LineOptions, seconds: f64) -> Result<Fitted, Failure> {
    let (seed, complete) = (measurements.seed(), measurements.is_complete());
    Ok(Fitted { fit: Line::new(measurements, line.method())?, seed, complete, seconds })
}

/// Fits and prints.
pub fn show(
    measurements: &Measurements,
    line: &LineOptions,
    seconds: f64,
    common: &Common,
) -> Result<(), Failure> {
    let fitted = fitted(measurements, line, seconds)?;
    if let Some(path) = &line.figure {
        write_figure(path, &view::figure(&fitted.fit))?;
        common.say(&format!("wrote {} and its data as CSV", path.display()));
    }
    fitted.show(common.format())
}

impl Fitted {
    fn sentences(&self) -> Vec<String> {
        vec![view::alpha_sentence(&self.fit), view::verdict_sentence(&self.fit)]
    }
}

impl Document for Fitted {
    fn text(&self) -> String {
        let (table, seconds) = (self.data().to_text(), self.seconds);
        format!("{table}\n{}\n{seconds:.2} s\n", self.sentences().join("\n"))
    }

    fn data(&self) -> Table {
        view::table(&self.fit)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), self.data())
    }
}
