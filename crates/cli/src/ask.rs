//! The verbs without a terminal: the words of a command line in, the result out. This is what the Python wheel calls, so that
//! both have the same options, the same numbers and the same sentences.

use std::path::Path;

use clap::Parser;
use collegial_arch::{Design, Spec};
use collegial_nn::{Mode, Network};
use collegial_report::fragment;
use collegial_search::with_design;
pub use collegial_stats::Monitor;
use collegial_train::checkpoint::CheckpointFile;
use collegial_train::data::npy;
use collegial_train::{Error, run};

use crate::arguments::{Arguments, Verb};
use crate::failure::{self, Failure};
use crate::output::{Document, to_json};
use crate::verbs;

/// A result in every form.
pub struct Answer {
    /// The document that `--json` prints.
    pub json: String,
    /// What people see on a terminal.
    pub text: String,
    /// The same for a notebook, as a fragment of a page.
    pub html: String,
}

/// Why there is no result.
#[derive(Debug)]
pub enum Refusal {
    /// Something the user can fix, in one sentence.
    Sentence(String),
    /// The monitor said stop.
    Interrupted,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::User(sentence) | Failure::No(sentence) => Self::Sentence(sentence),
            Failure::Interrupted => Self::Interrupted,
            Failure::ReaderLeft => Self::Sentence("the result could not be written".into()),
        }
    }
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Self {
        Self::Sentence(failure::sentence(&error).trim_start_matches("error: ").to_owned())
    }
}

/// Answers `info`, `moments`, `fit` and `search`: `["search", "--alpha=1.6", "resnext29-1x128d"]`.
///
/// # Errors
///
/// The sentence that the program would end with, or that the monitor stopped it.
pub fn ask(words: &[String], monitor: impl Monitor + Send) -> Result<Answer, Refusal> {
    let arguments = parse(words)?;
    let common = &arguments.common;
    in_pool(common.threads, || match &arguments.verb {
        Verb::Info(verb) => forms(&verbs::info::answer(verb)?),
        Verb::Moments(verb) => forms(&verbs::moments::answer(verb)?),
        Verb::Fit(verb) => forms(&verbs::fit::answer(verb, common, &monitor)?),
        Verb::Search(verb) => forms(&verbs::search::answer(verb, common, monitor)?),
        _ => Err(Failure::User("only info, moments, fit and search are answered here".into())),
    })
}

/// Answers `ntk` with the kernel as a .npy file's content, between the inputs of another one's where it is given.
///
/// # Errors
///
/// The sentence that the program would end with.
pub fn kernel(words: &[String], inputs: Option<&[u8]>) -> Result<Vec<u8>, Refusal> {
    let arguments = parse(words)?;
    let Verb::Ntk(verb) = &arguments.verb else {
        return Err(Refusal::Sentence("only ntk is answered with a kernel".into()));
    };
    in_pool(arguments.common.threads, || {
        let rows = verbs::ntk::answer(verb, &arguments.common, inputs)?.kernel;
        Ok(npy::write(&[rows.len(), rows.len()], &rows.concat()))
    })
}

/// The outputs of a network, inputs x outputs, as a .npy file's content, for the inputs of another one's: with the weights of a
/// checkpoint, or with those that training from `seed` starts with. Norms use their running statistics.
///
/// # Errors
///
/// One sentence on what does not fit.
pub fn forward(
    model: &str,
    weights: Option<&Path>,
    inputs: &[u8],
    seed: u64,
    threads: Option<usize>,
) -> Result<Vec<u8>, Refusal> {
    in_pool(threads, || {
        let spec = Spec::load(model)?;
        let graph = spec.graph()?;
        let rows = verbs::ntk::read_inputs(inputs, "the array", &graph)?;
        let mut network = Network::builder(&graph).seed(seed).build().map_err(Error::from)?;
        if let Some(path) = weights {
            CheckpointFile::read(&run::find_model(path)?)?.fill_network(&mut network, &spec.name())?;
        }
        let mut network = network.inference(rows.len().clamp(1, 64)).map_err(Error::from)?;
        let mut values = vec![];
        if !rows.is_empty() {
            let outputs = network.forward(&rows.concat(), Mode::Evaluate).map_err(Error::from)?;
            values.extend(outputs.iter().map(|&value| f64::from(value)));
        }
        let outputs = graph.output_shape();
        Ok(npy::write(&[rows.len(), outputs.channels * outputs.pixels()], &values))
    })
}

/// The TOML form of a model.
///
/// # Errors
///
/// Where there is no such model.
pub fn to_toml(model: &str) -> Result<String, Refusal> {
    Ok(Spec::load(model).map_err(Failure::from)?.to_toml())
}

/// The JSON form of a model with m members of width n, such as `37x10d`, in place of its own.
///
/// # Errors
///
/// Where there is no such model, or it cannot have such a design.
pub fn redesigned(model: &str, design: &str) -> Result<String, Refusal> {
    let spec = Spec::load(model).map_err(Failure::from)?;
    let design: Design = design.parse().map_err(Failure::from)?;
    let spec = with_design(&spec, design).map_err(Failure::from)?;
    Ok(to_json(&spec)?)
}

fn parse(words: &[String]) -> Result<Arguments, Refusal> {
    let program = ["collegial"].into_iter();
    let mut arguments = Arguments::try_parse_from(program.chain(words.iter().map(String::as_str)))?;
    arguments.common.quiet = true;
    Ok(arguments)
}

/// Runs on threads that end with the work: a process that forks later finds none of them missing.
fn in_pool<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Refusal> {
    let threads = threads.unwrap_or(0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::User(format!("cannot start {threads} threads: {error}")))?;
    Ok(pool.install(work)?)
}

fn forms(document: &impl Document) -> Result<Answer, Failure> {
    let (sentences, table) = document.summary();
    let html = fragment(&sentences.join("\n\n"), &table);
    Ok(Answer { json: to_json(document)?, text: document.text(), html })
}
