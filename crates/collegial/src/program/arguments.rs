//! Command-line arguments: the verbs, and the flags they share.

use std::io::Write;

use clap::{Args, Command, CommandFactory, Parser, Subcommand, ValueEnum};
use collegial_report::{visible, wrapped_lines};

use crate::program::failure::Failure;
use crate::program::{terminal, verbs};
use crate::{export, jobs, models, moments, train};

/// Finds the best number m and width n of parallel members (group convolutions, block-diagonal
/// layers) for a network, without training it.
#[derive(Parser)]
#[command(name = "collegial", version, max_term_width = 100)]
#[command(
    after_help = "Models are names (resnet50, resnext29-37x10d, regnet_x_400mf, wrn28-10, fc6-500, fc6-30x48, \
    bottleneck-128; `collegial models` lists more) or paths of TOML specs, of safetensors and ONNX files, and of runs."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub common: Common,
}

/// One variant per verb, each in its own file.
#[derive(Subcommand)]
pub enum Verb {
    Info(verbs::info::Info),
    Moments(moments::Request),
    Ntk(verbs::ntk::Ntk),
    Fit(verbs::fit::Fit),
    Merge(verbs::merge::Merge),
    Search(verbs::search::Search),
    Score(verbs::score::Score),
    Explore(verbs::explore::Explore),
    Models(models::Request),
    Train(train::Request),
    Evaluate(verbs::evaluate::Evaluate),
    Export(export::Request),
    Reproduce(verbs::reproduce::Reproduce),
    Validate(verbs::validate::Validate),
    Sweep(verbs::sweep::Sweep),
    Job(jobs::job::Request),
    Gather(jobs::gather::Request),
    Status(verbs::status::Status),
    Completions(verbs::completions::Completions),
    Man(verbs::man::Man),
}

/// What every verb's help says of the flags that they share.
const SHARED: &str = "Every verb also takes --json, --format, --seed, --threads, --quiet and --verbose: see `collegial --help`.";

/// The command line as it is parsed: a verb's help has the verb's own flags.
pub fn command() -> Command {
    let mut command = Arguments::command();
    // Shared flags are handed down to the verbs here.
    command.build();
    command.mut_subcommands(|verb| {
        if verb.get_name() == "help" {
            return verb;
        }
        let example = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        let hidden = verb.mut_args(|flag| if flag.is_global_set() { flag.hide(true) } else { flag });
        // A negative number is a wrong value, not an unknown option.
        let hidden =
            hidden.mut_args(|flag| match flag.get_action().takes_values() && !flag.is_positional() {
                true => flag.allow_negative_numbers(true),
                false => flag,
            });
        hidden.after_help(format!("{example}\n\n{SHARED}").trim_start().to_owned())
    })
}

/// Flags that every verb takes.
#[derive(Args)]
pub struct Common {
    /// How to print the result
    #[arg(long, global = true, value_enum, default_value_t = Format::Table, help_heading = "Common options")]
    pub format: Format,
    /// Short for --format json
    #[arg(long, global = true, conflicts_with = "format", help_heading = "Common options")]
    pub json: bool,
    /// Seed of everything random
    #[arg(long, global = true, default_value_t = 0, help_heading = "Common options")]
    pub seed: u64,
    /// Number of threads [default: all cores]; results do not depend on it
    #[arg(long, global = true, value_parser = crate::threads, help_heading = "Common options")]
    pub threads: Option<usize>,
    /// Say nothing but results and errors
    #[arg(long, short, global = true, help_heading = "Common options")]
    pub quiet: bool,
    /// Say more about what is going on
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = "Common options")]
    pub verbose: bool,
}

impl Common {
    /// The format after `--json` is taken into account.
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Checks the environment, and starts the threads that all work runs on.
    pub fn prepare(&self) -> Result<(), Failure> {
        crate::environment::check()?;
        let threads = self.threads.unwrap_or(0);
        let started = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        let count =
            self.threads.map_or("as many threads as cores".into(), |count| format!("{count} threads"));
        started.map_err(|error| Failure::User(format!("cannot start {count}: {error}")))
    }

    /// Says something on stderr, unless asked to be quiet.
    pub fn say(&self, sentence: &str) {
        if !self.quiet {
            eprint(sentence);
        }
    }

    /// Says what only `--verbose` wants to know.
    pub fn explain(&self, sentence: &str) {
        if self.verbose {
            eprint(sentence);
        }
    }
}

/// Writes a sentence to stderr, in lines that fit where people read it, control characters of names
/// and files made visible. Where that fails there is nobody left to tell.
pub fn eprint(sentence: &str) {
    let text = visible(sentence);
    let text = terminal::columns().map_or(text.clone(), |columns| wrapped_lines(&text, columns));
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// For scripts: one JSON document.
    Json,
    /// For spreadsheets: the main table only.
    Csv,
}
