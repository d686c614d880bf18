//! `collegial search`: Algorithm 2, the main job.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use collegial_arch::{Cost, Module, Spec};
use collegial_ntk::Fit;
use collegial_ntk::fit::{Measurements, Method, Sampling, default_widths, measure_variance};
use collegial_report::views::search_page::page;
use collegial_report::views::{fit as fit_view, search as view};
use collegial_report::{Provenance, Table};
use collegial_search::{
    Answer, Exact, Law, Measured, Rule, Search as Question, Time, Variance, free_widths, per_stage,
};
use collegial_stats::Monitor;
use serde::Serialize;

use crate::arguments::{Common, Model};
use crate::failure::Failure;
use crate::output::{Document, to_json, write_figure, write_file};
use crate::progress::Progress;
use crate::terminal;
use crate::widths::Widths;

/// Find the best number m and width n of members for a baseline, without training (Algorithm 2)
///
/// The primal problem keeps the baseline's cost and minimises the kernel's variance; the dual keeps the variance and minimises
/// the cost. Both are solved over every width on the block that the network repeats, then m is corrected to the integer
/// that fits the whole network.
#[derive(Args)]
pub struct Search {
    #[command(flatten)]
    model: Model,
    /// Alpha of the variance law [default: fitted on the spot]
    #[arg(long, allow_negative_numbers = true, conflicts_with = "trials")]
    alpha: Option<f64>,
    /// What a member is charged for
    #[arg(long, value_enum, default_value_t = CostName::Params)]
    cost: CostName,
    /// Where the variance comes from
    #[arg(long, value_enum, default_value_t = Source::Law)]
    variance: Source,
    /// How the primal's m is rounded
    #[arg(long, value_enum, default_value_t = RuleName::Nearest)]
    rule: RuleName,
    /// What the whole network may cost [default: what the baseline costs]
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    budget: Option<u64>,
    /// Widths to look at: 4,10,16 or 1..64 or 8..128:8 [default: all up to the baseline's]
    #[arg(long, value_name = "LIST")]
    widths: Option<Widths>,
    /// Only widths that are a multiple of this, such as 8 for hardware
    #[arg(long, value_name = "N", default_value_t = 1)]
    multiple_of: usize,
    /// At most this many members
    #[arg(long, value_name = "M")]
    max_multiplicity: Option<usize>,
    /// Also optimise every layer's width by itself instead of by one ratio
    #[arg(long, conflicts_with_all = ["multiple_of", "widths", "max_multiplicity"])]
    free_widths: bool,
    /// Also optimise each stage's block by itself
    #[arg(long, conflicts_with_all = ["multiple_of", "widths", "max_multiplicity"])]
    per_stage: bool,
    /// Draws per width when alpha is fitted
    #[arg(long, value_name = "T", default_value_t = 2000, allow_negative_numbers = true)]
    trials: u64,
    /// Standard error of every measured variance, as a share of it [default: 0.01]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    precision: Option<f64>,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the figures as SVG files, with their data as CSV, into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// What a member is charged for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CostName {
    /// Trainable parameters.
    Params,
    /// Floating-point operations.
    Flops,
    /// Elements put out by convolutions and dense layers.
    Activations,
    /// Measured time of a training step on this machine (takes about half a minute; quiet machines only).
    Time,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Source {
    /// The law e^(alpha S) - 1.
    Law,
    /// Sampled at every width.
    Measured,
    /// Theory, for fully connected ReLU networks.
    Exact,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RuleName {
    /// Nearest to the budget.
    Nearest,
    /// The most that the budget allows.
    Under,
}

/// The JSON form; scripts rely on its keys.
#[derive(Serialize)]
pub struct Found {
    #[serde(flatten)]
    answer: Answer,
    /// The fit behind alpha, with its verdict on the law.
    fit: Option<Fit>,
    seed: u64,
    seconds: f64,
}

/// Runs the verb.
pub fn run(verb: &Search, common: &Common) -> Result<(), Failure> {
    answer(verb, common, Progress::new("drawing kernels", common))?.show(common.format())
}

/// Searches, and writes the files that were asked for.
pub fn answer(verb: &Search, common: &Common, monitor: impl Monitor) -> Result<Found, Failure> {
    let baseline = verb.model.spec()?;
    check(verb)?;
    let question = question(verb, &baseline)?;
    let start = std::time::Instant::now();
    let (variance, fit) = variance(verb, &question, common, &monitor)?;
    // From here on nobody looks at Ctrl-C, so it ends the process at once.
    drop(monitor);
    common.explain(&format!("variances ready after {:.2} s", start.elapsed().as_secs_f64()));
    let mut answer = question.run(variance.as_ref())?;
    if verb.per_stage {
        answer.per_stage =
            Some(per_stage(&baseline, answer.primal.width, question.price(), variance.as_ref())?);
    }
    if verb.free_widths {
        answer.free_widths = Some(free_widths(&question.module()?, question.price(), variance.as_ref())?);
    }
    let seconds = start.elapsed().as_secs_f64();
    write_files(verb, &answer, fit.as_ref(), common)?;
    Ok(Found { answer, fit, seed: common.seed, seconds })
}

impl Document for Found {
    fn text(&self) -> String {
        text(&self.answer, self.fit.as_ref(), self.seconds)
    }

    fn data(&self) -> Table {
        view::curve_table(&self.answer)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (view::verdict(&self.answer), view::table(&self.answer))
    }
}

/// Refuses options that would otherwise be passed over.
fn check(verb: &Search) -> Result<(), Failure> {
    let refuse = |sentence: &str| Err(Failure::User(sentence.to_owned()));
    if verb.alpha.is_some() && verb.variance != Source::Law {
        return refuse("--alpha belongs to --variance law; leave one of them out");
    }
    if verb.precision.is_some() && verb.variance != Source::Measured {
        return refuse(
            "--precision belongs to --variance measured; for alpha itself see `collegial fit --precision`",
        );
    }
    if verb.per_stage && verb.variance == Source::Measured {
        return refuse(
            "--per-stage compares blocks of different shapes, which --variance measured has not measured; take law",
        );
    }
    Ok(())
}

fn question(verb: &Search, baseline: &Spec) -> Result<Question, Failure> {
    let question = Question::new(baseline.clone())
        .rule(match verb.rule {
            RuleName::Nearest => Rule::Nearest,
            RuleName::Under => Rule::Under,
        })
        .budget(verb.budget)
        .widths(verb.widths.as_ref().map(|widths| widths.0.clone()))
        .multiple_of(verb.multiple_of)
        .max_multiplicity(verb.max_multiplicity);
    Ok(match verb.cost {
        CostName::Params => question.cost(Cost::Params),
        CostName::Flops => question.cost(Cost::Flops),
        CostName::Activations => question.cost(Cost::Activations),
        CostName::Time => {
            let time = Time::new(&question.module()?)?;
            question.cost(time)
        }
    })
}

/// The variance function that was asked for, and the fit behind it if there is one.
fn variance(
    verb: &Search,
    question: &Question,
    common: &Common,
    monitor: &dyn Monitor,
) -> Result<(Box<dyn Variance>, Option<Fit>), Failure> {
    let module = question.module()?;
    match verb.variance {
        Source::Exact => Ok((Box::new(Exact), None)),
        Source::Measured => {
            let mut widths = question.candidate_widths()?;
            widths.push(module.width()?);
            widths.sort_unstable();
            widths.dedup();
            let samples =
                measure_variance(&module, &widths, verb.precision.unwrap_or(0.01), common.seed, monitor)
                    .map_err(|error| if monitor.stopped() { Failure::Interrupted } else { error.into() })?;
            Ok((Box::new(Measured::new(&samples)), None))
        }
        Source::Law => match verb.alpha {
            Some(alpha) => Ok((Box::new(Law::new(alpha)?), None)),
            None => {
                let fit = fitted(&module, verb.trials, common, monitor)?;
                Ok((Box::new(Law::fitted(&fit)?), Some(fit)))
            }
        },
    }
}

/// Algorithm 1 on the spot.
fn fitted(module: &Module, trials: u64, common: &Common, monitor: &dyn Monitor) -> Result<Fit, Failure> {
    let sampling = Sampling { trials, ..Sampling::paper(common.seed) };
    let measurements = Measurements::take(module, &default_widths(module)?, &sampling, monitor)?;
    if monitor.stopped() {
        return Err(Failure::Interrupted);
    }
    Ok(Fit::new(&measurements, Method::default())?)
}

fn text(answer: &Answer, fit: Option<&Fit>, seconds: f64) -> String {
    let mut text = String::new();
    for sentence in view::verdict(answer) {
        text.push_str(&format!("{}\n", terminal::bold(&sentence)));
    }
    text.push_str(&format!("\n{}\n", view::dual_figure(answer).to_text(&terminal::sketch())));
    text.push_str(&view::table(answer).to_text());
    if let Some(stages) = view::stage_table(answer) {
        text.push_str(&format!("\neach stage by itself\n\n{}", stages.to_text()));
    }
    if let Some(sentence) = view::free_widths_sentence(answer) {
        text.push_str(&format!("\n{sentence}\n"));
    }
    let mut notes = vec![
        format!("analysed: {}", answer.analysed),
        view::source_sentence(answer),
        view::efficiency_sentence(answer),
    ];
    notes.extend(fit.map(fit_view::verdict_sentence));
    text.push_str(&format!("\n{}\n{seconds:.2} s\n", notes.join("\n")));
    text
}

fn write_files(verb: &Search, answer: &Answer, fit: Option<&Fit>, common: &Common) -> Result<(), Failure> {
    if let Some(directory) = &verb.figures {
        std::fs::create_dir_all(directory)
            .map_err(|error| Failure::User(format!("cannot make {}: {error}", directory.display())))?;
        write_figure(&directory.join("primal.svg"), &view::primal_figure(answer))?;
        write_figure(&directory.join("dual.svg"), &view::dual_figure(answer))?;
        if let Some(fit) = fit {
            write_figure(&directory.join("alpha.svg"), &fit_view::figure(fit))?;
            write_figure(&directory.join("residuals.svg"), &fit_view::residual_figure(fit))?;
        }
        common.say(&format!("wrote figures to {}", directory.display()));
    }
    if let Some(path) = &verb.report {
        let json = to_json(answer)?;
        let drawn = answer.alpha_ci.is_some() || answer.variance_source == "measured";
        let provenance = Provenance {
            command: terminal::command_line(),
            seed: drawn.then_some(common.seed),
            version: format!("collegial {}", env!("CARGO_PKG_VERSION")),
        };
        write_file(path, &page(answer, fit, &json, provenance).to_html())?;
        common.say(&format!("wrote {}", path.display()));
    }
    Ok(())
}
